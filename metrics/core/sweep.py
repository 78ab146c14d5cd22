"""The exact event sweep: how much is resident at once (paper 4.2, Eq. 6).

An interval [start, end] is closed: at equal times arrivals come before departures. Where an engine
would run one sum over everything in one place, running sums go through time buckets first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from metrics.core.clock import HOUR_US
from metrics.core.engine import Engine, inline

__all__ = ["Peak", "Sweep", "levels_query", "moves_of"]


@dataclass(frozen=True)
class Peak:
    """The highest levels of a sweep, each at its own time: tokens, and intervals."""

    tokens: int
    intervals: int


def moves_of(intervals: str) -> str:
    """SQL for the arrivals and departures of a relation with `start_us`, `end_us` and `tokens`."""
    return f"""
        select start_us as t_us, tokens as up, 0 as down, 1 as came, 0 as went from {intervals} as a
        union all
        select end_us as t_us, 0 as up, tokens as down, 0 as came, 1 as went from {intervals} as d"""


Levels = npt.NDArray[np.int64]

_BUCKETS = 1 << 16
_COLUMNS = ("up", "down", "came", "went")
_SUMS = ", ".join(f"cast(sum({name}) as bigint) as {name}" for name in _COLUMNS)
_INSIDE = """
    select peak, max(tokens) as tokens, max(intervals) as intervals from (
        select events.peak as peak, base + cast(sum(up - down) over upto as bigint) + down as tokens,
               base_count + cast(sum(came - went) over upto as bigint) + went as intervals
        from ({events}) as events join candidates
        on events.peak = candidates.peak and events.bucket = candidates.bucket
        window upto as (partition by events.peak, events.bucket order by t_us rows unbounded preceding)
    ) as levels group by peak"""
_EVENTS_INSIDE = """
    select {peak} as peak, t_us, {bucket} as bucket, {sums} from ({moves}) as m
    where {bucket} in (select bucket from candidates where peak = {peak}) group by t_us"""


def levels_query(engine: Engine, moves: str, bucket_us: int = HOUR_US, offset_us: int = 0) -> str:
    """SQL for the level at every time at which something arrives or departs.

    Parameters
    ----------
    moves : str
        A query with t_us, up and down (tokens that arrive and depart), came and went (how many).
    bucket_us, offset_us : int
        Width of the time buckets, and what is added to a time to align them.

    Returns
    -------
    str
        Query with columns bucket, t_us, tokens and intervals (resident just after t_us),
        tokens_at and intervals_at (resident at t_us itself, before its departures).
    """
    bucket = engine.dialect.div(f"t_us + {offset_us}", bucket_us)
    query = _BUCKETED if engine.dialect.sums_in_buckets else _PLAIN
    return query.format(events=_AT_ONCE.format(moves=moves, bucket=bucket))


_AT_ONCE = """moves as ({moves}), events as (
            select t_us, {bucket} as bucket, cast(sum(up) as bigint) as up, cast(sum(down) as bigint) as down,
                   cast(sum(came) as bigint) as came, cast(sum(went) as bigint) as went
            from moves group by t_us
        )"""
_PLAIN = """
        with {events}, levels as (
            select bucket, t_us, down, went, cast(sum(up - down) over upto as bigint) as tokens,
                   cast(sum(came - went) over upto as bigint) as intervals
            from events window upto as (order by t_us rows unbounded preceding)
        )
        select bucket, t_us, tokens, intervals, tokens + down as tokens_at, intervals + went as intervals_at
        from levels"""
_BUCKETED = """
        with {events}, nets as (
            select bucket, cast(sum(up - down) as bigint) as net, cast(sum(came - went) as bigint) as net_count
            from events group by bucket
        ), offsets as (
            select bucket,
                   coalesce(cast(sum(net) over before as bigint), 0) as base,
                   coalesce(cast(sum(net_count) over before as bigint), 0) as base_count
            from nets window before as (order by bucket rows between unbounded preceding and 1 preceding)
        ), levels as (
            select events.bucket as bucket, t_us, down, went,
                   base + cast(sum(up - down) over upto as bigint) as tokens,
                   base_count + cast(sum(came - went) over upto as bigint) as intervals
            from events join offsets on events.bucket = offsets.bucket
            window upto as (partition by events.bucket order by t_us rows unbounded preceding)
        )
        select bucket, t_us, tokens, intervals, tokens + down as tokens_at, intervals + went as intervals_at
        from levels"""


class Sweep:
    """Peaks of several sets of moves over one span of time, exact, but only where it has to be.

    A time bucket whose level at its start plus all its arrivals does not exceed a level that is
    reached elsewhere cannot hold the peak, and is not looked into. What a set of moves adds to each
    bucket is counted once, however many peaks it takes part in.

    Parameters
    ----------
    first_us, last_us : int
        Times between which all moves lie, both inclusive.
    """

    def __init__(self, engine: Engine, first_us: int, last_us: int) -> None:
        self._engine = engine
        self._bucket = engine.dialect.div(f"t_us - {first_us}", -(-(last_us - first_us + 1) // _BUCKETS))
        self._counted: dict[str, dict[str, Levels]] = {}

    def peak(self, *moves: str) -> Peak:
        """The most that is resident at once when all these moves happen; each as for `levels_query`."""
        return self.peaks([moves])[0]

    def peaks(self, sets: Sequence[Sequence[str]]) -> list[Peak]:
        """The peak of each set of moves."""
        self._count([part for moves in sets for part in moves])
        tops, inside = [], []
        for place, moves in enumerate(sets):
            parts = [self._counted[part] for part in moves]
            up, down, came, went = (np.sum([part[name] for part in parts], axis=0) for name in _COLUMNS)
            tokens, base, dense = _reached(up, down)
            intervals, base_count, crowded = _reached(came, went)
            tops.append(Peak(tokens, intervals))
            buckets = np.flatnonzero(dense | crowded)
            inside.append(np.stack([np.full(len(buckets), place), buckets, base[buckets], base_count[buckets]]))
        for place, higher in self._look_inside(sets, np.concatenate(inside, axis=1)).items():
            tops[place] = Peak(max(tops[place].tokens, higher.tokens), max(tops[place].intervals, higher.intervals))
        return tops

    def _look_inside(self, sets: Sequence[Sequence[str]], candidates: Levels) -> dict[int, Peak]:
        """The peaks within buckets that can hold the highest: rows of set, bucket, and the levels at its start."""
        places, buckets, base, base_count = candidates
        if not len(places):
            return {}
        events = " union all ".join(
            _EVENTS_INSIDE.format(peak=place, moves=" union all ".join(sets[place]), bucket=self._bucket, sums=_SUMS)
            for place in np.unique(places).tolist())
        with inline(self._engine, "candidates", peak=places, bucket=buckets, base=base, base_count=base_count):
            return {row["peak"]: Peak(row["tokens"], row["intervals"])
                    for row in self._engine.rows(_INSIDE.format(events=events))}

    def _count(self, parts: Sequence[str]) -> None:
        """What each part adds to each bucket; what is known is not asked again."""
        new = [part for part in dict.fromkeys(parts) if part not in self._counted]
        if not new:
            return
        found = self._engine.fetch(" union all ".join(
            f"select {place} as part, {self._bucket} as bucket, {_SUMS} from ({part}) as m group by {self._bucket}"
            for place, part in enumerate(new)))
        places = found["part"].to_numpy()
        for place, part in enumerate(new):
            mine = places == place
            columns = {name: np.zeros(_BUCKETS, np.int64) for name in _COLUMNS}
            for name, column in columns.items():
                column[found["bucket"].to_numpy()[mine]] = found[name].to_numpy()[mine]
            self._counted[part] = columns


def _reached(up: Levels, down: Levels) -> tuple[int, Levels, npt.NDArray[np.bool_]]:
    """The highest level at a bucket's end, the level at each start, and where a higher one could be."""
    after = np.cumsum(up - down)
    base = after - (up - down)
    best = int(after.max())
    return best, base, base + up > best
