"""How many calls rebuild their context under a memory budget, in each of several windows (paper figure 11)."""

from __future__ import annotations

from functools import partial

from matplotlib.axes import Axes

from figures import axes, budget, replayed, style
from figures.compared.spec import (
    Compared,
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
from figures.sentence import Quote, Sentence
from figures.source import Row, rows

_TABLE = "residency_replay"
_POLICIES = ("lru", "fnu", "mrr")
#: LRU at a tenth of K*, by session, in the busiest hour: what other reports speak of, too.
KEY = "replay.busiest-hour.session.lru.b10"


def _rows(window: Compared, policy: str) -> list[Row]:
    """Of objects by session in the busiest hour, under budgets that are shares of K*."""
    return [r for r in rows(window.results, _TABLE) if r["policy"] == policy and r["stream"] == "busiest-hour"
            and r["object_key"] == "session" and r["release"] == "last" and r["budget_share"]
            and r["reconstruction_rate"] is not None]


def _draw(ax: Axes, windows: Windows, policy: str) -> None:
    shown: list[Row] = []
    for window in windows:
        data = sorted(_rows(window, policy), key=lambda r: r["budget_share"])
        shown += data
        ax.plot([r["budget_share"] for r in data], [r["reconstruction_rate"] for r in data],
                color=window.look.colour, linestyle=window.look.dash, marker=window.look.marker, markersize=3.5,
                label=name_of(window, windows))
        for r in data:
            if r.get("low") is not None:
                ax.vlines(r["budget_share"], r["low"], r["high"], color=window.look.colour, linewidth=1)
    if not shown:
        return axes.note(ax, f"{replayed.policy(policy)} was not replayed")
    axes.share_axis(ax, sorted({r["budget_share"] for r in shown}))
    axes.percent_axis(ax.yaxis)
    ax.set_xlabel("budget, share of what would hold everything (K*)")
    ax.set_ylabel("calls that rebuild context")
    return None


def _headline(windows: Windows) -> Sentence:
    found = extremes(windows, KEY)
    if found is None:
        return Sentence()
    low, high = found
    if same(low, high, KEY):
        return Sentence(("With a tenth of the memory that would hold everything LRU rebuilds ", *told(high, KEY),
                         elsewhere(windows, KEY)))
    return Sentence(("With a tenth of the memory that would hold everything LRU rebuilds ", *number(high, KEY),
                     " of the calls in ", Quote(KEY, high.label), ", and ", *told(low, KEY), "."))


def _panel(policy: str) -> ComparedPanel:
    return ComparedPanel(policy, replayed.policy(policy), _TABLE, (), partial(_draw, policy=policy),
                         style.Margins(bottom=0.215))


FIGURE = ComparedFigure(
    name="replay",
    paper="Fig. 11",
    question="Where does a memory budget cost most?",
    kind="replayed",
    panels=tuple(map(_panel, _POLICIES)),
    headline=_headline,
    subject="what LRU rebuilds with a tenth of what would hold everything",
    definition=f"Calls {budget.STREAMS['busiest-hour']} of each result are replayed against one pool of memory, "
    "objects by session. K* is the peak of the pool when nothing is evicted; each result has its own.",
    caution="Counterfactual: nobody ran these policies. A share of K* is another amount of memory in each result.",
)
