"""How long the sessions of several windows wait between calls (paper figure 8)."""

from __future__ import annotations

from matplotlib.axes import Axes

from figures import axes
from figures.compared.cdfs import overlay
from figures.compared.spec import ComparedFigure, ComparedPanel, Windows, elsewhere, extremes, same, told
from figures.sentence import Sentence
from figures.source import Row

_KEY = "gap.p50_s"
SHORTEST = 0.001  # seconds: shorter gaps are drawn at the left edge


def _point(row: Row) -> tuple[float, float] | None:
    return (max(row["seconds"], SHORTEST), row["cdf"]) if row["kind"] == "all" and row["seconds"] is not None else None


def _draw(ax: Axes, windows: Windows) -> None:
    points = overlay(ax, windows, "gap_cdf", _point)
    if not points:
        return axes.note(ax, "no session has two calls")
    low, high = min(x for x, _ in points), max(x for x, _ in points)
    axes.percent_axis(ax.yaxis)
    ax.set_xlim(low / 1.2, high * 1.5)
    axes.time_axis(ax.xaxis, low, high * 1.5)
    ax.set_xlabel("time to the next call")
    ax.set_ylabel("gaps at most so long")
    return None


def _headline(windows: Windows) -> Sentence:
    found = extremes(windows, _KEY)
    if found is None:
        return Sentence()
    low, high = found
    if same(low, high, _KEY):
        return Sentence(("Half of the gaps last at most ", *told(high, _KEY), elsewhere(windows, _KEY)))
    return Sentence(("Half of the gaps last at most ", *told(low, _KEY), ", where sessions return soonest, and ",
                     *told(high, _KEY), ", where they wait longest."))


FIGURE = ComparedFigure(
    name="gaps",
    paper="Fig. 8",
    question="Where do sessions wait long?",
    kind="measured",
    panels=(ComparedPanel("cdf", "Gaps by length", "gap_cdf", (_KEY,), _draw),),
    headline=_headline,
    subject="how long sessions wait",
    definition="From the start of a call to the start of the next one of its session.",
    caution="No gap is longer than its window, and gaps across the edges are not seen: compare windows of like length.",
)
