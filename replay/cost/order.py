"""Which policy is better depends on what is counted: policies in order of misses and of missed tokens.

A miss of a long context costs more than one of a short. GPU-seconds and their money go with missed tokens, so policies
have the same order in these three; at one budget memory costs all of them the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any

import pyarrow as pa

from metrics.core.metric import Column, TableSpec

__all__ = ["TABLE", "order_rows", "swaps"]

Row = Mapping[str, Any]

TABLE = TableSpec("replay_order", "one policy under one budget, among all policies under it", (
    Column("stream", pa.string(), "busiest-hour: the clock hour with most sessioned calls; window: all of them"),
    Column("object_key", pa.string(), "what one KV object belongs to"),
    Column("release", pa.string(), "last: an object leaves after its last access in the stream; never: it does not"),
    Column("budget_share", pa.float64(), "budget as a share of K*; null for a budget in bytes"),
    Column("budget_bytes", pa.int64(), "budget in bytes"),
    Column("policy", pa.string(), "what is done when the budget is exceeded"),
    Column("misses", pa.int64(), "calls whose KV object is absent"),
    Column("missed_tokens", pa.int64(), "context tokens of the missed calls, to be prefilled again"),
    Column("place_by_misses", pa.int64(), "1 + policies with fewer misses"),
    Column("place_by_missed_tokens", pa.int64(), "1 + policies with fewer missed tokens; by GPU-seconds and their "
           "money the same"),
    Column("differs", pa.bool_(), "some policy has fewer misses and more missed tokens than this one, or the reverse"),
))

_CELL = ("stream", "object_key", "release", "budget_share", "budget_bytes")


def order_rows(rows: Iterable[Row]) -> list[dict[str, Any]]:
    """The rows of the table, of rows of `residency_replay`, budgets and policies in their order."""
    cells: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        cells.setdefault(tuple(row[column] for column in _CELL), []).append(row)
    return [
        {**dict(zip(_CELL, cell, strict=True)), "policy": row["policy"], "misses": row["misses"],
         "missed_tokens": row["missed_tokens"], "place_by_misses": _place(row, some, "misses"),
         "place_by_missed_tokens": _place(row, some, "missed_tokens"),
         "differs": any(_swapped(row, other) for other in some)}
        for cell, some in cells.items() for row in some]


def swaps(rows: Sequence[Row]) -> list[tuple[str, str]]:
    """Pairs of policies of one budget: the first has fewer misses, and more missed tokens."""
    found = []
    for one, other in combinations(rows, 2):
        if _swapped(one, other):
            first, second = sorted((one, other), key=lambda row: row["misses"])
            found.append((str(first["policy"]), str(second["policy"])))
    return found


def _place(row: Row, rows: Sequence[Row], column: str) -> int:
    return 1 + sum(1 for other in rows if other[column] < row[column])


def _swapped(one: Row, other: Row) -> bool:
    return bool((one["misses"] - other["misses"]) * (one["missed_tokens"] - other["missed_tokens"]) < 0)
