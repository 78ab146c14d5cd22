"""Whether reuse stays where the session stays (paper figure 9)."""

from __future__ import annotations

from matplotlib.axes import Axes

from figures import axes, names, style
from figures.sentence import Sentence, clause, say
from figures.source import ResultsLike, few, known, rows, value_of
from figures.spec import FigureSpec, Panel
from figures.units import format_value

_SAME, _CROSS = "transition.same_deployment.reuse", "transition.cross_deployment.reuse"


def _bars(ax: Axes, results: ResultsLike) -> None:
    data = [r for r in rows(results, "transition_reuse") if r["day"] is None]
    if not data:
        return axes.note(ax, "no calls")
    shown = [names.transition(r["transition"]) for r in data]
    for place, row in zip(axes.categories(ax, shown, "y"), data, strict=True):
        reuse = row["mean_reuse"]
        words = f"{format_value(reuse, 'share')} · {format_value(row['share'], 'share')} of calls"
        if not row["calls"]:
            words = "no calls"
        moved = row["transition"] in ("cross_deployment", "cross_region")
        look = style.series(1 if moved else 0)
        if reuse is not None:
            ax.barh(place, reuse, 0.66, **axes.bar_look(look, row["calls"]))
        ax.text((reuse or 0) + 0.015, place, words, va="center", fontsize=8, gid="halo")
    axes.percent_axis(ax.xaxis)
    ax.set_xlim(0, 2)  # room for the words behind a full bar
    ax.set_xticks([0, 0.5, 1])
    ax.set_xlabel("mean reuse")
    axes.few_legend(ax, [r["calls"] for r in data if r["mean_reuse"] is not None])
    return None


def _days(ax: Axes, results: ResultsLike) -> None:
    data = [
        r for r in rows(results, "transition_reuse") if r["day"] is not None and r["mean_reuse"] is not None
    ]
    if not data:
        return axes.note(ax, "no call stays on a deployment")
    days = list(dict.fromkeys(str(r["day"]) for r in data))
    axes.line(ax, [(days.index(str(r["day"])), r["mean_reuse"], r["calls"]) for r in data], style.series(0))
    every = -(-len(days) // 5)
    ax.set_xticks(range(0, len(days), every), [axes.label(day[-5:], 12) for day in days[::every]])
    axes.percent_axis(ax.yaxis)
    ax.set_xlabel("day")
    ax.set_ylabel("mean reuse")
    axes.few_legend(ax, [r["calls"] for r in data])
    return None


def _panels(results: ResultsLike) -> tuple[Panel, ...]:
    keys = (_SAME, _CROSS, "transition.first_call.share")
    data = rows(results, "transition_reuse") if results.has_table("transition_reuse") else []
    top = axes.few_top([r["calls"] for r in data if r["mean_reuse"] is not None])
    bars = Panel(
        "bars",
        "Reuse by how a call follows the one before",
        "transition_reuse",
        _bars,
        keys,
        style.Margins(left=0.295, top=top),
    )
    # One day is one point: the whole-window bar says it already.
    if len({r["day"] for r in data} - {None}) < 2:
        return (bars,)
    return bars, Panel(
        "days", "Same deployment, day by day", "transition_reuse", _days, keys, style.Margins(top=top)
    )


def _headline(results: ResultsLike) -> Sentence:
    lost = value_of(results, _SAME) - value_of(results, _CROSS)
    start = (
        "Too few calls tell what a move does"
        if few(results, _SAME, _CROSS)
        else "Reuse stays behind when a session moves"
        if lost >= 0.2
        else "Reuse falls somewhat when a session moves"
        if lost >= 0.05
        else "Reuse is higher after a move, which hints at a different mix of sessions"
        if lost <= -0.05
        else "Reuse does not depend on the deployment"
    )
    # Where no region is named, a deployment is known by its name alone.
    where = "another one of the region" if known(results, "transition.cross_region.share") else "another one"
    return say(results, f"{start}: {{{_SAME}}} on the same deployment, {{{_CROSS}}} on {where}.")


def _detail(results: ResultsLike) -> Sentence:
    found = clause(results, "In another region it is {transition.cross_region.reuse}.")
    found += clause(
        results,
        "Moves to another deployment are {transition.cross_deployment.share} of the "
        "calls, to another region {transition.cross_region.share}.",
    )
    if (value_of(results, "placement.sd_share") or 0) > 0.5:
        return found + clause(
            results,
            "Most sessions stay put: {placement.sd_share} of them keep every model on one deployment.",
        )
    return found + clause(
        results, "Most sessions move: only {placement.sd_share} of them keep every model on one deployment."
    )


FIGURE = FigureSpec(
    name="fig09",
    paper="Fig. 9",
    question="Does reuse depend on staying on one deployment?",
    kind="measured",
    tables=("transition_reuse",),
    keys=(
        _SAME,
        _CROSS,
        "transition.cross_region.reuse",
        "transition.model_switch.reuse",
        "transition.first_call.reuse",
        "transition.same_deployment.share",
        "transition.cross_deployment.share",
        "transition.cross_region.share",
        "placement.sd_share",
        "placement.sr_share",
        "placement.deployments_per_session",
        "placement.regions_per_session",
    ),
    needs=(_SAME, _CROSS),
    subject="whether reuse depends on staying on one deployment",
    panels=_panels,
    headline=_headline,
    detail=_detail,
    definition="Each call is put in the first group that fits: first of its session, model unknown, another "
    "model than the call before, same deployment, another deployment of the same region (of the fleet, where "
    "no region is named), another "
    "region, place unknown.",
    population="calls with a session id",
    counts=(
        (_SAME, "calls on the same deployment, reuse reported"),
        (_CROSS, "such calls on another deployment"),
        ("transition.cross_region.reuse", "such calls in another region"),
        ("transition.model_switch.reuse", "such calls after one to another model"),
        ("transition.first_call.reuse", "such first calls"),
        ("transition.same_deployment.share", "calls with a session id"),
        ("placement.sd_share", "sessions whose calls all name their place"),
        ("placement.deployments_per_session", "sessions with a known deployment"),
        ("placement.regions_per_session", "sessions with a known region"),
    ),
    wording="“Stays behind” is a loss of twenty points or more, “does not depend” is under five either way. "
    f"“Too few”, and what is hollow: the mean of fewer than {style.FEW} calls. Read nothing into it.",
    caution="An association, not an effect: calls that move differ in other ways. Whether reuse is lost by "
    "the move or the move follows from load cannot be told from a trace.",
)
