"""How far a rate of a sample may lie from that of all sessions, from the groups of the sample.

Two things part them: the chance of the draw, and the size of the sample.

Chance: the random-group estimator (Wolter, Introduction to Variance Estimation, 2nd ed., ch. 2) of a ratio. With m_g
of the c_g calls of group g missed, M and C their sums over the G groups, and f the fraction that was drawn,

    d_g = m_g - c_g * M / C,    variance = (1 - f) * G / (G - 1) * sum of d_g^2 / C^2.

Groups are made of whole sessions, so whatever the calls of a session have in common is in the d_g. Groups that differ
in calls weigh as they should. (1 - f) is there because sessions are drawn without replacement.

Size: few sessions share memory worse than many, so the rate moves as a sample grows, whoever is in it. From the
groups to the sample, a G-fold growth, it has moved by rate - M / C. The sessions are 1 / f times the sample, which is
log(1 / f) / log(G) such steps, and none is taken to move the rate further than the one that was seen, nor back.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import isqrt

__all__ = ["Estimate", "estimate"]

#: Quantile 0.975 of Student's t with 15 degrees of freedom is 2.13145: one less than there are groups.
_T = Fraction(2132, 1000)
_PPB = 10**9


@dataclass(frozen=True)
class Estimate:
    """What the groups of a sample say of one rate.

    Attributes
    ----------
    groups_rate : float
        Of the groups together, each replayed alone.
    empty : int
        Groups without a call.
    error : float or None
        The standard error by chance, in whole parts per billion, rounded up; None where a group has no call.
    low, high : float or None
        2.132 errors either way, and what the size of the sample may add on one side; within 0 to 1.
    """

    groups_rate: float
    empty: int
    error: float | None
    low: float | None
    high: float | None


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
    together = Fraction(missed, calls)
    empty = sum(not count for _, count in groups)
    if empty:
        return Estimate(float(together), empty, None, None, None)
    squares = sum((some * calls - count * missed) ** 2 for some, count in groups)
    variance = (1 - fraction) * Fraction(len(groups) * squares, (len(groups) - 1) * calls**4)
    error = Fraction(_root_up(variance * _PPB**2), _PPB)
    rate = Fraction(misses, calls)
    moved = (rate - together) * _steps(fraction, len(groups))
    low, high = rate - _T * error + min(moved, Fraction(0)), rate + _T * error + max(moved, Fraction(0))
    return Estimate(float(together), empty, float(error), float(max(low, Fraction(0))), float(min(high, Fraction(1))))


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
