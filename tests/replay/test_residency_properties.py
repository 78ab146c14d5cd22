"""Residency policies on random streams that grow, shrink and exceed the budget."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replay.residency.policies.mrr import mixed_resolution
from replay.residency.policy import Policy, policies, trace_policy
from replay.residency.stream import UNITS, Stream, build_stream, no_eviction_peak

POLICIES = tuple(policies().values())
LRU, FNU, MRR = (policies()[name] for name in ("lru", "fnu", "mrr"))
QUARTER = UNITS // 4


@st.composite
def streams(draw: st.DrawFn) -> Stream:
    """Up to 60 accesses to up to 9 objects; mostly similar sizes, some empty, some far larger."""
    sizes = st.one_of(st.integers(0, 12), st.integers(0, 60))
    accesses = draw(st.lists(st.tuples(st.integers(0, 8), sizes), max_size=60))
    names = list(dict.fromkeys(item for item, _ in accesses))
    objects = np.array([names.index(item) for item, _ in accesses], np.int32)
    return build_stream(objects, np.array([size for _, size in accesses], np.int64), len(names))


BUDGETS = st.one_of(st.integers(0, 200 * UNITS), st.integers(0, 60).map(lambda tokens: tokens * UNITS))


def misses(policy: Policy, stream: Stream, budget: int, release_last: bool) -> int:
    return policy.kernel(stream, budget, release_last, np.empty(0, np.bool_)).misses


@pytest.mark.parametrize("policy", [*POLICIES, *(mixed_resolution(f"q{q}", "", q) for q in (0, 33, 40, 128))],
                         ids=lambda policy: policy.name)
@given(stream=streams(), budget=BUDGETS, release_last=st.booleans())
@settings(max_examples=100, deadline=None)
def test_kernel_is_its_reference_call_for_call(policy: Policy, stream: Stream, budget: int,
                                               release_last: bool):
    outcome, missed = trace_policy(policy.kernel, stream, budget, release_last)
    expected, expected_missed = trace_policy(policy.reference, stream, budget, release_last)
    assert missed.tolist() == expected_missed.tolist()
    assert outcome == expected
    assert outcome == policy.kernel(stream, budget, release_last, np.empty(0, np.bool_))
    assert outcome.misses == missed.sum()
    assert outcome.missed_tokens == stream.tokens[missed].sum()


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: policy.name)
def test_kernel_is_its_reference_on_a_longer_stream(policy: Policy, seed: int):
    # 6,000 accesses: more than 64 * 64, so that the bitmap tree has three levels to climb.
    random = np.random.default_rng(seed)
    objects = random.zipf(1.3, 6000).clip(max=60) - 1
    _, first, objects = np.unique(objects, return_index=True, return_inverse=True)
    stream = build_stream(objects.astype(np.int32), random.integers(0, 100, 6000), len(first))
    for budget in (0, 90 * UNITS, 700 * UNITS + 1):
        for release_last in (True, False):
            outcome, missed = trace_policy(policy.kernel, stream, budget, release_last)
            expected, expected_missed = trace_policy(policy.reference, stream, budget, release_last)
            assert outcome == expected
            assert np.array_equal(missed, expected_missed)


@given(stream=streams(), budget=BUDGETS, release_last=st.booleans())
@settings(max_examples=100, deadline=None)
def test_no_policy_misses_less_than_the_first_touches(stream: Stream, budget: int, release_last: bool):
    for policy in POLICIES:
        assert misses(policy, stream, budget, release_last) >= stream.object_count


@given(stream=streams(), more=st.integers(0, 500), release_last=st.booleans())
@settings(max_examples=100, deadline=None)
def test_every_policy_meets_the_floor_from_the_no_eviction_peak_on(stream: Stream, more: int,
                                                                   release_last: bool):
    peak = no_eviction_peak(stream, "last" if release_last else "never")
    for policy in POLICIES:
        assert misses(policy, stream, peak * UNITS + more, release_last) == stream.object_count


@given(stream=streams(), budget=BUDGETS, more=st.integers(0, 100 * UNITS), release_last=st.booleans())
@settings(max_examples=150, deadline=None)
def test_lru_misses_no_more_with_a_larger_budget(stream: Stream, budget: int, more: int, release_last: bool):
    assert misses(LRU, stream, budget + more, release_last) <= misses(LRU, stream, budget, release_last)


@given(stream=streams(), budget=BUDGETS, release_last=st.booleans())
@settings(max_examples=150, deadline=None)
def test_mrr_misses_no_less_than_lru_with_the_capacity_its_copies_emulate(stream: Stream, budget: int,
                                                                        release_last: bool):
    emulated = budget * UNITS // QUARTER
    assert misses(LRU, stream, emulated, release_last) <= misses(MRR, stream, budget, release_last)


@given(stream=streams(), budget=BUDGETS, release_last=st.booleans())
@settings(max_examples=100, deadline=None)
def test_mrr_with_copies_of_full_size_is_lru(stream: Stream, budget: int, release_last: bool):
    whole = mixed_resolution("whole", "", UNITS)
    outcome, missed = trace_policy(whole.kernel, stream, budget, release_last)
    expected, expected_missed = trace_policy(LRU.kernel, stream, budget, release_last)
    assert outcome == expected
    assert np.array_equal(missed, expected_missed)


@given(stream=streams(), budget=BUDGETS)
@settings(max_examples=100, deadline=None)
def test_release_changes_nothing_for_fnu_at_one_budget(stream: Stream, budget: int):
    # What is never used again goes first anyway; only K*, and so a budget as a share of it, differs.
    _, missed = trace_policy(FNU.reference, stream, budget, True)
    assert np.array_equal(missed, trace_policy(FNU.reference, stream, budget, False)[1])


@given(stream=streams(), release_last=st.booleans())
@settings(max_examples=100, deadline=None)
def test_the_peak_is_the_least_budget_that_never_evicts(stream: Stream, release_last: bool):
    held: dict[int, int] = {}
    peak = 0
    for i, item in enumerate(stream.objects.tolist()):
        held[item] = int(stream.tokens[i])
        peak = max(peak, sum(held.values()))
        if release_last and stream.next_use[i] == stream.calls:
            del held[item]
    assert no_eviction_peak(stream, "last" if release_last else "never") == peak
