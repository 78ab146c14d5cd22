"""What holding every live session takes."""

from __future__ import annotations

import pytest
from metrics_rows import BETA, DAY, HOUR, MINUTE, Census, Row, call

from metrics.ceiling import METRIC
from metrics.core.clock import Clock, find_zone

HELD, LIVE = "ceiling.hold_all_live_bytes", "ceiling.peak_sessions"
MINUTES, HOURS = "ceiling.minute_bins_bytes", "ceiling.hour_bins_bytes"
TIMES = ("ceiling.time_p50_bytes", "ceiling.time_p95_bytes", "ceiling.time_p99_bytes")


def life(name: str, start: float, end: float, peak: int) -> list[Row]:
    """A session that lives from start to end and holds `peak` tokens."""
    return [call(name, start, peak), call(name, end, 0)]


def test_a_departure_and_an_arrival_at_one_time_count_together(census: Census) -> None:
    found = census(METRIC, [*life("a", 0, 10, 5), *life("b", 10, 20, 3)])
    assert found.values(HELD, LIVE) == [8 * BETA, 2]
    apart = census(METRIC, [*life("a", 0, 10, 5), *life("b", 10.000001, 20, 3)])
    assert apart.values(HELD, LIVE) == [5 * BETA, 1]
    assert apart.n(HELD) == 2


@pytest.mark.both_engines
def test_the_peak_is_the_sessions_own_from_its_first_call_on(census: Census) -> None:
    # a holds its peak of 7 although it is reached later, and after b has gone.
    found = census(METRIC, [call("a", 0, 1), call("a", 100, 7), *life("b", 10, 20, 2), call(None, 15, 999)])
    assert found[HELD] == 9 * BETA


def test_most_sessions_and_most_bytes_at_different_times(census: Census) -> None:
    # Three small sessions at 0 to 10, one large at 100.
    small = [row for name in "abc" for row in life(name, 0, 10, 1)]
    assert census(METRIC, [*small, call("d", 100, 50)]).values(HELD, LIVE) == [50 * BETA, 3]


def test_single_calls_live_for_a_moment(census: Census) -> None:
    found = census(METRIC, [call("a", 5, 2), call("b", 5, 3), call("c", 6, 4)])
    assert found.values(HELD, LIVE) == [5 * BETA, 2]
    # From 5 to 6 s nothing is held.
    assert found.values(*TIMES) == [0, 0, 0]


def test_quantiles_over_time(census: Census) -> None:
    # 10 tokens in [0, 60), 30 in [60, 96), 20 in [96, 99), 0 in [99, 99.5), 40 in [99.5, 100): 100 s.
    # Sorted: 0 for 0.5 s, 10 for 60 s, 20 for 3 s, 30 for 36 s, 40 for 0.5 s.
    rows = [*life("a", 0, 96, 10), *life("b", 60, 99, 20), *life("c", 99.5, 100, 40)]
    # 50 of 100 s: 10. 95 s and 99 s: 30 (60.5 + 3 + 36 = 99.5).
    assert census(METRIC, rows).values(*TIMES) == [10 * BETA, 30 * BETA, 30 * BETA]


def test_quantiles_over_time_across_empty_hours(census: Census) -> None:
    # 5 tokens for 1 h, then nothing for 8 h, then 7 tokens for 1 h: of 10 h, 8 are empty.
    rows = [*life("a", 0, HOUR, 5), *life("b", 9 * HOUR, 10 * HOUR, 7)]
    assert census(METRIC, rows).values(*TIMES) == [0, 7 * BETA, 7 * BETA]


def test_one_moment_has_no_time(census: Census) -> None:
    found = census(METRIC, [call("a", 5, 2), call("b", 5, 3)])
    assert found.whys() == dict.fromkeys(TIMES, "all calls start at one moment")


def test_minute_and_hour_bins(census: Census) -> None:
    # a and b share minute 0 but not a moment, c comes in minute 2 of the same hour, d in the next hour.
    rows = [*life("a", 1, 10, 5), *life("b", 50, 59, 7), call("c", 150, 1), call("d", HOUR, 11)]
    assert census(METRIC, rows).values(HELD, MINUTES, HOURS) == [11 * BETA, 12 * BETA, 13 * BETA]


def test_a_session_is_in_every_bin_that_it_touches(census: Census) -> None:
    # a touches minutes 0 to 2; b lies in minute 1, c in minute 2 (it starts with it), d after it.
    rows = [*life("a", 59, 2 * MINUTE, 1), *life("b", 61, 62, 10), call("c", 179, 100), call("d", 180, 50)]
    assert census(METRIC, rows)[MINUTES] == 101 * BETA


def test_hours_and_what_is_carried_through_a_quiet_one(census: Census) -> None:
    # a lives from 0:30 to 3:15, b for a moment at 1:30. In hour 2 nothing happens; at 3:10 c comes.
    rows = [*life("a", 1800, 3 * HOUR + 900, 5), call("b", HOUR + 1800, 3), call("c", 3 * HOUR + 1200, 1)]
    assert census(METRIC, rows).rows("ceiling_by_hour", "hour", "peak_bytes", "peak_sessions") == [
        ("2026-01-01T00:00:00Z", 5 * BETA, 1), ("2026-01-01T01:00:00Z", 8 * BETA, 2),
        ("2026-01-01T02:00:00Z", 5 * BETA, 1), ("2026-01-01T03:00:00Z", 5 * BETA, 1)]


def test_hours_in_which_nothing_is_held(census: Census) -> None:
    rows = [call("a", 0, 5), call("b", 2 * HOUR, 3)]
    assert census(METRIC, rows).rows("ceiling_by_hour", "peak_bytes", "peak_sessions") == [
        (5 * BETA, 1), (0, 0), (3 * BETA, 1)]


def test_hours_of_a_zone(census: Census) -> None:
    # Kolkata is 5:30 ahead: 0:00Z is 5:30 there, 0:20Z still in hour 5, 0:40Z in hour 6.
    rows = [call("a", 0, 5), call("b", 20 * MINUTE, 3), call("c", 40 * MINUTE, 9)]
    clock = Clock(find_zone("Asia/Kolkata"))
    found = census(METRIC, rows, clock=clock)
    assert found.rows("ceiling_by_hour", "hour", "peak_bytes") == [
        ("2026-01-01T05:00:00+05:30", 5 * BETA), ("2026-01-01T06:00:00+05:30", 9 * BETA)]
    assert found[HOURS] == 9 * BETA
    assert census(METRIC, rows)[HOURS] == 17 * BETA


def test_more_than_a_thousand_hours(census: Census) -> None:
    # 0:00 on day 0 to 8:00 on day 41 touches 41 * 24 + 9 = 993 hours; day 42 makes 1,017: two hours a row.
    for days, rows in ((41, 993), (42, 509)):
        found = census(METRIC, [call("a", 0, 5), call("b", days * DAY + 8 * HOUR, 3)])
        table = found.rows("ceiling_by_hour", "hour", "peak_bytes")
        assert len(table) == rows
        assert [peak for _, peak in table] == [5 * BETA, *[0] * (rows - 2), 3 * BETA]


def test_no_session(census: Census) -> None:
    found = census(METRIC, [call(None, 0)])
    assert set(found.whys().values()) == {"no call of the trace has a session id"}
    assert len(found.whys()) == 7


def test_hours_before_1970_in_a_zone(census: Census) -> None:
    # A trace whose clock starts at 0, in New York: 4:30Z and 5:30Z are 23:30 and 0:30 there, in hours of their own.
    rows = [call("a", 0, 3) | {"t_us": 9 * HOUR // 2 * 10**6}, call("b", 0, 4) | {"t_us": 11 * HOUR // 2 * 10**6}]
    found = census(METRIC, rows, clock=Clock(find_zone("America/New_York")))
    assert found[HOURS] == 4 * BETA
    assert found.rows("ceiling_by_hour", "hour", "peak_bytes") == [
        ("1969-12-31T23:00:00-05:00", 3 * BETA), ("1970-01-01T00:00:00-05:00", 4 * BETA)]
