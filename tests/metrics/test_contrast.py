"""What differs most between results, on numbers that a reader can check by eye."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from metrics.core.contrast import contrasts


@dataclass
class Number:
    value: Any
    unit: str = "share"
    lo: Any = None
    hi: Any = None
    n: int | None = 10
    method: str = "as ever"


@dataclass
class Store:
    numbers: dict[str, Number]
    manifest: dict[str, Any] = field(default_factory=lambda: {"configuration": {"geometry": {"bytes_per_token": 8}}})


def other_geometry(numbers: dict[str, Number]) -> Store:
    return Store(numbers, {"configuration": {"geometry": {"bytes_per_token": 16}}})


def test_shares_are_ranked_by_points_and_the_rest_by_ratio() -> None:
    found = contrasts([
        Store({"reuse.a": Number(0.25), "reuse.b": Number(0.5), "gap.p50_s": Number(2.0, "s"),
               "depth.p50": Number(4, "calls")}),
        Store({"reuse.a": Number(0.75), "reuse.b": Number(0.25), "gap.p50_s": Number(8.0, "s"),
               "depth.p50": Number(2, "calls")}),
        Store({"reuse.a": Number(0.5), "reuse.b": Number(0.375), "gap.p50_s": Number(3.0, "s")}),
    ])
    assert [(c.key, c.spread) for c in found.shares] == [("reuse.a", 0.5), ("reuse.b", 0.25)]
    assert [(c.key, c.spread) for c in found.ratios] == [("gap.p50_s", 4.0), ("depth.p50", 2.0)]
    assert found.ratios[1].values[2] is None
    assert [c.subject for c in found.shares] == ["reuse", "reuse"]
    assert found.left_out == {}


def test_equal_spreads_come_in_the_order_of_their_keys() -> None:
    found = contrasts([Store({"b.x": Number(0.0), "a.x": Number(0.5)}),
                       Store({"b.x": Number(0.5), "a.x": Number(0.0)})])
    assert [c.key for c in found.shares] == ["a.x", "b.x"]


@pytest.mark.parametrize(("low", "high", "apart"), [
    ((0.2, 0.1, 0.3), (0.5, 0.4, 0.6), True),
    ((0.2, 0.1, 0.4), (0.5, 0.4, 0.6), False),   # they touch
    ((0.2, None, None), (0.5, 0.4, 0.6), None),  # of one nothing is known
    ((0.2, 0.1, 0.5), (0.5, None, None), None),
    ((0.2, None, None), (0.5, None, None), None),
])
def test_intervals_tell_the_extremes_apart(low: tuple[Any, ...], high: tuple[Any, ...], apart: bool | None) -> None:
    sides = [Store({"a.x": Number(value, lo=lo, hi=hi)}) for value, lo, hi in (low, high)]
    assert contrasts(sides).shares[0].apart is apart
    assert contrasts(sides[::-1]).shares[0].apart is apart


def test_a_range_is_no_interval() -> None:
    hours = [Store({"replay.hours.session.lru.b10": Number(value, lo=value, hi=value)}) for value in (0.1, 0.2)]
    assert contrasts(hours).shares[0].apart is None


def test_a_ratio_to_nothing_is_infinite() -> None:
    found = contrasts([Store({"gap.p50_s": Number(0.0, "s")}), Store({"gap.p50_s": Number(1.0, "s")})])
    assert found.ratios[0].spread == float("inf")


@pytest.mark.parametrize(("key", "one", "other", "why"), [
    ("a.x", Number(0.1), Number(None), "known in fewer than two results"),
    ("a.x", Number(0.1), Number(0.2, method="otherwise"), "defined differently, by other options"),
    ("a.x", Number(0.1), Number(0.2, "s"), "defined differently, by other options"),
    ("a.x", Number(0.1), Number(0.1), "equal in all results that know them"),
    ("trace.calls", Number(1, "calls"), Number(2, "calls"), "totals, which grow with the trace"),
    ("ceiling.x_bytes", Number(1, "bytes"), Number(2, "bytes"), "totals, which grow with the trace"),
    ("gap.max_s", Number(1, "s"), Number(2, "s"), "totals, which grow with the trace"),
    ("gap.idle_max_s", Number(1, "s"), Number(2, "s"), "totals, which grow with the trace"),
    ("replay.busiest-hour.routing.sticky.load_p99", Number(1, "ratio"), Number(2, "ratio"),
     "loads of a minute, which chance makes uneven in a small trace"),
    ("a.name", Number("x", ""), Number("y", ""), "words"),
])
def test_what_cannot_be_ranked_is_counted_with_the_reason(key: str, one: Number, other: Number, why: str) -> None:
    found = contrasts([Store({key: one}), Store({key: other})])
    assert (found.shares, found.ratios) == ((), ())
    assert found.left_out == {why: 1}


def test_bytes_by_different_geometries_are_not_compared() -> None:
    numbers = {"working_set.p50_gib": Number(1.0, "GiB"), "working_set.over_80gb_share": Number(0.1)}
    doubled = {"working_set.p50_gib": Number(2.0, "GiB"), "working_set.over_80gb_share": Number(0.3)}
    assert contrasts([Store(numbers), other_geometry(doubled)]).left_out == {"bytes by different geometries": 2}
    assert contrasts([Store(numbers), Store(doubled)]).left_out == {}


def test_a_key_of_one_result_only_is_counted() -> None:
    assert contrasts([Store({"a.x": Number(0.1)}), Store({})]).left_out == {"known in fewer than two results": 1}
