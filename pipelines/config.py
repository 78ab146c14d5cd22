"""The configuration file: what a user declares about an export, in TOML.

    [columns]                      # canonical name = "the name in your export"
    session_id = "conversation"
    context_tokens = "prompt_tokens"

    [timestamp]
    unit = "ms"                    # s, ms, us, ns: needed for numbers
    zone = "Europe/Berlin"         # needed for times without an offset
    epoch = "2026-01-01T00:00:00Z" # for numbers that do not count from 1970

    [source]
    context_excludes_cached = true # your context column counts uncached tokens only
    whole_sessions = true          # no session has calls beyond this input
    tool_events = ["tool_use"]     # of an event log: what `event` says where a tool is executed (default: tool)

    [[classes]]                    # ordered; the first rule whose text occurs in the model name wins
    match = "deep-research"
    conservative = "spine"
    broad = "spine"
"""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from metrics.core.classes import CLASSES, DEFAULT_RULES, ClassRule
from metrics.core.clock import find_zone, to_us
from telemetry.adapter import Arrivals, ReadOptions, TimestampRule
from telemetry.errors import UsageError, quoted, shorten
from telemetry.readers_chunk import CALL_COLUMNS, EVENT_COLUMNS

__all__ = ["Config", "load_config"]

_NAMED = tuple(name for name in CLASSES if name != "unknown")


@dataclass(frozen=True)
class Config:
    """A configuration file, checked."""

    columns: Mapping[str, str] = field(default_factory=dict)
    timestamp: TimestampRule = field(default_factory=TimestampRule)
    context_excludes_cached: bool = False
    whole_sessions: bool = False
    rules: tuple[ClassRule, ...] = DEFAULT_RULES
    tool_events: tuple[str, ...] = ReadOptions.tool_events

    def read(self, arrivals: Arrivals | None = None) -> ReadOptions:
        """What of it says how an input is read."""
        return ReadOptions(self.columns, self.timestamp, self.context_excludes_cached, arrivals, self.tool_events)


def load_config(path: Path | None) -> Config:
    """Read and check a configuration file; None gives the defaults.

    Raises
    ------
    UsageError
        File missing, no TOML, an unknown key, or a value of the wrong kind.
    """
    if path is None:
        return Config()
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"--config {path} cannot be read: {error}.") from error
    except ValueError as error:  # a TOMLDecodeError, or a number of thousands of digits
        raise UsageError(f"--config {path} is no TOML: {error}.") from error
    except RecursionError:
        raise UsageError(f"--config {path} is no TOML that can be read: it is nested too deeply.") from None
    return _Reader(path).config(content)


@dataclass(frozen=True)
class _Reader:
    """Checks one file; every message names the file and the key."""

    path: Path

    def config(self, content: Mapping[str, Any]) -> Config:
        self._known("", content, ("columns", "timestamp", "source", "classes"))
        columns = self._table(content, "columns")
        self._known("columns.", columns, dict.fromkeys((*CALL_COLUMNS, *EVENT_COLUMNS)))
        for name in columns:
            self._text("columns", columns, name)
        source = self._table(content, "source")
        self._known("source.", source, ("context_excludes_cached", "whole_sessions", "tool_events"))
        return Config(
            columns=dict(columns),
            timestamp=self._timestamp(self._table(content, "timestamp")),
            context_excludes_cached=self._flag(source, "context_excludes_cached"),
            whole_sessions=self._flag(source, "whole_sessions"),
            rules=self._rules(content.get("classes")),
            tool_events=self._words(source, "tool_events", ReadOptions.tool_events),
        )

    def _timestamp(self, table: Mapping[str, Any]) -> TimestampRule:
        self._known("timestamp.", table, ("unit", "zone", "epoch"))
        unit, zone = self._text("timestamp", table, "unit"), self._text("timestamp", table, "zone")
        if unit is not None and unit not in ("s", "ms", "us", "ns"):
            raise self._wrong("timestamp.unit", unit, "s, ms, us or ns")
        if zone is not None:
            find_zone(zone)
        return TimestampRule(unit, zone, self._epoch(table.get("epoch")))

    def _epoch(self, value: object) -> int | None:
        if value is None:
            return None
        try:
            moment = value if isinstance(value, datetime) else datetime.fromisoformat(str(value))
            if moment.tzinfo is not None:
                return to_us(moment.astimezone(UTC))
        except (ValueError, OverflowError):
            pass
        raise self._wrong("timestamp.epoch", value, "an ISO-8601 time with an offset or Z")

    def _rules(self, value: object) -> tuple[ClassRule, ...]:
        if value is None:
            return DEFAULT_RULES
        if not isinstance(value, list) or not all(isinstance(rule, dict) for rule in value):
            raise self._wrong("classes", value, "a list of [[classes]] tables")
        rules = []
        for place, rule in enumerate(value, start=1):
            name = f"classes {place}."
            self._known(name, rule, ("match", "conservative", "broad"))
            match = self._text(name, rule, "match")
            conservative = self._text(name, rule, "conservative")
            broad = self._text(name, rule, "broad") or conservative
            if not match:
                raise self._wrong(f"{name}match", match, "a text that occurs in model names")
            for mapping, chosen in (("conservative", conservative), ("broad", broad)):
                if chosen not in _NAMED:
                    raise self._wrong(f"{name}{mapping}", chosen, ", ".join(_NAMED))
            rules.append(ClassRule(match, str(conservative), str(broad)))
        return tuple(rules)

    def _table(self, content: Mapping[str, Any], name: str) -> Mapping[str, Any]:
        table = content.get(name, {})
        if not isinstance(table, dict):
            raise self._wrong(name, table, f"a [{name}] table")
        return table

    def _text(self, table_name: str, table: Mapping[str, Any], name: str) -> str | None:
        value = table.get(name)
        if value is not None and not isinstance(value, str):
            raise self._wrong(f"{table_name}.{name}", value, "a text in quotes")
        return value

    def _flag(self, table: Mapping[str, Any], name: str) -> bool:
        value = table.get(name, False)
        if not isinstance(value, bool):
            raise self._wrong(f"source.{name}", value, "true or false")
        return value

    def _words(self, table: Mapping[str, Any], name: str, default: tuple[str, ...]) -> tuple[str, ...]:
        value = table.get(name, list(default))
        if not isinstance(value, list) or not value or not all(isinstance(word, str) and word for word in value):
            raise self._wrong(f"source.{name}", value, "a list of texts in quotes, one at least")
        return tuple(value)

    def _known(self, prefix: str, table: Mapping[str, Any], known: Iterable[str]) -> None:
        known = tuple(known)
        for name in table:
            if name not in known:
                close = difflib.get_close_matches(name, known, 1)
                hint = f" Did you mean {close[0]}?" if close else ""
                raise UsageError(f"--config {self.path}: unknown key {prefix}{shorten(name)}.{hint} "
                                 f"Known: {', '.join(known)}.")

    def _wrong(self, key: str, value: object, expected: str) -> UsageError:
        return UsageError(f"--config {self.path}: {key} = {quoted(value)}; expected {expected}.")
