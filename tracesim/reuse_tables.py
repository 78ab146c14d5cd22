"""How much of each context is found in the prefix cache, from tables by situation and by time since the last call."""

from __future__ import annotations

import numpy as np

from tracesim.classes import Small
from tracesim.compiled import Longs
from tracesim.laws import Tables
from tracesim.measured import ReuseTables
from tracesim.philox import Component, Numbers
from tracesim.situations import GAP_BANDS_S, SITUATIONS, situations

__all__ = ["draw_cached_of_tables"]


def draw_cached_of_tables(numbers: Numbers, first: int, offsets: Longs, kind: Small, model: Small, models: int,
                          region: Small, deployment: Small, gap_us: Longs, tokens: Longs,
                          reuse: ReuseTables) -> Longs:  # fmt: skip
    """Cached tokens of each call: int64, whole blocks, at most its context."""
    u = numbers.of_calls(Component.REUSE, first, offsets)
    situation, band = situations(offsets, kind, model.astype(np.int64), models, region.astype(np.int64),
                                 deployment.astype(np.int64), gap_us, tokens)
    share = Tables([cell.found for cell in reuse.cells]).draw(_chosen(reuse)[situation, band], u[:, 0])
    # To the nearest block: the tables are of whole blocks already.
    blocks = np.minimum((share * tokens / reuse.block + 0.5).astype(np.int64), tokens // reuse.block)
    return np.where(u[:, 1] < reuse.effectiveness, blocks * reuse.block, 0)


def _chosen(reuse: ReuseTables) -> Longs:
    """Place of the table of each situation and band of gaps."""
    chosen = np.zeros((len(SITUATIONS), len(GAP_BANDS_S) + 1), np.int64)
    for own in (False, True):  # what has a table of its own goes over what has none
        for place, cell in enumerate(reuse.cells):
            if (cell.gap is not None) == own:
                chosen[SITUATIONS.index(cell.situation), slice(None) if cell.gap is None else cell.gap] = place
    return chosen
