"""Context along a session: growth, saturation, reductions."""

from __future__ import annotations

import pytest
from metrics_rows import Census, Row, call

from metrics.context import METRIC

MARKS = ("context.index_1_p50", "context.index_11_p50", "context.index_30_p50")


def session(name: str, *contexts: int) -> list[Row]:
    return [call(name, at, context) for at, context in enumerate(contexts)]


@pytest.mark.both_engines
def test_by_index(census: Census) -> None:
    # Index 1: 10, 20, 30, 40: ranks 1, 2, 3. Index 2: 50, 60: ranks ceil(0.5) = 1, 1, ceil(1.5) = 2. Index 3: 5.
    found = census(METRIC, [
        *session("a", 10, 60, 5), *session("b", 20, 50), *session("c", 30), *session("d", 40), call(None, 0, 999)])
    assert found.rows("context_by_index", "call_index", "q1", "median", "q3", "sessions") == [
        (1, 10, 20, 30, 4), (2, 50, 50, 60, 2), (3, 5, 5, 5, 1)]
    assert found["context.index_1_p50"] == 20
    assert found.n("context.index_1_p50") == 4
    assert found.why("context.index_11_p50") == "no session reaches call 11"
    # 20 is already 95 % of the last median, 5.
    assert found["context.saturation_index"] == 1


def test_marks_and_the_configured_length(census: Census) -> None:
    rows = session("a", *range(1, 41))
    found = census(METRIC, rows)
    assert found.values(*MARKS) == [1, 11, 30]
    # 95 % of 30 is 28.5, first reached at call 29.
    assert found["context.saturation_index"] == 29
    assert len(found.rows("context_by_index", "call_index")) == 30
    short = census(METRIC, rows, context_indexes=12)
    assert short.values(*MARKS) == [1, 11, None]
    assert short.why("context.index_30_p50") == "only 12 call indexes were asked for"
    assert short["context.saturation_index"] == 12  # 95 % of 12 is 11.4


def test_saturation_is_exact_at_95_percent(census: Census) -> None:
    assert census(METRIC, session("a", 1, 95, 100))["context.saturation_index"] == 2
    assert census(METRIC, session("a", 1, 94, 100))["context.saturation_index"] == 3
    assert census(METRIC, session("a", 949, 950, 1000))["context.saturation_index"] == 2


def test_reductions(census: Census) -> None:
    # a: 100 -> 50 (1/2), 50 -> 60; b: 90 -> 30 (0.333333333, cut at 10^-9) -> 0 (0); c grows; d has one call.
    # Sorted 0, 0.333333333, 0.5: the median is the second. 2 of 3 multi-call sessions.
    found = census(METRIC, [
        *session("a", 100, 50, 60), *session("b", 90, 30, 0), *session("c", 1, 1, 2), *session("d", 5)])
    assert found["context.reduction_session_share"] == 2 / 3
    assert found.n("context.reduction_session_share") == 3
    assert found["context.reduction_remaining_p50"] == 0.333333333
    assert found.n("context.reduction_remaining_p50") == 3


def test_equal_contexts_and_a_start_from_zero_are_no_reduction(census: Census) -> None:
    found = census(METRIC, session("a", 0, 7, 7))
    assert found["context.reduction_session_share"] == 0
    assert found.whys()["context.reduction_remaining_p50"] == "no call has less context than its predecessor"


def test_single_calls_only(census: Census) -> None:
    found = census(METRIC, [*session("a", 5), *session("b", 0)])
    assert found.why("context.reduction_session_share") == "no session has two calls"
    assert found["context.saturation_index"] == 1


def test_order_is_by_time_then_by_input(census: Census) -> None:
    # By time: 10 (t = 0), then the tie at 5 in the order of the input: 30, 20.
    found = census(METRIC, [call("a", 5, 30), call("a", 5, 20), call("a", 0, 10)])
    assert [median for median, in found.rows("context_by_index", "median")] == [10, 30, 20]


def test_large_contexts(census: Census) -> None:
    found = census(METRIC, session("a", 8 * 10**9, 2 * 10**9))
    assert found["context.reduction_remaining_p50"] == 0.25


def test_no_session(census: Census) -> None:
    found = census(METRIC, [call(None, 0)])
    assert set(found.whys().values()) == {"no call of the trace has a session id"}
    assert len(found.whys()) == 6
