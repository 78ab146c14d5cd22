"""Reuse by what changed since the preceding call."""

from __future__ import annotations

import pytest
from metrics_rows import DAY, HOUR, Census, Row, call

from metrics.core.clock import Clock, find_zone
from metrics.core.steps import TRANSITIONS
from metrics.transition_reuse import METRIC

COLUMNS = ("transition", "calls", "share", "mean_reuse")


def step(at: float, cached: int | None, model: str | None, region: str | None, deployment: str | None) -> Row:
    return call("a", at, 10, cached=cached, model=model, region=region, deployment=deployment)


@pytest.mark.both_engines
def test_every_kind_of_transition(census: Census) -> None:
    found = census(METRIC, [
        step(0, 0, "opus", "r", "1"),  # first call
        step(1, 9, "opus", "r", "1"),  # same deployment
        step(2, 8, "opus", "r", "2"),  # another deployment of the region
        step(3, 7, "opus", "s", "2"),  # another region, though the name is the same
        step(4, 6, "mini", "s", "2"),  # another model on the same deployment: the model comes first
        step(5, 5, None, "s", "2"),  # model unknown, here
        step(6, 4, "mini", "s", "2"),  # and at the call before
        step(7, 3, "mini", "s", None),  # placement unknown, here
        step(8, 2, "mini", "s", "2"),  # and before
        step(9, 1, "mini", "s", "2"),  # same deployment
    ])
    assert found.rows("transition_reuse", *COLUMNS, day=None) == [
        ("first_call", 1, 0.1, 0.0), ("unknown_model", 2, 0.2, 0.45), ("model_switch", 1, 0.1, 0.6),
        ("same_deployment", 2, 0.2, 0.5), ("cross_deployment", 1, 0.1, 0.8), ("cross_region", 1, 0.1, 0.7),
        ("unknown", 2, 0.2, 0.25)]
    for name, _, share, reuse in found.rows("transition_reuse", *COLUMNS, day=None):
        assert found.values(f"transition.{name}.share", f"transition.{name}.reuse") == [share, reuse]
    assert found.n("transition.same_deployment.share") == 10
    assert found.n("transition.same_deployment.reuse") == 2


def test_a_known_move_of_region_needs_no_deployment(census: Census) -> None:
    found = census(METRIC, [step(0, 1, "opus", "r", "1"), step(1, 5, "opus", "s", None), step(2, 5, "opus", "s", None)])
    assert found.values("transition.cross_region.share", "transition.unknown.share") == [1 / 3, 1 / 3]


def test_means_leave_out_what_is_not_reported(census: Census) -> None:
    # Same deployment: 9 of 10, not reported, an empty context. First call: not reported.
    rows = [step(0, None, "opus", "r", "1"), step(1, 9, "opus", "r", "1"), step(2, None, "opus", "r", "1"),
            step(3, 0, "opus", "r", "1") | {"context_tokens": 0}]
    found = census(METRIC, rows)
    assert found.rows("transition_reuse", *COLUMNS, day=None) == [
        ("first_call", 1, 1 / 4, None), ("same_deployment", 3, 3 / 4, 0.9)]
    assert found.why("transition.first_call.reuse") == "no such call reports cached tokens"
    assert found.why("transition.cross_region.reuse") == "no such transition"
    assert found["transition.cross_region.share"] == 0


def test_days(census: Census) -> None:
    # Day 1: 1 of 2 calls stays (reuse 0.4); day 2: 2 of 2 (0.2 and 0.9). Nothing stays on day 3: no row.
    rows = [step(23 * HOUR, 0, "opus", "r", "1"), step(DAY - 0.000001, 4, "opus", "r", "1"),
            step(DAY, 2, "opus", "r", "1"), step(DAY + 1, 9, "opus", "r", "1"), step(2 * DAY, 1, "mini", "r", "1")]
    days = ("day", "calls", "share", "mean_reuse")
    found = census(METRIC, rows).rows("transition_reuse", *days, transition="same_deployment")
    assert found == [(None, 3, 3 / 5, 0.5), ("2026-01-01", 1, 0.5, 0.4), ("2026-01-02", 2, 1.0, 0.55)]
    # In Berlin, an hour ahead, all but the last fall on January 2nd; the first call, at 23:00Z, as well.
    berlin = census(METRIC, rows, clock=Clock(find_zone("Europe/Berlin")))
    assert berlin.rows("transition_reuse", *days, transition="same_deployment") == [
        (None, 3, 3 / 5, 0.5), ("2026-01-02", 3, 3 / 4, 0.5)]
    # Half an hour counts: 18:30Z is midnight in Kolkata.
    kolkata = census(METRIC, [step(18.49 * HOUR, 0, "opus", "r", "1"), step(18.5 * HOUR, 5, "opus", "r", "1")],
                     clock=Clock(find_zone("Asia/Kolkata")))
    assert kolkata.rows("transition_reuse", *days, transition="same_deployment")[1:] == [("2026-01-02", 1, 1.0, 0.5)]


def test_a_day_of_25_hours(census: Census) -> None:
    # 2026-10-25 in Berlin lasts from 22:00Z on the 24th to 23:00Z; T0 + 297 days is 2026-10-25T00:00Z.
    at = 297 * DAY
    rows = [step(at - 3 * HOUR, 0, "opus", "r", "1"), step(at - 2 * HOUR, 1, "opus", "r", "1"),
            step(at + 23 * HOUR - 1, 3, "opus", "r", "1"), step(at + 23 * HOUR, 8, "opus", "r", "1")]
    found = census(METRIC, rows, clock=Clock(find_zone("Europe/Berlin")))
    assert found.rows("transition_reuse", "day", "calls", "mean_reuse", transition="same_deployment")[1:] == [
        ("2026-10-25", 2, 0.2), ("2026-10-26", 1, 0.8)]


def test_summer_time_of_half_an_hour(census: Census) -> None:
    # On Lord Howe Island clocks go back by 30 minutes on 2026-04-05: the next day begins at 13:30Z. T0 + 94 days is
    # 2026-04-05T00:00Z.
    at = 94 * DAY
    rows = [step(at - DAY, 0, "opus", "r", "1"), step(at + 13.75 * HOUR, 5, "opus", "r", "1")]
    found = census(METRIC, rows, clock=Clock(find_zone("Australia/Lord_Howe")))
    assert found.rows("transition_reuse", "day", "calls", transition="same_deployment") == [
        (None, 1), ("2026-04-06", 1)]


def test_regions_without_deployments(census: Census) -> None:
    found = census(METRIC, [step(0, 0, "opus", "r", None), step(1, 5, "opus", "r", None)])
    assert found["transition.cross_region.share"] == 0


def test_at_most_a_hundred_days(census: Census) -> None:
    found = census(METRIC, [step(day * DAY, 5, "opus", "r", "1") for day in range(103)])
    days = [day for day, in found.rows("transition_reuse", "day", transition="same_deployment") if day]
    # No call stays on the first of the first hundred days.
    assert (days[0], days[-1], len(days)) == ("2026-01-02", "2026-04-10", 99)


def test_what_is_missing(census: Census) -> None:
    found = census(METRIC, [call("a", 0, model="opus"), call("a", 1, model="opus")])
    placed = [f"transition.{name}" for name in ("same_deployment", "cross_deployment", "cross_region")]
    reasons = found.whys()
    for name, what in zip(placed, ("deployments", "deployments", "regions"), strict=True):
        assert reasons.pop(f"{name}.share") == reasons.pop(f"{name}.reuse") == f"the trace names no {what}"
    assert set(reasons.values()) == {"the trace reports no cached tokens"}
    assert found.values("transition.first_call.share", "transition.unknown.share") == [0.5, 0.5]
    unsessioned = census(METRIC, [call(None, 0)])
    assert set(unsessioned.whys().values()) == {"no call of the trace has a session id"}
    assert len(unsessioned.whys()) == 2 * len(TRANSITIONS)
