"""A log of every decision, as JSON lines, and its replay through the same policy.

The first line names policy, capacity and parameters; then comes a line for each call that changes a tier, with what
the clock said during it and what was decided. The log holds session ids and block keys: treat it as the requests.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, TextIO

from kvcensus_gate.errors import GateError, shorten
from kvcensus_gate.hints import NO_HINTS, Hints
from kvcensus_gate.plan import Clock, StorePlan
from kvcensus_gate.policy import Policy
from kvcensus_gate.registry import at_least_one, make_policy, make_tier
from kvcensus_gate.sessions import Key
from kvcensus_gate.tier import Tier

__all__ = ["FORMAT", "LoggedTier", "Replayed", "make_logged_tier", "replay"]

FORMAT = 1


class LoggedTier(Tier):
    """A tier that writes down what it was asked and what it decided.

    Parameters
    ----------
    sink : text stream
        Where lines go. If it fails, logging ends and `broken` says why; the tier works on.
    """

    def __init__(self, policy: Policy, clock: Clock, sink: TextIO, block_bytes: int = 1):
        super().__init__(policy, self._read, block_bytes)
        self.broken: str | None = None
        self._sink = sink
        self._source = clock
        self._readings: list[int] = []
        self._write({"format": FORMAT, "policy": policy.name, "capacity": policy.capacity, "block_bytes": block_bytes,
                     "parameters": asdict(policy.parameters)})

    def begin(self, request: str, hints: Hints = NO_HINTS) -> None:
        super().begin(request, hints)
        self._log("begin", request=request, hints=asdict(hints))

    def finish(self, request: str) -> None:
        super().finish(request)
        self._log("finish", request=request)

    def touch(self, request: str, keys: Sequence[Key], *, first: int | None = None, whole: bool = False) -> None:
        super().touch(request, keys, first=first, whole=whole)
        self._log("touch", request=request, keys=_written(keys), first=first, whole=whole)

    def prepare_load(self, request: str, keys: Sequence[Key], *, first: int | None = None) -> None:
        super().prepare_load(request, keys, first=first)
        self._log("prepare_load", request=request, keys=_written(keys), first=first)

    def complete_load(self, keys: Sequence[Key]) -> None:
        super().complete_load(keys)
        self._log("complete_load", keys=_written(keys))

    def prepare_store(self, request: str, keys: Sequence[Key], *, first: int | None = None) -> StorePlan:
        plan = super().prepare_store(request, keys, first=first)
        self._log("prepare_store", request=request, keys=_written(keys), first=first, plan=_plan(plan))
        return plan

    def complete_store(self, keys: Sequence[Key], success: bool = True) -> None:
        super().complete_store(keys, success)
        self._log("complete_store", keys=_written(keys), success=success)

    def clear(self) -> None:
        super().clear()
        self._log("clear")

    def log_report(self) -> None:
        """Write the counters, for a replay to compare with its own."""
        self._log("report", report=self.report())

    def _read(self) -> int:
        now = self._source()
        self._readings.append(now)
        return now

    def _log(self, call: str, **what: object) -> None:
        self._write({"call": call, "clock_us": self._readings, **what})
        self._readings = []

    def _write(self, line: Mapping[str, object]) -> None:
        if self.broken is not None:
            return
        try:
            self._sink.write(json.dumps(line, separators=(",", ":")) + "\n")
        except (OSError, ValueError) as error:  # ValueError: the stream is closed
            self.broken = str(error)


def make_logged_tier(name: str, capacity: int, clock: Clock, sink: TextIO, *, block_bytes: int = 1,
                     parameters: Mapping[str, object] | None = None) -> LoggedTier:
    """As `make_tier`, and every decision is written to `sink`. Keys are bytes, text or integers."""
    return LoggedTier(make_policy(name, capacity, parameters), clock, sink, at_least_one("block_bytes", block_bytes))


@dataclass(frozen=True)
class Replayed:
    """What a replay found.

    Attributes
    ----------
    decisions : int
        Calls of `prepare_store`, up to the first that came out differently.
    difference : str or None
        Line, what the log says, and what the replay decided.
    tier : Tier
        As the replay left it.
    """

    decisions: int
    difference: str | None
    tier: Tier


def replay(lines: Iterable[str]) -> Replayed:
    """Drive a tier by a log, and stop at the first decision that differs.

    Raises
    ------
    GateError
        A line that is no call of this format; the message names it.
    """
    numbered = enumerate(lines, 1)
    readings: list[int] = []
    tier = _tier_of(numbered, lambda: readings.pop(0))
    decisions = 0
    for number, line in numbered:
        try:
            call: dict[str, Any] = json.loads(line)
            readings[:] = call.pop("clock_us")
            logged, decided = _run(tier, call.pop("call"), call)
        except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
            raise GateError(f"line {number} of the decision log cannot be replayed: "
                            f"{type(error).__name__}: {error}. It reads {shorten(line.strip())}") from error
        if logged != decided:
            return Replayed(decisions, f"line {number}: the log has {json.dumps(logged)}, the replay "
                                       f"{json.dumps(decided)}", tier)
        decisions += "store" in logged
    return Replayed(decisions, None, tier)


def _tier_of(numbered: Iterator[tuple[int, str]], clock: Clock) -> Tier:
    _, line = next(numbered, (1, ""))
    try:
        header = json.loads(line)
        if header["format"] != FORMAT:
            raise GateError(f"the decision log has format {shorten(header['format'])}; this version reads {FORMAT}.")
        # The tier of the policy `none` has capacity 0, whatever it was asked for.
        return make_tier(header["policy"], header["capacity"] or 1, clock, block_bytes=header["block_bytes"],
                         parameters=header["parameters"])
    except (KeyError, TypeError, json.JSONDecodeError) as error:
        raise GateError(f"line 1 of the decision log is no header: {error!r}. It reads "
                        f"{shorten(line.strip())}") from error


def _run(tier: Tier, call: str, given: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """What the log says came of a call, and what comes of it now."""
    if "keys" in given:
        given["keys"] = [_read(key) for key in given["keys"]]
    if call == "prepare_store":
        logged: dict[str, Any] = given.pop("plan")
        return logged, _plan(tier.prepare_store(**given))
    if call == "report":
        return given["report"], json.loads(json.dumps(tier.report()))
    if call == "begin":
        hints = given["hints"]
        given["hints"] = Hints(**{**hints, "malformed": tuple(hints["malformed"])})
    if call not in ("begin", "finish", "touch", "prepare_load", "complete_load", "complete_store", "clear"):
        raise ValueError(f"unknown call {shorten(call)!r}")
    getattr(tier, call)(**given)
    return {}, {}


def _plan(plan: StorePlan) -> dict[str, Any]:
    return {"store": _written(plan.store), "evict": _written(plan.evict), "refused": plan.refused}


def _written(keys: Iterable[Key]) -> list[str | int]:
    return [_write_key(key) for key in keys]


def _write_key(key: Key) -> str | int:
    if type(key) is int:
        return key
    if type(key) is bytes:
        return "b:" + key.hex()
    if type(key) is str:
        return "s:" + key
    raise GateError(f"a decision log holds keys that are bytes, text or integers, not {type(key).__name__}.")


def _read(written: str | int) -> Key:
    if isinstance(written, int):
        return written
    kind, text = written[:2], written[2:]
    return bytes.fromhex(text) if kind == "b:" else text
