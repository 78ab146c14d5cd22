"""The cells of a plan over each clock hour of a day: how much it matters which hour is replayed.

Every hour is a stream of its own: next uses, first touches, K* and so the budgets in percent are those of the hour.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from metrics.core.clock import HOUR_US
from metrics.core.engine import SpreadingEngine
from metrics.core.trace import Trace
from replay.residency.cells import Cells, Plan
from replay.residency.replay import replay
from replay.residency.stream_file import StreamFile, busiest_hour

__all__ = ["HOURS", "Hour", "Hours", "hours_here", "hours_of", "hours_spread"]

#: Most hours that are replayed: a day.
HOURS = 24


@dataclass(frozen=True)
class Hours:
    """The hours to replay, one after the other.

    Attributes
    ----------
    start_us, count : int
        Start of the first one, in microseconds UTC, and how many.
    busiest : int
        Place of the busiest one, counted from 0.
    """

    start_us: int
    count: int
    busiest: int

    @property
    def end_us(self) -> int:
        return self.start_us + self.count * HOUR_US

    def bounds(self, place: int) -> tuple[int, int]:
        """Start and end of one hour."""
        start = self.start_us + place * HOUR_US
        return start, start + HOUR_US


@dataclass(frozen=True)
class Hour:
    """One hour replayed: how many sessions it has, and its cells by object key."""

    sessions: int
    cells: Mapping[str, Cells]

    @property
    def calls(self) -> int:
        return next(iter(self.cells.values()))[0].calls


def hours_of(trace: Trace) -> Hours:
    """The clock hours that a window touches; of more than `HOURS`, those of the clock day of its busiest hour.

    Hours and days are aligned to the zone's offset at the first call of the window, as the busiest hour is.
    """
    busiest_us, offset = busiest_hour(trace), trace.settings.clock.shift_us(trace.profile.first_us)
    busiest = (busiest_us + offset) // HOUR_US
    first, last = ((t_us + offset) // HOUR_US for t_us in (trace.profile.first_us, trace.profile.last_us))
    if last - first >= HOURS:
        midnight = busiest // HOURS * HOURS
        first, last = max(first, midnight), min(last, midnight + HOURS - 1)
    return Hours(first * HOUR_US - offset, last - first + 1, busiest - first)


def hours_here(plan: Plan, file: StreamFile, hours: Hours, beta: int, threads: int) -> list[Hour]:
    """The cells of each hour; `file` holds the calls of all of them, `beta` is KV bytes a token."""
    return [_hour(plan, file, hours, beta, place, threads) for place in range(hours.count)]


def hours_spread(engine: SpreadingEngine, plan: Plan, path: Path, hours: Hours, beta: int) -> list[Hour]:
    """The same, a task an hour; the stream file at `path` is brought to the workers."""
    return engine.scatter([_Part(plan, hours, beta, place) for place in range(hours.count)], _hour_part, path)


@dataclass(frozen=True)
class _Part:
    plan: Plan
    hours: Hours
    beta: int
    place: int


def _hour_part(part: _Part, path: Path) -> Hour:
    return _hour(part.plan, _opened(path), part.hours, part.beta, part.place, threads=1)


@cache
def _opened(path: Path) -> StreamFile:
    """A worker replays several hours of one file."""
    return StreamFile.open(path)


def _hour(plan: Plan, file: StreamFile, hours: Hours, beta: int, place: int, threads: int) -> Hour:
    start, end = hours.bounds(place)
    cells = {key: replay(file.between(key, start, end), plan.policies, plan.budgets, plan.release, beta=beta,
                         threads=threads) for key in plan.keys}
    return Hour(file.between("session", start, end).object_count, cells)
