"""How much KV a single session needs (paper figure 7)."""

from __future__ import annotations

from matplotlib.axes import Axes

from figures import axes, geometry, style
from figures.sentence import Sentence, clause, say
from figures.source import ResultsLike, rows, value_of
from figures.spec import FigureSpec, Panel
from figures.units import format_value, h100_gib


def _cdf(ax: Axes, results: ResultsLike) -> None:
    data = [r for r in rows(results, "working_set_cdf") if r["gib"] is not None]
    if not data:
        return axes.note(ax, "no sessions")
    sizes = [r["gib"] for r in data]
    floor = min([v for v in sizes if v > 0], default=0.01)
    look = style.series(0)
    ax.plot(
        axes.positive(sizes, floor),
        [r["cdf"] for r in data],
        drawstyle="steps-post",
        color=look.colour,
        marker=look.marker if len(data) < 3 else "",
    )
    axes.count_axis(ax.xaxis, log=True)
    ax.set_xlim(min(floor, h100_gib) / 1.3, max(*sizes, h100_gib) * 4)
    axes.percent_axis(ax.yaxis)
    ax.set_ylim(0, 1.1)  # room for a name over the top of the curve
    axes.reference(ax, h100_gib, "one 80 GB GPU", axis="x")
    for key, height in (
        ("working_set.p50_gib", 0.5),
        ("working_set.p90_gib", 0.9),
        ("working_set.p99_gib", 0.99),
    ):
        size = value_of(results, key)
        if size:
            ax.plot([size], [height], style.MARKERS[1], color=style.FOREGROUND, markersize=4, zorder=3)
            # A rising curve leaves above left and below right free; the one away from the GPU is taken.
            below = size > h100_gib
            ax.annotate(
                format_value(size, "GiB"),
                (size, height),
                xytext=(6, -4) if below else (-6, 2),
                textcoords="offset points",
                ha="left" if below else "right",
                va="top" if below else "bottom",
                fontsize=8.5,
                gid="halo",
            )
    axes.legend(ax, 1)
    ax.set_xlabel("peak KV of the session (GiB)")
    ax.set_ylabel("sessions at most so large")
    return None


def _headline(results: ResultsLike) -> Sentence:
    over = value_of(results, "working_set.over_80gb_share")
    word = (
        "Every session fits one eighty-gigabyte GPU"
        if over == 0
        else "Hardly any session outgrows one eighty-gigabyte GPU"
        if over < 0.005
        else "A tail of sessions outgrows one eighty-gigabyte GPU"
        if over < 0.1
        else "Many sessions outgrow one eighty-gigabyte GPU"
    )
    more = ", and {working_set.over_80gb_share} need more than such a GPU has" if over else ""
    tail = say(results, f": half need at most {{working_set.p50_gib}}{more}.")
    return Sentence((word, *geometry.holding(results, "working_set.over_80gb_share"), *tail.parts))


def _detail(results: ResultsLike) -> Sentence:
    return clause(
        results,
        "The largest tenth need {working_set.p90_gib} or more, the largest hundredth "
        "{working_set.p99_gib} or more.",
    )


FIGURE = FigureSpec(
    name="fig07",
    paper="Fig. 7",
    question="Does a single session fill a GPU?",
    kind="estimated",
    tables=("working_set_cdf",),
    keys=("working_set.p50_gib", "working_set.p90_gib", "working_set.p99_gib", "working_set.over_80gb_share"),
    needs=("working_set.p50_gib", "working_set.over_80gb_share"),
    subject="how much KV a single session needs",
    panels=(
        Panel(
            "cdf",
            "Sessions by peak KV",
            "working_set_cdf",
            _cdf,
            ("working_set.p50_gib",),
            style.Margins(top=0.885),
        ),
    ),
    headline=_headline,
    detail=_detail,
    definition="The largest context of the session times the KV bytes of a token in the chosen geometry. The "
    "dashed line is the 80 GB (74.5 GiB) of one H100.",
    population="sessions of the window",
    counts=(("working_set.p50_gib", "sessions"),),
    wording="“Hardly any” is under half a per cent of the sessions, “many” a tenth or more.",
    caution="Bytes follow from one geometry for every model: another one scales the whole curve. Weights and "
    "activations come on top, and a model served on several GPUs shares the load among them.",
    in_summary=False,
)
