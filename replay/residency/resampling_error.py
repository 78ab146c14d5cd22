"""Standard errors and intervals from replicates, in exact arithmetic.

What is estimated is a quotient of counts, and so is it in every replicate. Quotients are counted in whole parts per
billion where they are summed, so that the digits do not depend on the order of the work.

Bootstrap (Efron and Tibshirani, An Introduction to the Bootstrap, 1993, ch. 6 and 13): the standard error is the
standard deviation of the N replicates. The interval is the standard one, 1.96 errors either way of the quotient itself.
Copies of a session arrive in lockstep, which shifts all replicates one way, and their percentiles with them: these are
given, too, the ceil(N / 40)-th quotient from either end, but they cover less (METHODOLOGY.md).

Delete-a-group jackknife (Wolter, Introduction to Variance Estimation, 2nd ed., ch. 4): with G groups, one left out in
each replicate, variance = (G - 1) / G * sum of (replicate - their mean)^2; the interval is Student's quantile of G - 1
degrees of freedom times the standard error, either way. No session is in a replicate twice.
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

#: Quantiles 0.975, rounded up: of the normal distribution, 1.95996; of Student's t, 19 degrees of freedom, 2.09302.
_NORMAL, _STUDENT = Fraction(1960, 1000), Fraction(2094, 1000)
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
        The interval, within what the quotient can be; None where it takes more replicates.
    from_low, from_high : float or None
        Percentiles 2.5 and 97.5 of the replicates of a bootstrap.
    """

    mean: float | None = None
    error: float | None = None
    low: float | None = None
    high: float | None = None
    from_low: float | None = None
    from_high: float | None = None


def bootstrap_spread(whole: Pair, replicates: Sequence[Pair], most: int | None = None) -> Spread:
    """From replicates of resampled sessions.

    Parameters
    ----------
    whole : (int, int)
        The quotient of all sessions, in the middle of the interval.
    replicates : sequence of (int, int)
        May be none.
    most : int or None
        No such quotient is larger; none is below 0. The interval ends there.
    """
    count, (total, squares) = len(replicates), _sums(replicates)
    if not count:
        return Spread()
    mean = total // count / _PPB
    if count < 2:
        return Spread(mean)
    error = _root(Fraction(squares, count * (count - 1)))
    if count < FEWEST_REPLICATES:
        return Spread(mean, float(error))
    ordered = sorted(above / below for above, below in replicates)
    rank = -(-count // FEWEST_REPLICATES)
    return Spread(mean, float(error), *_interval(whole, _NORMAL * error, most), ordered[rank - 1], ordered[-rank])


def jackknife_spread(whole: Pair, replicates: Sequence[Pair], most: int | None = None) -> Spread:
    """From replicates that lack a group each, `GROUPS` of them or none; parameters as of `bootstrap_spread`."""
    if not replicates:
        return Spread()
    count, (total, squares) = len(replicates), _sums(replicates)
    error = _root(Fraction((count - 1) * squares, count**2))
    return Spread(total // count / _PPB, float(error), *_interval(whole, _STUDENT * error, most))


def _interval(whole: Pair, reach: Fraction, most: int | None) -> tuple[float, float]:
    low, high = Fraction(*whole) - reach, Fraction(*whole) + reach
    return float(max(low, Fraction(0))), float(high if most is None else min(high, Fraction(most)))


def _sums(replicates: Sequence[Pair]) -> tuple[int, int]:
    """In parts per billion: the sum, and count * the sum of squares about the mean."""
    parts = [(2 * _PPB * above + below) // (2 * below) for above, below in replicates]
    total = sum(parts)
    return total, len(parts) * sum(part * part for part in parts) - total**2


def _root(variance: Fraction) -> Fraction:
    """The square root of parts per billion squared, rounded up to them."""
    return Fraction(root_up(variance), _PPB)
