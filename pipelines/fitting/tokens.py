"""How much of contexts is cached, and what engines make of them."""

from __future__ import annotations

import numpy as np

from pipelines.fitting.rows import Rows
from pipelines.fitting.scores import log_slope
from pipelines.fitting.support import Support, bounded_weights, sure
from tracesim.compiled import Flags, Floats, Ints, Longs
from tracesim.duration_tables import BUSY_GAPS_S, busy_band
from tracesim.laws import Points
from tracesim.measured import Busy, Cell, DurationTables, ReuseTables
from tracesim.profile import CLASSES
from tracesim.situations import GAP_BANDS_S, SITUATIONS, situations

__all__ = ["fit_durations", "fit_reuse"]

_WHOLE: Points = ((0.0, 1.0), (1.0, 1.0))  # a share of one
_BANDS_OF_GAPS = [*(f"gaps to {edge} s" for edge in BUSY_GAPS_S), f"gaps above {BUSY_GAPS_S[-1]} s"]
_LEAST_BLOCK, _MOST_BLOCK = 16, 4096


def fit_reuse(rows: Rows, kind: Longs, support: Support) -> ReuseTables | None:
    """Cached tokens by situation; None where too few sessions report them."""
    told = (rows.cached >= 0) & (rows.tokens > 0)
    if not told.any() or not support.enough(rows.session[told]):
        return None
    situation, band = situations(rows.offsets, kind.astype(np.int8), rows.model, int(rows.model.max()) + 1,
                                 rows.region, rows.deployment, rows.gap_us, rows.tokens)
    found = rows.cached / np.maximum(rows.tokens, 1)
    cells: list[Cell] = []
    every = support.law("reuse", found[told], rows.session[told], _WHOLE, "whole", 1.0)
    for place, name in enumerate(SITUATIONS):
        mine = told & (situation == place)
        kin = told & np.isin(situation, [at for at, each in enumerate(SITUATIONS) if _kind(each) == _kind(name)])
        # Nobody needs to know of the wider table, unless it is used.
        wider = Support(support.k).law(_kind(name), found[kin], rows.session[kin], every, "all calls", 1.0)
        law = support.law(f"reuse in {name}", found[mine], rows.session[mine], wider, "the other classes", 1.0)
        cells.append(Cell(name, None, sure(law)))
        if len(np.unique(band[mine])) > 1:
            cells += _by_gap(name, found, band, mine, rows.session, support)
    return ReuseTables(tuple(cells), _block(rows.cached[told]), 1.0)


def _by_gap(name: str, found: Floats, band: Ints, mine: Flags, session: Longs, support: Support) -> list[Cell]:
    cells = []
    for gap in range(len(GAP_BANDS_S) + 1):
        chosen = np.flatnonzero(mine & (band == gap))
        if len(chosen) and support.enough(session[chosen]):
            cells.append(Cell(name, gap, sure(support.law(name, found[chosen], session[chosen], None, "", 1.0))))
        elif len(chosen):
            support.pooled.append(f"reuse in {name}, band {gap} of gaps ({len(np.unique(session[chosen]))} sessions): "
                                  "as all gaps")
    return cells


def _kind(situation: str) -> str:
    return situation.partition(".")[0]


def _block(cached: Longs) -> int:
    """Tokens of a block, a power of two, if all cached counts are whole blocks."""
    common = int(np.gcd.reduce(cached)) if cached.any() else 1
    block = min(common & -common, _MOST_BLOCK)
    return block if block >= _LEAST_BLOCK else 1


def fit_durations(rows: Rows, kind: Longs, support: Support) -> DurationTables | None:
    """Engine time by the gap that follows within the turn, and output by class; None where none is told."""
    busy = _busy(rows, support)
    told = rows.output >= 0
    whole = support.law("output", rows.output[told], rows.session[told], None, "")
    if whole is None:
        return None if busy is None else DurationTables(busy, None)
    output = [sure(support.law(f"output of {name}", rows.output[told & (kind == place)],
                               rows.session[told & (kind == place)], whole, "all classes"))
              for place, name in enumerate(CLASSES)]
    return DurationTables(busy, tuple(output))


def _busy(rows: Rows, support: Support) -> tuple[Busy, ...] | None:
    """Engine time by band of the gap that follows, and the power of the gap that it goes with in the band."""
    goes_on = np.flatnonzero((rows.index[1:] > 0) & (rows.opens[1:] != 1) & (rows.gap_us[1:] > 0)
                             & (rows.duration_us[:-1] >= 0))
    seconds, gap_s = rows.duration_us[goes_on] / 1e6, rows.gap_us[goes_on + 1] / 1e6
    session, band = rows.session[goes_on], busy_band(rows.gap_us[goes_on + 1])
    if not support.enough(session):
        return None
    group = support.joined("engine time", session, band, _BANDS_OF_GAPS)
    found = []
    for each in range(int(group.max()) + 1):
        mine = np.flatnonzero(group[band] == each)
        some = mine[seconds[mine] > 0]
        power = 1.0
        if support.enough(session[some]):
            power = log_slope(gap_s[some], seconds[some], 1.0, bounded_weights(session[some], np.ones(len(some)),
                                                                               support.k))
        law = support.law("engine time", seconds[mine] / gap_s[mine] ** power, session[mine], None, "")
        found.append(Busy(sure(law), power))
    return tuple(found[each] for each in group)
