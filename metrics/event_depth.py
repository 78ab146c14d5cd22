"""How deep the sessions of an event log are: events in a session (paper 3.1, Code)."""

from __future__ import annotations

import pyarrow as pa

from metrics.core.bins import upper_edge
from metrics.core.event_log import EventLog
from metrics.core.metric import Column, Findings, Metric, Number, TableSpec, ratio

CCDF = TableSpec("event_depth_ccdf", "one bin of depths", (
    Column("events", pa.int64(), "a depth x: the largest whole number of events in its bin"),
    Column("sessions", pa.int64(), "sessions whose depth lies in the bin that ends with x"),
    Column("ccdf", pa.float64(), "P(depth > x): share of sessions with more than x events"),
))


def compute(log: EventLog, found: Findings) -> None:
    total = log.row("select count(*) as n, max(events) as deepest, cast(sum(events) as bigint) as events "
                    "from event_sessions")
    at = log.quantiles("event_sessions", "events", "0.5", "0.9", "0.99")
    assert at is not None, "a sessioned log has sessions"
    n = total["n"]
    for p, name in (("0.5", "p50"), ("0.9", "p90"), ("0.99", "p99")):
        found.set(f"events.depth_{name}", at[p], n)
    found.set("events.depth_max", total["deepest"], n)
    found.set("events.depth_mean", ratio(total["events"], n), n)
    edge = upper_edge(log.engine.dialect, "events", 90)
    rows = log.rows(f"select {edge} - 1 as events, count(*) as sessions from event_sessions group by 1 order by 1")
    above = n
    for row in rows:
        above -= row["sessions"]
        row["ccdf"] = ratio(above, n)
    found.table(CCDF, rows)


METRIC = Metric(
    name="event_depth",
    question="How many events does a session log?",
    population="sessions: events with a session id",
    source="paper 3.1",
    needs=("sessioned",),
    numbers=(
        Number("events.depth_p50", "events", "median of events per session, nearest rank"),
        Number("events.depth_p90", "events", "90th percentile of events per session, nearest rank"),
        Number("events.depth_p99", "events", "99th percentile of events per session, nearest rank"),
        Number("events.depth_max", "events", "events of the deepest session"),
        Number("events.depth_mean", "events", "events with a session id / sessions"),
    ),
    tables=(CCDF,),
    compute=compute,
)
