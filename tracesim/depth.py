"""How many calls a session makes: a mixture of lognormals, rounded (paper 3.1, 6)."""

from __future__ import annotations

import numpy as np

from tracesim.compiled import Floats, Longs, compiled
from tracesim.philox import Component, Numbers, normal
from tracesim.profile import Depth

__all__ = ["draw_depths"]


def draw_depths(numbers: Numbers, first: int, count: int, depth: Depth) -> Longs:
    """Calls of sessions first to first + count - 1: int64 array of shape (count,), each at least 1."""
    u = numbers.of_sessions(Component.DEPTH, first, count)
    weights = np.cumsum([part.weight for part in depth.parts])
    weights[-1] = 1.0
    medians = np.array([part.median for part in depth.parts])
    sigmas = np.array([part.sigma for part in depth.parts])
    return _rounded(u[:, 0], normal(u[:, 1]), weights, medians, sigmas, depth.most)


@compiled
def _rounded(u: Floats, z: Floats, weights: Floats, medians: Floats, sigmas: Floats, most: int) -> Longs:
    out = np.empty(len(u), np.int64)
    for place in range(len(u)):
        part = 0
        while u[place] > weights[part]:
            part += 1
        value = medians[part] * np.exp(sigmas[part] * z[place])
        out[place] = min(max(int(min(value, 1e9) + 0.5), 1), most)
    return out
