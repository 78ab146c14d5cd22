"""The share of resident time in which the engine works."""

from __future__ import annotations

import pytest
from metrics_rows import Census, call

from metrics.duty_cycle import METRIC

KEYS = ("ceiling.duty_cycle", "ceiling.duty_cycle.raw_ratio", "ceiling.duty_cycle.coverage")


@pytest.mark.both_engines
def test_what_runs_beyond_the_interval_does_not_count(census: Census) -> None:
    # Resident 0 to 100. Work 0 to 20 and, after the interval, 100 to 150: 20 of 100; the raw sum is 70.
    found = census(METRIC, [call("a", 0, seconds=20), call("a", 100, seconds=50)])
    assert found.values(*KEYS) == [20 / 100, 70 / 100, 1]


def test_overlaps_count_once(census: Census) -> None:
    # [0, 30], [10, 20] inside it, [25, 60], and [90, 200], cut at 100 where the last call starts: 60 + 10 = 70 of 100.
    found = census(METRIC, [call("a", 0, seconds=30), call("a", 10, seconds=10), call("a", 25, seconds=35),
                            call("a", 90, seconds=110), call("a", 100, seconds=0)])
    assert found.values(*KEYS) == [70 / 100, (30 + 10 + 35 + 110 + 0) / 100, 1]


def test_time_is_summed_over_sessions(census: Census) -> None:
    # a: 10 of 20; b: 80 of 80 and its raw sum 100; the single call c adds to the raw sum only. No mean of shares.
    found = census(METRIC, [call("a", 0, seconds=10), call("a", 20, seconds=0), call("b", 0, seconds=100),
                            call("b", 80, seconds=0), call("c", 0, seconds=5)])
    assert found.values(*KEYS) == [90 / 100, 115 / 100, 1]
    assert [found.n(key) for key in KEYS] == [3, 3, 3]


def test_sessions_with_an_unknown_duration_are_left_out(census: Census) -> None:
    # a covers 40 of the 40 + 60 seconds that sessions are resident; the last call of b reports nothing.
    found = census(METRIC, [call("a", 0, seconds=10), call("a", 40, seconds=1), call("b", 0, seconds=60),
                            call("b", 60)])
    assert found.values(*KEYS) == [10 / 40, 11 / 40, 40 / 100]
    assert found.n("ceiling.duty_cycle") == 1


def test_no_session_is_known_throughout(census: Census) -> None:
    found = census(METRIC, [call("a", 0, seconds=10), call("a", 40)])
    assert found["ceiling.duty_cycle.coverage"] == 0
    assert set(found.whys()) == {"ceiling.duty_cycle", "ceiling.duty_cycle.raw_ratio"}


def test_sessions_of_a_moment(census: Census) -> None:
    found = census(METRIC, [call("a", 0, seconds=10), call("b", 4, seconds=1)])
    assert set(found.whys()) == set(KEYS)


def test_what_is_missing(census: Census) -> None:
    assert set(census(METRIC, [call("a", 0), call("a", 9)]).whys().values()) == {"the trace reports no durations"}
    unsessioned = census(METRIC, [call(None, 0, seconds=1)])
    assert set(unsessioned.whys().values()) == {"no call of the trace has a session id"}
