"""Uniform numbers that lean on a score: a Gaussian copula, so that tables are followed whatever leans on what."""

from __future__ import annotations

import math

import numpy as np

from tracesim.compiled import Floats, compiled
from tracesim.philox import normal

__all__ = ["leaning"]


def leaning(p: Floats, score: Floats, weight: Floats | float) -> Floats:
    """Uniform numbers whose normal scores have the correlation `weight` with `score`.

    Parameters
    ----------
    p : float64 array of shape (n,)
        Uniform numbers, strictly between 0 and 1, that depend on nothing.
    score : float64 array of shape (n,)
        Standard normal.
    weight : float64 array of shape (n,) or float
        -1 to 1.
    """
    return _below(weight * score + np.sqrt(1.0 - np.square(weight)) * normal(p))


@compiled
def _below(z: Floats) -> Floats:
    """Share of the standard normal distribution below z."""
    out = np.empty(len(z), np.float64)
    for place in range(len(z)):
        out[place] = 0.5 * math.erfc(-z[place] * 0.7071067811865476)
    return out
