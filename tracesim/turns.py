"""Which calls open a user turn: the first of a session, and later ones with one probability (paper 2.2, Table 2)."""

from __future__ import annotations

import numpy as np

from tracesim.compiled import Flags, Floats, Ints, Longs, compiled
from tracesim.philox import Component, Numbers
from tracesim.profile import Turns

__all__ = ["draw_turns"]


def draw_turns(numbers: Numbers, first: int, offsets: Longs, band: Longs, turns: Turns) -> tuple[Flags, Ints]:
    """Whether each call opens a turn, and the number of its turn, from 1; `band` is that of each session."""
    u = numbers.of_calls(Component.TURNS, first, offsets)
    return _opened(u, offsets, np.array(turns.opens)[band])


@compiled
def _opened(u: Floats, offsets: Longs, p: Floats) -> tuple[Flags, Ints]:
    opens = np.empty(len(u), np.bool_)
    turn = np.empty(len(u), np.int32)
    for place in range(len(offsets) - 1):
        number = 0
        for row in range(offsets[place], offsets[place + 1]):
            opens[row] = row == offsets[place] or u[row, 0] < p[place]
            number += opens[row]
            turn[row] = number
    return opens, turn
