"""Gaps between the calls of a session."""

from __future__ import annotations

import pytest
from metrics_rows import Census, call

from metrics.gap import METRIC

GAPS = ("gap.p50_s", "gap.p99_s", "gap.max_s")
TURNS = ("gap.inter_share", "gap.inter_idle_share", "gap.inter_p50_s", "gap.intra_p50_s")
IDLE = ("gap.idle_p50_s", "gap.idle_p99_s", "gap.idle_max_s")


def test_start_to_start(census: Census) -> None:
    # a: 10, 30.5; b: 2. Sorted 2, 10, 30.5: ranks ceil(1.5) = 2, ceil(2.97) = 3, 3. c has no gap.
    found = census(METRIC, [call("a", 0), call("a", 40.5), call("a", 10), call("b", 5), call("b", 7), call("c", 9),
                            call(None, 0), call(None, 99)])
    assert found.values(*GAPS) == [10, 30.5, 30.5]
    assert found.n("gap.p50_s") == 3
    assert found.whys() == dict.fromkeys(TURNS, "the trace marks no user turns") | dict.fromkeys(
        IDLE, "the trace reports no durations")
    # Bins of 18 a decade of microseconds: 2 s in [2, 2.5), 10 s in [10, 15), 30.5 s in [30, 35).
    assert found.rows("gap_cdf", "kind", "seconds", "gaps", "cdf") == [
        ("all", 2.5, 1, 1 / 3), ("all", 15.0, 1, 2 / 3), ("all", 35.0, 1, 1.0)]


@pytest.mark.both_engines
def test_inter_and_intra_turn_gaps(census: Census) -> None:
    # Into turns: 100 (a), 60 (b). Within: 10, 20 (a), 30 (b). Unclassified: 1,000.
    # The first call of a session has no gap.
    found = census(METRIC, [
        call("a", 0, user=True), call("a", 10, user=False), call("a", 30, user=False), call("a", 130, user=True),
        call("a", 1130), call("b", 0, user=False), call("b", 30, user=False), call("b", 90, user=True),
    ])
    assert found.values(*TURNS) == [2 / 5, 160 / 220, 60, 20]
    assert [found.n(key) for key in TURNS] == [5, 5, 2, 3]
    assert found["gap.max_s"] == 1000
    assert found.rows("gap_cdf", "seconds", "gaps", "cdf", kind="inter") == [(65.0, 1, 0.5), (150.0, 1, 1.0)]
    assert found.rows("gap_cdf", "seconds", "gaps", "cdf", kind="intra") == [
        (15.0, 1, 1 / 3), (25.0, 1, 2 / 3), (35.0, 1, 1.0)]


@pytest.mark.both_engines
def test_turn_ids_decide_where_flags_do_not(census: Census) -> None:
    # Turn 1 opens at 0 and goes on at 10 and, after turn 2, at 110: only the gap of 60 into turn 2 is between turns.
    found = census(METRIC, [call("a", 0, turn="1"), call("a", 10, turn="1"), call("a", 70, turn="2"),
                            call("a", 110, turn="1")])
    assert found.values(*TURNS) == [1 / 3, 60 / 110, 60, 10]


def test_idle_counts_from_the_latest_end(census: Census) -> None:
    # Starts 0, 10, 20, 100. Ends 50, 12, 25. Idle before 10: max(0, 10 - 50) = 0; before 20: 20 - 50 -> 0;
    # before 100: 100 - 50 = 50, although the call before it ended at 25.
    found = census(METRIC, [call("a", 0, seconds=50), call("a", 10, seconds=2), call("a", 20, seconds=5),
                            call("a", 100)])
    assert found.values(*IDLE) == [0, 50, 50]
    assert [found.n(key) for key in IDLE] == [3, 3, 3]
    # 0 s has a bin of its own; 50 s lies in [50, 55).
    assert found.rows("gap_cdf", "seconds", "gaps", "cdf", kind="idle") == [(1e-6, 2, 2 / 3), (55.0, 1, 1.0)]


def test_a_gap_after_a_call_of_unknown_duration_has_no_idle_time(census: Census) -> None:
    # Gaps: 10 after 4 s of work: 6 idle. 20 after an unknown one: left out. 30 after 1 s: 29;
    # the first call's end is past.
    found = census(METRIC, [call("a", 0, seconds=4), call("a", 10), call("a", 30, seconds=1), call("a", 60)])
    assert found.values(*IDLE) == [6, 29, 29]
    assert found.n("gap.idle_p50_s") == 2
    alone = census(METRIC, [call("a", 0), call("a", 10, seconds=3)])
    assert {alone.why(key) for key in IDLE} == {"no gap follows a call of known duration"}


def test_an_end_at_the_next_start_leaves_no_idle_time(census: Census) -> None:
    assert census(METRIC, [call("a", 0, seconds=10), call("a", 10)]).values(*IDLE) == [0, 0, 0]


def test_sessions_do_not_share_ends(census: Census) -> None:
    found = census(METRIC, [call("a", 0, seconds=1000), call("b", 10, seconds=1), call("b", 20)])
    assert found.values(*IDLE) == [9, 9, 9]


def test_no_gap_of_a_kind(census: Census) -> None:
    found = census(METRIC, [call("a", 0, user=True), call("a", 5, user=False)])
    assert found.values("gap.inter_share", "gap.inter_idle_share", "gap.intra_p50_s") == [0, 0, 5]
    assert found.why("gap.inter_p50_s") == "no inter-turn gap"
    assert found.rows("gap_cdf", "gaps", kind="inter") == []


def test_unclassified_gaps_only(census: Census) -> None:
    found = census(METRIC, [call("a", 0, user=True), call("a", 5)])
    assert found.why("gap.inter_share") == "no gap is classified as within or between turns"


def test_single_calls_and_no_session(census: Census) -> None:
    single = census(METRIC, [call("a", 0, user=True, seconds=1), call("b", 0)])
    assert set(single.whys().values()) == {"no session has two calls"}
    assert len(single.whys()) == 10
    assert set(census(METRIC, [call(None, 0)]).whys().values()) == {"no call of the trace has a session id"}


def test_gaps_of_no_length_have_no_share_of_time(census: Census) -> None:
    found = census(METRIC, [call("a", 0, user=True), call("a", 0, user=False)])
    assert found["gap.inter_share"] == 0
    assert "classified" not in found.why("gap.inter_idle_share")
