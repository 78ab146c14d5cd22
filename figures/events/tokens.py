"""Reuse and token volume from counters of a session (paper Table 2 and 3.3, Code)."""

from __future__ import annotations

from figures.sentence import Sentence, clause, say, text
from figures.source import ResultsLike, value_of
from figures.spec import FigureSpec


def _headline(results: ResultsLike) -> Sentence:
    return say(results, "Of the context that sessions have sent, {events.reuse} was found in the prefix cache.")


def _detail(results: ResultsLike) -> Sentence:
    found = clause(
        results,
        "Context makes up {events.context_share} of the tokens, {events.context_to_output} the output.",
    )
    falls = value_of(results, "events.counter_falls")
    if falls is None:
        return found
    if not falls:
        return found + text("No counter ever falls.")
    return found + say(
        results,
        "Counters fall {events.counter_falls|time}, in {events.sessions_with_falls|session}: what they had counted "
        "before is added.",
    )


FIGURE = FigureSpec(
    name="event-tokens",
    paper="Table 2, Section 3.3",
    question="How much of the context is found in the prefix cache?",
    kind="measured",
    tables=(),
    keys=(
        "events.reuse",
        "events.context_share",
        "events.context_to_output",
        "events.counter_falls",
        "events.sessions_with_falls",
    ),
    needs=("events.reuse",),
    subject="how much context is found in the prefix cache",
    panels=(),
    headline=_headline,
    detail=_detail,
    definition="Counters of context, cached and output tokens run on over a session. Of each the last value counts, "
    "where the event reports both counters of a ratio; ratios are of sums over sessions.",
    population="sessions whose events report the counters",
    counts=(
        ("events.reuse", "sessions with counters of context and cached tokens"),
        ("events.context_share", "sessions with counters of context and output"),
        ("events.counter_falls", "events with a session id"),
        ("events.sessions_with_falls", "sessions"),
    ),
    wording="None.",
    caution="Where a counter falls, a session was resumed, or its events were logged out of order; the log does not "
    "say which, and the latter counts tokens twice. A window counts what a session had used before it, too.",
)
