"""Residency policies on random streams that grow, shrink and exceed the budget."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from residency_streams import BUDGETS, streams, written

from metrics.idle_cap import CAPS
from replay.residency.policies.mrr import INT4, mixed_resolution
from replay.residency.policies.mrr_host import host_tier
from replay.residency.policy import HIT, MISSED, PROMOTED, Policy, log_policy, no_log, policies
from replay.residency.stream import MAX_UNITS, UNITS, Stream, build_stream, no_eviction_peak

POLICIES = tuple(policies().values())
LRU, FNU, MRR, SIZE_AWARE, UNBOUNDED = (policies()[name] for name in ("lru", "fnu", "mrr", "size_aware",
                                                                      "mrr_unbounded"))
EXTREMES = (*(mixed_resolution(f"q{q}", "", q) for q in (0, UNITS)), host_tier("host_0", "", 0))


def misses(policy: Policy, stream: Stream, budget: int, release_last: bool) -> int:
    return policy.kernel(stream, budget, release_last, no_log()).misses


def found(policy: Policy, stream: Stream, budget: int, release_last: bool) -> list[int]:
    return log_policy(policy.kernel, stream, budget, release_last)[1].tolist()


def check(policy: Policy, stream: Stream, budget: int, release_last: bool) -> None:
    outcome, log = log_policy(policy.kernel, stream, budget, release_last)
    expected, expected_log = log_policy(policy.reference, stream, budget, release_last)
    assert log.tolist() == expected_log.tolist()
    assert outcome == expected
    assert outcome == policy.kernel(stream, budget, release_last, no_log())
    assert outcome == policy.reference(stream, budget, release_last, no_log())
    assert outcome.misses == (log == MISSED).sum()
    assert outcome.missed_tokens == stream.tokens[log == MISSED].sum()
    assert outcome.counters.get("promotions", 0) == (log == PROMOTED).sum()


@pytest.mark.parametrize("policy", [*POLICIES, *EXTREMES], ids=lambda policy: policy.name)
@given(stream=streams(), budget=BUDGETS, release_last=st.booleans())
@settings(max_examples=60, deadline=None)
def test_kernel_is_its_reference_call_for_call(policy: Policy, stream: Stream, budget: int, release_last: bool):
    check(policy, stream, budget, release_last)


@pytest.mark.parametrize("policy", [*POLICIES, *EXTREMES], ids=lambda policy: policy.name)
@pytest.mark.parametrize("release_last", [True, False])
@pytest.mark.parametrize("text", [
    "", "A0", "A7", "A7 A7 A1 A0 A9", "A0 B0 A0 B0", "A5@0 B5@0 A5@0 C5@0 B5@0 A5@300 B5@300", "A8 B8 C8 A2 B2 C2 A8",
    "A50 A50 B3 A50", "A3 B3 C3 D3 A3 B3 C3 D3 D3 C3 B3 A3",
])
def test_kernel_is_its_reference_at_the_edges(policy: Policy, text: str, release_last: bool):
    for budget in (0, 1, 3 * UNITS, 8 * UNITS, MAX_UNITS):
        check(policy, written(text), budget, release_last)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: policy.name)
def test_kernel_is_its_reference_on_a_longer_stream(policy: Policy, seed: int):
    # 5,000 accesses: more than 64 * 64, so that the bitmap tree of FNU has three levels to climb.
    random = np.random.default_rng(seed)
    objects = random.zipf(1.3, 5000).clip(max=60) - 1
    _, first, objects = np.unique(objects, return_index=True, return_inverse=True)
    stream = build_stream(objects.astype(np.int32), random.integers(0, 100, 5000), len(first),
                          np.cumsum(random.integers(0, 10**8, 5000)))
    for budget, release_last in ((0, True), (90 * UNITS, False), (700 * UNITS + 1, True)):
        check(policy, stream, budget, release_last)


@given(stream=streams(), budget=BUDGETS, release_last=st.booleans())
@settings(max_examples=60, deadline=None)
def test_no_policy_misses_less_than_the_first_touches(stream: Stream, budget: int, release_last: bool):
    for policy in POLICIES:
        assert misses(policy, stream, budget, release_last) >= stream.object_count
    assert misses(UNBOUNDED, stream, budget, release_last) == stream.object_count


@given(stream=streams(), more=st.integers(0, 500), release_last=st.booleans())
@settings(max_examples=60, deadline=None)
def test_every_policy_without_a_clock_meets_the_floor_from_the_no_eviction_peak_on(stream: Stream, more: int,
                                                                                 release_last: bool):
    peak = no_eviction_peak(stream, "last" if release_last else "never")
    for policy in POLICIES:
        if not policy.name.startswith("ttl"):
            assert misses(policy, stream, peak * UNITS + more, release_last) == stream.object_count


@given(stream=streams(), budget=BUDGETS, more=st.integers(0, 100 * UNITS), release_last=st.booleans())
@settings(max_examples=100, deadline=None)
def test_lru_misses_no_more_with_a_larger_budget(stream: Stream, budget: int, more: int, release_last: bool):
    assert misses(LRU, stream, budget + more, release_last) <= misses(LRU, stream, budget, release_last)


@pytest.mark.parametrize(("name", "units"), [("mrr", 32), ("mrr_q33", 33), ("mrr_q34", 34), ("mrr_q40", 40)])
@given(stream=streams(), budget=BUDGETS, release_last=st.booleans())
@settings(max_examples=100, deadline=None)
def test_mrr_misses_no_less_than_lru_with_the_capacity_its_copies_emulate(name: str, units: int, stream: Stream,
                                                                        budget: int, release_last: bool):
    emulated = misses(LRU, stream, budget * UNITS // units, release_last)
    assert emulated <= misses(policies()[name], stream, budget, release_last)
    if name == "mrr":
        assert emulated == misses(policies()["lru_at_B_over_q"], stream, budget, release_last)


@given(stream=streams(), budget=BUDGETS, release_last=st.booleans())
@settings(max_examples=100, deadline=None)
def test_mrr_with_copies_of_full_size_is_lru(stream: Stream, budget: int, release_last: bool):
    whole = found(mixed_resolution("whole", "", UNITS), stream, budget, release_last)
    assert [each == MISSED for each in whole] == [each == MISSED for each in found(LRU, stream, budget, release_last)]


@given(stream=streams(), budget=BUDGETS, release_last=st.booleans())
@settings(max_examples=100, deadline=None)
def test_a_host_tier_holds_what_lru_discards(stream: Stream, budget: int, release_last: bool):
    plain = found(LRU, stream, budget, release_last)
    fewer = plain
    for times in (1, 2, 4, None):
        tier = found(host_tier("tier", "", times), stream, budget, release_last)
        assert [each == HIT for each in tier] == [each == HIT for each in plain]
        # More room misses only what less room misses.
        assert all(less == MISSED for less, more in zip(fewer, tier, strict=True) if more == MISSED)
        if times is not None:
            larger = budget + budget * times * UNITS // INT4
            assert misses(LRU, stream, larger, release_last) <= tier.count(MISSED)
        fewer = tier


@given(stream=streams(), budget=BUDGETS, release_last=st.booleans())
@settings(max_examples=100, deadline=None)
def test_what_a_tier_without_end_moves(stream: Stream, budget: int, release_last: bool):
    """Nothing comes up that did not go down; what went down and stays is at most every object's largest copy."""
    counters = UNBOUNDED.kernel(stream, budget, release_last, no_log()).counters
    stay = counters["down_units"] - counters["up_units"]
    largest: dict[int, int] = {}
    for item, size in zip(stream.objects.tolist(), stream.tokens.tolist(), strict=True):
        largest[item] = max(largest.get(item, 0), size)
    assert 0 <= stay <= sum(largest.values()) * INT4


@pytest.mark.parametrize("name", [name for name, cap in CAPS.items() if cap is not None])
@given(stream=streams(), budget=BUDGETS, release_last=st.booleans())
@settings(max_examples=40, deadline=None)
def test_an_idle_cap_misses_what_lru_misses_and_what_idled_longer(name: str, stream: Stream, budget: int,
                                                                 release_last: bool):
    cap, latest, idled = CAPS[name], {}, []
    assert stream.time_us is not None
    for item, now in zip(stream.objects.tolist(), stream.time_us.tolist(), strict=True):
        idled.append(now - latest.get(item, now) > cap)
        latest[item] = now
    expected = [MISSED if late else each for each, late in
                zip(found(LRU, stream, budget, release_last), idled, strict=True)]
    assert found(policies()[f"ttl_{name}"], stream, budget, release_last) == expected


@given(stream=streams(), budget=BUDGETS)
@settings(max_examples=100, deadline=None)
def test_release_changes_nothing_for_the_clairvoyant_at_one_budget(stream: Stream, budget: int):
    # What is never used again goes first anyway; only K*, and so a budget as a share of it, differs.
    for policy in (FNU, SIZE_AWARE):
        logs = [log_policy(policy.reference, stream, budget, release_last)[1] for release_last in (True, False)]
        assert np.array_equal(*logs)


@given(stream=streams(sizes=(3,)), tokens=st.integers(0, 30), release_last=st.booleans())
@settings(max_examples=100, deadline=None)
def test_with_objects_of_one_size_the_size_aware_is_fnu(stream: Stream, tokens: int, release_last: bool):
    budget = tokens * UNITS
    assert found(SIZE_AWARE, stream, budget, release_last) == found(FNU, stream, budget, release_last)


@given(stream=streams(sizes=(1,)), room=st.integers(0, 9), release_last=st.booleans())
@settings(max_examples=100, deadline=None)
def test_with_objects_of_one_size_fnu_is_belady(stream: Stream, room: int, release_last: bool):
    # With bypass Belady's rule is optimal: no policy that keeps or discards whole objects misses less.
    for name in ("lru", "size_aware", "ttl_1m"):
        assert misses(FNU, stream, room * UNITS, release_last) <= misses(policies()[name], stream, room * UNITS,
                                                                        release_last)


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
