"""Quantile tables: laws that a trace was measured to follow, drawn from by inversion.

A table is a list of (share, value), from share 0 to share 1: so large a share lies below the value.
Between two points the logarithm of the value is linear, or the value itself where one of them is 0.
Two points of one value are an atom; what a table rests on is said where it is made.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from tracesim.compiled import Floats, Longs, compiled

__all__ = ["Points", "Tables", "share_below"]

Points = tuple[tuple[float, float], ...]


class Tables:
    """Tables that calls or sessions choose from.

    Parameters
    ----------
    tables : sequence of Points
        At least one.
    """

    def __init__(self, tables: Sequence[Points]) -> None:
        points = np.array([point for table in tables for point in table], np.float64)
        self._share, self._value = points[:, 0].copy(), points[:, 1].copy()
        self._begins = np.concatenate(([0], np.cumsum([len(table) for table in tables]))).astype(np.int64)

    def draw(self, which: Longs, p: Floats) -> Floats:
        """The value at share `p` of table `which`, element by element."""
        return _inverted(np.ascontiguousarray(which, np.int64), np.ascontiguousarray(p, np.float64), self._begins,
                         self._share, self._value)


def share_below(points: Points, value: float) -> float:
    """The share that a table has below a value above 0: what `Tables.draw` turns into it."""
    if value <= points[0][1]:
        return 0.0
    for (share, low), (next_share, high) in pairwise(points):
        if low < value <= high:
            part = math.log(value / low) / math.log(high / low) if low > 0 else value / high
            return share + part * (next_share - share)
    return 1.0


@compiled
def _inverted(which: Longs, p: Floats, begins: Longs, share: Floats, value: Floats) -> Floats:
    out = np.empty(len(p), np.float64)
    for place in range(len(p)):
        after, last = begins[which[place]] + 1, begins[which[place] + 1] - 1
        while after < last and p[place] > share[after]:
            after += 1
        low, high = value[after - 1], value[after]
        part = (p[place] - share[after - 1]) / (share[after] - share[after - 1])
        if low > 0.0 and high > 0.0:
            out[place] = low * np.exp(part * np.log(high / low))
        else:
            out[place] = low + part * (high - low)
    return out
