"""For how much of the time that KV is held does the engine work on it? (paper 4.3, Fig. 10)"""

from __future__ import annotations

from metrics.core.metric import Findings, Metric, Number, ratio
from metrics.core.trace import Trace

# Within a session, gap - idle is the part of each gap in which earlier calls still run: their union,
# clipped to the resident interval, which ends with the last call's start.
_SUMS = """
    select count(*) as n,
           cast(sum(last_us - first_us) as bigint) as resident_us,
           cast(sum(busy_us) as bigint) as busy_us,
           cast(sum(sum_duration_us) as bigint) as duration_us
    from sessions where durations_missing = 0"""
_ALL = "select cast(sum(last_us - first_us) as bigint) as resident_us from sessions"


def compute(trace: Trace, found: Findings) -> None:
    known, everything = trace.row(_SUMS), trace.row(_ALL)
    n = known["n"]
    why = "no session whose durations are all known spans any time"
    found.set("ceiling.duty_cycle", ratio(known["busy_us"] or 0, known["resident_us"]), n, why=why)
    found.set("ceiling.duty_cycle.raw_ratio", ratio(known["duration_us"], known["resident_us"]), n, why=why)
    found.set("ceiling.duty_cycle.coverage", ratio(known["resident_us"] or 0, everything["resident_us"]), n,
              why="no session spans any time")


METRIC = Metric(
    name="duty_cycle",
    question="How much of the time that KV is held is an engine working on it?",
    population="sessions whose calls all report a duration",
    source="paper 4.3",
    needs=("sessioned", "duration"),
    numbers=(
        Number("ceiling.duty_cycle", "share", "time within first to last call in which some call of the session runs / "
               "time from first to last call"),
        Number("ceiling.duty_cycle.coverage", "share", "resident time of these sessions / that of all sessions",
               "sessions: calls with a session id"),
        Number("ceiling.duty_cycle.raw_ratio", "ratio", "sum of durations / time from first to last call; overlaps "
               "count twice and the last call runs beyond the interval"),
    ),
    compute=compute,
)
