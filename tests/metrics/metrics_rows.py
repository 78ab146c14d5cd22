"""Rows in, numbers out: what the tests of the metrics are written with."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pyarrow as pa

from metrics.core.audit import Audit, audit, audit_events
from metrics.core.classes import DEFAULT_RULES
from metrics.core.clock import Window
from metrics.core.engine import Engine
from metrics.core.event_log import EventLog
from metrics.core.ingest import Ingested, ingest
from metrics.core.loading import stream
from metrics.core.metric import Findings, Metric, measure
from metrics.core.trace import Settings, Trace
from telemetry.adapter import DefectLog
from telemetry.schema import CALL_SCHEMA, CALLS, EVENT_SCHEMA, EVENTS, Rows

T0 = 1_767_225_600_000_000  # 2026-01-01T00:00:00Z
SECOND, MINUTE, HOUR, DAY = 1, 60, 3600, 86_400
BETA = 327_680  # KV bytes a token of llama-2-70b, the default
ALL = Window("all")

# The short names in which rows are written.
_COLUMNS = {
    "cached": "cached_tokens", "output": "output_tokens", "turn": "turn_id", "user": "user_initiated",
    "parent": "parent_session_id", "id": "call_id", "keys": "prefix_keys", "block": "block_size",
}

Row = dict[str, Any]


def call(session: str | None, at: float, context: int = 1000, *, seconds: float | None = None, **more: Any) -> Row:
    """A canonical row: session, start in seconds after T0, context tokens, and what matters beyond."""
    columns = {_COLUMNS.get(name, name): value for name, value in more.items()}
    unknown = set(columns) - set(CALL_SCHEMA.names)
    if unknown:
        raise TypeError(f"no such columns: {sorted(unknown)}")
    return {"session_id": session, "t_us": T0 + round(at * 1_000_000), "context_tokens": context,
            "duration_us": None if seconds is None else round(seconds * 1_000_000), **columns}


def event(session: str | None, at: float, kind: str | None = "tool", *, x: int | None = None, c: int | None = None,
          o: int | None = None, **more: Any) -> Row:
    """A canonical event: session, seconds after T0, what it is, the session's counters, and what matters beyond."""
    unknown = set(more) - set(EVENT_SCHEMA.names)
    if unknown:
        raise TypeError(f"no such columns: {sorted(unknown)}")
    return {"session_id": session, "t_us": T0 + round(at * 1_000_000), "event": kind,
            "tool_event": None if kind is None else kind == "tool", "cumulative_context_tokens": x,
            "cumulative_cached_tokens": c, "cumulative_output_tokens": o, **more}


def table_of(rows: Iterable[Row], kind: Rows = CALLS) -> pa.Table:
    """The rows as one file, in this order; a row can name its own file and place in it."""
    numbered = [{"source_rank": 0, "source_row": place, **row} for place, row in enumerate(rows, start=1)]
    return pa.Table.from_pylist(numbered, schema=kind.schema)


class Seen:
    """What a metric found, by key and by table."""

    def __init__(self, findings: Findings) -> None:
        self.findings = findings

    def __getitem__(self, key: str) -> Any:
        return self.findings.numbers[key].value

    def __contains__(self, table: str) -> bool:
        return table in self.findings.tables

    def values(self, *keys: str) -> list[Any]:
        return [self[key] for key in keys]

    def n(self, key: str) -> int | None:
        return self.findings.numbers[key].n

    def bounds(self, key: str) -> tuple[Any, Any]:
        return self.findings.numbers[key].low, self.findings.numbers[key].high

    def why(self, key: str) -> str:
        """The reason of a null; fails where there is a value."""
        found = self.findings.numbers[key]
        assert found.value is None, f"{key} has the value {found.value}"
        assert found.why, f"{key} is null without a reason"
        return found.why

    def whys(self) -> dict[str, str]:
        """Key -> reason, of every null."""
        return {key: self.why(key) for key, found in self.findings.numbers.items() if found.value is None}

    def rows(self, table: str, *columns: str, **where: Any) -> list[tuple[Any, ...]]:
        """Rows of a table in their order: the named columns, of the rows that have these values."""
        return [tuple(row[column] for column in columns) for row in self.findings.tables[table].to_pylist()
                if all(row[column] == value for column, value in where.items())]


class Census:
    """Runs metrics over literal rows on one engine."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    def ingest(self, rows: Iterable[Row], kind: Rows = CALLS) -> Ingested:
        return ingest(self.engine, stream(self.engine, table_of(rows, kind).to_batches(), kind), DEFAULT_RULES, kind)

    def trace(self, rows: Iterable[Row], window: Window = ALL, **settings: Any) -> Trace:
        """The derived tables of these rows; `settings` are those of `Settings`."""
        return self.derived(self.ingest(rows), window, **settings)

    def derived(self, ingested: Ingested, window: Window = ALL, **settings: Any) -> Trace:
        """The tables of what was ingested last; a window without calls has none."""
        trace = Trace(self.engine, ingested, window, Settings(**settings))
        if not trace.empty:
            trace.derive()
        return trace

    def events(self, rows: Iterable[Row], window: Window = ALL, **settings: Any) -> EventLog:
        """The derived tables of these events."""
        return self.derived_events(self.ingest(rows, EVENTS), window, **settings)

    def derived_events(self, ingested: Ingested, window: Window = ALL, **settings: Any) -> EventLog:
        log = EventLog(self.engine, ingested, window, Settings(**settings))
        if not log.empty:
            log.derive()
        return log

    @staticmethod
    def measured(metric: Metric[EventLog], log: EventLog) -> Findings:
        """What one metric finds in tables that are there."""
        return measure(metric, log)

    def of_events(self, metric: Metric[EventLog], rows: Iterable[Row], window: Window = ALL, **settings: Any) -> Seen:
        return Seen(measure(metric, self.events(rows, window, **settings)))

    def __call__(self, metric: Metric[Trace], rows: Iterable[Row], window: Window = ALL, **settings: Any) -> Seen:
        return Seen(measure(metric, self.trace(rows, window, **settings)))

    def audit(self, rows: Iterable[Row], window: Window = ALL, kind: Rows = CALLS) -> Audit:
        """The account of every row."""
        ingested = self.ingest(rows, kind)
        if kind is EVENTS:
            return audit_events(self.derived_events(ingested, window), ingested, DefectLog(), files=1)
        return audit(self.derived(ingested, window), ingested, DefectLog(), files=1)


def window(start: float | None, end: float | None) -> Window:
    """A window by seconds after T0."""
    return Window("window", *(None if at is None else T0 + round(at * 1_000_000) for at in (start, end)))
