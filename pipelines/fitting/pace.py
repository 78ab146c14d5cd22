"""How deep sessions are, how often their user returns, and how long they idle."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from pipelines.fitting.cut import seen_weights, session_weights
from pipelines.fitting.rows import Rows
from pipelines.fitting.scores import normal_scores
from pipelines.fitting.support import Support, edges_table, rounded
from tracesim.compiled import Flags, Longs
from tracesim.depth_table import bands_of
from tracesim.laws import Points
from tracesim.measured import DepthTable, GapTables
from tracesim.profile import Turns, Window

__all__ = ["band_names", "fit_depth", "fit_gaps", "fit_turns"]

_BANDS = 12  # about so many sessions in a band: one in so many
_MOST_ALIKE = 0.95
_NO_GAP: Points = ((0.0, 1.0), (1.0, 1.0))


def fit_depth(rows: Rows, window: Window, support: Support) -> DepthTable:
    """Calls of a session, and bands that begin at powers of two and hold k sessions or more."""
    depths, weights = rows.depths, session_weights(rows) if window.cuts else None
    starts = [1, *(2**power + 1 for power in range(25)), int(depths.max()) + 1]
    need = max(support.k, rows.sessions // _BANDS)
    bands, held = [1], 0
    for start, end in pairwise(starts):
        held += int(((depths >= start) & (depths < end)).sum())
        if held >= need and int((depths >= end).sum()) >= need:
            bands.append(end)
            held = 0
    return DepthTable(edges_table(depths, support.k, weights), tuple(bands))


def band_names(depth: DepthTable) -> list[str]:
    """For messages: `depth from 3 to 4`."""
    ends = [f" to {end - 1}" for end in depth.bands[1:]] + [" on"]
    return [f"depth from {start}{end}" for start, end in zip(depth.bands, ends, strict=True)]


def fit_turns(rows: Rows, depth: DepthTable, support: Support) -> Turns | None:
    """Probability that a call after the first opens a turn; None where no call tells."""
    told = (rows.opens >= 0) & (rows.index > 0)
    if not told.any() or not support.enough(rows.session[told]):
        return None
    band = bands_of(rows.depths, depth.bands)[rows.session]
    overall = round(float(rows.opens[told].mean()), 4)
    return Turns(tuple(
        support.share(f"turns of {name}", rows.opens[told & (band == place)], rows.session[told & (band == place)],
                      overall, "all depths") for place, name in enumerate(band_names(depth))))


def fit_gaps(rows: Rows, window: Window, depth: DepthTable, turns: Turns | None, support: Support) -> GapTables:
    """Gaps within turns and between them; all are within where no call tells."""
    weights = seen_weights(rows.t_us, rows.gap_us, int(rows.t_us.max())) if window.cuts else np.ones(len(rows.t_us))
    band = bands_of(rows.depths, depth.bands)[rows.session]
    later = rows.index > 0
    inter = later & (rows.opens == 1) if turns is not None else np.zeros(len(later), np.bool_)
    seconds = rows.gap_us / 1e6
    found, alike = [], []
    for what, chosen in (("gaps within turns", later & ~inter), ("gaps between turns", inter)):
        whole = support.law(what, seconds[chosen], rows.session[chosen], None, "", weights=weights[chosen])
        if whole is None:  # too few to tell them from the others
            whole = support.law(what, seconds[later], rows.session[later], _NO_GAP, "no gap", weights=weights[later])
            if chosen.any():
                support.pooled.append(f"{what} ({len(np.unique(rows.session[chosen]))} sessions): as all gaps")
        parts = [chosen & (band == place) for place in range(len(depth.bands))]
        found.append(tuple(
            support.law(f"{what}, {name}", seconds[part], rows.session[part], whole, "all depths",
                        weights=weights[part]) or _NO_GAP
            for name, part in zip(band_names(depth), parts, strict=True)))
        alike.append(_alike(rows.gap_us, rows.session, band, chosen, support.k))
    return GapTables(found[0], found[1], (alike[0], alike[1]))


def _alike(gaps: Longs, session: Longs, band: Longs, chosen: Flags, k: int) -> float:
    """Correlation of the normal scores, within their band, of two gaps of one session."""
    z = np.zeros(len(gaps))
    for place in np.unique(band[chosen]):
        mine = np.flatnonzero(chosen & (band == place))
        z[mine] = normal_scores(gaps[mine])
    of, count = np.unique(session[chosen], return_inverse=False, return_counts=True)
    several = count > 1
    if int(several.sum()) < k:
        return 0.0
    sums = np.bincount(session[chosen], weights=z[chosen])[of][several]
    squares = np.bincount(session[chosen], weights=z[chosen] ** 2)[of][several]
    number = count[several]
    both, spread = float(((sums**2 - squares) / (number - 1)).sum()), float(squares.sum())
    return min(max(rounded(both / spread), 0.0), _MOST_ALIKE) if spread else 0.0
