"""Models and deployments: labels unless names are asked for, and names are only data."""

from __future__ import annotations

import pytest
from metrics_rows import Census, call

from metrics.served import METRIC

HOSTILE = ["'; drop table calls; --", "<script>alert(1)</script>", "../../etc/passwd", 'a"b\\c\n\t\x07', "m" * 10_000,
           "unknown", "", "%s{0}", "Ω≈ç√"]


def test_models_are_labelled_in_the_order_of_their_names(census: Census) -> None:
    rows = [call("a", 0, 100, model="z-opus"), call("a", 1, 200, model="z-opus"), call("b", 2, 300, model="b-mini"),
            call(None, 3, 400), call(None, 4, 0, model="c-reason")]
    found = census(METRIC, rows)
    # b-mini = 1, c-reason = 2, z-opus = 3; most calls first, then by number (no name is 0). 1,000 tokens in all.
    assert found.rows("models", "model", "conservative", "broad", "calls", "call_share", "context_share") == [
        ("model-03", "spine", "spine", 2, 2 / 5, 0.3),
        ("unknown", "unknown", "unknown", 1, 1 / 5, 0.4),
        ("model-01", "scoped", "scoped", 1, 1 / 5, 0.3),
        ("model-02", "mid", "spine", 1, 1 / 5, 0.0),
    ]
    named = census(METRIC, rows, names=True)
    assert [name for name, in named.rows("models", "model")] == ["z-opus", "unknown", "b-mini", "c-reason"]


@pytest.mark.both_engines
def test_a_deployment_is_a_region_and_a_name(census: Census) -> None:
    rows = [call("a", 0, 10, region="west", deployment="d1"), call("a", 1, 20, region="east", deployment="d1"),
            call("a", 2, 30, region="east", deployment="d1"), call("a", 3, 40, deployment="d1"),
            call("a", 4, 0, region="east")]
    # east/d1 = 1, west/d1 = 2; without a region or a deployment it is not known where. 100 tokens in all.
    expected = [("deployment-01", 2, 0.5), ("unknown", 2, 0.4), ("deployment-02", 1, 0.1)]
    assert sorted(census(METRIC, rows).rows("deployments", "deployment", "calls", "context_share")) == sorted(expected)
    named = census(METRIC, rows, names=True)
    assert sorted(name for name, in named.rows("deployments", "deployment")) == ["east/d1", "unknown", "west/d1"]


def test_a_fleet_without_regions_knows_deployments_by_name(census: Census) -> None:
    found = census(METRIC, [call("a", 0, deployment="d2"), call("a", 1, deployment="d1"),
                            call("a", 2, deployment="d2")],
                   names=True)
    assert found.rows("deployments", "deployment", "calls") == [("d2", 2), ("d1", 1)]


def test_hostile_names_are_data(census: Census) -> None:
    rows = [call("a", at, model=name, deployment=name, region="r") for at, name in enumerate(HOSTILE)]
    rows.append(call("a", 100, model=HOSTILE[0], deployment=HOSTILE[0], region="r"))
    labels = {f"model-{number:02d}" for number in range(1, 10)}
    hidden, shown = census(METRIC, rows), census(METRIC, rows, names=True)
    assert {name for name, in hidden.rows("models", "model")} == labels
    assert sorted(name for name, in shown.rows("models", "model")) == sorted(HOSTILE)
    assert shown.rows("models", "model", "calls")[0] == (HOSTILE[0], 2)
    assert shown.rows("deployments", "deployment", "calls")[0] == (f"r/{HOSTILE[0]}", 2)
    assert "deployment-01" in {name for name, in hidden.rows("deployments", "deployment")}


def test_what_lies_beyond_a_thousand_is_summed_up(census: Census) -> None:
    # 1,002 models of one call each: 999 rows, then one for the other three.
    found = census(METRIC, [call(None, at, 10, model=f"model {at}") for at in range(1002)])
    table = found.rows("models", "model", "calls", "call_share")
    assert len(table) == 1000
    assert table[0] == ("model-0001", 1, 1 / 1002)
    assert table[-1] == ("other", 3, 3 / 1002)


def test_no_table_without_names(census: Census) -> None:
    found = census(METRIC, [call("a", 0)])
    assert "models" not in found
    assert "deployments" not in found


def test_labels_of_models_that_no_used_row_names(census: Census) -> None:
    found = census(METRIC, [call("a", 0, model="a-mini", defect="bad_tokens"), call("a", 1, model="b-mini")])
    assert found.rows("models", "model", "calls") == [("model-01", 1)]


def test_deployments_of_calls_without_a_session(census: Census) -> None:
    found = census(METRIC, [call(None, 0, region="r", deployment="d")], names=True)
    assert found.rows("deployments", "deployment", "calls") == [("r/d", 1)]
