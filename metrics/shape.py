"""How large the trace is: calls, sessions, models, span, and what the window cuts (paper Table 2)."""

from __future__ import annotations

from metrics.core.metric import Findings, Metric, Number
from metrics.core.trace import Trace

_SESSIONS = "select count(*) as n from sessions"
_MODELS = "select count(distinct model_no) as n from loads where model_no > 0"
_OUTSIDE = """
    select count(*) as n from (
        select distinct session_id from usable where session_id is not null and {side}) as outside
    where session_id in (select session_id from calls where session_id is not null)"""
_REACH = "select min(t_us) as first_us, max(t_us) as last_us from usable"


def compute(trace: Trace, found: Findings) -> None:
    profile = trace.profile
    sessions = trace.row(_SESSIONS)["n"]
    found.set("trace.calls", profile.calls, profile.calls)
    found.set("trace.sessions", sessions, profile.sessioned)
    found.set("trace.sessioned_calls", profile.sessioned, profile.calls)
    models = trace.row(_MODELS)["n"]
    found.set("trace.models", models or None, profile.model, why=trace.lacks("model") or "")
    found.set("trace.span_s", (profile.last_us - profile.first_us) / 1e6, profile.calls)
    _cuts(trace, found, sessions)


def _cuts(trace: Trace, found: Findings, sessions: int) -> None:
    """A session is cut where calls of it lie outside, or where the input ends with the window."""
    window = trace.window
    reach = trace.row(_REACH) if window.bounded else {"first_us": 0, "last_us": 0}
    sides = {
        "trace.sessions_cut_left": (
            window.start_us is not None and reach["first_us"] < window.start_us, f"t_us < {window.start_us}"),
        "trace.sessions_cut_right": (
            window.end_us is not None and reach["last_us"] >= window.end_us, f"t_us >= {window.end_us}"),
    }
    for key, (seen, side) in sides.items():
        proven = trace.row(_OUTSIDE.format(side=side))["n"] if seen else 0
        possible = proven if seen or trace.settings.whole_sessions else sessions
        found.set(key, possible, sessions, low=proven, high=possible)


_CUT = ("sessions with calls beyond the window's {edge}; where the input does not reach beyond it, no session can "
        "be ruled out and all are counted (lo: proven by the input), unless the source holds whole sessions")

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
        Number("trace.sessions_cut_left", "sessions", _CUT.format(edge="start")),
        Number("trace.sessions_cut_right", "sessions", _CUT.format(edge="end")),
    ),
    compute=compute,
)
