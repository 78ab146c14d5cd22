"""PFOO-L, the optimum by exhaustive search, and the feasible schedule, in this order, on short random streams."""

from __future__ import annotations

import numpy as np
import pytest
from bounds_optimum import lazy_optimum, optimum
from hypothesis import example, given, settings
from hypothesis import strategies as st

from replay.residency.bounds.pfoo_l import pfoo_l
from replay.residency.bounds.pfoo_u import cheapest_first, pfoo_u
from replay.residency.keeping import WHOLE, Keeping
from replay.residency.stream import UNITS, Stream, build_stream

pytestmark = pytest.mark.slow

KEEPINGS = (WHOLE, Keeping(32), Keeping(40), Keeping(64), Keeping(1), Keeping(32, 1), Keeping(64, 2), Keeping(UNITS, 1))


def stream_of(accesses: list[tuple[int, int]]) -> Stream:
    names = list(dict.fromkeys(item for item, _ in accesses))
    objects = np.array([names.index(item) for item, _ in accesses], np.int32)
    return build_stream(objects, np.array([size for _, size in accesses], np.int64), len(names))


def streams(objects: int) -> st.SearchStrategy[Stream]:
    """Up to twelve accesses; contexts that grow and shrink, some empty."""
    return st.lists(st.tuples(st.integers(0, objects - 1), st.integers(0, 9)), max_size=12).map(stream_of)


BUDGETS = st.one_of(st.integers(0, 20 * UNITS), st.integers(0, 20).map(lambda tokens: tokens * UNITS))


def lower(stream: Stream, keeping: Keeping, budget: int) -> int:
    (misses,) = pfoo_l(stream, [keeping.room(budget, stream.calls)])
    return misses


def feasible(stream: Stream, keeping: Keeping, budget: int) -> int:
    return pfoo_u(stream, cheapest_first(stream), keeping.tiers(budget))


@pytest.mark.parametrize("keeping", KEEPINGS, ids=lambda keeping: f"whole{keeping.suffix}")
@given(stream=streams(3), budget=BUDGETS, release_last=st.booleans())
@settings(max_examples=100, deadline=None)
def test_the_bounds_bracket_the_optimum(keeping: Keeping, stream: Stream, budget: int, release_last: bool):
    best = optimum(stream, keeping, budget, release_last)
    assert stream.object_count <= lower(stream, keeping, budget) <= best <= feasible(stream, keeping, budget)


@given(stream=streams(5), budget=BUDGETS, release_last=st.booleans())
@example(stream=stream_of([(0, 4), (1, 2), (0, 6), (1, 2), (0, 1), (1, 9)]), budget=6 * UNITS, release_last=False)
@settings(max_examples=200, deadline=None)
def test_acting_only_when_over_the_budget_costs_nothing(stream: Stream, budget: int, release_last: bool):
    """What the optimum discards early can go later, first of all: the schedule is feasible for lazy policies, too."""
    best = optimum(stream, WHOLE, budget, release_last)
    assert best == lazy_optimum(stream, budget, release_last)
    assert best == lazy_optimum(stream, budget, not release_last)
    assert stream.object_count <= lower(stream, WHOLE, budget) <= best <= feasible(stream, WHOLE, budget)


def test_a_bound_for_less_freedom_does_not_bound_more():
    # Two objects of 4 in turns with room for one: whole, three of four calls miss; as copies both stay.
    stream, budget = stream_of([(0, 4), (1, 4), (0, 4), (1, 4)]), 4 * UNITS
    assert optimum(stream, Keeping(32), budget, True) == 2
    assert lower(stream, WHOLE, budget) == 3
    assert lower(stream, Keeping(32), budget) == 2
