"""How contexts grow: how large they get, and the threads of classes below that."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from pipelines.fitting.largest import fit_largest
from pipelines.fitting.levels import fit_levels
from pipelines.fitting.pace import band_names
from pipelines.fitting.rows import Rows
from pipelines.fitting.support import Support, sure
from tracesim.compiled import Flags, Floats, Longs, compiled
from tracesim.depth_table import bands_of
from tracesim.laws import Points
from tracesim.measured import DepthTable, Threads
from tracesim.profile import CLASSES
from tracesim.threads import QUARTERS, step_parts, thread_places

__all__ = ["fit_contexts"]

_WHOLE: Points = ((0.0, 1.0), (1.0, 1.0))  # a share of one
_SOON, _MOST_OF_IT = 8, 0.9  # calls after an extract; share of the thread that one of them has again
_AT_ONCE = 0.25  # share of the thread by which it has it again: what grows back was compacted


def fit_contexts(rows: Rows, kind: Longs, depth: DepthTable, support: Support) -> Threads:
    """How large contexts get, and the threads of classes that grow to it."""
    small = kind.astype(np.int8)
    index, length = thread_places(rows.offsets, small)
    thread = np.unique(rows.session * len(CLASSES) + kind, return_inverse=True)[1]
    reached, session = _reached(rows.tokens, thread), rows.session
    level = np.where(reached > 0, rows.tokens / np.maximum(reached, 1), 1.0)
    before, extracts = _thread(rows.tokens, thread, index)
    left = rows.tokens / np.maximum(before, 1)
    growth = np.where((index > 0) & ~extracts, rows.tokens - before, 0)
    grew, compacted = growth > 0, growth < 0
    mean = np.bincount(thread, weights=growth * grew) / np.maximum(np.bincount(thread, weights=grew), 1)
    step, part = growth / np.maximum(mean[thread], 1e-9), step_parts(small, index, length)
    all_steps = support.law("growth", step[grew], session[grew], _WHOLE, "even growth")
    all_left, all_parts = (support.law(what, left[some], session[some], _WHOLE, "none", 1.0) or _WHOLE
                           for what, some in (("compactions", compacted), ("extracts", extracts)))
    by_class = [_Of(support, name, kind == place, index > 0, session) for place, name in enumerate(CLASSES)]
    threads = Threads(
        largest=fit_largest(rows, kind, reached, depth, support),
        first=_firsts(level, (index == 0) & (length > 1), kind, session, bands_of(length, depth.bands), depth, support),
        step=tuple(sure(support.law(f"growth, part {place + 1} of {QUARTERS + 1}", step[grew & (part == place)],
                                    session[grew & (part == place)], all_steps, "all parts"))
                   for place in range(QUARTERS + 1)),
        stays=tuple(each.share("unchanged contexts", ~extracts & (growth == 0)) for each in by_class),
        compacts=tuple(each.share("compactions", compacted) for each in by_class),
        extracts=tuple(each.share("extracts", extracts) for each in by_class),
        remaining=tuple(each.law("what compactions leave", left, compacted, all_left) for each in by_class),
        extract=tuple(each.law("size of extracts", left, extracts, all_parts) for each in by_class), level=())
    return replace(threads, level=fit_levels(rows, kind, level, depth, threads, support))


def _reached(tokens: Longs, thread: Longs) -> Longs:
    """Largest context of the thread of each call."""
    most = np.zeros(int(thread.max()) + 1, np.int64)
    np.maximum.at(most, thread, tokens)
    return np.asarray(most[thread])


def _firsts(level: Floats, chosen: Flags, kind: Longs, session: Longs, bands: Longs, depth: DepthTable,
            support: Support) -> tuple[tuple[Points, ...], ...]:  # fmt: skip
    """By class, then by band of the thread: first context / largest."""
    whole = support.law("first contexts", level[chosen], session[chosen], _WHOLE, "the largest", 1.0) or _WHOLE
    found = []
    for place, name in enumerate(CLASSES):
        mine = chosen & (kind == place)
        found.append(support.by_band(f"first contexts of {name}", level[mine], session[mine], bands[mine],
                                     band_names(depth, "threads of"), whole, "all classes", 1.0))
    return tuple(found)


@dataclass(frozen=True)
class _Of:
    """The calls of one class, and which of them follow in a thread."""

    support: Support
    name: str
    mine: Flags
    later: Flags
    session: Longs

    def law(self, what: str, values: Floats, chosen: Flags, instead: Points) -> Points:
        some = self.mine & self.later & chosen
        return sure(self.support.law(f"{what} of {self.name}", values[some], self.session[some], instead,
                                     "all classes", 1.0))

    def share(self, what: str, yes: Flags) -> float:
        some = self.mine & self.later
        return self.support.share(f"{what} of {self.name}", yes[some], self.session[some], 0.0, "none")


def _thread(tokens: Longs, thread: Longs, index: Longs) -> tuple[Longs, Flags]:
    """Context of the thread before each call, 0 before its first; and which calls carry an extract.

    A call with less than the thread carries an extract of it if one of the next calls has most of the thread again, and
    has it at once; else the thread was compacted.
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
            while later < len(tokens) and later <= row + _SOON and index[later] > 0:
                if tokens[later] >= _MOST_OF_IT * carried:
                    back = tokens[later] - tokens[later - 1]
                    extracts[row] = back >= _AT_ONCE * carried and 2 * back >= tokens[later] - tokens[row]
                    break
                later += 1
        if not extracts[row]:
            carried = tokens[row]
    return before, extracts
