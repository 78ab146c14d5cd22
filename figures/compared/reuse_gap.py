"""Do workloads that wait alike reuse alike? (paper figure 2)"""

from __future__ import annotations

from matplotlib.axes import Axes

from figures import axes
from figures.compared.spec import (
    ComparedFigure,
    ComparedPanel,
    Windows,
    elsewhere,
    extremes,
    name_of,
    number,
    same,
    told,
)
from figures.sentence import Sentence

_REUSE, _GAP = "reuse.aggregate", "gap.p50_s"
SHORTEST = 0.001  # seconds


def _draw(ax: Axes, windows: Windows) -> None:
    if not windows:
        return axes.note(ax, "no result tells both")
    waits = []
    for window in windows:
        wait, reuse = max(window.value(_GAP) or 0.0, SHORTEST), window.value(_REUSE) or 0.0
        ax.plot([wait], [reuse], window.look.marker, color=window.look.colour, markersize=7, linestyle="",
                label=name_of(window, windows))
        waits.append(wait)
    low, high = min(waits) / 4, max(waits) * 4
    ax.set_xlim(low, high)
    axes.time_axis(ax.xaxis, low, high)
    axes.percent_axis(ax.yaxis)
    ax.set_xlabel("median time between calls of a session")
    ax.set_ylabel("reuse")
    return None


def _headline(windows: Windows) -> Sentence:
    both = [w for w in windows if w.value(_GAP) is not None and w.value(_REUSE) is not None]
    found = extremes(both, _REUSE)
    if found is None:
        return Sentence()
    low, high = found
    if same(low, high, _REUSE):
        return Sentence(("Reuse is ", *told(high, _REUSE), elsewhere(windows, _REUSE)))
    return Sentence(("Reuse is highest with ", *told(high, _REUSE), ", whose median gap is ", *number(high, _GAP),
                     ", and lowest with ", *told(low, _REUSE), ", with ", *number(low, _GAP), "."))


FIGURE = ComparedFigure(
    name="reuse-gap",
    paper="Fig. 2",
    question="Do workloads that wait alike reuse alike?",
    kind="measured",
    panels=(ComparedPanel("points", "Reuse against the median gap", None, (_REUSE, _GAP), _draw),),
    headline=_headline,
    subject="reuse and how long sessions wait",
    definition="Reuse is the sum of cached over the sum of context tokens, of calls with a session id that report "
    "both. The gap is from start to start of consecutive calls of a session.",
    caution="Reuse is what each deployed system achieved, not what its workload allows.",
)
