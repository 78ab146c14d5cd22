"""How much context each call carries: a thread for each class of a session, which grows to what `largest` says.

With its first context f, its growths g_i in the thread's own measure, and its compactions to a share q_i, all of them
shares of its largest,

    x_1 = f,    x_i = q_i x_{i-1}  or  x_{i-1} + s g_i,

every x_i is a_i + b_i s, and s = min (1 - a_i) / b_i is the growth with which the largest is 1. A call may carry a
share of x_i only, an extract, from which the thread goes on as if it had not been. What comes out rises and falls as
contexts do; a table that rises, and leaves 0 and 1 where they are, makes them as large as they are.
"""

from __future__ import annotations

import numpy as np

from tracesim.classes import Small
from tracesim.compiled import Floats, Longs, compiled
from tracesim.depth_table import bands_of
from tracesim.largest import draw_largest
from tracesim.laws import Tables
from tracesim.measured import Threads
from tracesim.philox import Component, Numbers

__all__ = ["QUARTERS", "draw_levels", "draw_threads", "step_parts", "thread_places"]

#: Parts of a thread, by its calls, whose growths have tables of their own; one more is for calls after those of others.
QUARTERS = 4
_MOST = 2.0**31 - 1


def draw_threads(numbers: Numbers, first: int, offsets: Longs, band: Longs, score: Floats, kind: Small,
                 bands: tuple[int, ...], threads: Threads) -> Longs:  # fmt: skip
    """Tokens of each call: int64.

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
    bands : tuple of int
        Fewest calls of each band, of sessions and of threads.
    threads : Threads
    """
    index, length = thread_places(offsets, kind)
    law = _law(kind, length, bands)
    levels = _levels(numbers, first, offsets, kind, index, length, law, threads)
    reached = draw_largest(numbers, first, offsets, band, score, kind, index, bands_of(length, bands), threads.largest)
    shares = Tables([each for laws in threads.level for each in laws]).draw(law, levels)
    return np.minimum(reached * shares + 0.5, _MOST).astype(np.int64)


def draw_levels(numbers: Numbers, first: int, offsets: Longs, kind: Small, bands: tuple[int, ...],
                threads: Threads) -> Floats:  # fmt: skip
    """Context / largest of its thread, of each call, before `threads.level` makes it as large as it is."""
    index, length = thread_places(offsets, kind)
    return _levels(numbers, first, offsets, kind, index, length, _law(kind, length, bands), threads)


def _law(kind: Small, length: Longs, bands: tuple[int, ...]) -> Longs:
    """Place of each call in tables by class, then by band of the calls of its thread."""
    return kind.astype(np.int64) * len(bands) + bands_of(length, bands)


def _levels(numbers: Numbers, first: int, offsets: Longs, kind: Small, index: Longs, length: Longs, law: Longs,
            threads: Threads) -> Floats:  # fmt: skip
    u = numbers.of_calls(Component.CONTEXT, first, offsets)
    classes = kind.astype(np.int64)
    begins = Tables([each for laws in threads.first for each in laws]).draw(law, u[:, 1])
    grows = Tables(threads.step).draw(step_parts(kind, index, length), u[:, 1])
    left, parts = (Tables(laws).draw(classes, u[:, 3]) for laws in (threads.remaining, threads.extract))
    chances = np.cumsum([threads.stays, threads.compacts, threads.extracts], axis=0)
    return _grown(offsets, classes, index, length, begins, grows, left, parts, u[:, 2].copy(), chances)


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
def _grown(offsets: Longs, kind: Longs, index: Longs, length: Longs, begins: Floats, grows: Floats, left: Floats,
           parts: Floats, u: Floats, chances: Floats) -> Floats:
    level = np.empty(len(kind), np.float64)
    fixed, slope = np.empty(128, np.float64), np.empty(128, np.float64)  # a and b of the thread's last call
    growth = np.empty(128, np.float64)  # s of the thread
    for place in range(len(offsets) - 1):
        for turn in range(2):  # first what growth must be, then what contexts are
            for row in range(offsets[place], offsets[place + 1]):
                at, carried = kind[row], 1.0
                if index[row] == 0:
                    if turn == 0:
                        growth[at] = np.inf
                    grew = length[row] > 1 and (turn == 0 or growth[at] < np.inf)
                    fixed[at] = min(begins[row], 1.0) if grew else 1.0
                    slope[at] = 0.0
                elif u[row] >= chances[2, at]:
                    slope[at] += grows[row]
                elif u[row] >= chances[1, at]:
                    carried = parts[row]
                elif u[row] >= chances[0, at]:
                    fixed[at] *= left[row]
                    slope[at] *= left[row]
                if turn == 0 and slope[at] > 0.0:
                    growth[at] = min(growth[at], (1.0 - fixed[at]) / slope[at])
                elif turn == 1:
                    level[row] = carried * (fixed[at] + (slope[at] * growth[at] if slope[at] > 0.0 else 0.0))
    return level
