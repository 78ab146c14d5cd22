"""The simulator: sessions in a closed loop on a server with a device pool, continuous batching and a DRAM tier.

Discrete events in whole microseconds. The server schedules at the end of each step: requests that decode get a token
each, then prefill takes what is left of the step's tokens, first come, first served. A request waits until the device
has room for its whole prompt and output, so none is ever preempted; while its blocks are loaded from the tier, others
go on. Steps without prefill are taken together up to the next event.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Mapping

from kvcensus_gate import Hints
from replay.tier.condition import Condition
from replay.tier.device import DevicePool
from replay.tier.engine import Steps
from replay.tier.hints import hints_of
from replay.tier.offload import Offload
from replay.tier.platform import Server
from replay.tier.record import Outcome, TurnRecord
from replay.tier.request import Client, Request
from replay.tier.workload import Workload
from telemetry.errors import InputError

__all__ = ["simulate"]


def simulate(workload: Workload, server: Server, condition: Condition, seed: int,
             starts: Mapping[tuple[int, int], int] | None = None) -> Outcome:
    """Run a workload under a condition.

    Parameters
    ----------
    seed : int
        Of the hints' noise; arrivals, contexts and gaps are part of the workload.
    starts : mapping, optional
        Session and turn -> when it comes, in place of arrivals and gaps; but never before the turn before has ended.

    Raises
    ------
    InputError
        A turn that does not fit the device.
    GateError
        An unknown policy or parameter, or a tier that holds no block.
    """
    _check(workload, server)
    return _Simulation(workload, server, condition, seed, starts or {}).run()


def _check(workload: Workload, server: Server) -> None:
    size, room = server.block_tokens, server.device_blocks
    for index, session in enumerate(workload.sessions):
        for turn, (prompt, output, *_) in enumerate(session.turns):
            if -(-(prompt + output + 1) // size) > room:
                raise InputError(f"{workload.name}: turn {turn + 1} of session {index + 1} of the draw has "
                                 f"{prompt + output:,} tokens, and the device holds {room * size:,}. Give it more with "
                                 "--device, or choose a platform with more device_kv_bytes.")


class _Simulation:
    """One run."""

    def __init__(self, workload: Workload, server: Server, condition: Condition, seed: int,
                 starts: Mapping[tuple[int, int], int]):
        self._starts = starts
        self._block = server.block_tokens
        self._budget, self._seqs = server.max_batched_tokens, server.max_seqs
        self._steps = Steps(server)
        self._pool = DevicePool(server.device_blocks)
        self._offload = Offload(server, condition.policy, condition.tier_bytes, condition.parameters)
        self._lead = condition.warm_lead_us
        hints = hints_of(workload, condition.hints, seed)
        self._clients = [Client(i, session.turns, hints[i]) for i, session in enumerate(workload.sessions)]
        self._events: list[tuple[int, int, Client | Request, int]] = []
        self._serial = self._fresh = self._held = 0
        self._waiting: deque[Request] = deque()
        self._prefilling: list[Request] = []
        self._decoding: list[tuple[int, int, Request]] = []  # by the count of steps at which a request is done
        self._step = self._context = 0
        self._now = 0
        self._records: list[TurnRecord] = []
        self._probes: list[TurnRecord] = []
        for client, session in zip(self._clients, workload.sessions, strict=True):
            self._at(starts.get((client.index, 0), session.arrival_us), client, 0)

    def run(self) -> Outcome:
        while True:
            self._deliver(self._now)
            batch = self._schedule()
            if batch:
                steps, chunks = 1, [(request.position, count) for request, count in batch]
                end = self._now + self._steps.mixed(chunks, len(self._decoding), self._context)
            elif self._decoding:
                steps = self._steps_ahead()
                end = self._now + self._steps.decode(steps, len(self._decoding), self._context)
            elif self._events:
                self._now = self._events[0][0]
                continue
            else:
                break
            self._deliver(end)
            self._now = self._offload.now_us = end
            self._advance(batch, steps)
        assert not self._waiting, "a request that fits the device is admitted when nothing runs"
        end_us = self._now
        self._offload.drain()
        return Outcome(self._records, self._probes, end_us, self._offload.tier.report())

    # --- events

    def _at(self, time_us: int, who: Client | Request, turn: int) -> None:
        """A turn of a client starts (-1 - turn: its warm probe), or a request's load ends."""
        self._serial += 1
        heapq.heappush(self._events, (time_us, self._serial, who, turn))

    def _deliver(self, until_us: int) -> None:
        events = self._events
        while events and events[0][0] <= until_us:
            self._offload.now_us, _, who, turn = heapq.heappop(events)
            if isinstance(who, Request):
                self._offload.loaded(who.loading)
                self._prefilling.append(who)
            elif turn >= 0:
                self._arrive(who, turn)
            else:
                self._probe(who, -1 - turn)
        self._offload.now_us = until_us

    def _arrive(self, client: Client, turn: int) -> None:
        prompt, output, _, shared = client.turns[turn]
        client.latest = turn
        keys, blocks = client.keys, prompt // self._block
        kept = blocks if shared is None else shared // self._block
        if kept < len(keys):  # a context that changed keeps its first tokens; what follows is new
            del keys[kept:]
            client.version += 1
            self._pool.cut(client.index, kept)
        more = (prompt + output) // self._block - len(keys)
        keys.extend(range(self._fresh, self._fresh + more))
        self._fresh += max(0, more)
        self._enter(Request(client, turn, prompt, output, keys[:blocks], self._offload.now_us, False),
                    client.hints[turn])

    def _probe(self, client: Client, turn: int) -> None:
        """A one-token request over all that the next turn may find, unless that is there already."""
        if client.latest > turn:
            return
        prompt, output, *_ = client.turns[turn]
        if client.turns[turn + 1].shared_tokens is None:
            prompt += output
        said = client.hints[turn]
        request = Request(client, turn, prompt, 1, client.keys[:prompt // self._block], self._offload.now_us, True)
        self._enter(request, Hints(said.session_id, said.turn_idx, self._lead, False))

    def _enter(self, request: Request, hints: Hints) -> None:
        self._offload.begin(request.name, hints)
        self._waiting.append(request)

    # --- scheduling

    def _schedule(self) -> list[tuple[Request, int]]:
        """What the next step prefills: requests and tokens."""
        budget = self._budget - len(self._decoding)
        batch: list[tuple[Request, int]] = []
        for request in self._prefilling:
            if budget <= 0:
                return batch
            count = min(budget, request.prompt - request.position)
            batch.append((request, count))
            budget -= count
        waiting = self._waiting
        while waiting and budget > 0 and self._held < self._seqs and self._admit(waiting[0]):
            request = waiting.popleft()
            if request.loading:
                continue
            self._prefilling.append(request)
            count = min(budget, request.prompt - request.position)
            batch.append((request, count))
            budget -= count
        return batch

    def _admit(self, request: Request) -> bool:
        """Give a request its blocks and what the caches have of them; False: there is no room."""
        size, index = self._block, request.client.index
        most = (request.prompt - 1) // size  # the last token is computed, or there would be no output
        device = min(self._pool.cached(index), most)
        new = -(-(request.prompt + request.output) // size) - device
        if not self._pool.reserve(index, new):
            return False
        self._held += 1
        request.new, request.device_blocks = new, device
        request.admitted_us = self._offload.now_us = self._now
        found = self._offload.find(request.name, request.keys, device, most)
        request.tier_blocks = found
        request.position = (device + found) * size
        if found:
            request.offered = device + found
            request.loading = request.keys[device:device + found]
            self._at(self._offload.load(request.name, request.loading, device), request, 0)
        return True

    def _steps_ahead(self) -> int:
        """Steps that only decode, up to the first request that is done or the next event."""
        steps = self._decoding[0][0] - self._step
        if self._events:
            wait, decoding = self._events[0][0] - self._now, len(self._decoding)
            steps = max(1, min(steps, -(-wait // self._steps.decode(1, decoding, self._context))))
            # Steps grow with the contexts: fewer may reach the event.
            while steps > 1 and self._steps.decode(steps - 1, decoding, self._context) >= wait:
                steps -= 1
        return steps

    # --- steps

    def _advance(self, batch: list[tuple[Request, int]], steps: int) -> None:
        """A step has ended, or several that only decoded."""
        self._step += steps
        self._context += steps * len(self._decoding)
        done = []
        for request, count in batch:
            request.position += count
            self._offer(request)
            if request.position == request.prompt:
                request.first_us = self._now
                done.append(request)
        if done:
            self._prefilling = [request for request in self._prefilling if request.position < request.prompt]
        while self._decoding and self._decoding[0][0] <= self._step:
            request = heapq.heappop(self._decoding)[2]
            self._context -= request.prompt + request.output
            self._end(request)
        for request in done:
            if request.output == 1:
                self._end(request)
            else:
                self._serial += 1
                heapq.heappush(self._decoding, (self._step + request.output - 1, self._serial, request))
                self._context += request.prompt + 1

    def _offer(self, request: Request) -> None:
        """Offer the blocks that a step has completed; before them, once, those found on the device."""
        end = request.position // self._block
        if end > request.offered:
            self._offload.offer(request.name, request.keys[request.offered:end], request.offered)
            request.offered = end

    def _end(self, request: Request) -> None:
        client, now, size = request.client, self._now, self._block
        self._held -= 1
        # The last token of an output is never computed; a context that was cut meanwhile leaves nothing.
        kept = (request.prompt + request.output - 1) // size if request.version == client.version else 0
        self._pool.release(client.index, request.new, kept)
        self._offload.finish(request.name)
        records = self._probes if request.warm else self._records
        device, tier = request.device_blocks * size, request.tier_blocks * size
        records.append(TurnRecord(client.index, request.turn, request.arrival_us, request.admitted_us,
                                  request.first_us, now, request.prompt, request.output, device, tier,
                                  request.prompt - device - tier))
        if not request.warm and request.turn + 1 < len(client.turns):
            self._await(client, request.turn)

    def _await(self, client: Client, turn: int) -> None:
        due = self._starts.get((client.index, turn + 1), self._now + client.turns[turn].gap_us)
        self._at(max(self._now, due), client, turn + 1)
        gap = client.hints[turn].expected_gap_us
        if self._lead is not None and gap is not None:
            self._at(self._now + max(0, gap - self._lead), client, -1 - turn)
