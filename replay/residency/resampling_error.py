"""Standard errors and intervals from replicates, in exact arithmetic.

What is estimated is a quotient of counts, and so is it in every replicate. Quotients are counted in whole parts per
billion where they are summed, so that the digits do not depend on the order of the work.

Bootstrap (Efron and Tibshirani, An Introduction to the Bootstrap, 1993, ch. 6 and 13): the standard error is the
standard deviation of the N replicates; the interval of 95 % lies between the ceil(N / 40)-th quotient from below and
the one as far from above.

Delete-a-group jackknife (Wolter, Introduction to Variance Estimation, 2nd ed., ch. 4): with G groups, one left out in
each replicate, variance = (G - 1) / G * sum of (replicate - their mean)^2; the interval is Student's quantile of G - 1
degrees of freedom times the standard error, either way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from replay.residency.sampling_error import root_up

__all__ = ["FEWEST_REPLICATES", "GROUPS", "Pair", "Spread", "bootstrap_spread", "jackknife_spread"]

#: A quotient: numerator and denominator, which is more than 0.
Pair = tuple[int, int]

#: Replicates that an interval needs: the 2.5 % at either end are one of them.
FEWEST_REPLICATES = 40

#: Groups of sessions of the jackknife.
GROUPS = 20
#: Quantile 0.975 of Student's t with 19 degrees of freedom is 2.09302.
_T = Fraction(2094, 1000)
_PPB = 10**9


@dataclass(frozen=True)
class Spread:
    """What replicates say of one quotient.

    Attributes
    ----------
    mean : float or None
        Of the replicates, in whole parts per billion, rounded down; None without any.
    error : float or None
        The standard error, in whole parts per billion, rounded up; None where it takes more replicates.
    low, high : float or None
        The interval; None where it takes more replicates.
    """

    mean: float | None = None
    error: float | None = None
    low: float | None = None
    high: float | None = None


def bootstrap_spread(replicates: Sequence[Pair]) -> Spread:
    """From replicates of resampled sessions."""
    count, (total, squares) = len(replicates), _sums(replicates)
    if not count:
        return Spread()
    error = None if count < 2 else float(_root(Fraction(squares, count * (count - 1))))
    low, high = (None, None) if count < FEWEST_REPLICATES else _ends(replicates)
    return Spread(total // count / _PPB, error, low, high)


def jackknife_spread(whole: Pair, replicates: Sequence[Pair], most: int | None = None) -> Spread:
    """From replicates that lack a group each.

    Parameters
    ----------
    whole : (int, int)
        The quotient of all sessions, in the middle of the interval.
    replicates : sequence of (int, int)
        `GROUPS` of them, or none.
    most : int or None
        No such quotient is larger; none is below 0. The interval ends there.
    """
    if not replicates:
        return Spread()
    count, (total, squares) = len(replicates), _sums(replicates)
    error = _root(Fraction((count - 1) * squares, count**2))
    low, high = Fraction(*whole) - _T * error, Fraction(*whole) + _T * error
    return Spread(total // count / _PPB, float(error), float(max(low, Fraction(0))),
                  float(high if most is None else min(high, Fraction(most))))


def _sums(replicates: Sequence[Pair]) -> tuple[int, int]:
    """In parts per billion: the sum, and count * the sum of squares about the mean."""
    parts = [(2 * _PPB * above + below) // (2 * below) for above, below in replicates]
    total = sum(parts)
    return total, len(parts) * sum(part * part for part in parts) - total**2


def _root(variance: Fraction) -> Fraction:
    return Fraction(root_up(variance), _PPB)


def _ends(replicates: Sequence[Pair]) -> tuple[float, float]:
    """The quotients as far from the ends as 2.5 % of their number, rounded up."""
    ordered = sorted(above / below for above, below in replicates)
    rank = -(-len(ordered) // FEWEST_REPLICATES)
    return ordered[rank - 1], ordered[-rank]
