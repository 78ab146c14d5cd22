"""How large an event log is: events, sessions, models, span, and what the window cuts (paper Table 2, Code)."""

from __future__ import annotations

from metrics.core.cuts import cut_numbers, find_cuts
from metrics.core.event_log import EventLog
from metrics.core.metric import Findings, Metric, Number


def compute(log: EventLog, found: Findings) -> None:
    profile = log.profile
    sessions = log.row("select count(*) as n from event_sessions")["n"]
    models = log.row("select count(distinct model_no) as n from events where model_no > 0")["n"]
    found.set("events.count", profile.events, profile.events)
    found.set("events.sessions", sessions, profile.sessioned)
    found.set("events.sessioned", profile.sessioned, profile.events)
    found.set("events.models", models or None, profile.model, why=log.lacks("model") or "")
    found.set("events.span_s", (profile.last_us - profile.first_us) / 1e6, profile.events)
    find_cuts(log, found, "events", sessions)


METRIC = Metric(
    name="event_shape",
    question="How large is the event log?",
    population="all events of the window",
    source="paper Table 2",
    numbers=(
        Number("events.count", "events", "used events in the window, each once"),
        Number("events.sessions", "sessions", "distinct session ids"),
        Number("events.sessioned", "events", "events with a session id"),
        Number("events.models", "models", "distinct model names"),
        Number("events.span_s", "s", "time of the last event - time of the first event"),
        *cut_numbers("events", "events"),
    ),
    compute=compute,
)
