"""Which hours are replayed, and what each holds."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from zoneinfo import ZoneInfo

from metrics_rows import T0, Census, call

from metrics.core.clock import HOUR_US, Clock
from replay.residency.budgets import parse_budgets
from replay.residency.cells import Plan
from replay.residency.hours import Hours, hours_here, hours_of
from replay.residency.stream_file import extract_range

PLAN = Plan("window", ("session",), ("lru",), parse_budgets(["100%"]), "last", hours=True)


def test_a_short_window_has_all_its_hours(census: Census) -> None:
    # From 23:50 to 2:10 are four clock hours, of which the third has most calls; unsessioned ones count for none.
    times = [23 * 3600 + 3000, 86_400 + 10, *(86_400 + 3600 + n for n in range(3)), 86_400 + 7800]
    trace = census.trace([*(call("s", at) for at in times), *(call(None, 86_400 + n) for n in range(9))])
    assert hours_of(trace) == Hours(T0 + 23 * HOUR_US, 4, 2)


def test_a_long_window_has_the_day_of_its_busiest_hour(census: Census) -> None:
    # In Kolkata, 5:30 ahead, the day of the busiest hour, 20:00Z, is from 18:30Z to 18:30Z; the window ends at 15:00Z.
    rows = [call("s", at * 3600) for at in (1, 20.6, 20.7, 20.8, 39)]
    trace = census.trace(rows, clock=Clock(ZoneInfo("Asia/Kolkata")))
    found = hours_of(trace)
    assert found == Hours(T0 + 18 * HOUR_US + HOUR_US // 2, 21, 2)
    assert found.end_us == T0 + 39 * HOUR_US + HOUR_US // 2
    # Of a window without an end the whole day.
    longer = census.trace([*rows, call("s", 99 * 3600)], clock=Clock(ZoneInfo("Asia/Kolkata")))
    assert hours_of(longer) == replace(found, count=24)


def test_an_hour_is_a_stream_of_its_own(census: Census, tmp_path: Path) -> None:
    # Sessions a and b in the first hour; b again in the second, a first touch anew; nothing in the third. In the first
    # hour a leaves after its call, its last, so the peak is b with 30 tokens.
    trace = census.trace([call("a", 0, 10), call("b", 1, 20), call("b", 2, 30), call("b", 3600, 40),
                          call("c", 3 * 3600, 60)])
    file = extract_range(trace, "hours", T0, T0 + 4 * HOUR_US, tmp_path / "stream.arrow")
    hours = hours_here(PLAN, file, Hours(T0, 4, 0), 2, threads=1)
    cells = [hour.cells["session"][0] for hour in hours]
    assert [(hour.sessions, cell.calls, cell.misses, cell.kstar_bytes) for hour, cell in zip(hours, cells,
                                                                                                 strict=True)] == [
        (2, 3, 2, 60), (1, 1, 1, 80), (0, 0, 0, 0), (1, 1, 1, 120)]
