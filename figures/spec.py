"""What a figure file declares: a question, the tables it reads, its panels, and its finding.

A figure is one or several panels. Each panel draws on an `Axes` that it is given: the report shows the
panels side by side where there is room and below each other on a narrow screen, and
`FigureSpec.draw` puts them in one Matplotlib figure for a notebook or a paper.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from figures import geometry, style
from figures.sentence import Sentence, lacking
from figures.source import ResultsLike, known, why_of

__all__ = ["FigureSpec", "Kind", "Panel", "Panels"]

#: Measured: counted in the trace. Estimated: tokens turned into bytes by a geometry. Replayed: what a
#: policy would have done, which nobody observed. Live: what a real server did with sessions that were sent to it.
Kind = Literal["measured", "estimated", "replayed", "live"]


@dataclass(frozen=True)
class Panel:
    """One plot. `keys`: numbers whose absence explains an absent table (their `why` is shown)."""

    name: str
    title: str
    table: str
    draw: Callable[[Axes, ResultsLike], None]
    keys: tuple[str, ...] = ()
    margins: style.Margins = style.MARGINS

    def reason(self, results: ResultsLike) -> str | None:
        """Why this panel cannot be drawn, or None when it can."""
        nulls = [key for key in self.keys if not known(results, key)]
        if results.has_table(self.table):
            if self.keys and len(nulls) == len(self.keys):
                return why_of(results, nulls[0])
            return None
        if nulls:
            return why_of(results, nulls[0])
        return f"the table {self.table} was not made in this run"

    def figure(self, results: ResultsLike) -> Figure:
        """This panel alone as a Matplotlib figure."""
        with mpl.rc_context(style.RC):
            figure = Figure(figsize=style.PANEL_INCHES)
            axes = figure.add_axes(self.margins.rectangle())
            self.draw(axes, results)
        return figure


Panels = tuple[Panel, ...] | Callable[[ResultsLike], tuple[Panel, ...]]


@dataclass(frozen=True)
class FigureSpec:
    """A figure of the report; every text is for the reader of the report."""

    name: str
    paper: str
    question: str
    kind: Kind
    tables: tuple[str, ...]
    keys: tuple[str, ...]
    needs: tuple[str, ...]  # keys that the headline cannot do without
    subject: str  # what is not known when they are null: "how deep sessions are"
    panels: Panels
    headline: Callable[[ResultsLike], Sentence]
    detail: Callable[[ResultsLike], Sentence]
    definition: str
    population: str
    counts: tuple[tuple[str, str], ...]  # key, and what its n counts: "sessions with several calls"
    wording: str  # from which numbers on which word is used
    caution: str  # where it may be wrong
    in_summary: bool = True
    asked_by: str = ""  # begins keys that a run publishes when asked to; without one the report has no such figure

    def asked(self, results: ResultsLike) -> bool:
        """Whether the run was asked for what this figure shows."""
        return any(key.startswith(self.asked_by) for key in results.numbers)

    def all_panels(self, results: ResultsLike) -> tuple[Panel, ...]:
        """The panels for this store (some figures have one for each stream that was replayed)."""
        return self.panels(results) if callable(self.panels) else self.panels

    def lead(self, results: ResultsLike) -> Sentence:
        """The finding in one sentence, or what is missing."""
        if not known(results, *self.needs):
            return lacking(results, self.subject, self.needs)
        return self.headline(results)

    def finding(self, results: ResultsLike) -> Sentence:
        """The whole finding; what can be said besides is said even where the headline is missing."""
        return self.lead(results) + self.detail(results)

    def draw(self, results: ResultsLike) -> Figure:
        """All panels that can be drawn, side by side in one figure."""
        panels = [panel for panel in self.all_panels(results) if panel.reason(results) is None]
        width, height = style.PANEL_INCHES
        with mpl.rc_context(style.RC):
            figure = Figure(figsize=(width * max(1, len(panels)), height * 1.1))
            for position, panel in enumerate(panels):
                left, bottom, wide, high = panel.margins.rectangle()
                axes = figure.add_axes(
                    ((position + left) / len(panels), bottom / 1.1, wide / len(panels), high / 1.1)
                )
                # Above the panel, not above the axes: between the two stands the legend.
                figure.text((position + left) / len(panels), 0.985, panel.title, va="top",
                            fontsize=mpl.rcParams["axes.titlesize"])
                panel.draw(axes, results)
        return figure

    def certainty(self, results: ResultsLike) -> str:
        """How sure the numbers of this figure are, and what its bytes assume."""
        numbers = [results.numbers[key] for key in self.keys if known(results, key)]
        if not numbers:
            return ""
        bounded = [number for number in numbers if number.lo is not None and number.hi is not None]
        sure = {
            "measured": "Exact count over the trace; no sampling, so no interval.",
            "estimated": "Exact count of tokens over the trace, turned into bytes.",
            "replayed": "Exact replay of the observed calls; no interval stands behind these numbers.",
            "live": "Measured on a real server: another run differs a little, another machine in its times.",
        }[self.kind]
        if bounded:
            sure = f"Intervals stand behind the numbers; {bounded[0].method}."
        in_bytes = self.kind != "live" and any(number.unit in ("bytes", "GiB") for number in numbers)
        assumed = geometry.assumed(results)
        return f"{sure} Bytes assume {assumed}." if in_bytes and assumed else sure

    def sizes(self, results: ResultsLike) -> list[tuple[str, int]]:
        """What each n of this figure counts, and the n."""
        found: dict[tuple[str, int], None] = {}
        for key, what in self.counts:
            number = results.numbers.get(key)
            if number is not None and number.value is not None and number.n is not None:
                found[what, number.n] = None
        return list(found)
