"""Several results side by side as one self-contained page, under the rules of the report of one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from figures.compared.registry import FIGURES
from figures.compared.residency import KEY as REPLAYED
from figures.compared.spec import Compared, ComparedFigure
from figures.sentence import anchor, interval
from figures.svg import to_svg
from figures.units import clean, format_value
from metrics.core.contrast import Contrast, Contrasts
from report_templates import context
from report_templates.page import environment, style_sheet

__all__ = ["NUMBERS", "render_comparison"]

#: The numbers of the first table (paper, Table 2, and what the figures speak of), with their words.
NUMBERS = (
    ("trace.span_s", "From the first call to the last"),
    ("trace.calls", "Calls"),
    ("trace.sessions", "Sessions"),
    ("trace.models", "Models"),
    ("turns.per_session", "User turns of a session"),
    ("turns.internal_share", "Internal calls"),
    ("turns.calls_per_turn", "Calls of a user turn"),
    ("depth.p50", "Depth, median"),
    ("depth.p99", "Depth, deepest hundredth"),
    ("context.index_1_p50", "Context of the first call, median tokens"),
    ("context.index_30_p50", "Context of the thirtieth call, median tokens"),
    ("reuse.aggregate", "Reuse"),
    ("gap.p50_s", "Gap, median"),
    ("gap.p99_s", "Gap, longest hundredth"),
    ("transition.same_deployment.reuse", "Mean reuse on the same deployment"),
    ("transition.cross_deployment.reuse", "Mean reuse after a move to another one"),
    ("working_set.p50_gib", "KV of a session, median"),
    ("working_set.p99_gib", "KV of a session, largest hundredth"),
    ("ceiling.hold_all_live_bytes", "Holding every live session"),
    ("idle_cap.1h.reduction", "What an idle cap of an hour takes off"),
    (REPLAYED, "Calls that LRU rebuilds with a tenth of K*"),
)
_MOST_ROWS, _MOST_OF_A_SUBJECT = 15, 3
#: Words for a known and an unknown difference.
_APART = {True: "intervals apart", False: "intervals meet", None: "no intervals"}


@dataclass(frozen=True)
class _Row:
    """A number in every window."""

    key: str
    anchor: str
    name: str
    cells: tuple[tuple[str, str, str], ...]  # value, interval, why it is not known
    spread: str = ""
    sure: str = ""


def render_comparison(title: str, windows: Sequence[Compared], found: Contrasts, notes: Iterable[str]) -> str:
    """The page; `notes` say in which settings the results differ."""
    return (
        environment()
        .get_template("compare.html.j2")
        .render(
            style=style_sheet(),
            title=clean(title, 200),
            windows=[_head(window) for window in windows],
            notes=[clean(note, 400) for note in notes],
            numbers=[_row(windows, key, name) for key, name in NUMBERS
                     if any(key in window.results.numbers for window in windows)],
            contrasts=[("Shares, by points", _ranked(windows, found.shares)),
                       ("Other numbers, by ratio", _ranked(windows, found.ratios))],
            left_out=[(clean(why), f"{count:,}") for why, count in found.left_out.items()],
            figures=[_figure(figure, windows) for figure in FIGURES],
        )
    )


def _head(window: Compared) -> dict[str, Any]:
    head, made = context.heading(window.results.manifest), context.made_by(window.results)
    return {"label": clean(window.label), "span": head["span"], "notes": context.warnings(window.results.manifest),
            "made": made, "glyph": window.look.marker}


def _row(windows: Sequence[Compared], key: str, name: str) -> _Row:
    return _Row(key, anchor(key), name, tuple(_cell(window, key) for window in windows))


def _cell(window: Compared, key: str) -> tuple[str, str, str]:
    number = window.results.numbers.get(key)
    if number is None:
        return "not asked for", "", ""
    why = "" if number.value is not None else clean(number.why or "no reason was recorded", 300)
    return format_value(number.value, number.unit), interval(number), why


def _ranked(windows: Sequence[Compared], contrasts: Sequence[Contrast]) -> dict[str, Any]:
    """The first rows, of each subject a few; how many are not shown."""
    shown: list[Contrast] = []
    for contrast in contrasts:
        if len(shown) < _MOST_ROWS and sum(c.subject == contrast.subject for c in shown) < _MOST_OF_A_SUBJECT:
            shown.append(contrast)
    rows = [_Row(c.key, "", clean(c.method, 300), tuple(_cell(window, c.key) for window in windows), _spread(c),
                 _APART[c.apart]) for c in shown]
    return {"rows": rows, "others": f"{len(contrasts) - len(shown):,}"}


def _spread(contrast: Contrast) -> str:
    if contrast.unit == "share":
        return f"{contrast.spread * 100:.1f} points"
    return "from nothing" if contrast.spread == float("inf") else format_value(contrast.spread, "ratio")


def _figure(figure: ComparedFigure, windows: Sequence[Compared]) -> dict[str, Any]:
    finding, panels = figure.finding(windows), []
    left_out: dict[str, None] = {}
    for panel in figure.panels:
        reasons = {window.label: panel.reason(window) for window in windows}
        left_out |= {f"{clean(label)}: {clean(why, 300)}": None for label, why in reasons.items() if why is not None}
        if all(why is not None for why in reasons.values()):
            continue
        svg = to_svg(panel.figure(windows), f"{figure.name}-{panel.name}", f"{figure.question} {panel.title}",
                     finding.plain())
        panels.append({"title": panel.title, "svg": Markup(svg)})  # serialised XML: escaped there
    return {"spec": figure, "finding": finding, "panels": panels, "left_out": list(left_out)}
