"""Whether sessions stay in a region and on a deployment."""

from __future__ import annotations

from typing import Any

import pytest
from metrics_rows import Census, Row, call

from metrics.placement import METRIC

SR = ("placement.sr_share", "placement.sr_unknown", "placement.sr.depth_p50", "placement.sr.reuse")
SD = ("placement.sd_share", "placement.sd_unknown", "placement.sd.depth_p50", "placement.sd.reuse")
MEANS = ("placement.deployments_per_session", "placement.regions_per_session")


def at(session: str | None, when: float, region: str | None, deployment: str | None, **more: Any) -> Row:
    return call(session, when, more.pop("context", 100), region=region, deployment=deployment, **more)


@pytest.mark.both_engines
def test_four_sessions(census: Census) -> None:
    # a stays on r/1: both. b moves within r: region only. c moves from r/1 to s/1: neither, though the name is
    # the same. d has one call: both.
    found = census(METRIC, [
        at("a", 0, "r", "1", cached=50), at("a", 1, "r", "1", cached=100), at("a", 2, "r", "1"),
        at("b", 0, "r", "1", cached=10), at("b", 1, "r", "2", cached=20), at("c", 0, "r", "1"), at("c", 1, "s", "1"),
        at("d", 0, "s", "9", cached=0), at(None, 0, "t", "7"),
    ])
    # Region: a, b, d of 4; depths 1, 2, 3; cached 150 + 30 + 0 of 200 + 200 + 100 reported.
    assert found.values(*SR) == [3 / 4, 0, 2, 180 / 500]
    # Deployment: a, d of 4; depths 1, 3; cached 150 of 300.
    assert found.values(*SD) == [2 / 4, 0, 1, 150 / 300]
    # Deployments 1 + 2 + 2 + 1; regions 1 + 1 + 2 + 1.
    assert found.values(*MEANS) == [6 / 4, 5 / 4]
    assert [found.n(key) for key in (*SR, *SD)] == [4, 4, 3, 3, 4, 4, 2, 2]


def test_each_model_stays_by_itself(census: Census) -> None:
    # a: opus always on r/1, mini always on s/2: it stays. b: opus moves while mini stays: it does not.
    found = census(METRIC, [
        at("a", 0, "r", "1", model="opus"), at("a", 1, "s", "2", model="mini"), at("a", 2, "r", "1", model="opus"),
        at("b", 0, "r", "1", model="opus"), at("b", 1, "s", "2", model="mini"), at("b", 2, "s", "1", model="opus"),
    ])
    assert found.values("placement.sr_share", "placement.sd_share") == [1 / 2, 1 / 2]


def test_an_unknown_placement_leaves_a_session_out(census: Census) -> None:
    # a has a call without a region; b one without a deployment; c is known. A deployment without a region is
    # unknown too.
    found = census(METRIC, [
        at("a", 0, "r", "1"), at("a", 1, None, "1"), at("b", 0, "r", "1"), at("b", 1, "r", None), at("c", 0, "r", "1"),
    ])
    assert found.values("placement.sr_share", "placement.sr_unknown") == [2 / 2, 1]
    assert found.values("placement.sd_share", "placement.sd_unknown") == [1 / 1, 2]
    # Means over what is known: one deployment and one region in each session.
    assert found.values(*MEANS) == [1, 1]


def test_every_session_has_an_unknown_call(census: Census) -> None:
    found = census(METRIC, [at("a", 0, "r", "1"), at("a", 1, None, None)])
    assert found.why("placement.sr_share") == "every session has a call without a region"
    assert found.why("placement.sr.depth_p50") == "no session stays"
    assert found.values("placement.sr_unknown", *MEANS) == [1, 1, 1]


def test_no_cached_tokens(census: Census) -> None:
    found = census(METRIC, [at("a", 0, "r", "1")])
    assert found.why("placement.sr.reuse") == "the trace reports no cached tokens"
    partly = census(METRIC, [at("a", 0, "r", "1"), at("b", 0, "r", "1"), at("b", 1, "s", "1", cached=5)])
    assert partly.why("placement.sd.reuse") == "no staying session reports cached tokens"


def test_without_deployments(census: Census) -> None:
    found = census(METRIC, [at("a", 0, "r", None), at("a", 1, "s", None), at("b", 0, "r", None)])
    assert found["placement.sr_share"] == 1 / 2
    assert set(found.whys()) == {*SD, "placement.sr.reuse", "placement.deployments_per_session"}
    assert found.why("placement.sd_unknown") == "the trace names no deployments"


def test_a_fleet_without_regions_knows_deployments_by_name(census: Census) -> None:
    found = census(METRIC, [at("a", 0, None, "1"), at("a", 1, None, "1"), at("b", 0, None, "1"), at("b", 1, None, "2")])
    assert found.values("placement.sd_share", "placement.deployments_per_session") == [1 / 2, 3 / 2]


def test_a_region_on_a_row_set_aside_names_none(census: Census) -> None:
    found = census(METRIC, [at("a", 0, None, "1"), at("a", 1, "r", "1", defect="bad_tokens")])
    assert found["placement.sd_share"] == 1


@pytest.mark.parametrize("deployment", [None, "1"])
def test_without_regions(census: Census, deployment: str | None) -> None:
    found = census(METRIC, [at("a", 0, None, deployment), at("a", 1, None, deployment)])
    assert {found.why(key) for key in (*SR, MEANS[1])} == {"the trace names no regions"}


def test_the_reason_where_deployments_lack_their_region(census: Census) -> None:
    found = census(METRIC, [at("a", 0, "r", None), at("a", 1, None, "1")])
    assert found.why("placement.sd_share") != "the trace names no deployments"


def test_no_session(census: Census) -> None:
    found = census(METRIC, [at(None, 0, "r", "1")])
    assert set(found.whys().values()) == {"no call of the trace has a session id"}
