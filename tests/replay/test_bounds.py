"""PFOO-L and the feasible schedule: worked out by hand, against plain references, and their true orderings."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replay.residency.bounds.grid import bounds
from replay.residency.bounds.pfoo_l import pfoo_l, pfoo_l_reference
from replay.residency.bounds.pfoo_u import cheapest_first, pfoo_u, pfoo_u_reference
from replay.residency.budgets import parse_budgets
from replay.residency.keeping import WHOLE, Keeping, Room
from replay.residency.policy import keeping_of, keepings, no_log, policies
from replay.residency.stream import MAX_UNITS, UNITS, Stream, build_stream, no_eviction_peak

INT4 = Keeping(32)
KEEPINGS = (WHOLE, INT4, Keeping(33), Keeping(1), Keeping(32, 1), Keeping(40, 4), Keeping(UNITS, 1))


def written(text: str) -> Stream:
    """`A4 B2`: an access to A with a context of 4 tokens, then one to B with 2."""
    words = text.split()
    names = sorted({word[0] for word in words})
    objects = np.array([names.index(word[0]) for word in words], np.int32)
    return build_stream(objects, np.array([int(word[1:]) for word in words], np.int64), len(names),
                        np.arange(len(words), dtype=np.int64) * 10**6)


def both(stream: Stream, keeping: Keeping, units: int) -> tuple[int, int]:
    """Misses of PFOO-L and of the feasible schedule."""
    (low,) = pfoo_l(stream, [keeping.room(units, stream.calls)])
    return low, pfoo_u(stream, cheapest_first(stream), keeping.tiers(units))


# Accesses 0 to 5. Reuse intervals: A 0-2 of 4 tokens, cost 4 * 2 = 8; B 1-3 of 2, cost 4; A 2-4 of 6, cost 12;
# B 3-5 of 2, cost 4; together 28. After accesses 0 to 4 they take 4, 6, 8, 8, 2.
GROWING = written("A4 B2 A6 B2 A1 B9")


@pytest.mark.parametrize(("tokens", "low", "feasible"), [
    (8, 2, 2),  # room for 8 * 5 = 40; nothing is ever above 8: first touches only
    (6, 2, 3),  # room for 30: all costs fit. After 2 and 3 they take 8: A 2-4, the dearest, is left out
    (5, 3, 4),  # A 2-4 is larger than 5; room for 25: the others, 16, fit. B 1-3 and A 0-2 take 6 after 1: A is out
    (4, 3, 4),  # room for 20
    (3, 4, 4),  # A 0-2 is larger than 3, too; B 1-3 and B 3-5 follow each other
    (2, 4, 4),  # exactly the size of B
    (1, 6, 6),
    (0, 6, 6),
])
def test_bounds_by_hand(tokens, low, feasible):
    assert both(GROWING, WHOLE, tokens * UNITS) == (low, feasible)


def test_copies_by_hand():
    # q = 64/128: 4 tokens of memory hold 8 in copies, as above; 3 hold 6; 1 unit less than 3 holds 5 (5.98).
    half = Keeping(64)
    assert both(GROWING, half, 4 * UNITS) == (2, 2)
    assert both(GROWING, half, 3 * UNITS) == (2, 3)
    # Room for 383 / 64 * 5 = 29.9 tokens times accesses, but A 2-4, of 6 tokens, is larger than 5.
    assert both(GROWING, half, 3 * UNITS - 1) == (3, 4)


def test_a_host_tier_by_hand():
    # 2 tokens whole in the budget, and 2 * 1 / (64/128) = 4 in host copies: B 1-3 and B 3-5 in the budget, A 0-2 in
    # the host tier; A 2-4, of 6, fits neither. Room for (2 + 4) * 5 = 30, of which 16 are asked for.
    assert Keeping(64, 1).room(2 * UNITS, 6) == Room(4, 30)
    assert both(GROWING, Keeping(64, 1), 2 * UNITS) == (3, 3)
    # 3 tokens whole and 6 in host copies: A 2-4 fits the host tier, too.
    assert both(GROWING, Keeping(64, 1), 3 * UNITS) == (2, 2)


def test_room_that_is_just_filled():
    # A 0-2 and B 1-3, 3 tokens each, cost 6 each. 4 tokens have room for 12: both. They never fit together, so the
    # bound is not reached. One unit less has room for 11 (511 * 3 / 128 = 11.98), which is one of them.
    stream = written("A3 B3 A3 B3")
    assert both(stream, WHOLE, 4 * UNITS) == (2, 3)
    assert both(stream, WHOLE, 4 * UNITS - 1) == (3, 3)


def test_objects_larger_than_the_budget_ask_for_no_room():
    # Costs: A 0-1 1, B 2-4 4, C 3-5 6. T = 5; at 3 tokens room for 15, all 11 fit; at 2 C is too large, 5 fit in 10;
    # at 1 only A fits.
    stream = written("A1 A0 B2 C3 B1 C1")
    assert [both(stream, WHOLE, tokens * UNITS) for tokens in (5, 3, 2, 1)] == [(3, 3), (3, 4), (4, 4), (5, 5)]


@pytest.mark.parametrize("units", [0, 1, MAX_UNITS])
def test_empty_contexts_are_kept_for_nothing(units):
    # Both keep A at size 0 over B's calls. B 1-2, of 3 tokens, fits where there is memory.
    assert both(written("A0 B3 B0 A0 B1"), WHOLE, units) == ((2, 2) if units == MAX_UNITS else (3, 3))


@pytest.mark.parametrize("keeping", KEEPINGS, ids=lambda keeping: f"whole{keeping.suffix}")
def test_an_empty_stream_and_one_call(keeping):
    empty = build_stream(np.empty(0, np.int32), np.empty(0, np.int64), 0)
    for units in (0, 1, 5 * UNITS, MAX_UNITS):
        assert both(empty, keeping, units) == (0, 0)
        assert both(written("A7"), keeping, units) == (1, 1)
    assert pfoo_l(GROWING, []) == []


def test_a_grid_of_bounds():
    # K* = 9 under `last`, at access 5, when A is gone. 75 % is 6.75 tokens, at 100 bytes a token 675 bytes.
    found = bounds(GROWING, ("pfoo_l", "pfoo_u"), (WHOLE, Keeping(64)), parse_budgets(["75%", "400B"]), beta=100)
    assert [(bound.name, bound.misses, bound.budget_bytes, bound.budget_units) for bound in found] == [
        ("pfoo_l.b75", 2, 675, 864), ("pfoo_l.b400B", 3, 400, 512),
        ("pfoo_l_q64.b75", 2, 675, 864), ("pfoo_l_q64.b400B", 2, 400, 512),
        ("pfoo_u.b75", 3, 675, 864), ("pfoo_u.b400B", 4, 400, 512),
        ("pfoo_u_q64.b75", 2, 675, 864), ("pfoo_u_q64.b400B", 2, 400, 512),
    ]
    assert {(bound.calls, bound.objects, bound.tokens) for bound in found} == {(6, 2, 24)}
    # `never` keeps A at 1 beside B at 9: K* = 10, 75 % is 7.5.
    assert bounds(GROWING, ("pfoo_l",), (WHOLE,), parse_budgets(["75%"]), "never", beta=1)[0].budget_units == 960


def test_threads_change_nothing():
    random = np.random.default_rng(3)
    objects = np.concatenate([np.arange(100), random.integers(0, 100, 3000)]).astype(np.int32)
    stream = build_stream(objects, random.integers(0, 1000, len(objects)), 100)
    arguments = stream, ("pfoo_l", "pfoo_u"), KEEPINGS, parse_budgets(["1%", "10%", "50%"])
    one = bounds(*arguments, beta=1)
    assert one == bounds(*arguments, beta=1, threads=4)
    assert len({bound.name for bound in one}) == 2 * 7 * 3


@pytest.mark.parametrize(("policy", "keeping", "suffix"), [
    ("lru", WHOLE, ""), ("fnu", WHOLE, ""), ("size_aware", WHOLE, ""), ("ttl_5m", WHOLE, ""),
    ("mrr", INT4, "_q32"), ("mrr_q33", Keeping(33), "_q33"), ("mrr_q40", Keeping(40), "_q40"),
    ("mrr_host_2", Keeping(32, 2), "_q32_h2"), ("lru_at_B_over_q", INT4, "_q32"),
    ("mrr_unbounded", None, ""),
])
def test_which_bound_is_for_which_policy(policy, keeping, suffix):
    assert keeping_of(policy) == keeping
    assert keeping is None or keeping.suffix == suffix


def test_what_policies_keep_is_named_once_and_whole_objects_always():
    assert keepings(["mrr", "lru", "mrr_unbounded", "lru_at_B_over_q"]) == (WHOLE, INT4)
    assert Keeping(UNITS, 1).suffix == "_q128_h1"


def test_no_policy_takes_the_name_of_a_bound():
    assert not [name for name in policies() if name.startswith("pfoo")]


@st.composite
def streams(draw: st.DrawFn, sizes: st.SearchStrategy[int] | None = None) -> Stream:
    """Up to 60 accesses to up to 9 objects; mostly similar sizes, some empty, some far larger."""
    sizes = st.one_of(st.integers(0, 12), st.integers(0, 60)) if sizes is None else sizes
    accesses = draw(st.lists(st.tuples(st.integers(0, 8), sizes), max_size=60))
    names = list(dict.fromkeys(item for item, _ in accesses))
    objects = np.array([names.index(item) for item, _ in accesses], np.int32)
    return build_stream(objects, np.array([size for _, size in accesses], np.int64), len(names),
                        np.arange(len(accesses), dtype=np.int64) * 20_000_000)


BUDGETS = st.one_of(st.integers(0, 200 * UNITS), st.integers(0, 60).map(lambda tokens: tokens * UNITS))
#: Sizes whose costs pass 2^53, where doubles round.
HUGE = st.one_of(st.integers(0, 2**50), st.integers(2**50 - 8, 2**50))


@given(stream=st.one_of(streams(), streams(HUGE)),
       units=st.lists(st.one_of(BUDGETS, st.integers(0, 2**60)), min_size=1, max_size=3))
@settings(max_examples=100, deadline=None)
def test_kernels_are_their_references(stream: Stream, units: list[int]):
    order = cheapest_first(stream)
    for keeping in KEEPINGS:
        rooms = [keeping.room(size, stream.calls) for size in units]
        assert pfoo_l(stream, rooms) == pfoo_l_reference(stream, rooms)
        for size in units:
            tiers = keeping.tiers(size)
            assert pfoo_u(stream, order, tiers) == pfoo_u_reference(stream, tiers)


@pytest.mark.parametrize("same", [True, False])
def test_sums_of_costs_pass_64_bits(same):
    # 500 objects in turns, as large as a stream may hold: each of 500 intervals costs 500 * 2^56 / 1000 = 2^55, and
    # together they cost 2^64. Of one size they are in one bucket.
    most = 2**56 // 1000 - 1
    sizes = np.full(1000, most) if same else np.random.default_rng(1).integers(most // 2, most, 1000)
    stream = build_stream(np.tile(np.arange(500, dtype=np.int32), 2), sizes, 500)
    peak = no_eviction_peak(stream, "last") * UNITS
    rooms = [WHOLE.room(size, 1000) for size in (peak // 100, peak // 4, peak // 2, peak, MAX_UNITS)]
    assert max(room.limit for room in rooms[:-1]) > 2**64
    assert pfoo_l(stream, rooms) == pfoo_l_reference(stream, rooms)
    assert pfoo_l(stream, rooms)[-2:] == [500, 500]


@pytest.mark.parametrize("seed", range(2))
def test_kernels_are_their_references_on_a_longer_stream(seed: int):
    random = np.random.default_rng(seed)
    objects = random.zipf(1.3, 1500).clip(max=60) - 1
    _, first, objects = np.unique(objects, return_index=True, return_inverse=True)
    stream = build_stream(objects.astype(np.int32), random.integers(0, 100, 1500), len(first))
    units = [0, 50 * UNITS, 90 * UNITS + 1, 700 * UNITS]
    for keeping in KEEPINGS:
        rooms = [keeping.room(size, stream.calls) for size in units]
        assert pfoo_l(stream, rooms) == pfoo_l_reference(stream, rooms)
        for size in units:
            assert pfoo_u(stream, cheapest_first(stream), keeping.tiers(size)) == \
                pfoo_u_reference(stream, keeping.tiers(size))


@given(stream=streams(), units=BUDGETS, release_last=st.booleans())
@settings(max_examples=150, deadline=None)
def test_no_policy_is_below_its_bound(stream: Stream, units: int, release_last: bool):
    for name, policy in policies().items():
        keeping = keeping_of(name)
        if keeping is not None:
            assert both(stream, keeping, units)[0] <= policy.kernel(stream, units, release_last, no_log()).misses, name


@given(stream=streams(), units=BUDGETS, copy_units=st.integers(1, UNITS), release_last=st.booleans())
@settings(max_examples=150, deadline=None)
def test_copies_are_bounded_by_as_much_more_memory(stream: Stream, units: int, copy_units: int, release_last: bool):
    """First touches <= PFOO-L(q) at B <= PFOO-L at B / q <= LRU at B / q; and at q of `mrr`, <= MRR at B."""
    emulated = units * UNITS // copy_units
    low, _ = both(stream, Keeping(copy_units), units)
    whole, _ = both(stream, WHOLE, emulated)
    lru = policies()["lru"].kernel(stream, emulated, release_last, no_log()).misses
    assert stream.object_count <= low <= whole <= lru
    if copy_units == 32:
        assert lru <= policies()["mrr"].kernel(stream, units, release_last, no_log()).misses


@given(stream=streams(), units=BUDGETS, more=st.integers(0, 100 * UNITS))
@settings(max_examples=100, deadline=None)
def test_a_larger_budget_or_more_freedom_lowers_the_bound(stream: Stream, units: int, more: int):
    def low(keeping: Keeping, size: int) -> int:
        return both(stream, keeping, size)[0]

    for keeping in KEEPINGS:
        assert low(keeping, units + more) <= low(keeping, units)
    assert low(Keeping(1), units) <= low(INT4, units) <= low(Keeping(40), units) <= low(WHOLE, units)
    assert low(Keeping(32, 4), units) <= low(Keeping(32, 1), units) <= low(WHOLE, units)


@given(stream=streams(), more=st.integers(0, 500), release=st.sampled_from(["last", "never"]))
@settings(max_examples=100, deadline=None)
def test_bounds_meet_the_floor_from_the_no_eviction_peak_on(stream: Stream, more: int, release):
    peak = no_eviction_peak(stream, release) * UNITS
    for keeping in KEEPINGS:
        assert both(stream, keeping, peak + more) == (stream.object_count, stream.object_count)
