"""How deep sessions are, and how context grows along them (paper figure 3)."""

from __future__ import annotations

from functools import partial

from matplotlib.axes import Axes

from figures import axes, style
from figures.depths import Depths, draw_ccdf
from figures.sentence import Sentence, clause, say
from figures.source import ResultsLike, known, rows, value_of
from figures.spec import FigureSpec, Panel

SHALLOW, DEEP = 3, 8  # calls at the median


_DEPTHS = Depths("depth_ccdf", "calls", "depth.p50", "depth.p90", "depth.p99")


def _context(ax: Axes, results: ResultsLike) -> None:
    data = rows(results, "context_by_index")
    if not data:
        return axes.note(ax, "no sessions")
    index = [r["call_index"] for r in data]
    look = style.series(0)
    if len(data) == 1:
        ax.errorbar(
            index,
            [data[0]["median"]],
            [[data[0]["median"] - data[0]["q1"]], [data[0]["q3"] - data[0]["median"]]],
            fmt=look.marker,
            color=look.colour,
            capsize=4,
        )
        ax.set_xticks(index)
    else:
        ax.fill_between(
            index,
            [r["q1"] for r in data],
            [r["q3"] for r in data],
            color=look.colour,
            alpha=style.BAND,
            linewidth=0,
        )
        ax.plot(index, [r["median"] for r in data], color=look.colour)
        last = data[-1]
        axes.end_labels(
            ax,
            [
                (index[-1], last["q3"], "Q3"),
                (index[-1], last["median"], "median"),
                (index[-1], last["q1"], "Q1"),
            ],
        )
    ax.set_ylim(bottom=0)
    axes.count_axis(ax.yaxis)
    ax.set_xlabel("call of the session")
    ax.set_ylabel("context tokens")
    return None


def _headline(results: ResultsLike) -> Sentence:
    median = value_of(results, "depth.p50")
    if median <= SHALLOW:
        return say(
            results,
            "Sessions are shallow: half make at most {depth.p50|call}, and the deepest "
            "hundredth {depth.p99} or more.",
        )
    word = "deep" if median >= DEEP else "of middling depth"
    return say(
        results,
        f"Sessions are {word}: half make {{depth.p50|call}} or more, and the deepest "
        "hundredth {depth.p99} or more.",
    )


def _detail(results: ResultsLike) -> Sentence:
    found = Sentence()
    if known(results, "depth.p50", "depth.p90") and (
        value_of(results, "depth.p50") <= SHALLOW and value_of(results, "depth.p90") >= DEEP
    ):
        found += say(results, "They are a mixture, though: the deepest tenth make {depth.p90} or more.")
    first, last = (value_of(results, f"context.index_{i}_p50") for i in (1, 30))
    if first is not None and last is not None:
        verb = (
            "grows" if last > first * 1.25 else "shrinks" if last * 1.25 < first else "stays about the same"
        )
        found += say(
            results,
            f"Context {verb} along the session: its median is "
            f"{{context.index_1_p50|token}} at the "
            "first call and {context.index_30_p50} at the thirtieth.",
        )
    elif first is not None:
        found += say(
            results,
            "The median context of a first call is {context.index_1_p50|token}; too few "
            "sessions reach the thirtieth call to say how it grows.",
        )
    return found + clause(
        results,
        f"{_shrinking(value_of(results, 'context.reduction_session_share') or 0)}: "
        "{context.reduction_session_share} of those with several calls have a call with less context than the one "
        "before.",
    )


def _shrinking(share: float) -> str:
    """How many sessions give up context on their way."""
    if share == 0:
        return "No session shrinks on its way"
    many = "Nearly all" if share >= 0.9 else "Most" if share > 0.5 else "Some" if share >= 0.1 else "Few"
    return f"{many} sessions shrink on their way"


FIGURE = FigureSpec(
    name="fig03",
    paper="Fig. 3",
    question="How deep are sessions, and does context grow along them?",
    kind="measured",
    tables=("depth_ccdf", "context_by_index"),
    keys=(
        "depth.p50",
        "depth.p90",
        "depth.p99",
        "depth.max",
        "depth.mean",
        "context.index_1_p50",
        "context.index_11_p50",
        "context.index_30_p50",
        "context.saturation_index",
        "context.reduction_session_share",
        "context.reduction_remaining_p50",
    ),
    needs=("depth.p50", "depth.p99"),
    subject="how deep sessions are",
    panels=(
        Panel(
            "ccdf",
            "Sessions with more than so many calls",
            "depth_ccdf",
            partial(draw_ccdf, depths=_DEPTHS, log=False),
            ("depth.p50",),
        ),
        Panel(
            "loglog",
            "The same on log axes, to the deepest session",
            "depth_ccdf",
            partial(draw_ccdf, depths=_DEPTHS, log=True),
            ("depth.p50",),
            style.Margins(left=0.205),
        ),
        Panel(
            "context",
            "Context by call of the session",
            "context_by_index",
            _context,
            ("context.index_1_p50",),
            style.Margins(right=0.84),
        ),
    ),
    headline=_headline,
    detail=_detail,
    definition="Depth is the number of model calls of a session, over all its turns. The curves show the "
    "share of sessions that make more calls than x. Context by call shows the quartiles of the "
    "input context of each call in order, over the sessions that reach it.",
    population="sessions of the window; for context, the sessions that reach the call",
    counts=(
        ("depth.p50", "sessions"),
        ("context.index_11_p50", "sessions that reach the eleventh call"),
        ("context.index_30_p50", "sessions that reach the thirtieth call"),
        ("context.reduction_session_share", "sessions with several calls"),
        ("context.reduction_remaining_p50", "calls with less context than the one before"),
    ),
    wording="“Shallow” when the median session makes at most three calls, “deep” from eight. Context “grows” "
    "when the median of the thirtieth call is over one and a quarter times that of the first. “Nearly all” shrink "
    "from nine tenths, “most” over half, “few” under a tenth.",
    caution="A window cuts sessions at both edges, which makes them look shallower. Far to the right, "
    "context by call describes the few sessions that are deep, not the same sessions later.",
)
