"""A results store as one self-contained HTML page: inline SVG and CSS, no script, no request to a network.

`render_report(results)` gives the report of one window, `render_index(title, windows)` a page with a
line for each of several. The same store gives the same bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

from markupsafe import Markup

from figures import budget, geometry
from figures.registry import figures_of
from figures.sentence import Value, clause
from figures.source import ResultsLike
from figures.spec import FigureSpec
from figures.svg import to_svg
from figures.units import clean
from report_templates import context, tables
from report_templates.page import environment, style_sheet

__all__ = ["render_index", "render_report"]

#: Keys of the index, with their column head; a key that a window lacks reads "not known".
INDEX_COLUMNS = (
    ("trace.calls", "Calls"),
    ("trace.sessions", "Sessions"),
    ("depth.p50", "Depth, median"),
    ("depth.p99", "Depth, deepest hundredth"),
    ("reuse.aggregate", "Reuse"),
    ("gap.p50_s", "Gap, median"),
    ("working_set.p90_gib", "KV of a session, largest tenth"),
    ("ceiling.hold_all_live_bytes", "Hold all live"),
    ("idle_cap.1h.ceiling_bytes", "With a cap of 1\N{NO-BREAK SPACE}h"),
)

#: The same for event logs.
EVENT_INDEX_COLUMNS = (
    ("events.count", "Events"),
    ("events.sessions", "Sessions"),
    ("events.depth_p50", "Depth, median"),
    ("events.depth_p99", "Depth, deepest hundredth"),
    ("events.tool_share", "Tool executions"),
    ("events.tool_cadence_p50_s", "Tool cadence, median"),
    ("events.reuse", "Reuse"),
    ("events.context_to_output", "Context to output"),
)

#: What the last column shows where nothing was replayed.
_REPLAYED = "replay.busiest-hour.session.lru.b10"

#: Tables that say who serves the calls; no figure draws them.
SERVED_TABLES = ("models", "deployments")
#: The table of byte figures under other geometries.
BYTES_TABLE = "byte_sensitivity"


def render_report(results: ResultsLike) -> str:
    """The report of one window as an HTML page."""
    figures = [_figure(spec, results) for spec in figures_of(results) if spec.asked(results)]
    head = context.heading(results.manifest)
    glance = context.glance(results)
    named = [
        part.key
        for sentence in (glance, *(f["finding"] for f in figures))
        for part in sentence.parts
        if not isinstance(part, str)
    ]
    groups, left_out = context.number_groups(results, named)
    summary = [f for f in figures if f["spec"].in_summary]
    return (
        environment()
        .get_template("report.html.j2")
        .render(
            style=style_sheet(),
            title=f"{head['name']}: KV-cache residency",
            events="events.count" in results.numbers,
            head=head,
            glance=glance,
            figures=figures,
            live=any(f["spec"].kind == "live" for f in figures),
            found=[f for f in summary if not f["lead"].missing],
            not_found=[f for f in figures if f["lead"].missing],
            served=[tables.view(results, name) for name in SERVED_TABLES if results.has_table(name)],
            in_bytes=[tables.view(results, BYTES_TABLE)] if results.has_table(BYTES_TABLE) else [],
            assumed=geometry.assumed(results),
            warnings=context.warnings(results.manifest),
            audit=context.audit_view(results.audit),
            groups=groups,
            left_out=left_out,
            total=len(results.numbers),
            made=context.made_by(results),
        )
    )


def _figure(spec: FigureSpec, results: ResultsLike) -> dict[str, Any]:
    """One figure: its finding, its panels as SVG or the reason why not, its tables."""
    finding = spec.finding(results)
    panels: list[dict[str, Any]] = []
    reasons: dict[str, list[str]] = {}
    for panel in spec.all_panels(results):
        reason = panel.reason(results)
        if reason is not None:
            reasons.setdefault(clean(reason, 300), []).append(panel.title)
            continue
        svg = to_svg(
            panel.figure(results),
            f"{spec.name}-{panel.name}",
            f"{spec.question} {panel.title}",
            finding.plain(),
        )
        panels.append({"title": panel.title, "svg": Markup(svg)})  # serialised XML: escaped there
    return {
        "spec": spec,
        "lead": spec.lead(results),
        "finding": finding,
        "panels": panels,
        "reasons": reasons,
        "certainty": clean(spec.certainty(results), 400),
        "sizes": [(what, f"{n:,}") for what, n in spec.sizes(results)],
        "tables": [tables.view(results, name) for name in spec.tables if results.has_table(name)],
    }


def render_index(title: str, windows: Sequence[tuple[str, str, ResultsLike]]) -> str:
    """A page with one line a window, in order of time: `windows` are (label, address of its report, its results)."""
    lines: list[dict[str, Any]] = []
    replayed = next(filter(None, (budget.lru_key(results) for *_, results in windows)), _REPLAYED)
    columns: tuple[tuple[str, str], ...] = (*INDEX_COLUMNS, (replayed, f"LRU rebuilds with {budget.short(replayed)}"))
    if any("events.count" in results.numbers for *_, results in windows):
        columns = EVENT_INDEX_COLUMNS
    for label, href, results in windows:
        parts = urlsplit(href)
        if parts.scheme or parts.netloc or href.startswith(("/", "\\")):
            raise ValueError(
                f"the report of window {clean(label)!r} must be a relative address, not {clean(href)!r}"
            )
        begins, ends = not lines, len(lines) == len(windows) - 1
        lines.append(
            {
                "label": clean(label),
                "href": href,
                "span": context.heading(results.manifest)["span"],
                "coverage": context.coverage(results.manifest, begins=begins, ends=ends),
                "cells": [_cell(results, key) for key, _ in columns],
                "warnings": len(context.warnings(results.manifest)),
            }
        )
    return (
        environment()
        .get_template("index.html.j2")
        .render(style=style_sheet(), title=clean(title, 200), columns=[name for _, name in columns], lines=lines)
    )


def _cell(results: ResultsLike, key: str) -> Value | str:
    """The number of `key` as it would stand in a sentence; else words."""
    for part in clause(results, f"{{{key}}}").parts:
        if isinstance(part, Value):
            return part
    asked = any(name in results.numbers for name in (key, key.replace("busiest-hour", "window")))
    return "not known" if asked else "not asked for"
