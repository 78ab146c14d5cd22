"""Reads the parts of a profile that are tables; `profile_file` reads the rest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tracesim.laws import Points
from tracesim.measured import Cell, DepthTable, DurationTables, GapTables, ReuseTables, Threads
from tracesim.situations import GAP_BANDS_S, SITUATIONS
from tracesim.threads import QUARTERS
from tracesim.toml_table import SUM_ERROR, Table

__all__ = ["depth_table", "duration_tables", "gap_tables", "reuse_tables", "thread_tables"]

_MOST_BANDS = 100
_MOST_DEPTH = 10**7
_NONE: Points = ((0.0, 1.0), (1.0, 1.0))  # of a class that has no calls


def depth_table(table: Table) -> DepthTable:
    table.only(("edges", "bands"))
    bands = tuple(map(int, table.numbers("bands", None, 1, 10**6)))
    if bands[0] != 1 or list(bands) != sorted(set(bands)) or len(bands) > _MOST_BANDS:
        raise table.wrong("bands", list(bands), f"whole numbers of calls that rise from 1, at most {_MOST_BANDS}")
    return DepthTable(_law(table, "edges", 1, _MOST_DEPTH), bands)


def gap_tables(table: Table, bands: Sequence[int]) -> GapTables:
    table.only(("alike", "bands"))
    rows = _rows(table, "bands", len(bands), ("intra", "inter"))
    alike = table.numbers("alike", 2, 0, 0.99)
    return GapTables(tuple(_law(row, "intra", 0) for row in rows), tuple(_law(row, "inter", 0) for row in rows),
                     (alike[0], alike[1]))


def thread_tables(table: Table, bands: Sequence[int], classes: Sequence[str]) -> Threads:
    table.only(("bands", "steps", "classes"))
    by_band = _rows(table, "bands", len(bands), ("peak", "follows"))
    by_class = _by_class(table, classes, ("share", "first", "stays", "compacts", "extracts", "remaining",
                                              "extract"))
    stays, compacts, extracts = (tuple(row.number(name, 0, 1) if row else 0.0 for row in by_class)
                                 for name in ("stays", "compacts", "extracts"))
    for row, chances in zip(by_class, zip(stays, compacts, extracts, strict=True), strict=True):
        if row is not None and sum(chances) > 1 + SUM_ERROR:
            raise row.wrong("extracts", chances[2], f"a probability that leaves room for stays and compacts, "
                            f"{chances[0]:g} and {chances[1]:g}")
    return Threads(
        peak=tuple(_law(row, "peak", 0) for row in by_band),
        follows=tuple(row.number("follows", -1, 1) for row in by_band),
        first=tuple((_NONE,) * len(bands) if row is None else _list_of_laws(row, "first", len(bands), 1)
                    for row in by_class),
        step=tuple(_law(row, "step", 0) for row in _rows(table, "steps", QUARTERS + 1, ("step",))),
        share=_laws(by_class, "share", 1), stays=stays, compacts=compacts, extracts=extracts,
        remaining=_laws(by_class, "remaining", 1), extract=_laws(by_class, "extract", 1))


def reuse_tables(table: Table) -> ReuseTables:
    table.only(("cells", "block", "effectiveness"))
    cells: list[Cell] = []
    for row in table.tables("cells"):
        row.only(("situation", "gap", "found"))
        situation = row.text("situation")
        if situation not in SITUATIONS:
            raise row.wrong("situation", situation, ", ".join(SITUATIONS))
        gap = row.whole("gap", 0, len(GAP_BANDS_S)) if "gap" in row.content else None
        if any((cell.situation, cell.gap) == (situation, gap) for cell in cells):
            raise row.wrong("situation", situation, "each situation and gap once")
        cells.append(Cell(situation, gap, _law(row, "found", 0, 1)))
    missing = [name for name in SITUATIONS if not any(cell.situation == name and cell.gap is None for cell in cells)]
    if missing:
        raise table.wrong("cells", f"no {missing[0]}", "a cell without gap for each situation")
    return ReuseTables(tuple(cells), table.whole("block", 1, 10**6),
                       table.number("effectiveness", 0, 1) if "effectiveness" in table.content else 1.0)


def duration_tables(table: Table, classes: Sequence[str]) -> DurationTables:
    table.only(("busy", "classes"))
    busy = _law(table, "busy", 0) if "busy" in table.content else None
    if "classes" not in table.content:
        return DurationTables(busy, None)
    return DurationTables(busy, _laws(_by_class(table, classes, ("output",)), "output"))


def _rows(table: Table, name: str, count: int, keys: Sequence[str]) -> list[Table]:
    rows = table.tables(name)
    if len(rows) != count:
        raise table.wrong(name, f"{len(rows)} tables", f"{count} of them")
    for row in rows:
        row.only(keys)
    return rows


def _by_class(table: Table, classes: Sequence[str], keys: Sequence[str]) -> list[Table | None]:
    """The row of each class; None for one without."""
    found: dict[str, Table] = {}
    for row in table.tables("classes"):
        row.only(("class", *keys))
        name = row.text("class")
        if name not in classes or name in found:
            raise row.wrong("class", name, f"each of {', '.join(classes)} once")
        found[name] = row
    return [found.get(name) for name in classes]


def _laws(rows: Sequence[Table | None], name: str, most: float | None = None) -> tuple[Points, ...]:
    return tuple(_NONE if row is None else _law(row, name, 0, most) for row in rows)


def _list_of_laws(table: Table, name: str, count: int, most: float) -> tuple[Points, ...]:
    value = table.value(name, f"a list of {count} quantile tables")
    if not isinstance(value, list) or len(value) != count:
        raise table.wrong(name, value, f"a list of {count} quantile tables")
    return tuple(_law(replace(table, content={name: each}), name, 0, most) for each in value)


def _law(table: Table, name: str, least: float, most: float | None = None) -> Points:
    """A quantile table: shares from 0 to 1, values that do not fall."""
    points = table.points(name)
    shares, values = zip(*points, strict=True)
    high = "" if most is None else f" to {most:g}"
    if (shares[0] != 0 or shares[-1] != 1 or list(values) != sorted(values) or values[0] < least
            or (most is not None and values[-1] > most)):
        raise table.wrong(name, [list(pair) for pair in points], "pairs [share, value] from share 0 to share 1, with "
                          f"values from {least:g}{high} that do not fall")
    return tuple(points)
