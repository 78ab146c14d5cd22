"""Standard errors and intervals from replicates."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replay.residency.resampling_error import Spread, bootstrap_spread, jackknife_spread


def test_intervals_lie_as_far_from_both_ends():
    # 2.5 % of 200 are 5: the fifth from either end. The error is sqrt(200 * 201 / 12) / 1000 = 0.0578791845...
    reach = Fraction(196, 100) * Fraction(57879185, 10**9)
    assert bootstrap_spread((3, 20), [(n, 1000) for n in range(200, 0, -1)]) == Spread(
        0.1005, 0.057879185, float(Fraction(3, 20) - reach), float(Fraction(3, 20) + reach), 0.005, 0.196)
    # Of 41 they are 1.025, two replicates; 39 are too few.
    many = bootstrap_spread((9, 10), [(n, 100) for n in range(1, 42)], most=1)
    assert (many.high, many.from_low, many.from_high) == (1, 0.02, 0.40)
    assert bootstrap_spread((1, 10), [(n, 100) for n in range(1, 42)]).low == 0
    few = bootstrap_spread((9, 10), [(n, 100) for n in range(1, 40)])
    assert (few.mean, few.low, few.high, few.from_low, few.from_high) == (0.2, None, None, None, None)
    # 1/2 and 3/4: their mean is 5/8, and the root of 2 / 64 is 0.17677669529...
    assert bootstrap_spread((2, 3), [(1, 2), (3, 4)]) == Spread(0.625, 0.176776696)
    assert bootstrap_spread((2, 3), [(1, 3)]) == Spread(0.333333333)
    assert bootstrap_spread((2, 3), []) == Spread()


def test_a_jackknife_worked_out_by_hand():
    # 1/2 and 3/4 without the one or the other group: 1/2 * 2/64, whose root is 1/8.
    reach = Fraction(2094, 1000) / 8
    assert jackknife_spread((2, 3), [(1, 2), (3, 4)]) == Spread(
        0.625, 0.125, float(Fraction(2, 3) - reach), float(Fraction(2, 3) + reach))
    assert jackknife_spread((9, 10), [(1, 2), (3, 4)], most=1).high == 1
    assert jackknife_spread((1, 10), [(1, 2), (3, 4)]).low == 0
    assert jackknife_spread((2, 3), []) == Spread()


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(1, 50)).map(lambda two: (min(two), two[1])), min_size=2,
                max_size=60))
@settings(max_examples=100, deadline=None)
def test_errors_are_those_of_the_textbook(pairs):
    rates = [above / below for above, below in pairs]
    count, mean = len(rates), sum(rates) / len(rates)
    squares = sum((rate - mean) ** 2 for rate in rates)
    found = bootstrap_spread((1, 2), pairs)
    assert found.error == pytest.approx((squares / (count - 1)) ** 0.5, abs=3e-9)
    assert jackknife_spread((1, 2), pairs).error == pytest.approx((squares * (count - 1) / count) ** 0.5, abs=3e-8)
    assert found.mean == pytest.approx(mean, abs=2e-9)
    assert found == bootstrap_spread((1, 2), pairs[::-1])
