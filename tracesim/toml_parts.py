"""What profiles of calls and of events share in their files."""

from __future__ import annotations

import math
from datetime import UTC, datetime

from tracesim.parameters import Part, Window
from tracesim.toml_table import SUM_ERROR, Table

__all__ = ["mixture_of", "window_of"]

_YEAR_2100_US = 4_102_444_800_000_000


def mixture_of(table: Table, name: str) -> tuple[Part, ...]:
    """The lognormal parts of a law, their weights made to sum to 1."""
    parts = table.tables(name)
    for part in parts:
        part.only(("weight", "median", "sigma"))
    weights = [part.number("weight", 0, 1) for part in parts]
    if abs(math.fsum(weights) - 1) > SUM_ERROR:
        raise table.wrong(name, weights, f"weights that sum to 1, not to {math.fsum(weights):.6g}")
    return tuple(Part(weight / math.fsum(weights), part.number("median", 0, above=True), part.number("sigma", 0, 10))
                 for weight, part in zip(weights, parts, strict=True))


def window_of(table: Table) -> Window:
    """The time range of a trace."""
    start = table.value("start", "a time with an offset")
    if not isinstance(start, datetime) or start.tzinfo is None:
        raise table.wrong("start", start, "a time with an offset, such as 2026-06-15T00:00:00Z")
    moment = start.astimezone(UTC) - datetime(1970, 1, 1, tzinfo=UTC)
    us = (moment.days * 86_400 + moment.seconds) * 10**6 + moment.microseconds
    days = table.number("days", 0, 3650, above=True)
    if us < 0 or us + days * 86_400e6 > _YEAR_2100_US:
        raise table.wrong("start", start, "a time from 1970 on, from which the days of the window end before 2100")
    return Window(us, days, table.whole("sessions", 1, 10**12),
                  table.flag("cuts") if "cuts" in table.content else True)
