"""How large contexts get: the peak of a session, and what each of its threads reaches.

A thread is the calls of one class. One of them has the session's peak, dealt by weights of their calls: it decides,
with depth, from which table the peak comes, which leans on depth within its band. What another thread reaches is a
share of the peak P, drawn for a usual peak and brought to this one by a power of it: share (P / USUAL)^(power - 1) P.
"""

from __future__ import annotations

import numpy as np

from tracesim.classes import Small
from tracesim.compiled import Floats, Longs, compiled
from tracesim.copula import leaning
from tracesim.laws import Tables
from tracesim.measured import Largest
from tracesim.philox import Component, Numbers

__all__ = ["USUAL", "cells_of", "draw_largest"]

#: The peak for which shares are told, in tokens.
USUAL = 100_000


def draw_largest(numbers: Numbers, first: int, offsets: Longs, band: Longs, score: Floats, kind: Small, index: Longs,
                 length_band: Longs, largest: Largest) -> Floats:  # fmt: skip
    """Largest context of the thread of each call, in tokens.

    Parameters
    ----------
    numbers, first, offsets
        Of consecutive sessions.
    band : int64 array
        Of depth, of each session.
    score : float64 array
        Normal score of each session's depth in its band.
    kind : int8 array
        Class of each call.
    index : int64 array
        Place of each call in its thread, from 0.
    length_band : int64 array
        Band of the calls of its thread, of each call.
    largest : Largest
    """
    own = numbers.of_sessions(Component.CONTEXT_OF_SESSION, first, len(band))
    weights = np.array(largest.holds)[kind, np.repeat(band, np.diff(offsets))]
    holder = _holders(offsets, kind, weights, own[:, 1].copy())
    peak = Tables([each for laws in largest.peak for each in laws]).draw(
        holder * len(largest.follows) + band, leaning(own[:, 0], score, np.array(largest.follows)[band]))
    begins = np.flatnonzero(index == 0)
    session = np.repeat(np.arange(len(band)), np.diff(offsets))[begins]
    cells = cells_of(length_band[begins], peak[session], largest.edges)
    law = kind[begins].astype(np.int64) * len(largest.share[0]) + cells
    share = np.ones(len(kind))
    share[begins] = Tables([each for laws in largest.share for each in laws]).draw(
        law, numbers.of_calls(Component.CONTEXT, first, offsets)[begins, 0])
    share[begins] *= (np.maximum(peak[session], 1.0) / USUAL) ** (np.array(largest.power).ravel()[law] - 1.0)
    return _reached(offsets, kind, holder, peak, share)


def cells_of(length_band: Longs, peak: Floats, edges: tuple[float, ...]) -> Longs:
    """Place of threads in tables by band of their calls, then by part of the session's peak."""
    return length_band * (len(edges) + 1) + np.searchsorted(np.array(edges), peak)


@compiled
def _holders(offsets: Longs, kind: Small, weights: Floats, u: Floats) -> Longs:
    """Class of the thread that has the session's peak; of the first call where no call has a weight."""
    holder = np.empty(len(offsets) - 1, np.int64)
    for place in range(len(offsets) - 1):
        total, passed = 0.0, 0.0
        for row in range(offsets[place], offsets[place + 1]):
            total += weights[row]
        holder[place] = kind[offsets[place]]
        for row in range(offsets[place], offsets[place + 1]):
            if weights[row] > 0.0 and passed < u[place] * total:
                holder[place] = kind[row]
            passed += weights[row]
    return holder


@compiled
def _reached(offsets: Longs, kind: Small, holder: Longs, peak: Floats, share: Floats) -> Floats:
    """The peak in one thread, a share of it in the others: that of the first call of each."""
    reached = np.empty(len(kind), np.float64)
    most = np.empty(128, np.float64)
    for place in range(len(offsets) - 1):
        most[:] = -1.0
        for row in range(offsets[place], offsets[place + 1]):
            at = kind[row]
            if most[at] < 0.0:
                most[at] = peak[place] * (1.0 if at == holder[place] else min(share[row], 1.0))
            reached[row] = most[at]
    return reached
