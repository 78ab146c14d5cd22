"""How sure a p95 is: bootstrap over turns, over whole sessions, and of the difference to a control (Tenure 3).

Conditions of one workload and seed share arrivals, contexts and gaps, so turn i of session j is the same turn under
each. A replicate draws turns or sessions once for all conditions: differences are paired.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from replay.tier.record import Outcome

__all__ = ["Interval", "Spread", "hit_interval", "spreads"]

_Ints = NDArray[np.int64]
#: Replicates at a time: what one keeps in memory grows with the turns.
_CHUNK = 100


@dataclass(frozen=True)
class Interval:
    """The 2.5 and 97.5 percentiles of the replicates, in seconds."""

    lo: float
    hi: float

    def overlaps(self, other: Interval) -> bool:
        """Whether two intervals have a value in common."""
        return self.lo <= other.hi and other.lo <= self.hi


@dataclass(frozen=True)
class Spread:
    """Intervals of a condition's p95 turn latency.

    Attributes
    ----------
    by_turn, by_session : Interval
    delta_s : float
        p95 minus that of the control.
    delta_by_turn, delta_by_session : Interval
    """

    by_turn: Interval
    by_session: Interval
    delta_s: float
    delta_by_turn: Interval
    delta_by_session: Interval


def spreads(runs: Mapping[str, Sequence[Outcome]], control: str, replicates: int, seed: int = 0) -> dict[str, Spread]:
    """The spread of every condition.

    Parameters
    ----------
    runs : mapping
        Condition -> an outcome a seed, of the same workloads in the same order.
    """
    latency: dict[str, _Ints] = {}
    for name, outcomes in runs.items():
        ordered = [sorted(outcome.records) for outcome in outcomes]
        latency[name] = np.array([record.end_us - record.arrival_us for records in ordered for record in records])
    clusters = _clusters(runs[control])
    turns = _replicates(latency, np.arange(len(clusters)), replicates, seed)
    sessions = _replicates(latency, clusters, replicates, seed)
    whole = {name: int(_p95(values, np.ones((1, len(values)), np.int64))[0]) for name, values in latency.items()}
    return {name: Spread(_interval(turns[name]), _interval(sessions[name]), (whole[name] - whole[control]) / 1e6,
                         _interval(turns[name] - turns[control]), _interval(sessions[name] - sessions[control]))
            for name in runs}


def hit_interval(outcomes: Sequence[Outcome], replicates: int, seed: int = 0) -> tuple[float, float] | None:
    """The 2.5 and 97.5 percentiles of the tier's hit rate over replicates that draw whole sessions; None without any.

    A session that is drawn twice counts twice, with its tokens found and its tokens asked for.
    """
    clusters = _clusters(outcomes)
    records = [record for outcome in outcomes for record in sorted(outcome.records)]
    found, asked = (np.bincount(clusters, values).astype(np.int64) for values in (
        [record.tier_hit_tokens for record in records],
        [record.prompt_tokens - record.device_hit_tokens for record in records]))
    draw = np.random.default_rng(seed)
    weights = draw.multinomial(len(found), np.full(len(found), 1 / len(found)), size=replicates)
    asked_for = weights @ asked
    drawn = np.sort((weights @ found)[asked_for > 0] / asked_for[asked_for > 0])
    last = len(drawn) - 1
    return (float(drawn[round(0.025 * last)]), float(drawn[round(0.975 * last)])) if len(drawn) else None


def _clusters(outcomes: Sequence[Outcome]) -> _Ints:
    """The session of each turn, numbered over seeds."""
    found: list[int] = []
    start = 0
    for outcome in outcomes:
        sessions = [record.session for record in sorted(outcome.records)]
        found += [start + session for session in sessions]
        start += max(sessions) + 1
    return np.array(found)


def _replicates(latency: Mapping[str, _Ints], clusters: _Ints, replicates: int, seed: int) -> dict[str, _Ints]:
    """p95 of each condition in each replicate."""
    draw = np.random.default_rng(seed)
    count = int(clusters.max()) + 1
    found: dict[str, list[_Ints]] = {name: [] for name in latency}
    for start in range(0, replicates, _CHUNK):
        many = min(_CHUNK, replicates - start)
        weights = draw.multinomial(count, np.full(count, 1 / count), size=many)[:, clusters]
        for name, values in latency.items():
            found[name].append(_p95(values, weights))
    return {name: np.concatenate(parts) for name, parts in found.items()}


def _p95(values: _Ints, weights: NDArray[Any]) -> _Ints:
    """Nearest rank, a row of weights a replicate."""
    order = np.argsort(values, kind="stable")
    seen = np.cumsum(weights[:, order], axis=1)
    place = (20 * seen >= 19 * seen[:, -1:]).argmax(axis=1)
    p95: _Ints = values[order][place]
    return p95


def _interval(values: _Ints) -> Interval:
    ordered = np.sort(values)
    last = len(ordered) - 1
    return Interval(float(ordered[round(0.025 * last)]) / 1e6, float(ordered[round(0.975 * last)]) / 1e6)
