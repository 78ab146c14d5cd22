"""The inverse question: brackets, points, what is beyond, intervals, curves that are not monotone."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from cost_stores import KSTAR, TOKENS, row
from hypothesis import given
from hypothesis import strategies as st

from replay.cost.curves import MEASURES, Curve, curves_of
from replay.cost.size import AT_MOST, BETWEEN, BEYOND, NEVER, parse_target, size, solve
from replay.cost.size_table import TARGETS, size_rows
from telemetry.errors import UsageError

MISSES, TOKENS_MISSED = MEASURES.values()


def curve(*points: tuple[int, int], **more: object) -> Curve:
    """Budget and misses of 100 calls."""
    (found,) = curves_of([row("lru", budget, misses, 100 * misses, **more) for budget, misses in points], TOKENS)
    return found


def percent(value: int) -> Fraction:
    return Fraction(value, 100)


def test_between_two_replayed_budgets() -> None:
    # From 40 % at 2,000 to 10 % at 4,000: 20 % is two thirds of the way, 3,333.3, rounded up.
    found = size(curve((1000, 60), (2000, 40), (4000, 10), (8000, 5)), MISSES, percent(20))
    assert found is not None
    assert found.above is not None
    assert found.reached is not None
    assert (found.answer.state, found.above.budget_bytes, found.reached.budget_bytes) == (BETWEEN, 2000, 4000)
    assert (found.budget_bytes, found.answer.part) == (3334, Fraction(2, 3))
    assert found.missed_tokens == 2000
    assert found.answer.monotone
    assert (found.answer.earlier, found.low, found.high) == ((), None, None)


def test_a_target_that_a_replayed_budget_meets_exactly() -> None:
    found = size(curve((1000, 60), (2000, 40), (4000, 10)), MISSES, percent(40))
    assert found is not None
    assert (found.answer.state, found.budget_bytes) == (BETWEEN, 2000)


def test_nothing_is_extrapolated() -> None:
    some = curve((1000, 60), (2000, 40), (4000, 10))
    below, beyond = (size(some, MISSES, percent(target)) for target in (60, 9))
    assert below is not None
    assert beyond is not None
    assert (below.answer.state, below.budget_bytes, below.above) == (AT_MOST, 1000, None)
    assert (beyond.answer.state, beyond.budget_bytes, beyond.reached) == (BEYOND, None, None)
    never = size(curve((4000, 10), (KSTAR, 5)), MISSES, percent(4))
    assert never is not None
    assert (never.answer.state, never.budget_bytes) == (NEVER, None)


def test_a_curve_that_is_not_monotone() -> None:
    # 20 % is met at 2,000, missed again at 3,000, and met from 4,000 on: between 3,000 and 4,000, half way.
    found = size(curve((1000, 60), (2000, 20), (3000, 30), (4000, 10), (5000, 15)), MISSES, percent(20))
    assert found is not None
    assert (found.answer.state, found.answer.above, found.answer.reached) == (BETWEEN, 2, 3)
    assert (found.budget_bytes, found.answer.monotone, found.answer.earlier) == (3500, False, (1,))


def test_tokens_and_calls_may_need_other_budgets() -> None:
    # 100 tokens a miss of 10,000: the same shares. Twice the tokens for the last: 20 % instead of 10 %.
    rows = [row("lru", 1000, 40, 4000), row("lru", 2000, 10, 2000)]
    (some,) = curves_of(rows, TOKENS)
    calls, tokens = (size(some, measure, percent(20)) for measure in (MISSES, TOKENS_MISSED))
    assert calls is not None
    assert tokens is not None
    assert (calls.budget_bytes, tokens.budget_bytes) == (1667, 2000)


def test_an_interval_of_shares_is_one_of_budgets() -> None:
    rows = [row("lru", 1000, 60, 6000, low=0.5, high=0.7), row("lru", 2000, 20, 2000, low=0.1, high=0.3),
            row("lru", 3000, 15, 1500, low=0.05, high=0.2)]
    (some,) = curves_of(rows, TOKENS)
    found = size(some, MISSES, percent(30))
    assert found is not None
    assert found.low is not None
    assert found.high is not None
    # 50 % to 10 %: half way. 60 to 20: three quarters. 70 to 30: all of it.
    assert (found.low.budget_bytes, found.budget_bytes, found.high.budget_bytes) == (1500, 1750, 2000)
    tight = size(some, MISSES, percent(15))
    assert tight is not None
    assert tight.high is not None
    assert (tight.budget_bytes, tight.high.answer.state) == (3000, BEYOND)
    assert size(some, TOKENS_MISSED, percent(30)).low is None  # type: ignore[union-attr]


def test_an_interval_that_one_budget_lacks_is_none() -> None:
    rows = [row("lru", 1000, 60, 6000, low=0.5, high=0.7), row("lru", 2000, 20, 2000, low=None, high=None)]
    (some,) = curves_of(rows, TOKENS)
    found = size(some, MISSES, percent(30))
    assert found is not None
    assert (found.budget_bytes, found.low, found.high) == (1750, None, None)


def test_a_stream_without_tokens_has_no_share_of_them() -> None:
    (some,) = curves_of([row("lru", 1000, 40, 0)], 0)
    assert size(some, TOKENS_MISSED, percent(50)) is None
    assert size(some, MISSES, percent(50)) is not None


def test_bytes_of_another_geometry_hold_the_same_tokens() -> None:
    (some,) = curves_of([row("lru", 1001, 40, 4000), row("lru", 2000, 10, 1000)], TOKENS, Fraction(1, 2))
    assert [point.budget_bytes for point in some.points] == [500, 1000]
    assert some.kstar_bytes == KSTAR // 2


def test_a_share_and_an_amount_of_one_size_are_one_budget() -> None:
    (some,) = curves_of([row("lru", 1000, 40, 4000, share=0.125), row("lru", 1000, 40, 4000)], TOKENS)
    assert [(point.budget_bytes, point.budget_share) for point in some.points] == [(1000, 0.125)]


def test_a_budget_above_the_peak_is_the_peak() -> None:
    # K* is 8,000, at which nothing is evicted: an amount of a million misses what K* would have missed.
    rows = [row("lru", 1000, 60, 6000), row("lru", 1_000_000, 20, 2000)]
    (some,) = curves_of(rows, TOKENS)
    assert [(point.budget_bytes, point.budget_share) for point in some.points] == [(1000, None), (8000, 1.0)]
    found = size(some, MISSES, percent(40))
    assert found is not None
    assert found.budget_bytes == 4500  # half way from 1,000 to 8,000
    (both,) = curves_of([*rows, row("lru", 8000, 20, 2000, share=1.0)], TOKENS)
    assert both.points == some.points


SHARES = st.lists(st.integers(0, 100).map(percent), min_size=1, max_size=8)


@given(shares=SHARES, target=st.integers(1, 100).map(percent), complete=st.booleans())
def test_against_the_words_of_the_definition(shares: list[Fraction], target: Fraction, complete: bool) -> None:
    found = solve(shares, target, complete=complete)
    good = [place for place in range(len(shares)) if all(share <= target for share in shares[place:])]
    assert found.reached == (good[0] if good else None)
    assert found.above == (None if good[:1] == [0] else (good[0] if good else len(shares)) - 1)
    assert found.monotone == (sorted(shares, reverse=True) == shares)
    assert (found.state == AT_MOST) == (good[:1] == [0])
    assert (found.state in (BEYOND, NEVER)) == (not good)
    if found.state == BETWEEN:
        assert found.part is not None
        assert found.above is not None
        assert found.reached is not None
        line = shares[found.above] + found.part * (shares[found.reached] - shares[found.above])
        assert line == target
        assert 0 < found.part <= 1
    assert all(shares[place] <= target for place in found.earlier)


@given(shares=SHARES, targets=st.tuples(st.integers(1, 100), st.integers(1, 100)))
def test_a_lower_target_never_needs_less(shares: list[Fraction], targets: tuple[int, int]) -> None:
    some = curve(*((1000 * place, int(100 * share)) for place, share in enumerate(shares, start=1)))
    strict, loose = (size(some, MISSES, percent(target)) for target in sorted(targets))
    assert strict is not None
    assert loose is not None
    assert (strict.budget_bytes or math.inf) >= (loose.budget_bytes or math.inf)


@pytest.mark.parametrize("text", ["10", "0%", "0.0%", "100.1%", "-5%", "ten%", "", "1e1%", "10 %%", "5GB"])
def test_targets_that_cannot_be(text: str) -> None:
    with pytest.raises(UsageError, match=r"--target-miss .* is no share\. Write one above 0% and up to 100%"):
        parse_target(text)


def test_targets() -> None:
    assert [parse_target(text) for text in ("10%", " 2.5 %", "100%")] == [percent(10), Fraction(1, 40), 1]


def test_the_table_has_every_target_of_both_measures() -> None:
    rows = size_rows([row("lru", 1000, 60, 9000), row("lru", 2000, 20, 3000)], TOKENS)
    assert [(each["measure"], each["target_share"]) for each in rows] == [
        (measure, target / 100) for measure in ("misses", "missed-tokens") for target in TARGETS]
    at = {(each["measure"], each["target_share"]): each for each in rows}
    # Misses 60 % to 20 %: 40 % half way. Tokens 90 % to 30 %: 40 % five sixths of the way, 1,833.3.
    assert [at[measure, 0.4]["point_bytes"] for measure in MEASURES] == [1500, 1834]
    assert at["misses", 0.4]["point_share"] == 1500 / KSTAR
    assert (at["misses", 0.8]["state"], at["misses", 0.8]["reached_bytes"]) == (AT_MOST, 1000)
    assert (at["misses", 0.1]["state"], at["misses", 0.1]["above_bytes"]) == (BEYOND, 2000)
    assert {each["low_bytes"] for each in rows} == {None}
