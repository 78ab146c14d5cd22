"""The exact event sweep: how much is resident at once (paper 4.2, Eq. 6).

An interval [start, end] is closed: at equal times arrivals come before departures. Running sums
go through time buckets first, so that no engine has to run one sum over everything in one place.
"""

from __future__ import annotations

from dataclasses import dataclass

from metrics.core.clock import HOUR_US
from metrics.core.engine import Engine

__all__ = ["Peak", "levels_query", "moves_of", "peak"]


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
    return f"""
        with moves as ({moves}),
        events as (
            select t_us, {bucket} as bucket, cast(sum(up) as bigint) as up, cast(sum(down) as bigint) as down,
                   cast(sum(came) as bigint) as came, cast(sum(went) as bigint) as went
            from moves group by t_us
        ), nets as (
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


def peak(engine: Engine, moves: str) -> Peak:
    """The most that is resident at once; 0 without moves."""
    row = engine.row(
        "select coalesce(max(tokens_at), 0) as tokens, coalesce(max(intervals_at), 0) as intervals "
        f"from ({levels_query(engine, moves)}) as l"
    )
    return Peak(row["tokens"], row["intervals"])
