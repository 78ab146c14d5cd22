"""The class of the next call."""

from __future__ import annotations

import pytest
from metrics_rows import Census, Row, call

from metrics.class_transition import METRIC

COLUMNS = ("from_class", "to_class", "transitions", "probability")


def session(name: str, *models: str | None) -> list[Row]:
    return [call(name, at, model=model) for at, model in enumerate(models)]


@pytest.mark.both_engines
def test_transitions(census: Census) -> None:
    # a: opus-opus, opus-opus, opus-mini, mini-opus. b: opus-sonnet.
    # spine: 2 to itself, 1 scoped, 1 mid; scoped: 1 spine.
    found = census(METRIC, [
        *session("a", "opus", "opus", "opus", "mini", "opus"), *session("b", "opus", "sonnet"),
        call(None, 0, model="opus")])
    seen = [row for row in found.rows("class_transition", *COLUMNS, mapping="conservative") if row[2]]
    assert seen == [("spine", "spine", 2, 0.5), ("spine", "mid", 1, 0.25), ("spine", "scoped", 1, 0.25),
                    ("scoped", "spine", 1, 1.0)]
    # Largest counts: 2 from spine, 1 from scoped, of 5.
    assert found.values("class.transitions", "class.next_accuracy", "class.spine_self") == [5, 3 / 5, 2 / 4]
    # Broad: sonnet is spine, so opus-sonnet stays in its class.
    assert found.rows("class_transition", *COLUMNS, mapping="broad")[0] == ("spine", "spine", 3, 0.75)


def test_every_pair_of_named_classes_has_a_row(census: Census) -> None:
    found = census(METRIC, session("a", "opus", "opus"))
    assert len(found.rows("class_transition", "to_class")) == 2 * 4 * 4
    assert found.rows("class_transition", "probability", mapping="broad", from_class="mid") == [(None,)] * 4


def test_unknown_models_are_in_no_transition(census: Census) -> None:
    # opus - ? - opus: neither pair counts, and the two opus calls are not consecutive.
    found = census(METRIC, session("a", "opus", None, "opus"))
    assert found["class.transitions"] == 0
    assert found.whys() == {"class.next_accuracy": "no two consecutive calls name their model",
                            "class.spine_self": "no Spine call has a successor"}


def test_no_spine(census: Census) -> None:
    found = census(METRIC, session("a", "mini", "nano", "mini"))
    assert found.values("class.transitions", "class.next_accuracy") == [2, 1]
    assert list(found.whys()) == ["class.spine_self"]


def test_no_model_and_no_session(census: Census) -> None:
    assert set(census(METRIC, session("a", None, None)).whys().values()) == {"the trace names no models"}
    unsessioned = census(METRIC, [call(None, 0, model="opus")])
    assert set(unsessioned.whys().values()) == {"no call of the trace has a session id"}
    assert "class_transition" not in unsessioned
