"""What a call log implies for prompts, times and hints, on literal calls."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kvcensus_gate import Hints, parse_hints
from replay.live.plan import Plan, Scale, as_params, plan_reference, plan_sessions
from replay.tier.workload import Call, Turn, reference
from telemetry.errors import InputError, UsageError

WORDS = range(4, 512)
S = 1_000_000


def plan(*sessions: list[Call], **changes: Any) -> Plan:
    given: dict[str, Any] = {"seed": 1, "rate": None, "scale": Scale(), "vocabulary": WORDS}
    return plan_sessions("log", sessions, **{**given, **changes})


def shared(one: list[int], other: list[int]) -> int:
    return next((i for i, (mine, theirs) in enumerate(zip(one, other, strict=False)) if mine != theirs),
                min(len(one), len(other)))


def test_prefixes_by_hand() -> None:
    # Grown by 20; shrunk to 50 of which 30 were cached; grown; shrunk to 40, of which nothing is known.
    calls = [Call(0, 100, 5, S, 64), Call(3 * S, 120, 5, S, 96), Call(6 * S, 50, None, S, 30),
             Call(9 * S, 60, 5, S, None), Call(10 * S, 40, 5, None, None), Call(0, 0, 5, S)]
    found = plan(calls)
    assert found.workload.sessions[0].turns == (
        Turn(100, 5, 2 * S, 0), Turn(120, 5, 2 * S, 100), Turn(50, 1, 2 * S, 30), Turn(60, 5, 0, 50),
        Turn(40, 5, 0, 40))
    prompts = [found.tokens(0, turn) for turn in range(5)]
    assert [len(prompt) for prompt in prompts] == [100, 120, 50, 60, 40]
    assert [shared(one, other) for one, other in pairwise(prompts)] == [100, 30, 50, 40]
    assert found.workload.notes == {
        "calls_without_context": 1, "outputs_filled_in": 1, "gaps_start_to_start": 0, "gaps_floored": 0,
        "prefix_by_blocks": 0, "prefix_appended": 2, "prefix_by_cached": 1, "prefix_all_that_is_left": 1,
        "first_calls_with_cached": 1, "sessions_sharing_blocks": 0}


def test_block_hashes_decide_within_and_across_sessions() -> None:
    # Blocks of 16. A's second call leaves its first after two blocks; B begins with A's first block; C has none.
    a = [Call(0, 50, 1, S, None, (1, 2, 3, 4), 16), Call(9 * S, 70, 1, S, None, (1, 2, 33, 44), 16)]
    b = [Call(S, 40, 1, S, None, (1, 22, 55), 16)]
    c = [Call(2 * S, 40, 1, S)]
    found = plan(a, b, c)
    told = [found.tokens(0, 0), found.tokens(0, 1), found.tokens(1, 0), found.tokens(2, 0)]
    assert [len(prompt) for prompt in told] == [50, 70, 40, 40]
    assert [shared(told[0], other) for other in told[1:]] == [32, 16, 0]
    assert found.workload.sessions[0].turns[1].shared_tokens == 32
    assert found.workload.notes["sessions_sharing_blocks"] == 2
    assert found.workload.notes["prefix_by_blocks"] == 3
    half = plan(a, b, c, scale=Scale(tokens=Fraction(1, 2)))
    assert [shared(half.tokens(0, 0), other) for other in (half.tokens(0, 1), half.tokens(1, 0))] == [16, 8]
    with pytest.raises(UsageError, match=r"--token-scale 0\.05 leaves nothing of a block of 16 tokens"):
        plan(a, scale=Scale(tokens=Fraction(1, 20)))


def test_scales_and_the_logs_own_arrivals() -> None:
    # The later session first in the sample; gaps of 2 s to a tenth, the arrival 5 s later too.
    late = [Call(5 * S, 30, 10, S), Call(8 * S, 35, 10, S)]
    early = [Call(0, 7, 1, S)]
    found = plan(late, early, scale=Scale(Fraction(1, 10), Fraction(1, 10)))
    assert found.places == (1, 0)
    assert [session.arrival_us for session in found.workload.sessions] == [0, S // 2]
    assert found.workload.sessions[1].turns == (Turn(3, 1, S // 5, 0), Turn(4, 1, 0, 3))  # 3.5 is rounded up
    assert found.workload.rate == 2 / 0.5


def test_poisson_arrivals_depend_on_the_seed_alone() -> None:
    sessions = [[Call(i * S, 10 + i, 1, S)] for i in range(20)]
    one, again, two = (plan(*sessions, rate=2.0, seed=seed) for seed in (1, 1, 2))
    assert one.workload == again.workload
    assert (one.places, one.tokens(3, 0)) == (again.places, again.tokens(3, 0))
    assert one.places != two.places
    assert sorted(one.places) == sorted(two.places) == list(range(20))
    assert [session.turns[0].prompt_tokens for session in one.workload.sessions] == [10 + i for i in one.places]
    assert one.workload.sessions[0].arrival_us == 0


def test_a_reference_workload_to_scale() -> None:
    load = reference("continuum-d", 1)
    found = plan_reference(load, 5, 1, Scale(Fraction(1, 10), Fraction(1, 2)), WORDS)
    assert [session.arrival_us for session in found.workload.sessions] == [
        session.arrival_us for session in load.sessions[:5]]
    assert [turn[:2] + turn[3:] for turn in found.workload.sessions[0].turns] == [
        (170, 6, 0), (340, 6, 170), (510, 6, 340), (680, 6, 510), (850, 6, 680), (1020, 6, 850)]
    first = load.sessions[0].turns[0].gap_us
    assert found.workload.sessions[0].turns[0].gap_us == (first + 1) // 2
    assert found.workload.notes == {"prefix_appended": 25}
    assert shared(found.tokens(0, 0), found.tokens(1, 0)) == 0
    assert shared(found.tokens(3, 4), found.tokens(3, 5)) == 850


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(1, 400), st.none() | st.integers(0, 400)), min_size=1, max_size=8),
       st.fractions(min_value=Fraction(1, 50), max_value=2))
def test_any_log_gets_prompts_of_its_lengths_and_prefixes(contexts: list[tuple[int, int | None]],
                                                          factor: Fraction) -> None:
    calls = [Call(i * S, tokens, 1, 0, None if cached is None else min(cached, tokens))
             for i, (tokens, cached) in enumerate(contexts)]
    scale = Scale(tokens=factor)
    found = plan(calls, [Call(0, 50, 1, 0)], scale=scale)
    own = found.places.index(0)
    prompts = [found.tokens(own, turn) for turn in range(len(calls))]
    assert [len(prompt) for prompt in prompts] == [scale.of_tokens(tokens) for tokens, _ in contexts]
    for i in range(1, len(calls)):
        before, call = calls[i - 1], calls[i]
        if call.context_tokens >= before.context_tokens:
            asked = before.context_tokens
        else:
            asked = call.context_tokens if call.cached_tokens is None else call.cached_tokens
        assert shared(prompts[i - 1], prompts[i]) == scale.of_tokens(asked)
        assert found.workload.sessions[own].turns[i].shared_tokens == scale.of_tokens(asked)
    other = found.tokens(1 - own, 0)
    assert all(shared(other, prompt) == 0 for prompt in prompts)


@pytest.mark.parametrize("hints", [Hints("0", 0, 1_500_000, False), Hints("17", 3, None, True),
                                   Hints("1", 2, 0, False)])
def test_hints_arrive_as_they_were_sent(hints: Hints) -> None:
    assert parse_hints(as_params(hints)) == hints


def test_nothing_to_send() -> None:
    with pytest.raises(InputError, match="nothing to send"):
        plan([Call(0, 0, 1, S)])
