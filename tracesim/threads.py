"""How much context each call carries: a thread for each class of a session, and the session's peak drawn before it.

Depth decides how large a session gets, so its peak is drawn by its band of depth, and leans on its depth in the band.
A thread is the calls of one class; one thread at least reaches the peak. With its first context f, its growths g_i in
the thread's own measure, and its compactions to a share q_i,

    x_1 = f,    x_i = q_i x_{i-1}  or  x_{i-1} + s g_i,

every x_i is a_i + b_i s, and s = min (p - a_i) / b_i is the growth with which the largest is p, the thread's peak.
A call may carry a share of x_i only, an extract, from which the thread goes on as if it had not been.
"""

from __future__ import annotations

import numpy as np

from tracesim.classes import Small
from tracesim.compiled import Floats, Longs, compiled
from tracesim.copula import leaning
from tracesim.laws import Tables
from tracesim.measured import Threads
from tracesim.philox import Component, Numbers

__all__ = ["QUARTERS", "draw_threads", "step_parts", "thread_places"]

#: Parts of a thread, by its calls, whose growths have tables of their own; one more is for calls after those of others.
QUARTERS = 4
_MOST = 2.0**31 - 1


def draw_threads(numbers: Numbers, first: int, offsets: Longs, band: Longs, score: Floats, kind: Small,
                 threads: Threads) -> Longs:  # fmt: skip
    """Tokens of each call: int64; `band` is that of each session, and `score` that of its depth in the band."""
    u = numbers.of_calls(Component.CONTEXT, first, offsets)
    own = numbers.of_sessions(Component.CONTEXT_OF_SESSION, first, len(offsets) - 1)
    depths = np.diff(offsets)
    classes = kind.astype(np.int64)
    index, length = thread_places(offsets, kind)
    part = step_parts(kind, index, length)
    leant = leaning(own[:, 0], score, np.array(threads.follows)[band])
    peak = np.repeat(Tables(threads.peak).draw(band, leant), depths)
    share = Tables(threads.share).draw(classes, u[:, 0])
    bands = len(threads.peak)
    begins = Tables([law for laws in threads.first for law in laws]).draw(classes * bands + np.repeat(band, depths),
                                                                          u[:, 1])
    grows = Tables(threads.step).draw(part, u[:, 1])
    left, parts = (Tables(laws).draw(classes, u[:, 3]) for laws in (threads.remaining, threads.extract))
    chances = np.cumsum([threads.stays, threads.compacts, threads.extracts], axis=0)
    return _grown(offsets, classes, index, length, peak, share, begins, grows, left, parts, u[:, 2].copy(), chances)


def step_parts(kind: Small, index: Longs, length: Longs) -> Longs:
    """Which table the growth of each call follows: that of its quarter, or, after calls of other threads, the last."""
    directly = np.concatenate(([True], kind[1:] == kind[:-1]))
    return np.where(directly, index * QUARTERS // length, QUARTERS)


@compiled
def thread_places(offsets: Longs, kind: Small) -> tuple[Longs, Longs]:
    """Place of each call in its thread, from 0, and the calls of the thread."""
    index = np.empty(len(kind), np.int64)
    length = np.empty(len(kind), np.int64)
    calls = np.empty(128, np.int64)
    for place in range(len(offsets) - 1):
        calls[:] = 0
        for row in range(offsets[place], offsets[place + 1]):
            index[row] = calls[kind[row]]
            calls[kind[row]] += 1
        for row in range(offsets[place], offsets[place + 1]):
            length[row] = calls[kind[row]]
    return index, length


@compiled
def _grown(offsets: Longs, kind: Longs, index: Longs, length: Longs, peak: Floats, share: Floats, begins: Floats,
           grows: Floats, left: Floats, parts: Floats, u: Floats, chances: Floats) -> Longs:
    tokens = np.empty(len(kind), np.int64)
    fixed, slope = np.empty(128, np.float64), np.empty(128, np.float64)  # a and b of the thread's last call
    growth, most = np.empty(128, np.float64), np.empty(128, np.float64)  # s and p of the thread
    for place in range(len(offsets) - 1):
        largest = 0.0
        for row in range(offsets[place], offsets[place + 1]):
            if index[row] == 0:
                most[kind[row]] = share[row]
                largest = max(largest, share[row])
        for turn in range(2):  # first what growth must be, then what contexts are
            for row in range(offsets[place], offsets[place + 1]):
                at, carried = kind[row], 1.0
                if index[row] == 0:
                    if turn == 0:
                        most[at] *= peak[row] / largest if largest > 0.0 else 0.0
                        growth[at] = np.inf
                    grew = length[row] > 1 and (turn == 0 or growth[at] < np.inf)
                    fixed[at] = most[at] * (min(begins[row], 1.0) if grew else 1.0)
                    slope[at] = 0.0
                elif u[row] >= chances[2, at]:
                    slope[at] += grows[row]
                elif u[row] >= chances[1, at]:
                    carried = parts[row]
                elif u[row] >= chances[0, at]:
                    fixed[at] *= left[row]
                    slope[at] *= left[row]
                if turn == 0 and slope[at] > 0.0:
                    growth[at] = min(growth[at], (most[at] - fixed[at]) / slope[at])
                elif turn == 1:
                    more = slope[at] * growth[at] if slope[at] > 0.0 else 0.0
                    tokens[row] = np.int64(min(carried * (fixed[at] + more) + 0.5, _MOST))
    return tokens
