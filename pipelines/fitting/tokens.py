"""How contexts grow, how much of them is cached, and what engines make of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pipelines.fitting.pace import band_names
from pipelines.fitting.rows import Rows
from pipelines.fitting.scores import score_correlation
from pipelines.fitting.support import Support, rounded
from tracesim.compiled import Flags, Floats, Ints, Longs, compiled
from tracesim.depth_table import bands_of
from tracesim.laws import Points
from tracesim.measured import Cell, DepthTable, DurationTables, ReuseTables, Threads
from tracesim.profile import CLASSES
from tracesim.situations import GAP_BANDS_S, SITUATIONS, situations
from tracesim.threads import QUARTERS, step_parts, thread_places

__all__ = ["fit_contexts", "fit_durations", "fit_reuse"]

_WHOLE: Points = ((0.0, 1.0), (1.0, 1.0))  # a share of one
_LEAST_BLOCK, _MOST_BLOCK = 16, 4096
_SOON, _MOST_OF_IT = 8, 0.9  # calls after an extract; share of the thread that one of them has again


def fit_contexts(rows: Rows, kind: Longs, depth: DepthTable, support: Support) -> Threads:
    """Peaks by depth, and the threads of classes below them."""
    index, length = thread_places(rows.offsets, kind.astype(np.int8))
    thread = np.unique(rows.session * len(CLASSES) + kind, return_inverse=True)[1]
    most = np.zeros(int(thread.max()) + 1, np.int64)
    np.maximum.at(most, thread, rows.tokens)
    peak = rows.peaks
    band, session = bands_of(rows.depths, depth.bands), rows.session
    begins, several = index == 0, (index == 0) & (length > 1)
    before, extracts = _thread(rows.tokens, thread, index)
    left = rows.tokens / np.maximum(before, 1)
    growth = np.where((index > 0) & ~extracts, rows.tokens - before, 0)
    grew = growth > 0
    mean = np.bincount(thread, weights=growth * grew) / np.maximum(np.bincount(thread, weights=grew), 1)
    part = step_parts(kind.astype(np.int8), index, length)
    compacted = growth < 0
    every = np.arange(rows.sessions)
    share, step = rows.tokens / np.maximum(most[thread], 1), growth / np.maximum(mean[thread], 1e-9)
    all_peaks = support.law("peaks", peak, every, None, "")
    all_firsts = support.law("first contexts", share[several], session[several], _WHOLE, "the largest", 1.0)
    all_steps = support.law("growth", step[grew], session[grew], _WHOLE, "even growth")
    all_left, all_parts = (support.law(what, left[some], session[some], _WHOLE, "none", 1.0)
                           for what, some in (("compactions", compacted), ("extracts", extracts)))
    names, bands = band_names(depth), band[session]
    by_class = [_Of(support, name, (kind == place) & begins, (kind == place) & (index > 0), session)
                for place, name in enumerate(CLASSES)]
    return Threads(
        peak=tuple(_sure(support.law(f"peaks of {each}", peak[band == place], every[band == place], all_peaks,
                                     "all depths")) for place, each in enumerate(names)),
        follows=tuple(_follows(rows.depths[band == place], peak[band == place], support)
                      for place in range(len(names))),
        first=tuple(each.by_band("first contexts", share, several, bands, names, all_firsts or _WHOLE)
                    for each in by_class),
        step=tuple(_sure(support.law(f"growth, part {place + 1} of {QUARTERS + 1}", step[grew & (part == place)],
                                     session[grew & (part == place)], all_steps, "all parts"))
                   for place in range(QUARTERS + 1)),
        share=tuple(each.law("share of the peak", most[thread] / np.maximum(peak[session], 1), each.begins,
                             _WHOLE)
                    for each in by_class),
        stays=tuple(each.share("unchanged contexts", ~extracts & (growth == 0)) for each in by_class),
        compacts=tuple(each.share("compactions", compacted) for each in by_class),
        extracts=tuple(each.share("extracts", extracts) for each in by_class),
        remaining=tuple(each.law("what compactions leave", left, each.later & compacted, all_left or _WHOLE)
                        for each in by_class),
        extract=tuple(each.law("size of extracts", left, each.later & extracts, all_parts or _WHOLE)
                      for each in by_class))


def _follows(depths: Longs, peaks: Longs, support: Support) -> float:
    return rounded(score_correlation(depths, peaks)) if len(depths) >= support.k else 0.0


@dataclass(frozen=True)
class _Of:
    """The calls of one class: those that begin a thread, and those that follow in it."""

    support: Support
    name: str
    begins: Flags
    later: Flags
    session: Longs

    def law(self, what: str, values: Floats, chosen: Flags, instead: Points) -> Points:
        return _sure(self.support.law(f"{what} of {self.name}", values[chosen], self.session[chosen], instead,
                                      "all classes", 1.0))

    def by_band(self, what: str, values: Floats, chosen: Flags, bands: Longs, names: list[str],
                instead: Points) -> tuple[Points, ...]:
        """The law of the chosen calls that begin a thread, in each band of depth."""
        whole = self.law(what, values, chosen & self.begins, instead)
        return tuple(_sure(self.support.law(
            f"{what} of {self.name}, {name}", values[chosen & self.begins & (bands == place)],
            self.session[chosen & self.begins & (bands == place)], whole, "all depths", 1.0))
            for place, name in enumerate(names))

    def share(self, what: str, yes: Flags) -> float:
        return self.support.share(f"{what} of {self.name}", yes[self.later], self.session[self.later], 0.0, "none")


def _thread(tokens: Longs, thread: Longs, index: Longs) -> tuple[Longs, Flags]:
    """Context of the thread before each call, 0 before its first; and which calls carry an extract.

    A call with less than the thread carries an extract of it if one of the next calls has most of the thread again;
    else the thread was compacted.
    """
    order = np.lexsort((index, thread))
    before, extracts = np.empty_like(tokens), np.empty(len(tokens), np.bool_)
    before[order], extracts[order] = _followed(tokens[order], index[order])
    return before, extracts


@compiled
def _followed(tokens: Longs, index: Longs) -> tuple[Longs, Flags]:
    before = np.zeros(len(tokens), np.int64)
    extracts = np.zeros(len(tokens), np.bool_)
    carried = np.int64(0)
    for row in range(len(tokens)):
        if index[row] == 0:
            carried = tokens[row]
            continue
        before[row] = carried
        if tokens[row] < carried:
            later = row + 1
            while later < len(tokens) and later <= row + _SOON and index[later] > 0 and not extracts[row]:
                extracts[row] = tokens[later] >= _MOST_OF_IT * carried
                later += 1
        if not extracts[row]:
            carried = tokens[row]
    return before, extracts


def _sure(law: Points | None) -> Points:
    assert law is not None, "a trace has k sessions"
    return law


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
        cells.append(Cell(name, None, _sure(law)))
        if len(np.unique(band[mine])) > 1:
            cells += _by_gap(name, found, band, mine, rows.session, support)
    return ReuseTables(tuple(cells), _block(rows.cached[told]), 1.0)


def _by_gap(name: str, found: Floats, band: Ints, mine: Flags, session: Longs, support: Support) -> list[Cell]:
    cells = []
    for gap in range(len(GAP_BANDS_S) + 1):
        chosen = np.flatnonzero(mine & (band == gap))
        if len(chosen) and support.enough(session[chosen]):
            cells.append(Cell(name, gap, _sure(support.law(name, found[chosen], session[chosen], None, "", 1.0))))
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
    """Engine time as a share of the gap that follows within the turn, and output by class; None where none is told."""
    goes_on = np.flatnonzero((rows.index[1:] > 0) & (rows.opens[1:] != 1) & (rows.gap_us[1:] > 0)
                             & (rows.duration_us[:-1] >= 0))
    busy = support.law("engine time", rows.duration_us[goes_on] / rows.gap_us[goes_on + 1], rows.session[goes_on],
                       None, "")
    told = rows.output >= 0
    whole = support.law("output", rows.output[told], rows.session[told], None, "")
    if whole is None:
        return None if busy is None else DurationTables(busy, None)
    output = [_sure(support.law(f"output of {name}", rows.output[told & (kind == place)],
                                rows.session[told & (kind == place)], whole, "all classes"))
              for place, name in enumerate(CLASSES)]
    return DurationTables(busy, tuple(output))
