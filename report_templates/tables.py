"""Result tables as rows of text for a page: units by column, at most sixty rows, labels made harmless."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa

from figures.source import ResultsLike
from figures.units import NOT_KNOWN, clean, format_value

__all__ = ["MOST_ROWS", "TableView", "view"]

MOST_ROWS: Final = 60

_SHARES: Final = frozenset(
    {
        "ccdf",
        "cdf",
        "probability",
        "mean_reuse",
        "reconstruction",
        "reconstruction_rate",
        "duty_cycle",
        "first_touch_floor",
        "sample_fraction",
        "standard_error",
        "groups_rate",
        "split_rate",
        "inter_share_of_reclaimed",
        "low",
        "high",
        "share",
    }
)
_SECONDS: Final = frozenset({"seconds", "stream_s", "theta_s"})
#: What null means where it does not mean "not known".
_NULLS: Final = {("transition_reuse", "day"): "whole window", ("idle_cap", "theta_s"): "no cap"}


@dataclass(frozen=True)
class Column:
    """One column: name, what it means, and whether it is set flush right."""

    name: str
    doc: str
    numeric: bool


@dataclass(frozen=True)
class TableView:
    """What the template needs to show a table."""

    name: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[str, ...], ...]
    total: int

    @property
    def cut(self) -> bool:
        return len(self.rows) < self.total


def unit_of(column: str) -> str:
    """The unit that a column's name tells."""
    if column in _SHARES or column.endswith("_share"):
        return "share"
    if column.endswith("_bytes"):
        return "bytes"
    if column.endswith("_bytes_per_s"):
        return "bytes/s"
    if column.endswith("_seed"):
        return "seed"
    if column in _SECONDS:
        return "s"
    return "GiB" if column == "gib" else "count"


def view(results: ResultsLike, name: str) -> TableView:
    """Table `name` for the page, cut to `MOST_ROWS` rows at even steps; the first and last row stay."""
    table = results.table(name)
    columns = tuple(
        Column(
            clean(f.name),
            clean((f.metadata or {}).get(b"doc", b"").decode("utf-8", "replace"), 300),
            _is_numeric(f.type),
        )
        for f in table.schema
    )
    chosen = table.take(pa.array(_even(table.num_rows, MOST_ROWS), pa.int64())).to_pylist()  # of an empty list, too
    shown = tuple(tuple(_cell(name, column, value) for column, value in row.items()) for row in chosen)
    return TableView(clean(name), columns, shown, table.num_rows)


def _even(total: int, most: int) -> list[int]:
    if total <= most:
        return list(range(total))
    return [round(i * (total - 1) / (most - 1)) for i in range(most)]


def _is_numeric(kind: Any) -> bool:
    return str(kind).startswith(("int", "uint", "float", "double", "half", "decimal"))


def _cell(table: str, column: str, value: Any) -> str:
    if value is None:
        return _NULLS.get((table, column), NOT_KNOWN)
    return format_value(value, unit_of(column))
