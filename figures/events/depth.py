"""How deep the sessions of an event log are (paper 3.1, Code)."""

from __future__ import annotations

from functools import partial

from figures import style
from figures.depths import Depths, draw_ccdf
from figures.sentence import Sentence, clause, say
from figures.source import ResultsLike, value_of
from figures.spec import FigureSpec, Panel

_DEPTHS = Depths("event_depth_ccdf", "events", "events.depth_p50", "events.depth_p90", "events.depth_p99")
HEAVY = 20  # the longest hundredth over the median


def _headline(results: ResultsLike) -> Sentence:
    median, deepest = value_of(results, "events.depth_p50"), value_of(results, "events.depth_p99")
    word = "" if deepest >= HEAVY * median else "not "
    return say(
        results,
        f"Depth is {word}heavy-tailed: half of the sessions log at most {{events.depth_p50|event}}, the deepest "
        "hundredth {events.depth_p99} or more.",
    )


def _detail(results: ResultsLike) -> Sentence:
    return clause(results, "The deepest logs {events.depth_max}, and the mean is {events.depth_mean}.")


FIGURE = FigureSpec(
    name="event-depth",
    paper="Section 3.1",
    question="How many events does a session log?",
    kind="measured",
    tables=("event_depth_ccdf",),
    keys=("events.depth_p50", "events.depth_p90", "events.depth_p99", "events.depth_max", "events.depth_mean"),
    needs=("events.depth_p50", "events.depth_p99"),
    subject="how deep sessions are",
    panels=(
        Panel("ccdf", "Sessions with more than so many events", "event_depth_ccdf",
              partial(draw_ccdf, depths=_DEPTHS, log=False), ("events.depth_p50",)),
        Panel("loglog", "The same on log axes, to the deepest session", "event_depth_ccdf",
              partial(draw_ccdf, depths=_DEPTHS, log=True), ("events.depth_p50",), style.Margins(left=0.205)),
    ),
    headline=_headline,
    detail=_detail,
    definition="Depth is the number of events that a session logs, each once: tool executions and whatever else the "
    "log holds. It is no number of model calls.",
    population="sessions of the window",
    counts=(("events.depth_p50", "sessions"),),
    wording="“Heavy-tailed” when the deepest hundredth logs at least twenty times the events of the median session.",
    caution="Another log of the same sessions, with more or fewer kinds of events, has another depth. A window cuts "
    "sessions at both edges, which makes them look shallower.",
)
