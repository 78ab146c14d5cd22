"""What a real server found in its tier, and how soon turns began, under each policy (beyond the paper)."""

from __future__ import annotations

from matplotlib.axes import Axes

from figures import axes, lived, style
from figures.sentence import Sentence, clause, say
from figures.source import ResultsLike, known, rows, value_of
from figures.spec import FigureSpec, Panel

_BEST, _CONTROL = "live.best.tier_hit_rate", "live.control.tier_hit_rate"


def _hits(ax: Axes, results: ResultsLike) -> None:
    data = rows(results, "live_conditions")[:lived.MOST]
    if not data:
        return axes.note(ax, "no condition is finished")
    for place, row in zip(axes.categories(ax, [r["condition"] for r in data], "y"), data, strict=True):
        look = style.series(0)
        ax.barh(place, row["tier_hit_rate"], 0.62, **axes.bar_look(look, row["turns"]))
        if row["tier_hit_lo"] is not None:
            ax.plot([row["tier_hit_lo"], row["tier_hit_hi"]], [place, place], color=style.FOREGROUND, linewidth=1.4)
    axes.percent_axis(ax.xaxis, whole=False)
    ax.set_xlim(left=0)
    ax.set_xlabel("tokens found in the tier, of those asked of it")
    return None


def _first_tokens(ax: Axes, results: ResultsLike) -> None:
    data = rows(results, "live_ttft")
    if not data:
        return axes.note(ax, "no turn has ended")
    for i, condition in enumerate(lived.conditions(data)):
        look = style.series(i)
        points = [(r["turn"], r["mean_s"]) for r in data if r["condition"] == condition and r["turns"] >= style.FEW]
        ax.plot([x for x, _ in points], [y for _, y in points], color=look.colour, linestyle=look.dash,
                marker=look.marker, markersize=3, label=axes.label(condition, 20))
    lived.seconds_axis(ax)
    ax.set_xlabel("turn of the session")
    ax.set_ylabel("mean time to first token")
    axes.legend(ax, 3)
    return None


def _headline(results: ResultsLike) -> Sentence:
    best, control = value_of(results, _BEST), value_of(results, _CONTROL)
    start = ("The tier gives back more than it takes only if it is told what to refuse"
             if value_of(results, "live.best.stored_per_reloaded") is not None
             and value_of(results, "live.best.stored_per_reloaded") < 1 and best >= 2 * control
             else "Policies hardly differ" if best - control < lived.SAME else "The policy decides what the tier finds")
    return say(results, f"{start}: on a real server {{live.best}} finds {{{_BEST}}} of what is asked of the tier, "
                        f"{{live.control}} {{{_CONTROL}}}.")


def _detail(results: ResultsLike) -> Sentence:
    found = clause(results, "Second and later turns begin after {live.best.late_ttft_mean_s} on average, under "
                            "{live.control} after {live.control.late_ttft_mean_s}.")
    if value_of(results, "live.best") != value_of(results, "live.control"):
        found += clause(results, "{live.best.improved} of the sessions are done sooner.")
    if value_of(results, "live.unfinished"):
        found += clause(results, "Not finished: {live.unfinished}.")
    return found if known(results, _BEST) else Sentence()


FIGURE = FigureSpec(
    name="fig12",
    paper="beyond the paper",
    question="What does a real server find in its tier, under each policy?",
    kind="live",
    tables=("live_conditions", "live_ttft"),
    keys=(_BEST, _CONTROL, "live.best.late_ttft_mean_s", "live.control.late_ttft_mean_s", "live.best.latency_p95_s",
          "live.control.latency_p95_s", "live.conditions", "live.unfinished"),
    needs=(_BEST, _CONTROL),
    subject="what a real server finds in its tier",
    panels=(
        Panel("hits", "Found in the tier", "live_conditions", _hits, (_BEST,),
              style.Margins(left=0.31, right=0.95)),
        Panel("ttft", "Time to first token", "live_ttft", _first_tokens, (_BEST,), style.Margins(left=0.18, top=0.83)),
    ),
    headline=_headline,
    detail=_detail,
    definition="Whole sessions were sent to a vLLM server with the policy in its offloading connector, each turn a gap "
    "after the one before had ended. What the tier is asked for are the prompt tokens that the device does not have.",
    population="turns that did not fail, of the seeds that are finished; warm probes are no turns",
    counts=((_BEST, "turns under the best policy"), (_CONTROL, "turns under the control"),
            ("live.best.late_ttft_mean_s", "second and later of them"), ("live.conditions", "conditions"),
            ("live.unfinished", "conditions and seeds")),
    wording="“Hardly differ”: within one point. “Only if it is told what to refuse”, in bytes: the best policy finds "
    "twice as much and stores less than it reloads. Points of fewer than ten turns are not drawn.",
    caution="Sessions and sizes are those of the live run, which need not be those of this log, and may be to scale. "
    "Times are those of its machine: with a tiny model on a CPU a reload takes as long as a prefill.",
    in_summary=False,
    asked_by="live.",
)
