"""Who gains: every session beside itself under the control, with the same seed and arrival (Tenure 5.3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from replay.tier.metrics import completion_times
from replay.tier.record import Outcome

__all__ = ["CLASSES", "Gains", "fairness"]

#: Sessions by the context of their last turn, in thirds.
CLASSES = ("small", "medium", "large")


@dataclass(frozen=True)
class Gains:
    """Relative gains in job completion time over the control, 1 - mine / control's.

    Attributes
    ----------
    sessions : int
    improved : float
        Share of sessions that gain.
    median, worst_decile : float
        Nearest rank; the tenth percentile of the gains.
    """

    sessions: int
    improved: float
    median: float
    worst_decile: float


def fairness(outcomes: Sequence[Outcome], control: Sequence[Outcome]) -> dict[str, Gains]:
    """Gains of `all` sessions and of each size class that has one."""
    gains: list[tuple[int, float]] = []
    for mine, other in zip(outcomes, control, strict=True):
        size: dict[int, int] = {}
        for record in sorted(other.records):
            size[record.session] = record.prompt_tokens
        theirs = completion_times(other)
        gains += [(size[session], 1 - time / theirs[session])
                  for session, time in sorted(completion_times(mine).items())]
    gains.sort(key=lambda pair: pair[0])  # sessions of one size in an order that does not know how they fared
    found = {"all": _gains([gain for _, gain in gains])}
    ends = [len(gains) * i // len(CLASSES) for i in range(len(CLASSES) + 1)]
    for name, first, end in zip(CLASSES, ends, ends[1:], strict=False):
        if end > first:
            found[name] = _gains([gain for _, gain in gains[first:end]])
    return found


def _gains(gains: list[float]) -> Gains:
    gains = sorted(gains)
    count = len(gains)
    return Gains(count, sum(gain > 0 for gain in gains) / count, gains[-(-count // 2) - 1], gains[-(-count // 10) - 1])
