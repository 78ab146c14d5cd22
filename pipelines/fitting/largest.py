"""Which class has a session's largest context, how large that is, and what the other classes reach beside it."""

from __future__ import annotations

import numpy as np

from pipelines.fitting.pace import band_names
from pipelines.fitting.rows import Rows
from pipelines.fitting.scores import log_slope, normal_scores, score_correlation, scores_within
from pipelines.fitting.support import Support, rounded, sure
from tracesim.compiled import Floats, Longs
from tracesim.depth_table import bands_of
from tracesim.largest import USUAL, cells_of
from tracesim.laws import Points
from tracesim.measured import DepthTable, Largest
from tracesim.profile import CLASSES
from tracesim.threads import thread_places

__all__ = ["fit_largest"]

_ROUNDS = 200  # each weight follows from the others
_MOST_POWER = 2.0
_PARTS = (0.25, 0.5, 0.75)  # shares of sessions whose peaks are below the edges of the parts
_WHOLE: Points = ((0.0, 1.0), (1.0, 1.0))


def fit_largest(rows: Rows, kind: Longs, reached: Longs, depth: DepthTable, support: Support) -> Largest:
    """Peaks of sessions, and what each thread reaches.

    Parameters
    ----------
    rows : Rows
    kind : int64 array
        Class of each call.
    reached : int64 array
        Largest context of the thread of each call.
    depth : DepthTable
    support : Support
    """
    band, holder = bands_of(rows.depths, depth.bands), _holders(rows, kind)
    peak, table = _peaks(rows.peaks, holder, band, band_names(depth), support)
    score = scores_within(rows.peaks, table)
    follows = [_follows(rows.depths[band == place], score[band == place], support) for place in range(len(depth.bands))]
    edges = _edges(rows.peaks, support.k)
    share, power = _shares(rows, kind, holder, reached, depth, edges, support)
    holds = _holds(rows, kind, holder, band, band_names(depth), support)
    return Largest(peak, tuple(follows), holds, edges, share, power)


def _follows(depths: Longs, score: Floats, support: Support) -> float:
    return rounded(score_correlation(normal_scores(depths), score)) if len(depths) >= support.k else 0.0


def _holders(rows: Rows, kind: Longs) -> Longs:
    """By session, class of its largest context; the earliest of equal ones."""
    row = np.flatnonzero(rows.tokens == rows.peaks[rows.session])
    return np.asarray(kind[row[np.unique(rows.session[row], return_index=True)[1]]])


def _peaks(peak: Longs, holder: Longs, band: Longs, names: list[str],
              support: Support) -> tuple[tuple[tuple[Points, ...], ...], Longs]:  # fmt: skip
    """By class that holds it, then by band: the largest context; and which table each session is in."""
    every = np.arange(len(peak))
    whole = sure(support.law("peaks", peak, every, None, ""))
    bands = support.by_band("peaks", peak, every, band, names, whole, "all depths")
    table = band.copy()
    found = []
    for place, name in enumerate(CLASSES):
        mine = np.flatnonzero(holder == place)
        what = f"peaks in {name}"
        if not support.enough(mine):
            if len(mine):
                support.pooled.append(f"{what} ({len(mine)} sessions): as all classes")
            found.append(bands)
            continue
        group = support.joined(what, mine, band[mine], names)
        table[mine] = (place + 1) * len(names) + group[band[mine]]
        found.append(Support(support.k).by_band(what, peak[mine], mine, band[mine], names, whole, ""))
    return tuple(found), table


def _holds(rows: Rows, kind: Longs, holder: Longs, band: Longs, names: list[str],
              support: Support) -> tuple[tuple[float, ...], ...]:  # fmt: skip
    """By class, then by band: weight of a call where the largest context is dealt to the class of one of them.

    Weights are those of Plackett and Luce with so many calls as tickets, of sessions with several classes; a class that
    fewer than k of a band's sessions have stands to the commonest there as in all of them.
    """
    calls = np.zeros((rows.sessions, len(CLASSES)))
    np.add.at(calls, (rows.session, kind), 1)
    several = (calls > 0).sum(axis=1) > 1
    if int(several.sum()) < support.k:
        return ((1.0,) * len(names),) * len(CLASSES)
    whole = _weights(calls[several], holder[several])
    common = int(whole.argmax())
    found = []
    for place, name in enumerate(names):
        mine = several & (band == place)
        have = (calls[mine] > 0).sum(axis=0)
        own = _weights(calls[mine], holder[mine]) if have[common] >= support.k else whole
        few = have < support.k
        if own[common] <= 0:
            own = whole
        for at in np.flatnonzero(few & (have > 0)):
            support.pooled.append(f"the largest context in {CLASSES[at]}, {name} ({have[at]} sessions): as all depths")
        own = np.where(few, whole * own[common] / whole[common], own)
        found.append(tuple(rounded(float(weight)) for weight in own / own.max()))
    return tuple(zip(*found, strict=True))


def _weights(calls: Floats, holder: Longs) -> Floats:
    """By class, the weights under which each holds as often as it does; the largest is 1."""
    held = np.bincount(holder, minlength=len(CLASSES))
    weight = (held > 0).astype(np.float64)
    for _ in range(_ROUNDS):
        expected = (calls / np.maximum(calls @ weight, 1e-12)[:, None]).sum(axis=0)
        weight = np.where(held > 0, held / np.maximum(expected, 1e-12), 0.0)
        weight /= weight.max()
    return weight


def _shares(rows: Rows, kind: Longs, holder: Longs, reached: Longs, depth: DepthTable, edges: tuple[float, ...],
            support: Support) -> tuple[tuple[tuple[Points, ...], ...], tuple[tuple[float, ...], ...]]:  # fmt: skip
    """What threads reach that do not have the peak: by class, by cell, the share of a usual peak, and the power."""
    index, length = thread_places(rows.offsets, kind.astype(np.int8))
    chosen = np.flatnonzero((index == 0) & (kind != holder[rows.session]) & (reached > 0))
    session, most, peak, kind = rows.session[chosen], reached[chosen], rows.peaks[rows.session[chosen]], kind[chosen]
    cell = cells_of(bands_of(length[chosen], depth.bands), peak.astype(np.float64), edges)
    names = [f"{band} in {part}" for band in band_names(depth, "threads of") for part in _part_names(edges)]
    whole = support.law("threads below the largest", most / peak, session, _WHOLE, "the largest") or _WHOLE
    found, powers = [], []
    for place, name in enumerate(CLASSES):
        mine = np.flatnonzero(kind == place)
        what = f"threads of {name} below the largest"
        if not support.enough(session[mine]):
            found.append((whole,) * len(names))
            powers.append((1.0,) * len(names))
            continue
        group = support.joined(what, session[mine], cell[mine], names)
        power = np.array([log_slope(peak[mine[group[cell[mine]] == each]], most[mine[group[cell[mine]] == each]],
                                    _MOST_POWER) for each in range(int(group.max()) + 1)])[group]
        share = most[mine] / peak[mine] * (peak[mine] / USUAL) ** (1 - power[cell[mine]])
        found.append(Support(support.k).by_band(what, share, session[mine], cell[mine], names, whole, ""))
        powers.append(tuple(power.tolist()))
    return tuple(found), tuple(powers)


def _edges(peak: Longs, k: int) -> tuple[float, ...]:
    """Edges of quarters by peak, of those that leave k sessions on either side and between them."""
    found: list[float] = []
    for edge in (rounded(float(each)) for each in np.quantile(peak, _PARTS)):
        below = int(((peak > (found[-1] if found else -1)) & (peak <= edge)).sum())
        if below >= k and int((peak > edge).sum()) >= k:
            found.append(edge)
    return tuple(found)


def _part_names(edges: tuple[float, ...]) -> list[str]:
    return [*(f"peaks to {edge:g}" for edge in edges), f"peaks above {edges[-1]:g}" if edges else "all peaks"]
