"""How large the trace is, and what its window cuts."""

from __future__ import annotations

import pytest
from metrics_rows import Census, call, window

from metrics.shape import METRIC

KEYS = ("trace.calls", "trace.sessions", "trace.sessioned_calls", "trace.models", "trace.span_s")
CUTS = ("trace.sessions_cut_left", "trace.sessions_cut_right")


@pytest.mark.both_engines
def test_counts(census: Census) -> None:
    found = census(METRIC, [
        call("a", 0, model="opus"), call("a", 100, model="mini"), call("b", 50.5, model="opus"), call(None, 300.25),
    ])
    assert found.values(*KEYS) == [4, 2, 3, 2, 300.25]
    assert [found.n(key) for key in KEYS] == [4, 3, 4, 3, 4]


def test_a_trace_without_sessions_and_models(census: Census) -> None:
    found = census(METRIC, [call(None, 0), call(None, 1)])
    assert found.values("trace.sessions", "trace.sessioned_calls", *CUTS) == [0, 0, 0, 0]
    assert found.whys() == {"trace.models": "the trace names no models"}


def test_one_call_spans_no_time(census: Census) -> None:
    assert census(METRIC, [call("a", 7)])["trace.span_s"] == 0


def test_a_session_is_cut_where_its_calls_lie_outside(census: Census) -> None:
    # Window [0, 100): 0 is inside, 100 is not. a reaches in from the left, c goes on to the right, d lies outside.
    rows = [call("a", -10), call("a", 0), call("b", 20), call("c", 30), call("c", 100), call("d", 500)]
    found = census(METRIC, rows, window(0, 100))
    assert found.values("trace.calls", "trace.sessions", *CUTS) == [3, 3, 1, 1]
    assert [found.bounds(key) for key in CUTS] == [(1, 1), (1, 1)]
    assert found["trace.span_s"] == 30


def test_a_session_is_cut_where_the_input_ends_with_the_window(census: Census) -> None:
    # Nothing lies before 0, so nobody knows what a and b did before; after 100 the input shows that b went on.
    rows = [call("a", 10), call("b", 20), call("b", 150)]
    found = census(METRIC, rows, window(0, 100))
    assert found.values(*CUTS) == [2, 1]
    assert [found.bounds(key) for key in CUTS] == [(0, 2), (1, 1)]


def test_whole_sessions_are_cut_only_by_their_own_calls(census: Census) -> None:
    rows = [call("a", 10), call("b", 20), call("b", 150)]
    assert census(METRIC, rows, window(0, 100), whole_sessions=True).values(*CUTS) == [0, 1]
    assert census(METRIC, rows, whole_sessions=True).values(*CUTS) == [0, 0]


def test_without_a_window_no_session_can_be_ruled_out(census: Census) -> None:
    found = census(METRIC, [call("a", 10), call("b", 20), call(None, 30)])
    assert found.values(*CUTS) == [2, 2]
    assert [found.bounds(key) for key in CUTS] == [(0, 2), (0, 2)]
