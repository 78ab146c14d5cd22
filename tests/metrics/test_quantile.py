"""Nearest-rank quantiles and bins against their definitions."""

from __future__ import annotations

import itertools
from fractions import Fraction

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from metrics.core import quantile
from metrics.core.bins import upper_edge
from metrics.core.engine import Engine
from metrics.core.quantile import quantiles, rank_of


def values(*rows: tuple[int | None, ...]) -> str:
    body = ", ".join(f"({', '.join('cast(null as bigint)' if v is None else str(v) for v in row)})" for row in rows)
    names = ", ".join(("v", "w", "g")[:len(rows[0])])
    return f"(select * from (values {body}) as t({names}))"


@pytest.mark.parametrize(("p", "total", "rank"), [
    ("0.5", 1, 1), ("0.5", 2, 1), ("0.5", 3, 2), ("0.99", 100, 99), ("0.99", 101, 100), ("0.9", 10, 9),
    ("0", 5, 1), ("1", 5, 5), ("0.99", 10**17, 99 * 10**15),  # a float would give another rank
])
def test_ranks(p: str, total: int, rank: int) -> None:
    assert rank_of(Fraction(p), total) == rank


def test_the_value_whose_cumulative_count_reaches_the_rank(engine: Engine) -> None:
    # Ten values: p = 0.5 is the fifth, 0.51 the sixth, 0.9 the ninth, 0.91 and 1 the tenth.
    source = values(*[(v,) for v in (3, 1, 4, 1, 5, 9, 2, 6, 5, 3)])  # sorted 1 1 2 3 3 4 5 5 6 9
    found = quantiles(engine, source, "v", ("0", "0.1", "0.11", "0.5", "0.51", "0.9", "0.91", "1"))[0]
    assert [found[p] for p in ("0", "0.1", "0.11", "0.5", "0.51", "0.9", "0.91", "1")] == [1, 1, 1, 3, 4, 6, 9, 9]
    assert found.total == 10


def test_nulls_and_weights(engine: Engine) -> None:
    # 7 weighs 1, 8 weighs 9, 9 weighs nothing: 10 % is 7, all beyond is 8. Nulls have no rank.
    source = values((8, 4), (7, 1), (8, 5), (9, 0), (None, 99), (5, None))
    found = quantiles(engine, source, "v", ("0.1", "0.11", "1"), weight="w")[0]
    assert (found.total, found["0.1"], found["0.11"], found["1"]) == (10, 7, 8, 8)
    assert quantiles(engine, values((None,)), "v", ("0.5",)) == {}
    assert quantiles(engine, values((5, 0)), "v", ("0.5",), weight="w") == {}


@pytest.mark.both_engines
def test_groups(engine: Engine) -> None:
    source = values((1, 1, 0), (10**15, 1, 0), (4, 1, 7), (5, 1, 7), (6, 1, 7), (None, 1, 8))
    found = quantiles(engine, source, "v", ("0.5", "1"), group="g")
    assert {group: (at.total, at["0.5"], at["1"]) for group, at in found.items()} == {
        0: (2, 1, 10**15), 7: (3, 5, 6)}


def test_values_below_zero_are_refused(engine: Engine) -> None:
    with pytest.raises(ValueError, match="values >= 0"):
        quantiles(engine, values((-1,), (4,)), "v", ("0.5",))


_WIDE = st.one_of(st.integers(0, 5), st.integers(0, 2**14 + 2), st.integers(2**28 - 3, 2**28 + 3),
                  st.integers(0, 2**62))


@settings(max_examples=25, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(_WIDE, st.integers(1, 3)), min_size=1, max_size=30))
def test_against_a_sorted_list(engine: Engine, rows: list[tuple[int, int]]) -> None:
    points = ("0", "0.25", "0.5", "0.9", "0.99", "1")
    flat = sorted(value for value, weight in rows for _ in range(weight))
    found = quantiles(engine, values(*rows), "v", points, weight="w")[0]
    assert [found[p] for p in points] == [
        next(v for at, v in enumerate(flat, start=1) if at >= Fraction(p) * len(flat)) for p in points]


@settings(max_examples=25, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(_WIDE, st.sampled_from([1, 2, 10**9]), st.integers(0, 2)), min_size=1, max_size=30))
def test_groups_and_all_of_them_in_many_rounds(engine: Engine, rows: list[tuple[int, int, int]]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(quantile, "_MOST_ROWS_BITS", 4)  # as where every bucket holds more rows than an answer may
        found = quantiles(engine, values(*rows), "v", ("0.3", "0.5", "1"), weight="w", group="g", everything=9)
    for group, at in found.items():
        mine = sorted((v, w) for v, w, g in rows if group in (g, 9))
        assert at.total == sum(w for _, w in mine)
        for p in ("0.3", "0.5", "1"):
            upto = itertools.accumulate(w for _, w in mine)
            assert at[p] == next(v for (v, _), sum_ in zip(mine, upto, strict=True) if sum_ >= Fraction(p) * at.total)
    assert set(found) == {g for _, _, g in rows} | {9}


def edges(engine: Engine, steps: int, *numbers: int) -> list[int]:
    edge = upper_edge(engine.dialect, "v", steps)
    found = engine.rows(f"select v, {edge} as edge from {values(*[(n,) for n in numbers])} as t order by v")
    return [row["edge"] for row in found]


@pytest.mark.both_engines
def test_bins(engine: Engine) -> None:
    # 9 a decade: [0, 1), [9, 10), [10, 20), [90, 100), [100, 200), ...
    assert edges(engine, 9, 0, 9, 10, 19, 20, 99, 100, 999, 1000) == [1, 10, 20, 20, 30, 100, 200, 1000, 2000]
    # 18: from 10 on half steps, [10, 15), [15, 20); below 10 one bin an integer.
    assert edges(engine, 18, 1, 10, 14, 15, 149, 150) == [2, 15, 15, 20, 150, 200]
    # 90: one bin an integer up to 99, then tenths: [100, 110), [1000, 1100).
    assert edges(engine, 90, 99, 100, 109, 110, 1000, 9999) == [100, 110, 110, 120, 1100, 10_000]
    assert edges(engine, 9, 10**17, 10**18 - 1) == [2 * 10**17, 10**18]
    with pytest.raises(ValueError, match="divide 90"):
        upper_edge(engine.dialect, "v", 7)
