"""How long the engine works on each call, and what it puts out, from tables."""

from __future__ import annotations

import numpy as np

from tracesim.classes import Small
from tracesim.compiled import Longs
from tracesim.laws import Tables
from tracesim.measured import DurationTables
from tracesim.philox import Component, Numbers

__all__ = ["draw_durations_of_tables"]

_MOST_US = 366 * 86_400 * 10**6  # what a log may say
_MOST_TOKENS = 2**31 - 1


def draw_durations_of_tables(numbers: Numbers, first: int, offsets: Longs, loop_us: Longs, kind: Small,
                             durations: DurationTables) -> tuple[Longs, Longs]:
    """Engine time of each call in microseconds, and its output tokens; 0 where the table is none."""
    u = numbers.of_calls(Component.DURATIONS, first, offsets)
    lasted, output = np.zeros(len(loop_us), np.int64), np.zeros(len(loop_us), np.int64)
    if durations.busy is not None:
        busy = Tables([durations.busy]).draw(np.zeros(len(loop_us), np.int64), u[:, 0])
        lasted = np.minimum(busy * loop_us, _MOST_US).astype(np.int64)
    if durations.output is not None:
        drawn = Tables(durations.output).draw(kind.astype(np.int64), u[:, 1])
        output = np.minimum(drawn + 0.5, _MOST_TOKENS).astype(np.int64)
    return lasted, output
