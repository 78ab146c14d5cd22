"""Reuse and token volume from counters that run on over a session (paper 2.2, Table 2, 3.3; Code)."""

from __future__ import annotations

from metrics.core.event_log import EventLog
from metrics.core.metric import Findings, Metric, Number, ratio

_SUMS = """
    select count(*) as n, count(x_of_c) as reused, cast(sum(x_of_c) as bigint) as x_of_c,
           cast(sum(c_of_x) as bigint) as c_of_x, count(x_of_o) as volume, cast(sum(x_of_o) as bigint) as x_of_o,
           cast(sum(o_of_x) as bigint) as o_of_x, cast(sum(falls) as bigint) as falls,
           count(case when falls > 0 then 1 end) as resumed
    from event_sessions"""
_VOLUME = ("events.context_share", "events.context_to_output")


def compute(log: EventLog, found: Findings) -> None:
    row = log.row(_SUMS)
    why = log.lacks("reused")
    if why is not None:
        found.missing(why, "events.reuse")
    else:
        found.set("events.reuse", ratio(row["c_of_x"], row["x_of_c"]), row["reused"],
                  why="the last context of every session is 0")
    why = log.lacks("volume")
    if why is not None:
        found.missing(why, *_VOLUME)
    else:
        context, output = row["x_of_o"], row["o_of_x"]
        found.set("events.context_share", ratio(context, context + output), row["volume"],
                  why="no session has a token")
        found.set("events.context_to_output", ratio(context, output), row["volume"], why="no session has output")
    found.set("events.counter_falls", row["falls"], log.profile.sessioned)
    found.set("events.sessions_with_falls", row["resumed"], row["n"])


_LAST = ("each the last value of the session's counter, where both are known; where counters fall, the largest values "
         "before the fall and after it are added")

METRIC = Metric(
    name="event_tokens",
    question="How much of the context is found in the prefix cache, and how much output stands against it?",
    population="sessions",
    source="paper 2.2, Table 2, 3.3",
    needs=("sessioned",),
    numbers=(
        Number("events.reuse", "share", f"sum of cached tokens / sum of context tokens, {_LAST}",
               "sessions that report both counters in one event"),
        Number("events.context_share", "share", "sum of context tokens / sum of context and output tokens, "
               f"{_LAST}", "sessions that report both counters in one event"),
        Number("events.context_to_output", "ratio", f"sum of context tokens / sum of output tokens, {_LAST}",
               "sessions that report both counters in one event"),
        Number("events.counter_falls", "instants", "times of a session at which a counter is below its last known "
               "value, unless an earlier fall explains that", "events with a session id"),
        Number("events.sessions_with_falls", "sessions", "sessions with such a time"),
    ),
    compute=compute,
)
