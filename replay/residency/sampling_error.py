"""How far a rate of a sample may lie from that of all sessions, from the groups of the sample.

Two things part them: the chance of the draw, and the size of the sample.

Chance: the random-group estimator (Wolter, Introduction to Variance Estimation, 2nd ed., ch. 2) of a ratio. With m_g
of the c_g calls of group g missed, M and C their sums over the G groups, and f the fraction that was drawn,

    d_g = m_g - c_g * M / C,    variance = (1 - f) * G / (G - 1) * sum of d_g^2 / C^2.

Groups are made of whole sessions, so whatever the calls of a session have in common is in the d_g. Groups that differ
in calls weigh as they should. (1 - f) is there because sessions are drawn without replacement.

Size: few sessions share memory otherwise than many, so the rate moves as a sample grows, whoever is in it. From the
groups to the sample, a G-fold growth, it has moved by rate - M / C. The sessions are 1 / f times the sample, which is
log(1 / f) / log(G) such steps, and none is taken to move the rate further than the one that was seen, either way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import isqrt

__all__ = ["Estimate", "estimate"]

#: Quantile 0.975 of Student's t with 7 degrees of freedom, one less than a sample has groups, is 2.36462.
_T = Fraction(2365, 1000)
_PPB = 10**9


@dataclass(frozen=True)
class Estimate:
    """What the groups of a sample say of one rate.

    Attributes
    ----------
    groups_rate : float
        Of the groups together, each replayed alone.
    error : float or None
        The standard error by chance, in whole parts per billion, rounded up.
    low, high : float or None
        2.365 errors and what the size of the sample may add, either way, within 0 to 1.
    why : str or None
        Why error and interval are not known, where they are not.
    """

    groups_rate: float
    error: float | None
    low: float | None
    high: float | None
    why: str | None = None


def estimate(misses: int, calls: int, groups: Sequence[tuple[int, int]], fraction: Fraction) -> Estimate:
    """How sure misses / calls of a sample is.

    Parameters
    ----------
    misses, calls : int
        Of the sample as a whole; some call.
    groups : sequence of (int, int)
        Misses and calls of each group, replayed alone; at least two groups, which share out all calls.
    fraction : Fraction
        Share of the sessions in the sample.
    """
    missed = sum(some for some, _ in groups)
    squares = sum((some * calls - count * missed) ** 2 for some, count in groups)
    variance = (1 - fraction) * Fraction(len(groups) * squares, (len(groups) - 1) * calls**4)
    error = Fraction(_root_up(variance * _PPB**2), _PPB)
    rate, together = Fraction(misses, calls), Fraction(missed, calls)
    reach = _T * error + abs(rate - together) * _steps(fraction, len(groups))
    return Estimate(float(together), float(error), float(max(rate - reach, Fraction(0))),
                    float(min(rate + reach, Fraction(1))))


def _steps(fraction: Fraction, groups: int) -> Fraction:
    """log(1 / fraction) / log(groups), rounded up to tenths: the least n / 10 with groups^n >= (1 / fraction)^10."""
    tenths, share = 0, fraction**10
    while groups**tenths * share < 1:
        tenths += 1
    return Fraction(tenths, 10)


def _root_up(square: Fraction) -> int:
    """The square root, rounded up to an integer: the least n with n * n >= square."""
    whole = -(-square.numerator // square.denominator)
    return isqrt(whole - 1) + 1 if whole else 0
