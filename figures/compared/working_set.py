"""How much KV the sessions of several windows need (paper figure 7)."""

from __future__ import annotations

from matplotlib.axes import Axes

from figures import axes
from figures.compared.cdfs import overlay
from figures.compared.spec import ComparedFigure, ComparedPanel, Windows, elsewhere, extremes, same, told
from figures.sentence import Sentence
from figures.source import Row
from figures.units import h100_gib

_KEY = "working_set.p99_gib"


def _point(row: Row) -> tuple[float, float] | None:
    return (row["gib"], row["cdf"]) if row["gib"] else None  # 0 has no place on a log axis


def _draw(ax: Axes, windows: Windows) -> None:
    points = overlay(ax, windows, "working_set_cdf", _point)
    if not points:
        return axes.note(ax, "no session has a context")
    sizes = [x for x, _ in points]
    axes.count_axis(ax.xaxis, log=True)
    ax.set_xlim(min(*sizes, h100_gib) / 1.3, max(*sizes, h100_gib) * 1.5)
    axes.percent_axis(ax.yaxis)
    axes.reference(ax, h100_gib, "one 80 GB GPU", axis="x")
    ax.set_xlabel("peak KV of the session (GiB)")
    ax.set_ylabel("sessions at most so large")
    return None


def _headline(windows: Windows) -> Sentence:
    found = extremes(windows, _KEY)
    if found is None:
        return Sentence()
    low, high = found
    if same(low, high, _KEY):
        return Sentence(("The largest sessions are alike: a hundredth needs at least ", *told(high, _KEY),
                         elsewhere(windows, _KEY)))
    return Sentence(("The largest hundredth of the sessions needs at least ", *told(high, _KEY), ", and ",
                     *told(low, _KEY), ", where it needs least."))


FIGURE = ComparedFigure(
    name="working-set",
    paper="Fig. 7",
    question="Where does a single session fill a GPU?",
    kind="estimated",
    panels=(ComparedPanel("cdf", "Sessions by peak KV", "working_set_cdf", (_KEY,), _draw, also=1),),
    headline=_headline,
    subject="how much KV a session needs",
    definition="The largest context of the session times the KV bytes of a token. The dashed line is the 80 GB "
    "(74.5 GiB) of one H100.",
    caution="Bytes follow from the geometry of each result; where they differ, a note above says so.",
)
