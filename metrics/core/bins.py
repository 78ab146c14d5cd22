"""Decimal bins: exact, integer, with edges a person can read.

Within each decade [10^k, 10^(k+1)) the values are cut into equal steps, so that a table of a
heavy-tailed quantity stays small (at most `steps` rows a decade) and every edge is a round number.
"""

from __future__ import annotations

from metrics.core.engine import Dialect

__all__ = ["DECADES", "upper_edge"]

#: Values up to 10^18 - 1 have a bin of their own decade.
DECADES = 18


def upper_edge(dialect: Dialect, value: str, steps: int) -> str:
    """SQL for the exclusive upper edge of the bin that holds an integer `value` >= 0.

    Parameters
    ----------
    steps : int
        Bins a decade: 9 (edges 1, 2, 3, ...), 18 (1, 1.5, 2, ...) or 90 (1.0, 1.1, 1.2, ...).
        Decades too short for that many integers have one bin an integer.
    """
    if 90 % steps:
        raise ValueError("steps must divide 90")
    return _branch(dialect, value, steps, 0, DECADES - 1)


def _branch(dialect: Dialect, value: str, steps: int, low: int, high: int) -> str:
    """The edge of a value whose decade lies in [low, high], found by halving."""
    if low == high:
        width = max(9 * 10**low // steps, 1)
        return f"({dialect.div(value, width)} + 1) * {width}"
    middle = (low + high) // 2
    below, above = (_branch(dialect, value, steps, *part) for part in ((low, middle), (middle + 1, high)))
    return f"case when {value} < {10 ** (middle + 1)} then {below} else {above} end"
