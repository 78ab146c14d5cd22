"""How large the trace is: calls, sessions, models, span, and what the window cuts (paper Table 2)."""

from __future__ import annotations

from metrics.core.cuts import cut_numbers, find_cuts
from metrics.core.metric import Findings, Metric, Number
from metrics.core.trace import Trace

_SESSIONS = "select count(*) as n from sessions"
_MODELS = "select count(distinct model_no) as n from loads where model_no > 0"


def compute(trace: Trace, found: Findings) -> None:
    profile = trace.profile
    sessions = trace.row(_SESSIONS)["n"]
    found.set("trace.calls", profile.calls, profile.calls)
    found.set("trace.sessions", sessions, profile.sessioned)
    found.set("trace.sessioned_calls", profile.sessioned, profile.calls)
    models = trace.row(_MODELS)["n"]
    found.set("trace.models", models or None, profile.model, why=trace.lacks("model") or "")
    found.set("trace.span_s", (profile.last_us - profile.first_us) / 1e6, profile.calls)
    find_cuts(trace, found, "trace", sessions)


METRIC = Metric(
    name="shape",
    question="How large is the trace?",
    population="all calls of the window",
    source="paper Table 2",
    numbers=(
        Number("trace.calls", "calls", "used calls in the window"),
        Number("trace.sessions", "sessions", "distinct session ids"),
        Number("trace.sessioned_calls", "calls", "calls with a session id"),
        Number("trace.models", "models", "distinct model names"),
        Number("trace.span_s", "s", "start of the last call - start of the first call"),
        *cut_numbers("trace", "calls"),
    ),
    compute=compute,
)
