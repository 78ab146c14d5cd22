"""The KV of a session at its peak."""

from __future__ import annotations

import pytest
from metrics_rows import BETA, Census, call

from metrics.core.geometry import Geometry
from metrics.working_set import METRIC

KEYS = ("working_set.p50_gib", "working_set.p90_gib", "working_set.p99_gib")
GIB = 2**30


@pytest.mark.both_engines
def test_the_largest_context_counts(census: Census) -> None:
    # Peaks a 8,192, b 4,096, c 16,384; sorted 4,096, 8,192, 16,384, ranks 2, 3, 3.
    found = census(METRIC, [call("a", 0, 10), call("a", 1, 8192), call("a", 2, 20), call("b", 0, 4096),
                            call("c", 0, 16_384), call(None, 0, 10**6)])
    # 8,192 * 327,680 / 2^30 = 2.5 GiB.
    assert found.values(*KEYS) == [2.5, 5.0, 5.0]
    assert found["working_set.over_80gb_share"] == 0
    # Tokens in bins of 90 a decade: 4,096 in [4,000, 4,100), 8,192 in [8,100, 8,200), 16,384 in [16,000, 17,000).
    assert found.rows("working_set_cdf", "gib", "sessions", "cdf") == [
        (4099 * BETA / GIB, 1, 1 / 3), (8199 * BETA / GIB, 1, 2 / 3), (16_999 * BETA / GIB, 1, 1.0)]


def test_80_gb_is_an_exact_edge(census: Census) -> None:
    # 80 * 10^9 / 327,680 = 244,140.6: 244,140 tokens fit, 244,141 do not.
    found = census(METRIC, [call("a", 0, 244_140), call("b", 0, 244_141), call("c", 0, 1)])
    assert found["working_set.over_80gb_share"] == 1 / 3
    # With 1,000 bytes a token, 80,000,000 tokens are 80 * 10^9 bytes: not above.
    rows = [call("a", 0, 80_000_000), call("b", 0, 80_000_001)]
    assert census(METRIC, rows, geometry=Geometry("1000", 1000, ""))["working_set.over_80gb_share"] == 1 / 2


def test_empty_sessions_hold_nothing(census: Census) -> None:
    found = census(METRIC, [call("a", 0, 0)])
    assert found.values(*KEYS) == [0, 0, 0]
    assert found.rows("working_set_cdf", "gib", "sessions", "cdf") == [(0.0, 1, 1.0)]


def test_no_session(census: Census) -> None:
    found = census(METRIC, [call(None, 0)])
    assert set(found.whys().values()) == {"no call of the trace has a session id"}
    assert "working_set_cdf" not in found
