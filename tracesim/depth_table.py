"""How many calls a session makes, from a table, and its band of depth."""

from __future__ import annotations

import numpy as np

from tracesim.compiled import Floats, Longs
from tracesim.laws import Tables, share_below
from tracesim.measured import DepthTable
from tracesim.philox import Component, Numbers, normal

__all__ = ["bands_of", "draw_depths_of_table", "scores_in_bands"]

_LEAST = 1e-9  # a rank is above it, and as far below 1


def draw_depths_of_table(numbers: Numbers, first: int, count: int, depth: DepthTable) -> Longs:
    """Calls of consecutive sessions: int64, each at least 1."""
    u = numbers.of_sessions(Component.DEPTH, first, count)
    edges = Tables([depth.edges]).draw(np.zeros(count, np.int64), u[:, 0])
    return np.maximum(edges.astype(np.int64), 1)


def scores_in_bands(numbers: Numbers, first: int, band: Longs, depth: DepthTable) -> Floats:
    """Normal scores of the depths of consecutive sessions among those of their band, which is given."""
    u = numbers.of_sessions(Component.DEPTH, first, len(band))[:, 0]
    shares = np.array([*(share_below(depth.edges, start) for start in depth.bands), 1.0])
    low, high = shares[band], shares[band + 1]
    return normal(np.clip((u - low) / np.maximum(high - low, _LEAST), _LEAST, 1 - _LEAST))


def bands_of(depths: Longs, bands: tuple[int, ...]) -> Longs:
    """Place of each session in the bands, which begin at so many calls."""
    return np.searchsorted(np.array(bands, np.int64), depths, side="right").astype(np.int64) - 1
