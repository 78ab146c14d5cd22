"""How far a rate of a sample may lie from that of all sessions, from the groups of the sample.

Two things part them: the chance of the draw, and the size of the sample.

Chance: the random-group estimator (Wolter, Introduction to Variance Estimation, 2nd ed., ch. 2) of a ratio. With m_g
of the c_g calls of group g missed, M and C their sums over the G groups, and f the fraction that was drawn,

    d_g = m_g - c_g * M / C,    variance = (1 - f) * G / (G - 1) * sum of d_g^2 / C^2.

Groups are made of whole sessions, so whatever the calls of a session have in common is in the d_g. Groups that differ
in calls weigh as they should. (1 - f) is there because sessions are drawn without replacement.

Size: the rate moves as a sample grows, whoever is in it, for two reasons that work against each other. Few sessions
share their part of the memory worse than many: seen between the sample and its groups, each with 1 / G of its budget.
And peaks of few add up to more than the peak of all, so that a share of K* is more memory: seen between groups that
have 1 / G of the budget and groups that have the same share of their own K*. The sessions are 1 / f times the sample,
log(1 / f) / log(G) steps like that from a group to the sample, and neither reason is taken to move the rate further
at a step than it did at the one that was seen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import isqrt

__all__ = ["Counts", "Estimate", "estimate", "root_up"]

#: Misses and calls of each group.
Counts = Sequence[tuple[int, int]]

#: Quantile 0.975 of Student's t with 7 degrees of freedom, one less than a sample has groups, is 2.36462.
_T = Fraction(2365, 1000)
_PPB = 10**9


@dataclass(frozen=True)
class Estimate:
    """What the groups of a sample say of one rate.

    Attributes
    ----------
    own, split : float
        The rate of the groups together, each with the same share of its own K*, and with its part of the budget.
    error : float or None
        The standard error by chance, in whole parts per billion, rounded up: the larger one of the two.
    low, high : float or None
        2.365 errors and what the size of the sample may add, either way, within 0 to 1.
    why : str or None
        Why error and interval are not known, where they are not.
    """

    own: float
    split: float
    error: float | None
    low: float | None
    high: float | None
    why: str | None = None


def estimate(misses: int, calls: int, own: Counts, split: Counts, fraction: Fraction) -> Estimate:
    """How sure misses / calls of a sample is.

    Parameters
    ----------
    misses, calls : int
        Of the sample as a whole; some call.
    own, split : sequence of (int, int)
        Misses and calls of each group, replayed alone with the same share of its own K*, and with its part of the
        budget; at least two groups, which share out all calls.
    fraction : Fraction
        Share of the sessions in the sample.
    """
    rate, of_own, of_split = Fraction(misses, calls), _rate(own, calls), _rate(split, calls)
    variance = (1 - fraction) * max(_variance(own, calls), _variance(split, calls))
    error = Fraction(root_up(variance * _PPB**2), _PPB)
    reach = _T * error + (abs(rate - of_split) + abs(of_split - of_own)) * _steps(fraction, len(own))
    return Estimate(float(of_own), float(of_split), float(error), float(max(rate - reach, Fraction(0))),
                    float(min(rate + reach, Fraction(1))))


def _rate(groups: Counts, calls: int) -> Fraction:
    return Fraction(sum(misses for misses, _ in groups), calls)


def _variance(groups: Counts, calls: int) -> Fraction:
    """Of the rate of as many sessions drawn anew, with replacement."""
    missed = sum(misses for misses, _ in groups)
    squares = sum((misses * calls - count * missed) ** 2 for misses, count in groups)
    return Fraction(len(groups) * squares, (len(groups) - 1) * calls**4)


def _steps(fraction: Fraction, groups: int) -> Fraction:
    """log(1 / fraction) / log(groups), rounded up to tenths: the least n / 10 with groups^n >= (1 / fraction)^10."""
    tenths, share = 0, fraction**10
    while groups**tenths * share < 1:
        tenths += 1
    return Fraction(tenths, 10)


def root_up(square: Fraction) -> int:
    """The square root, rounded up to an integer: the least n with n * n >= square."""
    whole = -(-square.numerator // square.denominator)
    return isqrt(whole - 1) + 1 if whole else 0
