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

__all__ = ["Support", "bounded_weights", "edges_table", "quantile_table", "rounded"]

_SHARES = (0.005, 0.01, 0.02, *(place / 20 for place in range(1, 20)), 0.98, 0.99, 0.995, 0.998, 0.999)
_ATOM = 0.02  # a value of so large a share of the rows has points of its own
_PARTS = 50  # of depths, at most
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
    bounded : list of str
        Parameters in which a session had more than a k-th of the rows, and weighs no more than that.
    """

    k: int
    pooled: list[str] = field(default_factory=list)
    bounded: list[str] = field(default_factory=list)

    def enough(self, sessions: Longs) -> bool:
        """Whether rows of these sessions carry a parameter."""
        return len(np.unique(sessions)) >= self.k

    def law(self, what: str, values: Floats | Longs, sessions: Longs, instead: Points | None, within: str,
            most: float = math.inf, weights: Floats | None = None) -> Points | None:
        """The table of some rows; `instead`, that of all of `within`, where too few sessions have them."""
        table = quantile_table(np.asarray(values, np.float64), sessions, self.k, most,
                               self.weights(what, sessions, weights))
        if table is None and instead is not None and len(values):  # what the log never has needs no word
            self.pooled.append(f"{what} ({len(np.unique(sessions))} sessions): as {within}")
        return table or instead

    def share(self, what: str, yes: Longs | np.ndarray, sessions: Longs, instead: float, within: str) -> float:
        """The share of rows that are so, as `law`; four digits."""
        if self.enough(sessions):
            return round(float(np.average(yes, weights=self.weights(what, sessions))), 4)
        if len(sessions):
            self.pooled.append(f"{what} ({len(np.unique(sessions))} sessions): as {within}")
        return instead


    def weights(self, what: str, sessions: Longs, weights: Floats | None = None) -> Floats:
        """Weights of rows by which no session has more than a k-th of all."""
        given = np.ones(len(sessions)) if weights is None else weights
        lowered = bounded_weights(sessions, given, self.k)
        if lowered is not given:
            self.bounded.append(what)
        return lowered


def bounded_weights(sessions: Longs, weights: Floats, k: int) -> Floats:
    """Weights that are lowered where a session would have more than 1 / k of all.

    The same where none has, and where there are fewer than k sessions, of which nothing is told.
    """
    of, place = np.unique(sessions, return_inverse=True)
    if len(of) < k:
        return weights
    total = np.bincount(place, weights=weights)
    falling = np.sort(total)[::-1]
    rest = np.append(np.cumsum(falling[::-1])[::-1], 0.0)  # of all but the largest m
    held = next(m for m in range(k) if m == k - 1 or falling[m] <= rest[m] / (k - m))
    if held == 0:
        return weights
    most = rest[held] / (k - held)
    return np.asarray(weights * np.minimum(most / total, 1.0)[place])


def quantile_table(values: Floats, sessions: Longs, k: int, most: float = math.inf,
                   weights: Floats | None = None) -> Points | None:
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
    weights : float64 array, optional
        Above 0; else every row weighs the same.
    """
    order = np.argsort(values, kind="stable")
    v, s, w = values[order], sessions[order], (np.ones(len(values)) if weights is None else weights[order])
    below = np.concatenate(([0.0], np.cumsum(w)))
    cuts = _merged(_cuts(v, s, below, k), s, k)
    if cuts is None:
        return None
    if len(cuts) == 2:
        return _one_part(v, w, most)
    inner = [(below[cut] / below[-1], rounded(float(v[cut - 1]))) for cut in cuts[1:-1]]
    first, last = slice(0, cuts[1]), slice(cuts[-2], None)
    low, high = _end(v[first], w[first], float(v[cuts[1] - 1])), _end(v[last], w[last], float(v[cuts[-2] - 1]))
    # A limit that k sessions have met is one: a context window, say.
    low = max(low, float(v[0])) if len(np.unique(s[v == v[0]])) >= k else low
    high = min(high, float(v[-1])) if len(np.unique(s[v == v[-1]])) >= k else high
    points = [(0.0, rounded(min(low, inner[0][1]))), *inner, (1.0, rounded(max(high, inner[-1][1])))]
    return _ascending([(share, min(value, most)) for share, value in points],
                      [v[a] == v[b - 1] for a, b in pairwise(cuts)])


def _cuts(v: Floats, s: Longs, below: Floats, k: int) -> list[int]:
    """Ranks at which a part ends: at shares, and around values that many rows have."""
    n = len(v)
    # A rank is the first whose weight and those below it reach the share; floats may miss it by a hair.
    ranks = set(np.searchsorted(below, np.array(_SHARES) * below[-1] * (1 - 1e-12)).tolist())
    begins, count = np.unique(v, return_index=True, return_counts=True)[1:]
    heavy = below[begins + count] - below[begins] >= _ATOM * below[-1]
    for at in np.flatnonzero(heavy & (count > 1)):
        if len(np.unique(s[begins[at]:begins[at] + count[at]])) >= k:  # not what one session does over and over
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


def _end(part: Floats, weights: Floats, inner: float) -> float:
    """Where a part ends on its outer side, so that its mean is kept: of logarithms, where they exist."""
    if part.min() <= 0 or inner <= 0:
        return max(2 * float(np.average(part, weights=weights)) - inner, 0.0)
    return math.exp(min(2 * float(np.average(np.log(part), weights=weights)) - math.log(inner), 700.0))


def _one_part(v: Floats, weights: Floats, most: float) -> Points:
    """A table of one part: its mean and its spread are kept."""
    logs = v.min() > 0
    scale = np.log(v) if logs else v
    middle = float(np.average(scale, weights=weights))
    reach = math.sqrt(3 * float(np.average((scale - middle) ** 2, weights=weights)))
    low, high = (math.exp(middle - reach), math.exp(middle + reach)) if logs else (max(middle - reach, 0.0),
                                                                                   middle + reach)
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


def edges_table(depths: Longs, k: int, weights: Floats | None = None) -> Points:
    """The distribution of whole numbers as edges; see `measured.DepthTable`. There are k sessions or more.

    The last edge puts the mean of the last part where it is.
    """
    w = np.ones(len(depths)) if weights is None else weights
    value, place, count = np.unique(depths, return_inverse=True, return_counts=True)
    upto = np.cumsum(np.bincount(place, weights=w)) / w.sum()
    points, first, left = [(0.0, 1.0)], 0, len(depths)  # `first`: of the values of the part that is not closed
    target = max(k, math.ceil(len(depths) / _PARTS))
    for at, (number, share) in enumerate(zip(count.tolist(), upto.tolist(), strict=True)):
        left -= number
        if int(count[first:at + 1].sum()) >= target and left >= k:
            points += _part(points[-1], value[first:at + 1].tolist(), share, float(value[at] + 1))
            first = at + 1
    tail = depths >= value[first]
    end = _last_edge(points[-1][1], float(np.average(depths[tail], weights=w[tail])))
    points += _part(points[-1], value[first:].tolist(), 1.0, end if len(value) > first + 1 else float(value[-1] + 1))
    return tuple(points)


def _part(before: tuple[float, float], values: list[int], share: float, end: float) -> list[tuple[float, float]]:
    """The points that close a part of a distribution of whole numbers; a single value has its own edges."""
    share = round(share, 4)
    start = (round(before[0] + _STEP, 4), float(values[0]))
    alone = len(values) == 1 and values[0] > before[1] and start[0] < share
    return [*([start] if alone else []), *([(share, end)] if share > before[0] else [])]


def _last_edge(low: float, mean: float) -> float:
    """The edge e for which whole parts of log-uniform numbers in [low, e) have this mean."""
    below, above = low + 1e-9, 1e9
    for _ in range(200):
        middle = math.sqrt(below * above)
        expected = (middle - low) / math.log(middle / low) - 0.5
        below, above = (middle, above) if max(expected, low) < mean else (below, middle)
    return max(rounded(above), low + 1)
