"""The inverse question: which budget does a target need?

Only budgets that were replayed are known. The answer lies between two of them: the smallest from which on all larger
ones meet the target, and the next smaller one, which does not. A point between them is that of a straight line, exact
and rounded up to whole bytes; where misses fall ever slower with memory, as they mostly do, the line runs above the
curve and the point is no smaller than what is needed. Nothing is extrapolated.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

from replay.cost.curves import Curve, Measure, Point
from telemetry.errors import UsageError, quoted

__all__ = ["AT_MOST", "BETWEEN", "BEYOND", "NEVER", "RULE", "Answer", "Sized", "parse_target", "size", "solve"]

#: The target is met from a budget between two replayed ones; by the smallest replayed one; by none of them, but a
#: larger one may; by no budget at all.
BETWEEN, AT_MOST, BEYOND, NEVER = "between", "at_most", "beyond", "never"

RULE = ("the point is that of a straight line between the two replayed budgets around it, rounded up to whole bytes; "
        "nothing is extrapolated")

_TARGET = re.compile(r"([0-9]{1,3}(?:\.[0-9]{1,9})?) ?%")


@dataclass(frozen=True)
class Answer:
    """Where a curve meets a target from there on.

    Attributes
    ----------
    state : str
        `BETWEEN`, `AT_MOST`, `BEYOND` or `NEVER`.
    above : int or None
        Place of the largest budget that fails and is followed only by budgets that do not; None for `AT_MOST`.
    reached : int or None
        Place of the smallest budget from which on all replayed ones meet the target; None where none does.
    part : Fraction or None
        How far the point lies from `above` to `reached`, 0 to 1; None but for `BETWEEN`.
    monotone : bool
        No larger budget misses more than a smaller one.
    earlier : tuple of int
        Places of smaller budgets that meet the target as well, though a larger one does not.
    """

    state: str
    above: int | None
    reached: int | None
    part: Fraction | None
    monotone: bool
    earlier: tuple[int, ...]


@dataclass(frozen=True)
class Sized:
    """What a target needs of one policy.

    Attributes
    ----------
    curve : Curve
    answer : Answer
    above, reached : Point or None
        The replayed budgets around the answer.
    budget_bytes : int or None
        The point; the smallest replayed budget for `AT_MOST`; None for `BEYOND` and `NEVER`.
    missed_tokens : Fraction or None
        There, on the same straight line.
    low, high : Sized or None
        The same for the lower and the upper end of the interval of every share, where all have one: a budget is
        smaller where less is missed.
    """

    curve: Curve
    answer: Answer
    above: Point | None
    reached: Point | None
    budget_bytes: int | None
    missed_tokens: Fraction | None
    low: Sized | None = None
    high: Sized | None = None


def parse_target(text: str) -> Fraction:
    """The share that `text` names: 1/10 for `10%`.

    Raises
    ------
    UsageError
        Anything but a share above 0% and up to 100%.
    """
    found = _TARGET.fullmatch(text.strip())
    share = Fraction(found[1]) / 100 if found else Fraction(0)
    if not 0 < share <= 1:
        raise UsageError(f"--target-miss {quoted(text)} is no share. Write one above 0% and up to 100%, such as 10% or "
                         "2.5%.")
    return share


def solve(shares: Sequence[Fraction], target: Fraction, *, complete: bool) -> Answer:
    """Where the shares, by budget from the smallest, meet the target from there on.

    Parameters
    ----------
    shares : sequence of Fraction
    target : Fraction
    complete : bool
        The last budget holds everything, so that no larger one misses less.
    """
    fails = [place for place, share in enumerate(shares) if share > target]
    monotone = all(later <= earlier for earlier, later in pairwise(shares))
    above = fails[-1] if fails else None
    earlier = tuple(place for place in range(above or 0) if shares[place] <= target)
    if above is None:
        return Answer(AT_MOST, None, 0, None, monotone, ())
    if above == len(shares) - 1:
        return Answer(NEVER if complete else BEYOND, above, None, None, monotone, earlier)
    high, low = shares[above], shares[above + 1]
    return Answer(BETWEEN, above, above + 1, (high - target) / (high - low), monotone, earlier)


def size(curve: Curve, measure: Measure, target: Fraction) -> Sized | None:
    """The budget that a policy needs; None where there is nothing to take a share of."""
    shares = [point.shares[measure.name] for point in curve.points]
    known = [share for share in shares if share is not None]
    if not known or len(known) < len(shares):
        return None
    ends = [point.intervals.get(measure.name) for point in curve.points]
    pairs = [pair for pair in ends if pair is not None]
    if len(pairs) < len(ends):
        return _sized(curve, known, target)
    low, high = (_sized(curve, [pair[end] for pair in pairs], target) for end in (0, 1))
    return _sized(curve, known, target, low, high)


def _sized(curve: Curve, shares: Sequence[Fraction], target: Fraction, low: Sized | None = None,
           high: Sized | None = None) -> Sized:
    answer = solve(shares, target, complete=curve.points[-1].budget_bytes >= curve.kstar_bytes)
    above, reached = (None if place is None else curve.points[place] for place in (answer.above, answer.reached))
    if reached is None:
        return Sized(curve, answer, above, None, None, None, low, high)
    if above is None or answer.part is None:
        return Sized(curve, answer, None, reached, reached.budget_bytes, Fraction(reached.missed_tokens), low, high)
    width = reached.budget_bytes - above.budget_bytes
    budget = above.budget_bytes + math.ceil(width * answer.part)
    tokens = above.missed_tokens + (reached.missed_tokens - above.missed_tokens) * answer.part
    return Sized(curve, answer, above, reached, budget, Fraction(tokens), low, high)
