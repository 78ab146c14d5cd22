"""How right the simulator was, and whether the schedule was kept (beyond the paper)."""

from __future__ import annotations

from matplotlib.axes import Axes

from figures import axes, lived, style
from figures.sentence import Sentence, clause, say
from figures.source import ResultsLike, rows, value_of
from figures.spec import FigureSpec, Panel

_MOST, _AT_STARTS = "live.simulated.most_points", "live.simulated.most_points_at_starts"
_WORDS = (("tier_hit_rate", "live"), ("simulated_hit_rate", "sim"), ("at_starts_hit_rate", "sim, live starts"))


def _beside(ax: Axes, results: ResultsLike) -> None:
    data = [r for r in rows(results, "live_conditions") if r["simulated_hit_rate"] is not None][:lived.MOST]
    if not data:
        return axes.note(ax, "nothing is simulated")
    places = axes.categories(ax, [r["condition"] for r in data], "y")
    for i, (field, name) in enumerate(_WORDS):
        look = style.series(i)
        ax.plot([r[field] for r in data], [place + 0.22 * (i - 1) for place in places], look.marker, color=look.colour,
                linestyle="none", label=name, clip_on=False)
    axes.percent_axis(ax.xaxis, whole=False)
    ax.set_xlim(left=0)
    ax.set_xlabel("tokens found in the tier, of those asked of it")
    axes.legend(ax, 3)
    return None


def _late(ax: Axes, results: ResultsLike) -> None:
    data = rows(results, "live_schedule")
    if not data:
        return axes.note(ax, "no turn was sent")
    for i, condition in enumerate(lived.conditions(data)):
        look = style.series(i)
        points = [(r["late_s"], r["percentile"] / 100) for r in data if r["condition"] == condition]
        ax.plot(axes.positive([x for x, _ in points], 1e-5), [y for _, y in points], color=look.colour,
                linestyle=look.dash, label=axes.label(condition, 20))
    late = [max(r["late_s"], 1e-5) for r in data]
    axes.time_axis(ax.xaxis, min(late), max(late))
    axes.percent_axis(ax.yaxis)
    ax.set_xlabel("actual less planned start")
    ax.set_ylabel("turns")
    axes.legend(ax, 3)
    return None


def _headline(results: ResultsLike) -> Sentence:
    off = value_of(results, _MOST)
    start = ("The simulator is right" if off <= lived.RIGHT else "The simulator is roughly right" if off <= lived.ROUGH
             else "The simulator is off")
    return say(results, f"{start}: its hit rates of the tier are at most {{{_MOST}}} of the tokens asked for away from "
                        "those of the server.")


def _detail(results: ResultsLike) -> Sentence:
    found = clause(results, f"With every turn at the time that it came live it is {{{_AT_STARTS}}}.")
    return found + clause(results, "Turns were sent on time: all but a twentieth within "
                                   "{live.control.late_start_p95_s} under {live.control}.")


FIGURE = FigureSpec(
    name="fig12c",
    paper="beyond the paper",
    question="How right is the simulator, and was the schedule kept?",
    kind="live",
    tables=("live_conditions", "live_schedule"),
    keys=(_MOST, _AT_STARTS, "live.best.simulated_hit_rate", "live.best.tier_hit_rate",
          "live.control.late_start_p95_s", "live.best.late_start_p95_s"),
    needs=(_MOST,),
    subject="how right the simulator is",
    panels=(
        Panel("beside", "Live and simulated", "live_conditions", _beside, (_MOST,),
              style.Margins(left=0.31, right=0.95, top=0.88)),
        Panel("late", "Late starts", "live_schedule", _late, ("live.best",), style.Margins(top=0.83)),
    ),
    headline=_headline,
    detail=_detail,
    definition="The tier simulator on the same sessions, plan, blocks and capacities; the time between two tokens is "
    "the measured median. Once in a closed loop of its own, and once with every turn at the time it came live.",
    population="turns that did not fail, of the seeds that are finished",
    counts=((_MOST, "conditions with a tier"), ("live.control.late_start_p95_s", "turns under the control")),
    wording="“Right”: within one point of the tokens asked for; “roughly right”: within three.",
    caution="The simulator gives a request all its blocks at once and shares no prefix between sessions.",
    in_summary=False,
    asked_by="live.",
)
