"""Which class holds the context, and which computes it."""

from __future__ import annotations

import pytest
from metrics_rows import Census, call

from metrics.class_share import METRIC
from metrics.core.classes import CLASSES, DEFAULT_RULES, ClassRule, classify

COLUMNS = ("class", "context_tokens", "context_share", "uncached_tokens", "uncached_share")


@pytest.mark.both_engines
def test_both_mappings(census: Census) -> None:
    # Context 400 + 300 + 200 + 100 + 0 = 1,000; uncached (sessioned, reported) 100 + 300 + 100 = 500.
    found = census(METRIC, [
        call("a", 0, 400, cached=300, model="Claude-OPUS-4"), call("a", 1, 300, cached=0, model="o-reason"),
        call(None, 2, 200, cached=150, model="gpt-mini"), call("b", 3, 100, cached=500),
        call("b", 4, 0, model="llama"), call("b", 5, 100, cached=0, model="nano"), call("b", 6, 100, model="nano"),
    ])
    assert found.rows("class_share", *COLUMNS, mapping="conservative") == [
        ("spine", 400, 400 / 1200, 100, 100 / 500),
        ("mid", 300, 300 / 1200, 300, 300 / 500),
        ("scoped", 200, 200 / 1200, 0, 0.0),  # the unsessioned call counts for context only
        ("fanout", 200, 200 / 1200, 100, 100 / 500),
        ("unknown", 100, 100 / 1200, 0, 0.0),  # cached beyond its context: clipped, nothing to compute
    ]
    # Broad: the reasoning model is spine as well.
    assert found.rows("class_share", *COLUMNS, mapping="broad")[:2] == [
        ("spine", 700, 700 / 1200, 400, 400 / 500), ("mid", 0, 0.0, 0, 0.0)]
    assert found["class_share.conservative.spine"] == 400 / 1200
    assert found["class_share.uncached.broad.spine"] == 400 / 500
    assert found.n("class_share.broad.spine") == 7
    assert found.n("class_share.uncached.broad.spine") == 4


def test_no_cached_tokens(census: Census) -> None:
    found = census(METRIC, [call("a", 0, 10, model="opus"), call("a", 1, 30)])
    assert found["class_share.broad.spine"] == 10 / 40
    assert found.rows("class_share", "uncached_tokens", "uncached_share") == [(None, None)] * 10
    assert set(found.whys().values()) == {"the trace reports no cached tokens"}
    assert len(found.whys()) == 10


def test_everything_cached_and_nothing_there(census: Census) -> None:
    found = census(METRIC, [call("a", 0, 10, cached=10, model="opus")])
    assert found.why("class_share.uncached.broad.spine") == "no context had to be computed"
    empty = census(METRIC, [call("a", 0, 0, cached=0, model="opus")])
    assert empty.why("class_share.broad.spine") == "no call has context"


def test_no_model(census: Census) -> None:
    found = census(METRIC, [call("a", 0, 10, cached=1)])
    assert set(found.whys().values()) == {"the trace names no models"}
    assert len(found.whys()) == 2 * 2 * len(CLASSES)
    assert "class_share" not in found


@pytest.mark.parametrize(("model", "conservative", "broad"), [
    (None, "unknown", "unknown"), ("", "fanout", "fanout"), ("gpt-5", "fanout", "fanout"),
    ("claude-opus-4", "spine", "spine"), ("o3-deep-research", "spine", "spine"), ("phi-REASONING", "mid", "spine"),
    ("claude-sonnet", "mid", "spine"), ("opus-mini", "scoped", "scoped"), ("mini-nano", "scoped", "scoped"),
    ("gpt-nano", "fanout", "fanout"), ("claude-haiku", "scoped", "scoped"),
])
def test_the_first_rule_that_fits_wins(model: str | None, conservative: str, broad: str) -> None:
    assert classify(model, DEFAULT_RULES) == {"conservative": conservative, "broad": broad}


def test_rules_ignore_case() -> None:
    rules = [ClassRule("ÄB", "mid", "spine"), ClassRule("b", "scoped", "fanout")]
    assert classify("xäby", rules) == {"conservative": "mid", "broad": "spine"}
    assert classify("B", rules) == {"conservative": "scoped", "broad": "fanout"}
