"""Makes the contexts of a thread as large as they are: what is drawn beside what was measured, quantile by quantile."""

from __future__ import annotations

import numpy as np

from pipelines.fitting.pace import band_names
from pipelines.fitting.rows import Rows
from pipelines.fitting.support import Support, rounded
from tracesim.compiled import Flags, Floats, Longs
from tracesim.depth_table import bands_of
from tracesim.laws import Points, Tables
from tracesim.measured import DepthTable, Threads
from tracesim.philox import Numbers
from tracesim.profile import CLASSES
from tracesim.threads import draw_levels, thread_places

__all__ = ["fit_levels", "rising"]

_AS_DRAWN: Points = ((0.0, 0.0), (1.0, 1.0))
_FEWEST = 20_000  # calls drawn: those of a small log several times
_BLOCK = 1 << 13  # sessions drawn at once
_BELOW = 1 - 1e-9  # what a call carries that is not the thread's largest


def fit_levels(rows: Rows, kind: Longs, level: Floats, depth: DepthTable, threads: Threads,
               support: Support) -> tuple[tuple[Points, ...], ...]:  # fmt: skip
    """By class, then by band of the thread: `Threads.level`, for threads drawn where the log has them.

    Parameters
    ----------
    rows : Rows
    kind : int64 array
        Class of each call.
    level : float64 array
        Context / largest of its thread, of each call.
    depth : DepthTable
    threads : Threads
        Without this table.
    support : Support
    """
    band = bands_of(thread_places(rows.offsets, kind.astype(np.int8))[1], depth.bands)
    names = band_names(depth, "threads of")
    rounds = -(-_FEWEST // len(kind))
    drawn = np.concatenate([_drawn(rows, kind, depth.bands, threads, each) for each in range(rounds)])
    found = []
    for place, name in enumerate(CLASSES):
        mine = (kind == place) & (level < _BELOW)
        if not support.enough(rows.session[mine]):
            found.append((_AS_DRAWN,) * len(names))
            continue
        what = f"contexts of {name}"
        group = support.joined(what, rows.session[mine], band[mine], names)
        laws = [_law(what, level, drawn, rows.session, (kind == place) & (group[band] == each), support)
                for each in range(int(group.max()) + 1)]
        found.append(tuple(laws[each] for each in group))
    return tuple(found)


def _drawn(rows: Rows, kind: Longs, bands: tuple[int, ...], threads: Threads, each: int) -> Floats:
    """Levels as they are drawn for the calls of the log, once more."""
    small, parts = kind.astype(np.int8), []
    for first in range(0, rows.sessions, _BLOCK):
        offsets = rows.offsets[first:first + _BLOCK + 1]
        parts.append(draw_levels(Numbers(0), each * rows.sessions + first, offsets - offsets[0],
                                 small[offsets[0]:offsets[-1]], bands, threads))
    return np.concatenate(parts)


def _law(what: str, level: Floats, drawn: Floats, session: Longs, chosen: Flags, support: Support) -> Points:
    """From what is drawn of the chosen calls to what they have; as drawn where fewer than k sessions tell."""
    tables = []
    for values, told in ((drawn, Support(support.k)), (level, support)):
        times = len(values) // len(level)
        mine = np.tile(chosen, times) & (values < _BELOW)
        tables.append(told.law(what, values[mine], np.tile(session, times)[mine], None, "", 1.0))
    return rising(tables[0], tables[1]) if tables[0] is not None and tables[1] is not None else _AS_DRAWN


def rising(drawn: Points, measured: Points) -> Points:
    """Pairs of quantiles of two tables, at the shares of both; 0 and 1 stay."""
    shares = np.unique([share for table in (drawn, measured) for share, _ in table])
    tables = Tables([drawn, measured])
    x, y = (tables.draw(np.full(len(shares), place), shares) for place in (0, 1))
    points = [(0.0, 0.0)]
    for value in np.unique([rounded(each) for each in x.tolist()]).tolist():
        if 0 < value < 1:  # of an atom, the middle of what was measured
            to = y[[rounded(each) == value for each in x.tolist()]]
            points.append((value, rounded(min(float(to[0] + to[-1]) / 2, 1.0))))
    return (*points, (1.0, 1.0))
