"""How many calls a session makes, from a table, and its band of depth."""

from __future__ import annotations

import numpy as np

from tracesim.compiled import Longs
from tracesim.laws import Tables
from tracesim.measured import DepthTable
from tracesim.philox import Component, Numbers

__all__ = ["bands_of", "draw_depths_of_table"]


def draw_depths_of_table(numbers: Numbers, first: int, count: int, depth: DepthTable) -> Longs:
    """Calls of consecutive sessions: int64, each at least 1."""
    u = numbers.of_sessions(Component.DEPTH, first, count)
    edges = Tables([depth.edges]).draw(np.zeros(count, np.int64), u[:, 0])
    return np.maximum(edges.astype(np.int64), 1)


def bands_of(depths: Longs, bands: tuple[int, ...]) -> Longs:
    """Place of each session in the bands, which begin at so many calls."""
    return np.searchsorted(np.array(bands, np.int64), depths, side="right").astype(np.int64) - 1
