"""What two columns have in common: of normal scores, and of logarithms."""

from __future__ import annotations

import numpy as np

from tracesim.compiled import Floats, Longs
from tracesim.philox import normal

__all__ = ["log_slope", "normal_scores", "score_correlation", "scores_within"]

_SAME = 1e-9  # a sum of squares that is nothing but rounding


def normal_scores(values: Longs) -> Floats:
    """Quantiles of the standard normal distribution at mean ranks.

    Parameters
    ----------
    values : int64 array of shape (n,)
    """
    _, place, count = np.unique(values, return_inverse=True, return_counts=True)
    middle = np.cumsum(count) - count / 2
    return normal((middle / len(values))[place])


def scores_within(values: Longs, group: Longs) -> Floats:
    """Normal scores of values among those of their group; both of shape (n,)."""
    scores = np.zeros(len(values))
    for each in np.unique(group):
        mine = np.flatnonzero(group == each)
        scores[mine] = normal_scores(values[mine])
    return scores


def score_correlation(a: Floats, b: Floats) -> float:
    """Correlation of two normal variables that have these scores.

    Equal values share a mean rank, which is the part of a score that is known of them: a covariance of shared ranks is
    the correlation times the variances of both (to first order; -1 to 1). 0 where a column has one value.
    """
    spread = float(np.var(a) * np.var(b))
    return min(max(float(np.mean((a - a.mean()) * (b - b.mean()))) / spread, -1.0), 1.0) if spread else 0.0


def log_slope(x: Floats | Longs, y: Floats | Longs, most: float, weights: Floats | None = None) -> float:
    """The power of x that y goes with, from 0 to `most`: least squares of logarithms, three digits; 1 if x is constant.

    Parameters
    ----------
    x, y : arrays of shape (n,)
        Above 0.
    most : float
    weights : float64 array of shape (n,), optional
    """
    w = np.ones(len(x)) if weights is None else weights
    a, b = np.log(x), np.log(y)
    a = a - np.average(a, weights=w)
    square = float((w * a) @ a)
    return min(max(float(f"{float((w * a) @ b) / square:.3g}"), 0.0), most) if square > _SAME else 1.0
