"""How many calls a session makes: a mixture of lognormals, rounded (paper 3.1, 6).

Sessions can be deeper when the fleet is busy: where a published busiest hour has more calls a session
than the whole trace has, nothing else explains it.
"""

from __future__ import annotations

import numpy as np

from tracesim.compiled import Floats, Longs, compiled
from tracesim.philox import Component, Numbers, normal
from tracesim.profile import Depth

__all__ = ["draw_depths"]


def draw_depths(numbers: Numbers, first: int, load: Floats, depth: Depth) -> Longs:
    """Calls of consecutive sessions.

    Parameters
    ----------
    first : int
        Number of the first session.
    load : float64 array of shape (sessions,)
        Arrival rate at their starts, relative to its mean.

    Returns
    -------
    int64 array of shape (sessions,)
        Each at least 1.
    """
    u = numbers.of_sessions(Component.DEPTH, first, len(load))
    weights = np.cumsum([part.weight for part in depth.parts])
    weights[-1] = 1.0
    medians = np.array([part.median for part in depth.parts])
    sigmas = np.array([part.sigma for part in depth.parts])
    return _rounded(u[:, 0], normal(u[:, 1]), load, weights, medians, sigmas, depth.deepens, depth.most)


@compiled
def _rounded(u: Floats, z: Floats, load: Floats, weights: Floats, medians: Floats, sigmas: Floats, deepens: float,
             most: int) -> Longs:
    out = np.empty(len(u), np.int64)
    for place in range(len(u)):
        part = 0
        while u[place] > weights[part]:
            part += 1
        value = medians[part] * load[place] ** deepens * np.exp(sigmas[part] * z[place])
        out[place] = min(max(int(min(value, 1e9) + 0.5), 1), most)
    return out
