"""Distances between two samples of sessions, and how far chance alone carries them."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

__all__ = ["Values", "equal_clusters", "ks_critical", "ks_distance", "rank_interval", "share_error", "spearman",
           "spearman_reach"]

Values = NDArray[np.float64] | NDArray[np.int64]

_Z = 1.959963984540054  # 0.975 of the normal distribution
_KS = 1.3581  # 0.95 of the Kolmogorov distribution


def ks_distance(a: Values, b: Values) -> float:
    """Largest distance between two empirical distribution functions (Kolmogorov, Smirnov)."""
    both = np.unique(np.concatenate((a, b)))
    below = [np.searchsorted(np.sort(each), both, side="right") / len(each) for each in (a, b)]
    return float(np.abs(below[0] - below[1]).max())


def ks_critical(n: float, m: float) -> float:
    """What the distance of two samples of one law exceeds in 5 % of cases, asymptotically."""
    return _KS * math.sqrt((n + m) / (n * m))


def equal_clusters(sizes: Values) -> float:
    """How many clusters of equal size make a mean as uncertain as these do (Kish, Survey Sampling, 1965)."""
    return float(sizes.sum()) ** 2 / float((sizes.astype(np.float64) ** 2).sum())


def spearman(a: Values, b: Values) -> float | None:
    """Correlation of ranks, ties with their mean rank; None where one side is constant."""
    ranks = [_ranks(each) for each in (a, b)]
    if len(a) < 2 or any(each.std() == 0 for each in ranks):
        return None
    return float(np.corrcoef(ranks[0], ranks[1])[0, 1])


def spearman_reach(a: float, n: int, b: float, m: int) -> float:
    """95 % reach of the difference of two rank correlations of n and m pairs (Bonett and Wright, 2000)."""
    if min(n, m) < 4:
        return 2.0
    variance = [(1 - r * r) ** 2 * (1 + r * r / 2) / (size - 3) for r, size in ((a, n), (b, m))]
    return _Z * math.sqrt(sum(variance))


def rank_interval(values: Values, p: float) -> tuple[float, float]:
    """95 % interval of the quantile at p: the order statistics that chance reaches, without end beyond them."""
    ordered = np.sort(values)
    n, reach = len(ordered), _Z * math.sqrt(p * (1 - p) / len(ordered))
    low, high = math.floor(n * (p - reach)), math.ceil(n * (p + reach))
    return float(ordered[low - 1]) if low >= 1 else -math.inf, float(ordered[high - 1]) if high <= n else math.inf


def share_error(yes: Values, of: Values) -> float:
    """Standard error of sum(yes) / sum(of), both by session: that of a ratio of totals of clusters."""
    total = float(of.sum())
    if not total:
        return math.inf
    return float(math.sqrt(((yes - of * (yes.sum() / total)) ** 2).sum())) / total


def _ranks(values: Values) -> NDArray[np.float64]:
    _, place, count = np.unique(values, return_inverse=True, return_counts=True)
    ranks: NDArray[np.float64] = (np.cumsum(count) - (count - 1) / 2)[place]
    return ranks
