"""Does reuse stay behind when a session moves, in each of several windows? (paper figure 9)"""

from __future__ import annotations

from matplotlib.axes import Axes

from figures import axes, names, style
from figures.compared.spec import Compared, ComparedFigure, ComparedPanel, Windows, extremes, name_of, number, told
from figures.sentence import Quote, Sentence, Value
from figures.source import few, known, rows

_SAME, _CROSS = "transition.same_deployment.reuse", "transition.cross_deployment.reuse"
_SPREAD = 0.55  # of a row: between the first and the last window


def _draw(ax: Axes, windows: Windows) -> None:
    tables = [{r["transition"]: r for r in rows(w.results, "transition_reuse") if r["day"] is None} for w in windows]
    kinds = [kind for kind in names.TRANSITIONS if any(kind in table for table in tables)]
    if not kinds:
        return axes.note(ax, "no calls")
    places = axes.categories(ax, [names.transition(kind) for kind in kinds], "y")
    sizes = []
    for i, (window, table) in enumerate(zip(windows, tables, strict=True)):
        shift = _SPREAD * (i / max(1, len(windows) - 1) - 0.5) if len(windows) > 1 else 0
        label: str | None = name_of(window, windows)
        for place, kind in zip(places, kinds, strict=True):
            row = table.get(kind)
            if row is None or row["mean_reuse"] is None:
                continue
            sizes.append(row["calls"])
            hollow = row["calls"] < style.FEW
            ax.plot([row["mean_reuse"]], [place + shift], window.look.marker, color=window.look.colour, linestyle="",
                    markerfacecolor=style.BACKGROUND if hollow else window.look.colour, label=label, clip_on=False)
            label = None
    axes.percent_axis(ax.xaxis)
    ax.set_xlabel("mean reuse")
    axes.few_legend(ax, sizes)
    return None


def _headline(windows: Windows) -> Sentence:
    both = [w for w in windows if known(w.results, _SAME, _CROSS) and not few(w.results, _SAME, _CROSS)]
    if len(both) < 2 or extremes(both, _SAME) is None:
        return Sentence()
    losing = [w for w in both if _loss(w) >= 0.2]
    if len(losing) == len(both):
        start = "Reuse stays behind when a session moves, in every result that tells"
    elif losing:
        start = "Reuse stays behind when a session moves in some results, and not in others"
    else:
        start = "Reuse does not fall by much when a session moves"
    parts: list[str | Value | Quote] = [f"{start}: "]
    for i, window in enumerate(sorted(both, key=_loss, reverse=True)[:4]):
        parts += [", " if i else "", *number(window, _SAME), " becomes ", *told(window, _CROSS)]
    return Sentence((*parts, "."))


def _loss(window: Compared) -> float:
    return (window.value(_SAME) or 0.0) - (window.value(_CROSS) or 0.0)


FIGURE = ComparedFigure(
    name="transitions",
    paper="Fig. 9",
    question="Does reuse stay behind when a session moves?",
    kind="measured",
    panels=(ComparedPanel("dots", "Reuse by how a call follows the one before", "transition_reuse", (_SAME,), _draw,
                          style.Margins(left=0.295), also=1),),
    headline=_headline,
    subject="what a move between deployments does to reuse",
    definition="Mean reuse of the calls of each kind: first of the session, another model than before, the same or "
    "another deployment of the region, another region. “Stays behind” is a loss of twenty points or more from the "
    "same to another deployment.",
    caution="An association, not an effect: calls that move differ in other ways. A mean of few calls is hollow and is "
    "not spoken of.",
)
