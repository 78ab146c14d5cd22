"""How much of a call's context was found in the prefix cache (paper figure 6)."""

from __future__ import annotations

from functools import partial

from matplotlib.axes import Axes

from figures import axes, style
from figures.sentence import Sentence, clause, say
from figures.source import ResultsLike, rows, value_of
from figures.spec import FigureSpec, Panel


def _histogram(ax: Axes, results: ResultsLike, table: str, unit: str, look: style.Series) -> None:
    data = rows(results, table)
    if not data:
        return axes.note(ax, f"no {unit} with cached tokens reported")
    edges = [data[0]["low"], *(r["high"] for r in data)]
    ax.stairs([r["share"] or 0 for r in data], edges, fill=True, color=look.colour, alpha=0.75)
    axes.percent_axis(ax.xaxis)
    ax.set_ylim(bottom=0)
    axes.percent_axis(ax.yaxis, whole=False)
    ax.set_xlabel("reuse: cached ÷ context tokens")
    ax.set_ylabel(f"share of {unit}")
    return None


def _headline(results: ResultsLike) -> Sentence:
    if value_of(results, "reuse.aggregate") >= 0.5:
        return say(
            results,
            "Most context is reused: {reuse.aggregate} of the context tokens were found in the prefix cache.",
        )
    return say(
        results,
        "Most context is computed anew: only {reuse.aggregate} of the context tokens were "
        "found in the prefix cache.",
    )


def _detail(results: ResultsLike) -> Sentence:
    found = Sentence()
    warm, cold = value_of(results, "reuse.calls_ge_95"), value_of(results, "reuse.calls_lt_20")
    if warm is not None and cold is not None:
        word = (
            "Calls are mostly warm"
            if warm > cold * 1.5
            else "Calls are mostly cold"
            if cold > warm * 1.5
            else "Warm and cold calls are about as many"
        )
        found += say(
            results,
            f"{word}: {{reuse.calls_ge_95}} find nearly all of their context cached, "
            "{reuse.calls_lt_20} less than a fifth of it.",
        )
    found += clause(
        results, "Of the sessions, {reuse.sessions_ge_80} reuse at least four fifths of their context."
    )
    return found + clause(
        results, "Without the cache, {reuse.carry_tax} as many tokens would have to be prefilled."
    )


FIGURE = FigureSpec(
    name="fig06",
    paper="Fig. 6",
    question="How much of the context is found in the cache?",
    kind="measured",
    tables=("reuse_histogram", "session_reuse_histogram"),
    keys=(
        "reuse.aggregate",
        "reuse.calls_ge_95",
        "reuse.calls_20_80",
        "reuse.calls_lt_20",
        "reuse.sessions_ge_80",
        "reuse.sessions_20_80",
        "reuse.carry_tax",
    ),
    needs=("reuse.aggregate",),
    subject="how much of the context is found in the cache",
    panels=(
        Panel(
            "calls",
            "Calls by reuse",
            "reuse_histogram",
            partial(_histogram, table="reuse_histogram", unit="calls", look=style.series(0)),
            ("reuse.aggregate",),
        ),
        Panel(
            "sessions",
            "Sessions by their aggregate reuse",
            "session_reuse_histogram",
            partial(_histogram, table="session_reuse_histogram", unit="sessions", look=style.series(2)),
            ("reuse.sessions_ge_80", "reuse.aggregate"),
        ),
    ),
    headline=_headline,
    detail=_detail,
    definition="Reuse of a call is cached tokens over context tokens; aggregate reuse weighs by tokens: all "
    "cached tokens over all context tokens. Fifty bins of equal width, the last one closed.",
    population="calls with a session id, cached tokens reported and a context above zero",
    counts=(
        ("reuse.aggregate", "calls that report cached tokens"),
        ("reuse.calls_ge_95", "those of them with a context above zero"),
        ("reuse.sessions_ge_80", "sessions of such calls"),
    ),
    wording="“Most” is at least half of the tokens. “Mostly warm” or “cold” when one side is over one and a "
    "half times the other.",
    caution="This is what the deployed caches and routing achieved, not what the workload allows. A call "
    "whose cached tokens were not reported is left out, never counted as zero.",
)
