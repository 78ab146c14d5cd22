"""Calls per session."""

from __future__ import annotations

import pytest
from metrics_rows import Census, Row, call

from metrics.depth import METRIC

KEYS = ("depth.p50", "depth.p90", "depth.p99", "depth.max", "depth.mean")


def sessions(*depths: int) -> list[Row]:
    return [call(f"s{place}", at) for place, depth in enumerate(depths) for at in range(depth)]


@pytest.mark.both_engines
def test_four_sessions(census: Census) -> None:
    # Sorted 1, 2, 2, 7. Ranks: ceil(0.5 * 4) = 2 -> 2; ceil(3.6) = 4 -> 7; ceil(3.96) = 4 -> 7; mean 12 / 4.
    found = census(METRIC, [*sessions(7, 1, 2, 2), call(None, 0), call(None, 1)])
    assert found.values(*KEYS) == [2, 7, 7, 7, 3]
    assert {found.n(key) for key in KEYS} == {4}
    # P(depth > 1) = 3/4, > 2: 1/4, > 7: 0.
    assert found.rows("depth_ccdf", "calls", "sessions", "ccdf") == [(1, 1, 0.75), (2, 2, 0.25), (7, 1, 0.0)]


def test_the_median_of_an_even_number_is_the_lower_middle(census: Census) -> None:
    assert census(METRIC, sessions(1, 3))["depth.p50"] == 1


def test_p99_of_a_hundred_and_of_a_hundred_and_one_sessions(census: Census) -> None:
    # Rank ceil(0.99 * 100) = 99 is a depth of 1; ceil(0.99 * 101) = 100 as well; with two deep ones of 100 it is 9.
    assert census(METRIC, sessions(*[1] * 99, 9))["depth.p99"] == 1
    assert census(METRIC, sessions(*[1] * 100, 9))["depth.p99"] == 1
    assert census(METRIC, sessions(*[1] * 98, 9, 9))["depth.p99"] == 9


def test_bins_above_a_hundred_calls(census: Census) -> None:
    # Bins of 10 from 100 on: 100 to 109 end with 109, 120 to 129 with 129. Below, one bin a depth.
    found = census(METRIC, sessions(99, 100, 109, 120))
    assert found.rows("depth_ccdf", "calls", "sessions", "ccdf") == [
        (99, 1, 3 / 4), (109, 2, 1 / 4), (129, 1, 0.0)]
    assert found["depth.mean"] == 428 / 4


def test_no_session(census: Census) -> None:
    found = census(METRIC, [call(None, 0)])
    assert found.whys() == dict.fromkeys(KEYS, "no call of the trace has a session id")
    assert "depth_ccdf" not in found
