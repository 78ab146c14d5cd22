"""How long a session waits between calls (paper figure 8)."""

from __future__ import annotations

from matplotlib.axes import Axes

from figures import axes, style
from figures.sentence import Sentence, clause, say
from figures.source import ResultsLike, known, rows, value_of
from figures.spec import FigureSpec, Panel

_NAMES = {"all": "all", "intra": "within a turn", "inter": "between turns", "idle": "idle only"}
SHORTEST = 0.001  # seconds: shorter gaps are drawn at the left edge


def _cdf(ax: Axes, results: ResultsLike) -> None:
    data = [r for r in rows(results, "gap_cdf") if r["seconds"] is not None]
    if not data:
        return axes.note(ax, "no session has two calls")
    seconds = [r["seconds"] for r in data]
    low = max(SHORTEST, min((s for s in seconds if s > 0), default=SHORTEST))
    high = max(*seconds, low * 10)
    axes.percent_axis(ax.yaxis)
    ax.set_xlim(low / 1.2, high * 1.5)
    axes.time_axis(ax.xaxis, low, high * 1.5)
    # Keyed by kind, so that a kind looks the same in every report.
    kinds = dict.fromkeys(r["kind"] for r in data)
    ordered = [k for k in _NAMES if k in kinds] + [k for k in kinds if k not in _NAMES]
    for i, kind in enumerate(ordered):
        look = style.series(list(_NAMES).index(kind) if kind in _NAMES else i)
        points = [(r["seconds"], r["cdf"]) for r in data if r["kind"] == kind]
        ax.plot(
            axes.positive([x for x, _ in points], low),
            [y for _, y in points],
            drawstyle="steps-post",
            color=look.colour,
            linestyle=look.dash,
            marker=look.marker if len(points) < 3 else "",
            label=_NAMES.get(kind, axes.label(kind)),
        )
    ax.set_xlabel("time to the next call")
    ax.set_ylabel("gaps at most so long")
    axes.legend(ax, 2)  # the curves run close together: names at the lines would overlap
    return None


def _headline(results: ResultsLike) -> Sentence:
    long = value_of(results, "gap.p99_s")
    tail = "" if long and long >= 60 * value_of(results, "gap.p50_s") else "not "
    return say(
        results,
        f"Waits between calls are {tail}heavy-tailed: half last at most {{gap.p50_s}}, the "
        f"longest "
        "hundredth {gap.p99_s} or more.",
    )


def _detail(results: ResultsLike) -> Sentence:
    found = Sentence()
    if known(results, "gap.inter_share", "gap.inter_idle_share"):
        share, time = value_of(results, "gap.inter_share"), value_of(results, "gap.inter_idle_share")
        start = "Most waiting is between turns" if time > 0.5 else "Most waiting is within turns"
        word = "but" if time > 2 * share else "and"
        found += say(
            results,
            f"{start}: gaps between turns are {{gap.inter_share}} of the gaps {word} "
            "{gap.inter_idle_share} of the time.",
        )
    found += clause(results, "Their median is {gap.inter_p50_s}, against {gap.intra_p50_s} within a turn.")
    return found + clause(results, "The longest wait is {gap.max_s}.")


FIGURE = FigureSpec(
    name="fig08",
    paper="Fig. 8",
    question="How long does a session wait between calls?",
    kind="measured",
    tables=("gap_cdf",),
    keys=(
        "gap.p50_s",
        "gap.p99_s",
        "gap.max_s",
        "gap.intra_p50_s",
        "gap.inter_p50_s",
        "gap.inter_share",
        "gap.inter_idle_share",
        "gap.idle_p50_s",
        "gap.idle_p99_s",
        "gap.idle_max_s",
    ),
    needs=("gap.p50_s", "gap.p99_s"),
    subject="how long a session waits between calls",
    panels=(Panel("cdf", "Gaps by length", "gap_cdf", _cdf, ("gap.p50_s",), style.Margins(top=0.86)),),
    headline=_headline,
    detail=_detail,
    definition="From the start of a call to the start of the next one of its session. A gap is between turns "
    "when the later call opens a turn. Idle only: from the latest end so far, where durations are "
    "known.",
    population="pairs of consecutive calls of a session, both in the window",
    counts=(
        ("gap.p50_s", "gaps"),
        ("gap.inter_share", "gaps within or between turns, where the log tells which"),
        ("gap.intra_p50_s", "those within a turn"),
        ("gap.inter_p50_s", "those between turns"),
        ("gap.idle_p50_s", "gaps after a call of known duration"),
    ),
    wording="“Heavy-tailed” when the longest hundredth is at least sixty times the median.",
    caution="No gap can be longer than the window, and gaps across its edges are not seen, so the tail is "
    "short by construction. Start-to-start gaps include the time the call itself takes.",
)
