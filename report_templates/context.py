"""What the templates are given, apart from figures: title, warnings, audit, numbers, how it was made."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from figures import names
from figures.sentence import Sentence, anchor, clause, interval, text
from figures.source import NumberLike, ResultsLike
from figures.units import clean, format_value
from metrics.core.event_log import NO_CALLS

__all__ = ["audit_view", "coverage", "glance", "heading", "made_by", "number_groups", "warnings"]

MOST_NUMBERS: Final = 3_000
_MOST_TEXT: Final = 20_000

_GROUPS: Final = {
    "trace": "The trace",
    "turns": "Turns",
    "depth": "Depth",
    "context": "Context",
    "class_share": "Model classes: shares",
    "class": "Model classes: transitions",
    "excursion": "Excursions",
    "reuse": "Reuse",
    "working_set": "Working sets",
    "ceiling": "Holding every live session",
    "gap": "Gaps",
    "fetch": "Fetching KV within a gap",
    "placement": "Placement",
    "transition": "Reuse by transition",
    "idle_cap": "Idle cap",
    "prefix": "Prefixes",
    "events": "Events",
    "replay": "Residency replay",
    "live": "Live replay",
    "audit": "Rows accounted for",
}


# --- head of the page --------------------------------------------------------------------------


def heading(manifest: Mapping[str, Any]) -> dict[str, str]:
    """Name of the trace and its window, in words; a window that is alone has no name, its range says more."""
    window = _mapping(manifest.get("window"))
    name, zone = clean(window.get("name") or ""), clean(window.get("tz") or "")
    start, end = _moment(window.get("start")), _moment(window.get("end"))
    span = f"{start} to {end}" if start and end else ""
    return {
        "name": clean(manifest.get("name") or "unnamed trace"),
        "window": "" if name in ("all", "window") else name,
        "span": f"{span} ({zone})" if span and zone else span,
    }


def coverage(manifest: Mapping[str, Any], *, begins: bool, ends: bool) -> list[str]:
    """Where the calls of the input begin or end inside of the window; what lies beyond is for the reader to judge."""
    window = _mapping(manifest.get("window"))
    start, first, last, end = (_time(window.get(key)) for key in ("start", "first_call", "last_call", "end"))
    found, one = [], "event" if _mapping(manifest.get("input")).get("rows") == "events" else "call"
    if begins and start and first and first > start:
        found.append(f"first {one} at {_moment(window['first_call'])}")
    if ends and end and last and last < end:
        found.append(f"last {one} at {_moment(window['last_call'])}")
    return found


def _moment(value: object) -> str:
    """An ISO moment as people write it; anything else as it is."""
    moment = _time(value)
    return f"{moment:%Y-%m-%d %H:%M:%S}".removesuffix(":00") if moment else clean(value or "")


def _time(value: object) -> datetime | None:
    try:
        return datetime.fromisoformat(str(value))
    except ValueError:
        return None


def glance(results: ResultsLike) -> Sentence:
    """The size of the window in a sentence."""
    if "events.count" in results.numbers:
        return clause(
            results, "The window holds {events.count|event} of {events.sessions|session} over {events.span_s}."
        ) + _cuts(results, "events")
    found = (
        clause(
            results, "The window holds {trace.calls|call} in {trace.sessions|session} over {trace.span_s}."
        )
        or clause(results, "The window holds {trace.calls|call} in {trace.sessions|session}.")
        or clause(results, "The window holds {trace.calls|call}.")
    )
    return found + _cuts(results, "trace")


def _cuts(results: ResultsLike, subject: str) -> Sentence:
    """How many sessions the window's edges cut, where the log can tell."""
    left, right = (_open(results.numbers.get(f"{subject}.sessions_cut_{side}")) for side in ("left", "right"))
    if left and right:
        return text(
            "The log begins and ends with the window, so it cannot tell how many sessions the edges cut."
        )
    if left:
        return text("The log begins with the window, so it cannot tell how many sessions the start cuts.") + clause(
            results, f"The end cuts {{{subject}.sessions_cut_right|session}}."
        )
    if right:
        return clause(results, f"The start cuts {{{subject}.sessions_cut_left|session}}.") + text(
            "The log ends with the window, so it cannot tell how many sessions the end cuts."
        )
    return clause(
        results,
        f"Its edges cut {{{subject}.sessions_cut_left|session}} at the start and {{{subject}.sessions_cut_right}} at "
        "the end.",
    )


def _open(number: NumberLike | None) -> bool:
    """Whether the input does not reach beyond an edge, so that any session may go on there."""
    return number is not None and number.lo != number.hi


def warnings(manifest: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What a reader must know before believing a number: (kind, text)."""
    found = [("Note", text) for text in _texts(manifest.get("notes"))]
    found += [("Label", text) for text in _texts(manifest.get("labels"))]
    derived = {names.column(str(name)): how for name, how in _mapping(manifest.get("derived")).items()}
    return found + [("Derived", text) for text in _texts(derived)]


def _texts(value: object) -> list[str]:
    """Notes and labels come as a text, a list or a mapping."""
    if not value:
        return []
    if isinstance(value, Mapping):
        return [f"{clean(k)}: {clean(v, 400)}" for k, v in sorted(value.items())]
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [clean(v, 400) for v in value]
    return [clean(value, 400)]


# --- audit -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class AuditRow:
    """A reason or a flag, how often, and what it means."""

    name: str
    count: str
    meaning: str
    examples: tuple[str, ...] = ()


def audit_view(audit: Mapping[str, Any]) -> dict[str, Any]:
    """Every row of the input: used or set aside and why; and what was kept but flagged."""
    excluded, flags = _mapping(audit.get("rows_excluded")), _mapping(audit.get("flags"))
    reasons, meanings = _mapping(audit.get("reasons")), _mapping(audit.get("flag_meanings"))
    examples = _mapping(audit.get("examples"))
    read, used = audit.get("rows_read"), audit.get("rows_used")
    return {
        "known": read is not None and used is not None,
        "read": format_rows(read),
        "used": format_rows(used),
        "files": format_rows(audit.get("files")),
        "set_aside": format_rows(sum(excluded.values())),
        "adds_up": read is not None and used is not None and read == used + sum(excluded.values()),
        "excluded": [
            AuditRow(
                clean(name),
                format_rows(count),
                clean(reasons.get(name, ""), 300),
                tuple(clean(e) for e in list(examples.get(name, ()))[:3]),
            )
            for name, count in sorted(excluded.items())
        ],
        "flags": [
            AuditRow(clean(name), format_rows(count), clean(meanings.get(name, ""), 300))
            for name, count in sorted(flags.items())
        ],
    }


def format_rows(count: Any) -> str:
    """Rows are never rounded: they must add up before the reader's eyes."""
    return f"{count:,}" if isinstance(count, int) else format_value(count, "count")


# --- all numbers -------------------------------------------------------------------------------


@dataclass(frozen=True)
class NumberRow:
    """One line of the table of all numbers."""

    key: str
    anchor: str
    text: str
    exact: str
    interval: str
    unit: str
    population: str
    n: str
    method: str
    why: str


def number_groups(
    results: ResultsLike, first: Sequence[str]
) -> tuple[list[tuple[str, list[NumberRow]]], int]:
    """The numbers by subject, and how many were left out (never one of `first`, which sentences name).

    Of an event log those that are defined over model calls are left out: the page says once that it has none.
    """
    keys = sorted(key for key, number in results.numbers.items() if number.why != NO_CALLS)
    if len(keys) > MOST_NUMBERS:
        wanted = set(first)
        keys = sorted(
            [*(k for k in keys if k in wanted), *(k for k in keys if k not in wanted)][:MOST_NUMBERS]
        )
    groups: dict[str, list[NumberRow]] = {}
    for key in keys:
        prefix = key.split(".", 1)[0]
        groups.setdefault(_GROUPS.get(prefix, clean(prefix)), []).append(_row(key, results.numbers[key]))
    order = {name: i for i, name in enumerate(_GROUPS.values())}
    return sorted(groups.items(), key=lambda g: (order.get(g[0], len(order)), g[0])), len(
        results.numbers
    ) - len(keys)


def _row(key: str, number: NumberLike) -> NumberRow:
    missing = number.value is None
    text = format_value(number.value, number.unit)
    exact = "" if missing or _exact(number.value) == text else _exact(number.value)
    return NumberRow(
        clean(key, 160),
        anchor(key),
        text,
        exact,
        interval(number),
        clean(number.unit),
        clean(number.population, 200),
        "" if number.n is None else f"{number.n:,}",
        clean(number.method, 400),
        clean(number.why or "no reason was recorded", 400) if missing else "",
    )


def _exact(value: Any) -> str:
    """All digits of a value, in groups where it is whole."""
    if isinstance(value, float) and value.is_integer():
        return f"{int(value):,}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else clean(value)


# --- how it was made ---------------------------------------------------------------------------


def made_by(results: ResultsLike) -> dict[str, Any]:
    """Input, configuration, versions and the commands that give the same numbers again.

    When it ran and how long it took stay in the manifest: the page is the same bytes on every run.
    """
    manifest = results.manifest
    commands = dict.fromkeys(_block(n.command) for n in results.numbers.values() if n.command)
    source = _mapping(manifest.get("input"))
    facts = {
        "Input": ", ".join(
            clean(text)
            for text in (
                source.get("format") and f"format {source['format']}",
                source.get("files") and f"{source['files']} files",
                source.get("bytes") is not None and format_value(source.get("bytes"), "bytes"),
            )
            if text
        ),
        "SHA-256 of the input": clean(source.get("sha256") or ""),
        "kvcensus": clean(manifest.get("kvcensus_version") or ""),
        "Versions": ", ".join(
            f"{clean(k)} {clean(v)}" for k, v in sorted(_mapping(manifest.get("versions")).items())
        ),
    }
    return {
        "facts": {k: v for k, v in facts.items() if v},
        "commands": list(commands)[:5],
        "configuration": _block(
            json.dumps(
                manifest.get("configuration") or {}, indent=2, sort_keys=True, ensure_ascii=False, default=str
            )
        ),
    }


def _block(text: str) -> str:
    """Text of several lines, each made harmless."""
    return "\n".join(clean(line, 400) for line in text[:_MOST_TEXT].split("\n"))


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
