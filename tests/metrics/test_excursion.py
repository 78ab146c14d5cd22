"""Reuse of Spine calls by how many other calls came in between."""

from __future__ import annotations

from typing import Any

import pytest
from metrics_rows import HOUR, MINUTE, Census, Row, call

from metrics.excursion import METRIC

KEYS = ("excursion.reuse_0", "excursion.reuse_1", "excursion.reuse_2", "excursion.reuse_3plus")


def spine(at: float, context: int, cached: int | None, session: str = "a", **more: Any) -> Row:
    return call(session, at, context, cached=cached, model="opus", **more)


def other(at: float, model: str | None = "mini", session: str = "a", **more: Any) -> Row:
    return call(session, at, 10, cached=10, model=model, **more)


@pytest.mark.both_engines
def test_excursion_lengths(census: Census) -> None:
    # After the first Spine call: k = 0 (r 1/2), k = 1 (1/4), k = 2 with a call of unknown model (1/5), k = 4 (1/10),
    # k = 0 (1).
    rows = [spine(0, 100, 99), spine(1, 100, 50), other(2), spine(3, 100, 25), other(4), other(5, None),
            spine(6, 100, 20), other(7), other(8), other(9), other(9.5), spine(9.9, 100, 10), spine(9.95, 100, 100)]
    found = census(METRIC, rows)
    assert found.values(*KEYS) == [(0.5 + 1) / 2, 0.25, 0.2, 0.1]
    assert [found.n(key) for key in KEYS] == [2, 1, 1, 1]
    assert found.rows("excursion_reuse", "excursion", "calls", "mean_reuse", split="all") == [
        ("0", 2, 0.75), ("1", 1, 0.25), ("2", 1, 0.2), ("3+", 1, 0.1)]


def test_three_calls_are_3plus(census: Census) -> None:
    found = census(METRIC, [spine(0, 10, 0), other(1), other(2), other(3), spine(4, 10, 4)])
    assert found.values(*KEYS) == [None, None, None, 0.4]
    assert found.why("excursion.reuse_2") == "no Spine call follows an excursion of 2 calls"


def test_one_call_is_one_call(census: Census) -> None:
    found = census(METRIC, [spine(0, 10, 0)])
    assert [found.why(key).removeprefix("no Spine call follows an excursion of ") for key in KEYS] == [
        "0 calls", "1 call", "2 calls", "3 calls or more"]
    assert [number.method.split(" after ")[1] for number in METRIC.numbers] == [
        f"{calls}, to 10^-9" for calls in ("0 non-Spine calls", "1 non-Spine call", "2 non-Spine calls",
                                           "3 non-Spine calls or more")]


def test_a_session_that_begins_elsewhere(census: Census) -> None:
    # The first Spine call of a session follows no excursion, however late it comes; sessions do not mix.
    rows = [other(0), other(1), spine(2, 10, 9), other(3), spine(4, 10, 5), spine(2.5, 10, 1, "b"),
            other(9, session="c")]
    found = census(METRIC, rows)
    assert found.values(*KEYS) == [None, 0.5, None, None]


def test_mean_of_r_to_a_billionth(census: Census) -> None:
    # r = 1/3 and 2/3, cut at 10^-9: (333,333,333 + 666,666,666) / 2 parts per billion.
    found = census(METRIC, [spine(0, 3, 0), spine(1, 3, 1), spine(2, 3, 2)])
    assert found["excursion.reuse_0"] == 999_999_999 / (2 * 10**9)


def test_calls_without_a_reuse_still_count_in_k(census: Census) -> None:
    # The Spine call at 2 reports nothing and the one at 4 is empty: no r of their own, but the next k starts from them.
    found = census(METRIC, [spine(0, 10, 0), other(1), spine(2, 10, None), spine(3, 10, 7), other(3.5), spine(4, 0, 0),
                            other(5), other(6), spine(7, 10, 2)])
    assert found.values(*KEYS) == [0.7, None, 0.2, None]


def test_gap_bands_from_the_preceding_spine_call(census: Census) -> None:
    # Gaps between Spine calls: 10 s - 1 us, 10 s, 1 min, 5 min, 1 h. The excursion does not shorten the gap.
    at, rows = 0.0, [spine(0, 10, 0)]
    for gap, cached in ((9.999999, 1), (10, 2), (MINUTE, 3), (5 * MINUTE, 4), (HOUR, 5)):
        rows += [other(at + 1), spine(at + gap, 10, cached)]
        at += gap
    assert census(METRIC, rows).rows("excursion_reuse", "band", "excursion", "calls", "mean_reuse", split="gap") == [
        ("below 10 s", "1", 1, 0.1), ("10 s to 1 min", "1", 1, 0.2), ("1 to 5 min", "1", 1, 0.3),
        ("5 min to 1 h", "1", 1, 0.4), ("1 h and more", "1", 1, 0.5)]


def test_placement_from_the_preceding_spine_call(census: Census) -> None:
    home, near, far = ({"region": region, "deployment": name} for region, name in (("r", "1"), ("r", "2"), ("s", "1")))
    rows = [spine(0, 10, 0, **home), other(1, **far), spine(2, 10, 9, **home), spine(3, 10, 8, **near),
            spine(4, 10, 7, **far), spine(5, 10, 6), spine(6, 10, 5, **home) | {"model": "opus-2"}]
    # The mini call on another deployment in between does not matter: the two opus calls are on the same one.
    assert census(METRIC, rows).rows("excursion_reuse", "band", "excursion", "mean_reuse", split="placement") == [
        ("model_switch", "0", 0.5), ("same_deployment", "1", 0.9), ("cross_deployment", "0", 0.8),
        ("cross_region", "0", 0.7), ("unknown", "0", 0.6)]


def test_what_is_missing(census: Census) -> None:
    def why(*rows: Row) -> set[str]:
        found = census(METRIC, rows)
        assert found.values(*KEYS) == [None] * 4
        assert "excursion_reuse" not in found
        return set(found.whys().values())

    assert why(other(0), other(1)) == {"no model of the trace is of class spine"}
    assert why(spine(0, 10, None), spine(1, 10, None)) == {"the trace reports no cached tokens"}
    assert why(call("a", 0, cached=1)) == {"the trace names no models"}
    assert why(call(None, 0, cached=1, model="opus")) == {"no call of the trace has a session id"}
