"""How long the engine works on each call, and what it puts out, from tables."""

from __future__ import annotations

import numpy as np

from tracesim.classes import Small
from tracesim.compiled import Longs
from tracesim.laws import Tables
from tracesim.measured import DurationTables
from tracesim.philox import Component, Numbers

__all__ = ["BUSY_GAPS_S", "busy_band", "draw_durations_of_tables"]

#: Upper edges of the bands of the gap that follows a call, in seconds; one more lies beyond.
BUSY_GAPS_S = (1, 4, 16, 64, 256)

_MOST_S = 366 * 86_400  # what a log may say
_MOST_TOKENS = 2**31 - 1
_EDGES_US = np.array(BUSY_GAPS_S, np.int64) * 1_000_000


def busy_band(gap_us: Longs) -> Longs:
    """Band of each gap: 0 to len(BUSY_GAPS_S)."""
    return np.searchsorted(_EDGES_US, gap_us).astype(np.int64)


def draw_durations_of_tables(numbers: Numbers, first: int, offsets: Longs, loop_us: Longs, kind: Small,
                             durations: DurationTables) -> tuple[Longs, Longs]:
    """Engine time of each call in microseconds, and its output tokens; 0 where the table is none."""
    u = numbers.of_calls(Component.DURATIONS, first, offsets)
    lasted, output = np.zeros(len(loop_us), np.int64), np.zeros(len(loop_us), np.int64)
    if durations.busy is not None:
        band = busy_band(loop_us)
        scale = (loop_us / 1e6) ** np.array([each.power for each in durations.busy])[band]
        busy_s = Tables([each.busy_s for each in durations.busy]).draw(band, u[:, 0])
        lasted = (np.minimum(busy_s * scale, _MOST_S) * 1e6).astype(np.int64)
    if durations.output is not None:
        drawn = Tables(durations.output).draw(kind.astype(np.int64), u[:, 1])
        output = np.minimum(drawn + 0.5, _MOST_TOKENS).astype(np.int64)
    return lasted, output
