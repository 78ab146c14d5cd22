"""Context found in the prefix cache."""

from __future__ import annotations

import pytest
from metrics_rows import Census, call

from metrics.reuse import METRIC

CALLS = ("reuse.calls_ge_95", "reuse.calls_lt_20", "reuse.calls_20_80")
SESSIONS = ("reuse.sessions_ge_80", "reuse.sessions_20_80")


@pytest.mark.both_engines
def test_aggregate_and_carry_tax(census: Census) -> None:
    # Reported and sessioned: 100/80, 300/0, 100/100 (reported 170, clipped). c = 180 of x = 500; 320 to compute.
    found = census(METRIC, [call("a", 0, 100, cached=80), call("a", 1, 300, cached=0), call("b", 2, 100, cached=170),
                            call("b", 3, 900), call(None, 4, 900, cached=900)])
    assert found.values("reuse.aggregate", "reuse.carry_tax") == [180 / 500, 500 / 320]
    assert found.n("reuse.aggregate") == 3
    # Sessions by their own aggregate: a 80/400 = 20 % exactly, b 100/100 without the call that reports nothing.
    assert found.values(*SESSIONS) == [1 / 2, 1 / 2]


@pytest.mark.parametrize(("context", "cached", "expected"), [
    (100, 95, [1, 0, 0]), (1000, 949, [0, 0, 0]), (100, 100, [1, 0, 0]),  # 95 % is warm, 94.9 % neither
    (100, 20, [0, 0, 1]), (1000, 199, [0, 1, 0]), (100, 0, [0, 1, 0]),  # 20 % is between, 19.9 % cold
    (100, 80, [0, 0, 0]), (1000, 799, [0, 0, 1]),  # 80 % is no longer between
    (3, 1, [0, 0, 1]), (5 * 10**9, 10**9 - 1, [0, 1, 0]),
])
def test_edges_are_exact(census: Census, context: int, cached: int, expected: list[int]) -> None:
    assert census(METRIC, [call("a", 0, context, cached=cached)]).values(*CALLS) == expected


@pytest.mark.parametrize(("context", "cached", "expected"), [
    (100, 80, [1, 0]), (1000, 799, [0, 1]), (100, 20, [0, 1]), (1000, 199, [0, 0]),
])
def test_edges_of_sessions(census: Census, context: int, cached: int, expected: list[int]) -> None:
    # Two calls: all of the cached tokens in the first, none in the second.
    rows = [call("a", 0, context - 10, cached=cached), call("a", 1, 10, cached=0)]
    assert census(METRIC, rows).values(*SESSIONS) == expected


def test_empty_contexts_have_no_reuse(census: Census) -> None:
    found = census(METRIC, [call("a", 0, 0, cached=0), call("b", 1, 10, cached=1)])
    assert found.values("reuse.aggregate", *CALLS, *SESSIONS) == [0.1, 0, 1, 0, 0, 0]
    assert [found.n(key) for key in ("reuse.aggregate", *CALLS, *SESSIONS)] == [2, 1, 1, 1, 1, 1]
    empty = census(METRIC, [call("a", 0, 0, cached=0)])
    assert set(empty.whys().values()) == {"every call that reports cached tokens has a context of 0"}
    assert len(empty.whys()) == 7
    assert empty.rows("reuse_histogram", "calls", "share") == [(0, None)] * 50


def test_all_cached(census: Census) -> None:
    found = census(METRIC, [call("a", 0, 10, cached=10)])
    assert found["reuse.aggregate"] == 1
    assert found.whys() == {"reuse.carry_tax": "no context had to be computed"}


def test_histograms(census: Census) -> None:
    # Bins of 2 %: 0, 1.99 % -> 0; 2 % -> 1; 50 % -> 25; 98 %, 100 % -> 49.
    cached = (0, 199, 200, 5000, 9800, 10_000)
    found = census(METRIC, [call(f"s{c}", 0, 10_000, cached=c) for c in cached] + [call("z", 0, 0, cached=0)])
    for table, of in (("reuse_histogram", "calls"), ("session_reuse_histogram", "sessions")):
        rows = found.rows(table, "low", "high", of, "share")
        assert [row for row in rows if row[2]] == [
            (0.0, 0.02, 2, 2 / 6), (0.02, 0.04, 1, 1 / 6), (0.5, 0.52, 1, 1 / 6), (0.98, 1.0, 2, 2 / 6)]
        assert len(rows) == 50


def test_what_is_missing(census: Census) -> None:
    found = census(METRIC, [call("a", 0, 10), call(None, 1, 10, cached=5)])
    assert set(found.whys().values()) == {"the trace reports no cached tokens"}
    assert "reuse_histogram" not in found
    unsessioned = census(METRIC, [call(None, 0, 10, cached=5)])
    assert set(unsessioned.whys().values()) == {"no call of the trace has a session id"}


@pytest.mark.parametrize("calls", [1, 100])
def test_large_counts(census: Census, calls: int) -> None:
    # The largest contexts that adapters let through; the sums of a hundred such calls exceed 10^11.
    rows = [call("a", at, 8 * 10**9, cached=4 * 10**9) for at in range(calls)]
    assert census(METRIC, rows)["reuse.aggregate"] == 0.5
