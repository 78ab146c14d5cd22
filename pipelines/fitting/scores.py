"""Normal scores, and what of them two columns have in common."""

from __future__ import annotations

import numpy as np

from tracesim.compiled import Floats, Longs
from tracesim.philox import normal

__all__ = ["normal_scores", "score_correlation"]


def normal_scores(values: Longs) -> Floats:
    """Quantiles of the standard normal distribution at mean ranks.

    Parameters
    ----------
    values : int64 array of shape (n,)
    """
    _, place, count = np.unique(values, return_inverse=True, return_counts=True)
    middle = np.cumsum(count) - count / 2
    return normal((middle / len(values))[place])


def score_correlation(one: Longs, other: Longs) -> float:
    """Correlation of two normal variables that have the ranks of these columns.

    Equal values share a mean rank, which is the part of a score that is known of them: a covariance of shared ranks is
    the correlation times the variances of both (to first order; -1 to 1). 0 where a column has one value.
    """
    a, b = normal_scores(one), normal_scores(other)
    spread = float(np.var(a) * np.var(b))
    return min(max(float(np.mean((a - a.mean()) * (b - b.mean()))) / spread, -1.0), 1.0) if spread else 0.0
