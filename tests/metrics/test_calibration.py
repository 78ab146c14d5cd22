"""What an endless cache would have found, beside what was found."""

from __future__ import annotations

import pytest
from metrics_rows import HOUR, MINUTE, Census, Row, call

from metrics.calibration import METRIC

COLUMNS = ("transition", "gap", "calls", "hits", "context_tokens", "cached_tokens", "reusable_tokens", "lost_tokens",
           "unexplained_tokens")


def step(at: float, context: int, cached: int | None, model: str | None = "opus", deployment: str = "1") -> Row:
    return call("a", at, context, cached=cached, model=model, region="r", deployment=deployment)


@pytest.mark.both_engines
def test_every_way_to_follow(census: Census) -> None:
    found = census(METRIC, [
        step(0, 100, 30),  # first call: 30 tokens of somebody else's KV
        step(5, 120, 90),  # 100 are reusable, 10 were lost
        step(30, 60, 60),  # the context shrank: 60 are reusable, after 25 s
        step(40, 80, 0, deployment="2"),  # moved: 60 lost
        step(50, 50, 0, "mini"),  # the first call to this model
        step(2 * MINUTE, 90, 85),  # back after 80 s: 80 are reusable, and 5 beyond
        step(HOUR + 50, 70, 20, "mini"),  # back after an hour: 50 are reusable, 30 lost
        step(HOUR + 51, 70, None, "mini"),  # not reported
        step(HOUR + 52, 0, 0, "mini"),  # nothing to find
        step(HOUR + 53, 40, 10, None),  # model unknown
        step(HOUR + 54, 40, 10, "mini"),  # and before
        step(HOUR + 60, 95, 90),  # back to the first model: 90 are reusable
    ])
    assert found.rows("calibration", *COLUMNS) == [
        ("first_touch", None, 2, 1, 150, 30, 0, 0, 30),
        ("unknown_model", None, 2, 2, 80, 20, None, None, None),
        ("model_return", "1 to 5 min", 1, 1, 90, 85, 80, 0, 5),
        ("model_return", "5 min to 1 h", 1, 1, 95, 90, 90, 0, 0),
        ("model_return", "1 h and more", 1, 1, 70, 20, 50, 30, 0),
        ("same_deployment", "below 10 s", 1, 1, 120, 90, 100, 10, 0),
        ("same_deployment", "10 s to 1 min", 1, 1, 60, 60, 60, 0, 0),
        ("cross_deployment", "10 s to 1 min", 1, 0, 80, 0, 60, 60, 0),
    ]
    assert found.values("calibration.predicted_share", "calibration.hit_where_predicted",
                        "calibration.hit_where_not_predicted", "calibration.agreement") == [6 / 8, 5 / 6, 1 / 2, 6 / 8]
    assert found.values("calibration.reusable_share", "calibration.lost_token_share",
                        "calibration.unexplained_token_share") == [440 / 665, 100 / 440, 35 / 375]
    assert (found.n("calibration.agreement"), found.n("calibration.hit_where_predicted"),
            found.n("calibration.hit_where_not_predicted")) == (8, 6, 2)


def test_models_are_not_remembered_across_sessions(census: Census) -> None:
    rows = [step(0, 10, 0), {**step(1, 10, 0), "session_id": "b"}, {**step(2, 10, 0, "mini"), "session_id": "b"}]
    assert census(METRIC, rows)["calibration.predicted_share"] == 0


def test_what_has_no_value(census: Census) -> None:
    firsts = census(METRIC, [step(0, 10, 0)])
    assert firsts.why("calibration.hit_where_predicted") == "no call is predicted to hit"
    assert firsts.why("calibration.lost_token_share") == "an endless cache would have found nothing"
    assert firsts.why("calibration.unexplained_token_share") == "nothing was found in the cache"
    unknown = census(METRIC, [step(0, 10, 0, None), step(1, 10, 5), step(2, 10, None)])
    assert unknown.why("calibration.agreement").startswith("no call with a known model")
    assert unknown.rows("calibration", *COLUMNS[:3]) == [("unknown_model", None, 2)]
    assert census(METRIC, [call("a", 0, model="opus")]).why("calibration.agreement") == (
        "the trace reports no cached tokens")
