"""How long a session idles before each call: one law within a turn, another between turns (paper 4.3, 5.1).

Gaps are from start to start, as in the paper. Within a turn a mixture of lognormals; between turns a
table of quantiles, as the tail reaches days: linear in the logarithm between its points.
"""

from __future__ import annotations

import numpy as np

from tracesim.compiled import Flags, Floats, Longs, compiled
from tracesim.philox import Component, Numbers, normal
from tracesim.profile import Gaps

__all__ = ["LEAST_US", "draw_gaps"]

#: No two calls of a session start closer together: a millisecond.
LEAST_US = 1_000
_MOST_S = 1e9  # beyond any window, and far from what 64 bits of microseconds hold


def draw_gaps(numbers: Numbers, first: int, offsets: Longs, opens: Flags, gaps: Gaps) -> tuple[Longs, Longs]:
    """Gap before each call, and a gap within the turn for it, in microseconds.

    Returns
    -------
    gap_us : int64 array
        0 before the first call of a session.
    loop_us : int64 array
        What the gap after the call is, or would be, if the turn went on; engine time is a share of it.
    """
    u = numbers.of_calls(Component.GAPS, first, offsets)
    weights = np.cumsum([part.weight for part in gaps.intra])
    weights[-1] = 1.0
    medians = np.array([part.median for part in gaps.intra])
    sigmas = np.array([part.sigma for part in gaps.intra])
    loop_us = _within(u[:, 0], normal(u[:, 1]), weights, medians, sigmas)
    table = np.array(gaps.inter)
    return _before(u, offsets, opens, loop_us, table[:, 0].copy(), np.log(table[:, 1])), loop_us


@compiled
def _within(u: Floats, z: Floats, weights: Floats, medians: Floats, sigmas: Floats) -> Longs:
    out = np.empty(len(u), np.int64)
    for row in range(len(u)):
        part = 0
        while u[row] > weights[part]:
            part += 1
        seconds = medians[part] * np.exp(sigmas[part] * z[row])
        out[row] = max(int(min(seconds, _MOST_S) * 1e6), LEAST_US)
    return out


@compiled
def _before(u: Floats, offsets: Longs, opens: Flags, loop_us: Longs, share: Floats, log_s: Floats) -> Longs:
    out = np.empty(len(u), np.int64)
    for place in range(len(offsets) - 1):
        out[offsets[place]] = 0
        for row in range(offsets[place] + 1, offsets[place + 1]):
            if not opens[row]:
                out[row] = loop_us[row - 1]
                continue
            p = u[row, 2]
            after = 1
            while p > share[after]:
                after += 1
            part = (p - share[after - 1]) / (share[after] - share[after - 1])
            seconds = np.exp(log_s[after - 1] + part * (log_s[after] - log_s[after - 1]))
            out[row] = max(int(min(seconds, _MOST_S) * 1e6), LEAST_US)
    return out
