"""Every parameter rests on k sessions: quantile tables that do, and a record of what was pooled because it did not.

What stands between two points of a table are values of k sessions or more, and so the points reveal an order
statistic of many, to three digits; the ends are no values at all, but where the mean of the outer part puts them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from tracesim.compiled import Floats, Longs
from tracesim.laws import Points

__all__ = ["Support", "edges_table", "quantile_table", "rounded"]

_SHARES = (0.005, 0.01, 0.02, *(place / 20 for place in range(1, 20)), 0.98, 0.99, 0.995, 0.998, 0.999)
_ATOM = 0.02  # a value of so large a share of the rows has points of its own
_STEP = 1e-4  # shares have four digits


def rounded(value: float, digits: int = 3) -> float:
    """A number of so many digits."""
    return float(f"{value:.{digits}g}")


@dataclass
class Support:
    """How many sessions a parameter rests on, at least.

    Attributes
    ----------
    k : int
    pooled : list of str
        Parameters that fewer sessions had, each with what it was pooled with.
    """

    k: int
    pooled: list[str] = field(default_factory=list)

    def enough(self, sessions: Longs) -> bool:
        """Whether rows of these sessions carry a parameter."""
        return len(np.unique(sessions)) >= self.k

    def law(self, what: str, values: Floats | Longs, sessions: Longs, instead: Points | None, within: str,
            most: float = math.inf) -> Points | None:
        """The table of some rows; `instead`, that of all of `within`, where too few sessions have them."""
        table = quantile_table(np.asarray(values, np.float64), sessions, self.k, most)
        if table is None and instead is not None and len(values):  # what the log never has needs no word
            self.pooled.append(f"{what} ({len(np.unique(sessions))} sessions): as {within}")
        return table or instead

    def share(self, what: str, yes: Longs | np.ndarray, sessions: Longs, instead: float, within: str) -> float:
        """The share of rows that are so, as `law`; four digits."""
        if self.enough(sessions):
            return round(float(np.mean(yes)), 4)
        if len(sessions):
            self.pooled.append(f"{what} ({len(np.unique(sessions))} sessions): as {within}")
        return instead


def quantile_table(values: Floats, sessions: Longs, k: int, most: float = math.inf) -> Points | None:
    """Quantiles of rows that belong to sessions; None when they belong to fewer than k.

    Parameters
    ----------
    values : float64 array
        0 or more.
    sessions : int64 array
        Of each value.
    k : int
        Sessions that have a value between two points, at least.
    most : float
        No point lies above.
    """
    order = np.argsort(values, kind="stable")
    v, s = values[order], sessions[order]
    cuts = _merged(_cuts(v), s, k)
    if cuts is None:
        return None
    if len(cuts) == 2:
        return _one_part(v, most)
    inner = [(cut, rounded(float(v[cut - 1]))) for cut in cuts[1:-1]]
    low, high = _end(v[:cuts[1]], float(v[cuts[1] - 1])), _end(v[cuts[-2]:], float(v[cuts[-2] - 1]))
    points = [(0, rounded(min(low, inner[0][1]))), *inner, (len(v), rounded(max(high, inner[-1][1])))]
    return _ascending([(at / len(v), min(value, most)) for at, value in points],
                      [v[a] == v[b - 1] for a, b in pairwise(cuts)])


def _cuts(v: Floats) -> list[int]:
    """Ranks at which a part ends: at shares, and around values that many rows have."""
    n = len(v)
    ranks = {math.ceil(share * n) for share in _SHARES}
    begins, count = np.unique(v, return_index=True, return_counts=True)[1:]
    for at in np.flatnonzero(count >= max(_ATOM * n, 2)):
        ranks |= {int(begins[at]), int(begins[at] + count[at])}
    return sorted(rank for rank in ranks if 0 < rank < n)


def _merged(cuts: list[int], s: Longs, k: int) -> list[int] | None:
    """0, the cuts that leave k sessions in every part, and the end."""
    kept = [0]
    for cut in [*cuts, len(s)]:
        if len(np.unique(s[kept[-1]:cut])) >= k:
            kept.append(cut)
    if len(kept) == 1:
        return None
    return [*kept[:-1], len(s)]


def _end(part: Floats, inner: float) -> float:
    """Where a part ends on its outer side, so that its mean is kept: of logarithms, where they exist."""
    if part.min() <= 0 or inner <= 0:
        return max(2 * float(part.mean()) - inner, 0.0)
    return math.exp(min(2 * float(np.log(part).mean()) - math.log(inner), 700.0))


def _one_part(v: Floats, most: float) -> Points:
    """A table of one part: its mean and its spread are kept."""
    if v.min() <= 0:
        middle, reach = float(v.mean()), math.sqrt(3) * float(v.std())
        low, high = max(middle - reach, 0.0), middle + reach
    else:
        middle, reach = float(np.log(v).mean()), math.sqrt(3) * float(np.log(v).std())
        low, high = math.exp(middle - reach), math.exp(middle + reach)
    return (0.0, rounded(min(low, most))), (1.0, rounded(min(high, most)))


def _ascending(points: list[tuple[float, float]], constant: list[bool]) -> Points:
    """Points with shares that rise by four digits; a part of one value begins with it."""
    found = [points[0]]
    for (share, value), same in zip(points[1:], constant, strict=True):
        share = 1.0 if share == 1 else round(share, 4)
        if same and found[-1][1] < value and found[-1][0] + 2 * _STEP <= share:
            found.append((round(found[-1][0] + _STEP, 4), value))
        if share > found[-1][0]:
            found.append((share, max(value, found[-1][1])))
    if found[-1][0] < 1:
        found[-1] = (1.0, found[-1][1])
    if constant[0]:
        found[0] = (0.0, found[1][1])
    middle = [b for a, b, c in zip(found, found[1:], found[2:], strict=False) if not a[1] == b[1] == c[1]]
    return found[0], *middle, found[-1]


def edges_table(depths: Longs, k: int) -> Points:
    """The distribution of whole numbers as edges; see `measured.DepthTable`. There are k sessions or more.

    The last edge puts the mean of the last part where it is.
    """
    value, count = np.unique(depths, return_counts=True)
    total, below, waiting = len(depths), 0, 0
    points = [(0.0, 1.0)]
    target = max(k, math.ceil(total / 50))
    for at, number in zip(value, count, strict=True):
        waiting += int(number)
        rest = total - below - waiting
        if waiting >= target and rest >= k:
            below, waiting = below + waiting, 0
            points.append((round(below / total, 4), float(at + 1)))
    tail = depths[depths >= points[-1][1]]
    points.append((1.0, _last_edge(points[-1][1], float(tail.mean()))))
    return (*(a for a, b in pairwise(points) if b[0] > a[0]), points[-1])


def _last_edge(low: float, mean: float) -> float:
    """The edge e for which whole parts of log-uniform numbers in [low, e) have this mean."""
    below, above = low + 1e-9, 1e9
    for _ in range(200):
        middle = math.sqrt(below * above)
        expected = (middle - low) / math.log(middle / low) - 0.5
        below, above = (middle, above) if max(expected, low) < mean else (below, middle)
    return max(rounded(above), low + 1)
