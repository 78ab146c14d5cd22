"""Context against output, over all calls that report output."""

from __future__ import annotations

import pytest
from metrics_rows import Census, call

from metrics.volume import METRIC


@pytest.mark.both_engines
def test_calls_without_reported_output_are_on_neither_side(census: Census) -> None:
    # Context 90 + 60 = 150, output 10 + 40 = 50; the call of 1,000 tokens reports none. Unsessioned calls count.
    found = census(METRIC, [call("a", 0, 90, output=10), call(None, 1, 60, output=40), call("a", 2, 1000)])
    assert found.values("context.share", "context.to_output") == [150 / 200, 150 / 50]
    assert found.n("context.share") == 2


def test_zero_output_is_reported_output(census: Census) -> None:
    found = census(METRIC, [call("a", 0, 90, output=0)])
    assert found["context.share"] == 1
    assert found.whys() == {"context.to_output": "no call has output"}


def test_empty_calls(census: Census) -> None:
    found = census(METRIC, [call("a", 0, 0, output=0)])
    assert found.whys() == {"context.share": "all calls are empty", "context.to_output": "no call has output"}


def test_no_output(census: Census) -> None:
    found = census(METRIC, [call("a", 0)])
    assert found.whys() == dict.fromkeys(("context.share", "context.to_output"), "the trace reports no output tokens")
