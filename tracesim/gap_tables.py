"""How long a session idles before each call, from tables by band of depth.

Gaps of one session are alike: a session has a score of its own, which has its part in the normal score of each of
its gaps. The table turns the score into seconds, so that gaps follow the table whatever they have in common.
"""

from __future__ import annotations

import math

import numpy as np

from tracesim.compiled import Flags, Floats, Longs
from tracesim.copula import leaning
from tracesim.laws import Tables
from tracesim.measured import GapTables
from tracesim.philox import Component, Numbers, normal

__all__ = ["draw_gaps_of_tables"]

_MOST_S = 1e9


def draw_gaps_of_tables(numbers: Numbers, first: int, offsets: Longs, band: Longs, opens: Flags,
                        gaps: GapTables) -> tuple[Longs, Longs]:
    """As `gaps.draw_gaps`; `band` is that of each session."""
    u = numbers.of_calls(Component.GAPS, first, offsets)
    own = numbers.of_sessions(Component.GAPS_OF_SESSION, first, len(offsets) - 1)
    depths = np.diff(offsets)
    bands = np.repeat(band, depths)
    loop_us, inter_us = (
        _microseconds(tables, bands, _share(u[:, lane], np.repeat(normal(own[:, lane]), depths), alike))
        for lane, tables, alike in ((0, gaps.intra, gaps.alike[0]), (1, gaps.inter, gaps.alike[1])))
    gap_us = np.where(opens, inter_us, np.concatenate(([0], loop_us[:-1])))
    gap_us[offsets[:-1]] = 0
    return gap_us, loop_us


def _microseconds(tables: tuple[tuple[tuple[float, float], ...], ...], bands: Longs, p: Floats) -> Longs:
    seconds = Tables(tables).draw(bands, p)
    return (np.minimum(seconds, _MOST_S) * 1e6).astype(np.int64)


def _share(p: Floats, own: Floats, alike: float) -> Floats:
    """Uniform numbers of which those of one session are alike."""
    return leaning(p, own, math.sqrt(alike)) if alike else p
