"""How deep the sessions of several windows are (paper figure 3)."""

from __future__ import annotations

from matplotlib.axes import Axes

from figures import axes, style
from figures.compared.cdfs import overlay
from figures.compared.spec import ComparedFigure, ComparedPanel, Windows, elsewhere, extremes, same, told
from figures.sentence import Sentence
from figures.source import Row

_KEY = "depth.p50"


def _point(row: Row) -> tuple[float, float] | None:
    # On a log axis the last point, P = 0, has no place: the deepest session ends the line.
    return (row["calls"], row["ccdf"]) if row["ccdf"] > 0 and row["calls"] > 0 else None


def _draw(ax: Axes, windows: Windows) -> None:
    if not overlay(ax, windows, "depth_ccdf", _point):
        return axes.note(ax, "all sessions are equally deep")
    axes.count_axis(ax.xaxis, log=True)
    axes.odds_axis(ax.yaxis)
    ax.set_xlabel("calls per session")
    ax.set_ylabel("sessions with more calls")
    return None


def _headline(windows: Windows) -> Sentence:
    found = extremes(windows, _KEY)
    if found is None:
        return Sentence()
    low, high = found
    if same(low, high, _KEY):
        return Sentence(("Sessions are about equally deep: half make at least ", *told(high, _KEY, "call"),
                         elsewhere(windows, _KEY)))
    return Sentence(("Half of the sessions make at least ", *told(high, _KEY, "call"), ", where they are deepest, and ",
                     *told(low, _KEY), ", where they are shallowest."))


FIGURE = ComparedFigure(
    name="depth",
    paper="Fig. 3",
    question="Where are sessions deep?",
    kind="measured",
    panels=(ComparedPanel("ccdf", "Sessions by depth", "depth_ccdf", (_KEY,), _draw, style.Margins(left=0.19)),),
    headline=_headline,
    subject="how deep sessions are",
    definition="Calls of a session in its window.",
    caution="A window cuts the sessions at its edges, a short one more of them than a long one, so that they look "
    "shallower there.",
)
