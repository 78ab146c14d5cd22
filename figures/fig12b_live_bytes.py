"""What policies move between device and tier on a real server (beyond the paper)."""

from __future__ import annotations

from matplotlib.axes import Axes

from figures import axes, lived, style
from figures.sentence import Sentence, clause, say
from figures.source import ResultsLike, rows, value_of
from figures.spec import FigureSpec, Panel

_STORED, _RATIO = "live.control.stored_bytes", "live.best.stored_per_reloaded"


def _bars(ax: Axes, results: ResultsLike) -> None:
    data = [r for r in rows(results, "live_conditions") if r["stored_bytes"]][:lived.MOST]
    if not data:
        return axes.note(ax, "nothing was stored")
    places = axes.categories(ax, [r["condition"] for r in data], "y")
    for i, (field, name) in enumerate((("stored_bytes", "stored"), ("reloaded_bytes", "reloaded"))):
        look = style.series(i)
        ax.barh([place + 0.38 * (i - 0.5) for place in places], [r[field] for r in data], 0.36,
                **axes.bar_look(look, style.FEW), label=name)
    axes.bytes_axis(ax.xaxis)
    ax.set_xlim(left=0)
    ax.set_xlabel("bytes")
    axes.legend(ax, 2)
    return None


def _headline(results: ResultsLike) -> Sentence:
    ratio = value_of(results, _RATIO)
    start = "Storing pays" if ratio < 1 else "More is stored than comes back"
    return say(results, f"{start}: {{live.best}} stores {{live.best.stored_bytes}}, {{{_RATIO}}} the "
                        "{live.best.reloaded_bytes} that it reloads.")


def _detail(results: ResultsLike) -> Sentence:
    if value_of(results, "live.best") == value_of(results, "live.control"):
        return Sentence()
    return clause(results, "{live.control} stores {live.control.stored_bytes} and reloads "
                           "{live.control.reloaded_bytes}.")


FIGURE = FigureSpec(
    name="fig12b",
    paper="beyond the paper",
    question="What do tier policies store, and what comes back?",
    kind="live",
    tables=("live_conditions",),
    keys=(_STORED, "live.control.reloaded_bytes", "live.best.stored_bytes", "live.best.reloaded_bytes", _RATIO),
    needs=(_RATIO, "live.best.stored_bytes", "live.best.reloaded_bytes"),
    subject="what tier policies store on a real server",
    panels=(Panel("bytes", "Stored and reloaded", "live_conditions", _bars, (_RATIO,),
                  style.Margins(left=0.31, right=0.95, top=0.88)),),
    headline=_headline,
    detail=_detail,
    definition="Bytes that the server copied to the tier and back, by its own counters, over all finished seeds.",
    population="every request of the run, warm probes among them",
    counts=((_RATIO, "turns under the best policy"),),
    wording="Storing “pays” where a byte that is stored comes back at least once.",
    caution="Bytes of the live run's model, not of this report's geometry; sizes may be to scale.",
    in_summary=False,
    asked_by="live.",
)
