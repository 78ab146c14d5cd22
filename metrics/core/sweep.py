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

__all__ = ["Peak", "levels_query", "moves_of", "peaks"]


@dataclass(frozen=True)
class Peak:
    """The highest levels of a sweep, each at its own time: tokens, and intervals."""

    tokens: int
    intervals: int


def moves_of(intervals: str) -> str:
    """SQL for the arrivals and departures of a relation with `start_us`, `end_us` and `tokens`; all are part 0."""
    return f"""
        select 0 as part, start_us as t_us, tokens as up, 0 as down, 1 as came, 0 as went from {intervals} as a
        union all
        select 0 as part, end_us as t_us, 0 as up, tokens as down, 0 as came, 1 as went from {intervals} as d"""


Levels = npt.NDArray[np.int64]

_BUCKETS = 1 << 16
_COLUMNS = ("up", "down", "came", "went")
_SUMS = ", ".join(f"cast(sum({name}) as bigint) as {name}" for name in _COLUMNS)
_COUNTS = "select part, {bucket} as bucket, {sums} from ({moves}) as m group by part, {bucket}"
_INSIDE = """
    select peak, max(tokens) as tokens, max(intervals) as intervals from (
        select peak, base + cast(sum(up - down) over upto as bigint) + down as tokens,
               base_count + cast(sum(came - went) over upto as bigint) + went as intervals
        from (
            select /*+ broadcast(candidates) */ peak, candidates.bucket as bucket, base, base_count, t_us, {sums}
            from ({moves}) as m join candidates on m.part = candidates.part and {bucket} = candidates.bucket
            group by peak, candidates.bucket, base, base_count, t_us
        ) as events
        window upto as (partition by peak, bucket order by t_us rows unbounded preceding)
    ) as levels group by peak"""


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
    return query.format(events=_AT_ONCE.format(moves=moves, bucket=bucket), bucket=bucket)


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
            select {bucket} as bucket, cast(sum(up - down) as bigint) as net,
                   cast(sum(came - went) as bigint) as net_count
            from moves group by {bucket}
        ), offsets as (
            select bucket,
                   coalesce(cast(sum(net) over before as bigint), 0) as base,
                   coalesce(cast(sum(net_count) over before as bigint), 0) as base_count
            from nets window before as (order by bucket rows between unbounded preceding and 1 preceding)
        ), levels as (
            select /*+ broadcast(offsets) */ events.bucket as bucket, t_us, down, went,
                   base + cast(sum(up - down) over upto as bigint) as tokens,
                   base_count + cast(sum(came - went) over upto as bigint) as intervals
            from events join offsets on events.bucket = offsets.bucket
            window upto as (partition by events.bucket order by t_us rows unbounded preceding)
        )
        select bucket, t_us, tokens, intervals, tokens + down as tokens_at, intervals + went as intervals_at
        from levels"""


def peaks(engine: Engine, moves: str, sets: Sequence[Sequence[int]], first_us: int, last_us: int) -> list[Peak]:
    """The most that is resident at once, for each of several sets of parts of the moves; exact.

    A time bucket whose level at its start plus all its arrivals does not exceed a level that is
    reached elsewhere cannot hold the peak, and is not looked into.

    Parameters
    ----------
    moves : str
        As for `levels_query`, with one more column, part: an integer from 0.
    sets : sequence of sequences of int
        The parts that happen together.
    first_us, last_us : int
        Times between which all moves lie, both inclusive.
    """
    bucket = engine.dialect.div(f"t_us - {first_us}", -(-(last_us - first_us + 1) // _BUCKETS))
    counts = _counts(engine, moves, bucket, 1 + max(part for parts in sets for part in parts))
    tops, inside = [], []
    for place, parts in enumerate(sets):
        up, down, came, went = counts[:, list(parts)].sum(axis=1)
        tokens, base, dense = _reached(up, down)
        intervals, base_count, crowded = _reached(came, went)
        tops.append(Peak(tokens, intervals))
        buckets = np.flatnonzero(dense | crowded)
        inside += [np.stack([np.full(len(buckets), part), np.full(len(buckets), place), buckets, base[buckets],
                             base_count[buckets]]) for part in parts]
    for place, higher in _look_inside(engine, moves, bucket, np.concatenate(inside, axis=1)).items():
        tops[place] = Peak(max(tops[place].tokens, higher.tokens), max(tops[place].intervals, higher.intervals))
    return tops


def _counts(engine: Engine, moves: str, bucket: str, parts: int) -> Levels:
    """What each part adds to each bucket: an array by column, part and bucket."""
    counts = np.zeros((len(_COLUMNS), parts, _BUCKETS), np.int64)
    found = engine.fetch(_COUNTS.format(moves=moves, bucket=bucket, sums=_SUMS))
    for column, name in enumerate(_COLUMNS):
        counts[column, found["part"].to_numpy(), found["bucket"].to_numpy()] = found[name].to_numpy()
    return counts


def _look_inside(engine: Engine, moves: str, bucket: str, candidates: Levels) -> dict[int, Peak]:
    """The peaks within buckets that can hold the highest: rows of part, set, bucket, and the levels at its start."""
    columns = dict(zip(("part", "peak", "bucket", "base", "base_count"), candidates, strict=True))
    if not len(columns["peak"]):
        return {}
    with inline(engine, "candidates", **columns):
        return {row["peak"]: Peak(row["tokens"], row["intervals"])
                for row in engine.rows(_INSIDE.format(moves=moves, bucket=bucket, sums=_SUMS))}


def _reached(up: Levels, down: Levels) -> tuple[int, Levels, npt.NDArray[np.bool_]]:
    """The highest level at a bucket's end, the level at each start, and where a higher one could be."""
    after = np.cumsum(up - down)
    base = after - (up - down)
    best = int(after.max())
    return best, base, base + up > best
