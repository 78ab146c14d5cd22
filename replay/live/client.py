"""Clients in a closed loop: every session sends its next turn a gap after the one before has ended."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from kvcensus_gate import Hints
from replay.live.completion import Answer, complete, now_us
from replay.live.http import Address, AnswerError
from replay.live.plan import Plan, as_params
from replay.live.turns import LiveTurn

__all__ = ["Clients", "Limits", "drive"]

_WATCH_S = 0.25


@dataclass(frozen=True)
class Limits:
    """When a server counts as lost.

    Attributes
    ----------
    turn_s : float
        Seconds that a turn may take.
    errors : int
        So many turns in a row that failed, of any sessions.
    """

    turn_s: float = 120.0
    errors: int = 5


@dataclass(frozen=True)
class Clients:
    """What clients send, and to whom.

    Attributes
    ----------
    plan : Plan
    hints : list of list of Hints
        Of every turn of every session.
    warm_lead_us : int or None
        Warm promotion: a one-token request over the turn's prompt, this long before the expected wake-up.
    condition, seed
        What lines say of their run.
    address : Address
    model : str
    salt : str or None
        Keeps the server's caches apart from those of other runs; None: it has served no other.
    """

    plan: Plan
    hints: list[list[Hints]]
    warm_lead_us: int | None
    condition: str
    seed: int
    address: Address
    model: str
    salt: str | None = None


def drive(clients: Clients, limits: Limits, sink: Callable[[LiveTurn], None],
          lost: Callable[[], str | None]) -> str | None:
    """Send every turn of the plan; returns None, or why it was given up.

    Parameters
    ----------
    sink : callable
        Is given each turn and probe as it ends.
    lost : callable
        Says what is wrong with the server, or None; asked several times a second.
    """
    return asyncio.run(_Drive(clients, limits, sink).run(lost))


class _Drive:
    """One run."""

    def __init__(self, clients: Clients, limits: Limits, sink: Callable[[LiveTurn], None]):
        self._clients = clients
        self._limits = limits
        self._sink = sink
        self._began = 0
        self._failures = 0
        self._given_up: asyncio.Future[str]
        self._probes: dict[int, asyncio.Task[None]] = {}  # of each session, the one that waits for its time
        self._sent: set[asyncio.Task[None]] = set()  # probes that are under way

    async def run(self, lost: Callable[[], str | None]) -> str | None:
        self._given_up = asyncio.get_running_loop().create_future()
        self._began = now_us()
        work = asyncio.create_task(self._all())
        watch = asyncio.create_task(self._watch(lost))
        try:
            await asyncio.wait((work, self._given_up), return_when=asyncio.FIRST_COMPLETED)
            if work.done():
                work.result()  # a fault of ours is raised here
                return None
            return self._given_up.result()
        finally:
            watch.cancel()  # asyncio.run cancels and awaits whatever is still under way
            self._given_up.cancel()

    async def _all(self) -> None:
        await asyncio.gather(*map(self._session, range(len(self._clients.plan.workload.sessions))))
        await asyncio.gather(*self._sent)

    async def _watch(self, lost: Callable[[], str | None]) -> None:
        while (wrong := lost()) is None:
            await asyncio.sleep(_WATCH_S)
        self._give_up(wrong)

    def _give_up(self, why: str) -> None:
        if not self._given_up.done():
            self._given_up.set_result(why)

    async def _session(self, session: int) -> None:
        due = self._clients.plan.workload.sessions[session].arrival_us
        for turn, (_, output, gap, *_) in enumerate(self._clients.plan.workload.sessions[session].turns):
            await self._until(due)
            waiting = self._probes.pop(session, None)
            if waiting is not None:  # the turn is there before its probe
                waiting.cancel()
            hints = self._clients.hints[session][turn]
            ended = await self._send(session, turn, due, self._clients.plan.tokens(session, turn), output, hints)
            due = ended + gap
            self._warm(session, turn, ended)

    def _warm(self, session: int, turn: int, ended: int) -> None:
        """Plan the probe after a turn, if there is to be one."""
        lead, hints = self._clients.warm_lead_us, self._clients.hints[session][turn]
        if lead is None or hints.expected_gap_us is None:
            return
        due = ended + max(0, hints.expected_gap_us - lead)
        said = Hints(hints.session_id, hints.turn_idx, lead, False)
        self._probes[session] = asyncio.create_task(self._probe(session, turn, due, said))

    async def _probe(self, session: int, turn: int, due: int, hints: Hints) -> None:
        """A one-token request over a turn's prompt; cancelled if the next turn comes before it."""
        await self._until(due)
        task = self._probes.pop(session)
        self._sent.add(task)
        await self._send(session, turn, due, self._clients.plan.tokens(session, turn), 1, hints, probe=True)

    async def _send(self, session: int, turn: int, due: int, prompt: list[int], output: int, hints: Hints,
                    probe: bool = False) -> int:
        """Send a request and write its line; returns when it ended."""
        clients = self._clients
        request = f"kvc-{clients.seed}-{session}-{turn}{'w' if probe else ''}"
        start, answer, error = self._now(), None, None
        try:
            async with asyncio.timeout(self._limits.turn_s):
                answer = await complete(clients.address, clients.model, prompt, output, as_params(hints), request,
                                        clients.salt)
        except AnswerError as wrong:
            error = str(wrong)
        except TimeoutError:
            error = f"no answer within {self._limits.turn_s:g} s"
            self._give_up(f"turn {turn + 1} of session {session + 1} got {error}: the server hangs, or is too slow for "
                          "--turn-timeout")
        end = self._now() if answer is None else answer.end_us - self._began
        self._write(session, turn, probe, due, start, end, len(prompt), output, answer, request, error)
        self._count(error)
        return end

    def _write(self, session: int, turn: int, probe: bool, due: int, start: int, end: int, prompt: int, output: int,
               answer: Answer | None, request: str, error: str | None) -> None:
        plan = self._clients.plan
        self._sink(LiveTurn(
            condition=self._clients.condition, seed=self._clients.seed, session=session, turn=turn,
            sampled=plan.places[session], probe=probe, arrival_us=plan.workload.sessions[session].arrival_us,
            planned_us=due, start_us=start, end_us=end,
            ttft_us=None if answer is None else answer.first_token_us - self._began - start,
            prompt_tokens=prompt, output_tokens=output,
            cached_tokens=None if answer is None else answer.cached_tokens, external_tokens=None,
            request=request, error=error))

    def _count(self, error: str | None) -> None:
        self._failures = 0 if error is None else self._failures + 1
        if error is not None and self._failures >= self._limits.errors:
            self._give_up(f"the last {self._failures} turns failed, each like this: {error}")

    def _now(self) -> int:
        return now_us() - self._began

    async def _until(self, time_us: int) -> None:
        wait = time_us - self._now()
        if wait > 0:
            await asyncio.sleep(wait / 1e6)
