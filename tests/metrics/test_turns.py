"""Which calls open a user turn, and how many calls a turn sets off."""

from __future__ import annotations

import pytest
from metrics_rows import Census, call, window

from metrics.turns import METRIC

KEYS = ("turns.per_session", "turns.calls_per_turn", "turns.internal_share", "turns.unclassified")


def test_flags(census: Census) -> None:
    # 5 classified calls, 2 of them open a turn, in 2 sessions; one call says nothing.
    found = census(METRIC, [
        call("a", 0, user=True), call("a", 1, user=False), call("a", 2, user=False), call("a", 3),
        call("b", 0, user=True), call("b", 1, user=False), call(None, 5, user=True),
    ])
    assert found.values(*KEYS) == [2 / 2, 5 / 2, 3 / 5, 1]
    assert [found.n(key) for key in KEYS] == [2, 5, 5, 6]


@pytest.mark.both_engines
def test_a_turn_id_opens_where_it_appears_first_in_its_session(census: Census) -> None:
    # a: 1 opens, 1, 2 opens, 1 again opens nothing; b has a turn 1 of its own. 3 turns of 5 calls.
    found = census(METRIC, [
        call("a", 0, turn="1"), call("a", 1, turn="1"), call("a", 2, turn="2"), call("a", 3, turn="1"),
        call("b", 9, turn="1"),
    ])
    assert found.values(*KEYS) == [3 / 2, 5 / 3, 2 / 5, 0]


def test_first_is_by_time_then_by_input(census: Census) -> None:
    # Three calls at one time: the first in the input opens the turn, so the second, flagged, does not.
    found = census(METRIC, [call("a", 5, turn="1"), call("a", 5, turn="1", user=False), call("a", 0, turn="2")])
    assert found.values(*KEYS) == [2, 3 / 2, 1 / 3, 0]
    later = census(METRIC, [call("a", 5, turn="1", user=False), call("a", 5, turn="1"), call("a", 0, turn="2")])
    # Now the first of turn 1 says that it opens nothing, and the second is not the first.
    assert later.values(*KEYS) == [1, 3, 2 / 3, 0]


def test_the_flag_wins_over_the_turn_id(census: Census) -> None:
    # By turn ids calls 1 and 3 would open; by the flags call 2 does, and call 1 does not. 4 classified.
    found = census(METRIC, [
        call("a", 0, turn="1", user=False), call("a", 1, turn="1", user=True), call("a", 2, turn="2"),
        call("a", 3, turn="2"),
    ])
    assert found.values(*KEYS) == [2, 4 / 2, 2 / 4, 0]


def test_sessions_without_a_classified_call_do_not_count(census: Census) -> None:
    found = census(METRIC, [call("a", 0, user=True), call("b", 0), call("b", 1)])
    assert found.values(*KEYS) == [1, 1, 0, 2]


def test_no_call_opens_a_turn(census: Census) -> None:
    found = census(METRIC, [call("a", 0, user=False), call("a", 1, user=False)])
    assert found.values("turns.per_session", "turns.internal_share", "turns.unclassified") == [0, 1, 0]
    assert found.whys() == {"turns.calls_per_turn": "no call opens a user turn"}


def test_a_window_knows_its_own_calls_only(census: Census) -> None:
    # Turn 1 began before the window: its first call inside opens it there.
    found = census(METRIC, [call("a", -5, turn="1"), call("a", 5, turn="1"), call("a", 6, turn="1")], window(0, 10))
    assert found.values(*KEYS) == [1, 2, 1 / 2, 0]
