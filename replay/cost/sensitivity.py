"""How every byte figure moves with the KV bytes of a token: one table, a column a geometry.

Tokens are counted; bytes are tokens times beta. So each figure goes with beta in proportion, whatever the trace. What
does not: a budget that was given in bytes is what it is, and what a policy misses under it does depend on beta.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any

import pyarrow as pa

from metrics.core.geometry import GEOMETRIES
from metrics.core.metric import Column, TableSpec
from metrics.core.store import Published
from replay.residency.budgets import AMOUNT, BYTES

__all__ = ["TABLE", "sensitivity_rows"]

_UNITS = ("bytes", "bytes/s", "GiB")
_GIB = 2**30
#: Ends the key of a number under a budget that was given in bytes.
_AMOUNT = re.compile(rf"\.b{AMOUNT}(?:{'|'.join(BYTES)})$")

TABLE = TableSpec("byte_sensitivity", "one byte figure", (
    Column("figure", pa.string(), "key of the number; budget.<object key>.b<percent>: a budget as a share of K*"),
    Column("unit", pa.string(), "bytes, or bytes a second"),
    Column("here_bytes", pa.int64(), "with the geometry of this report"),
    *(Column(f"{name}_bytes", pa.int64(), f"with {geometry.bytes_per_token:,} KV bytes a token; rounded down")
      for name, geometry in GEOMETRIES.items()),
))


def sensitivity_rows(numbers: Mapping[str, Published], replayed: Iterable[Mapping[str, Any]],
                     beta: int) -> list[dict[str, Any]]:
    """The rows of the table.

    Parameters
    ----------
    numbers : mapping of str to Published
        Of the store.
    replayed : iterable of mapping
        Rows of `residency_replay`, for the budgets.
    beta : int
        KV bytes a token of the report.
    """
    figures = {key: (number.unit, number.value) for key, number in numbers.items()
               if number.unit in _UNITS and number.value is not None and not _AMOUNT.search(key)}
    budgets = {f"budget.{row['object_key']}.b{100 * row['budget_share']:g}": ("bytes", row["budget_bytes"])
               for row in replayed if row["budget_share"] is not None}
    return [_row(key, unit, value, beta) for key, (unit, value) in (figures | budgets).items()]


def _row(key: str, unit: str, value: float, beta: int) -> dict[str, Any]:
    exact = Fraction(value) * (_GIB if unit == "GiB" else 1)
    return {"figure": key, "unit": "bytes" if unit == "GiB" else unit, "here_bytes": int(exact),
            **{f"{name}_bytes": int(exact * geometry.bytes_per_token / beta)
               for name, geometry in GEOMETRIES.items()}}
