"""How often sessions execute tools, and how fast one follows the other (paper 2.4 and figure 2, Code)."""

from __future__ import annotations

from matplotlib.axes import Axes

from figures import axes, style
from figures.sentence import Sentence, clause, say
from figures.source import ResultsLike, rows, value_of
from figures.spec import FigureSpec, Panel

SHORTEST = 0.001  # seconds: shorter gaps are drawn at the left edge


def _cdf(ax: Axes, results: ResultsLike) -> None:
    data = rows(results, "tool_cadence_cdf")
    if not data:
        return axes.note(ax, "no session executes two tools")
    seconds = [row["seconds"] for row in data]
    low = max(SHORTEST, min((each for each in seconds if each > 0), default=SHORTEST))
    high = max(*seconds, low * 10)
    axes.percent_axis(ax.yaxis)
    ax.set_xlim(low / 1.2, high * 1.5)
    axes.time_axis(ax.xaxis, low, high * 1.5)
    look = style.series(0)
    ax.plot(
        axes.positive(seconds, low),
        [row["cdf"] for row in data],
        drawstyle="steps-post",
        color=look.colour,
        marker=look.marker if len(data) < 3 else "",
    )
    ax.set_xlabel("time since the tool execution before")
    ax.set_ylabel("gaps at most so long")
    return None


def _headline(results: ResultsLike) -> Sentence:
    word = "Most" if value_of(results, "events.tool_share") > 0.5 else "A minority of the"
    return say(results, f"{word} events are tool executions: {{events.tool_share}} of those that say what they are.")


def _detail(results: ResultsLike) -> Sentence:
    found = clause(results, "Half of the sessions execute at most {events.tool_calls_per_session_p50|tool}.")
    return found + clause(
        results,
        "Half of the time a tool follows the one before within {events.tool_cadence_p50_s}, and the longest hundredth "
        "of the gaps last {events.tool_cadence_p99_s} or more.",
    )


FIGURE = FigureSpec(
    name="event-tools",
    paper="Section 2.4, Fig. 2",
    question="How often does a session execute a tool?",
    kind="measured",
    tables=("tool_cadence_cdf",),
    keys=(
        "events.tool_share",
        "events.tool_calls_per_session_p50",
        "events.tool_cadence_p50_s",
        "events.tool_cadence_p90_s",
        "events.tool_cadence_p99_s",
    ),
    needs=("events.tool_share",),
    subject="how often sessions execute tools",
    panels=(
        Panel("cadence", "Gaps between tool executions, by length", "tool_cadence_cdf", _cdf,
              ("events.tool_cadence_p50_s",)),
    ),
    headline=_headline,
    detail=_detail,
    definition="A tool execution is an event that the log calls so. A gap is from the start of one to the start of "
    "the next of its session, whatever is logged between the two.",
    population="events that say what they are; for gaps, consecutive tool executions of a session, both in the window",
    counts=(
        ("events.tool_share", "events that say what they are"),
        ("events.tool_calls_per_session_p50", "sessions whose events all say what they are"),
        ("events.tool_cadence_p50_s", "gaps between tool executions"),
    ),
    wording="“Most” when more than half of the events are tool executions.",
    caution="The share is not one of tool executions to model calls, which an event log does not count. A gap holds "
    "model calls, pauses of the user and the tool itself.",
)
