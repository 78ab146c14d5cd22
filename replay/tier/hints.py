"""What clients say of their turns: exact hints, and hints made worse on purpose (Tenure 5.2)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from kvcensus_gate import Hints
from replay.tier.workload import Workload
from telemetry.errors import UsageError, quoted

__all__ = ["EXACT", "GAPS", "LASTS", "HintPlan", "hints_of"]

#: How gap hints are made, and what that means.
GAPS = {
    "exact": "the gap that follows",
    "noise25": "off by up to 25 %, uniformly",
    "noise50": "off by up to 50 %, uniformly",
    "random": "uniform between the shortest and the longest gap of the workload",
    "half": "half of the hints dropped",
    "none": "no gap hint",
}
#: How the end of a session is declared.
LASTS = {
    "exact": "by its last turn",
    "blinded": "never",
    "half": "by the last turn of half of the sessions",
    "spurious": "by its last turn, and by one turn before it that is not the last",
}


@dataclass(frozen=True)
class HintPlan:
    """Which hints clients send: a key of `GAPS` and one of `LASTS`."""

    gap: str = "exact"
    last: str = "exact"

    def __post_init__(self) -> None:
        for what, value, known in (("gap hints", self.gap, GAPS), ("end bits", self.last, LASTS)):
            if value not in known:
                raise UsageError(f"unknown kind of {what}: {quoted(value)}. Known: {', '.join(known)}.")


EXACT = HintPlan()


def hints_of(workload: Workload, plan: HintPlan, seed: int) -> list[list[Hints]]:
    """Hints of every turn of every session; the session's place in the workload is its id.

    A last turn has no gap hint: nothing follows.
    """
    draw = Random(f"hints {seed}")
    gaps = [turn.gap_us for session in workload.sessions for turn in session.turns[:-1]]
    shown = _gap_rule(plan.gap, draw, min(gaps, default=0), max(gaps, default=0))
    found = []
    for index, session in enumerate(workload.sessions):
        last = len(session.turns) - 1
        ends = {last} if plan.last != "blinded" and not (plan.last == "half" and draw.random() < 0.5) else set()
        if plan.last == "spurious" and last:
            ends.add(draw.randrange(last))
        found.append([Hints(str(index), i, shown(turn.gap_us) if i < last else None, i in ends)
                      for i, turn in enumerate(session.turns)])
    return found


def _gap_rule(kind: str, draw: Random, shortest: int, longest: int) -> Callable[[int], int | None]:
    if kind == "noise25":
        return lambda gap: round(gap * draw.uniform(0.75, 1.25))
    if kind == "noise50":
        return lambda gap: round(gap * draw.uniform(0.5, 1.5))
    if kind == "random":
        return lambda gap: draw.randint(shortest, longest)
    if kind == "half":
        return lambda gap: gap if draw.random() < 0.5 else None
    return (lambda gap: None) if kind == "none" else (lambda gap: gap)
