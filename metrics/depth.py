"""How deep sessions are: model calls in a session (paper 3.1, Fig. 3a and 3b)."""

from __future__ import annotations

import pyarrow as pa

from metrics.core.bins import upper_edge
from metrics.core.metric import Column, Findings, Metric, Number, TableSpec, ratio
from metrics.core.trace import Trace

CCDF = TableSpec("depth_ccdf", "one bin of depths", (
    Column("calls", pa.int64(), "a depth x: the largest whole number of calls in its bin"),
    Column("sessions", pa.int64(), "sessions whose depth lies in the bin that ends with x"),
    Column("ccdf", pa.float64(), "P(depth > x): share of sessions with more than x calls"),
))


def compute(trace: Trace, found: Findings) -> None:
    total = trace.row("select count(*) as n, max(calls) as deepest, cast(sum(calls) as bigint) as calls from sessions")
    at = trace.quantiles("sessions", "calls", "0.5", "0.9", "0.99")
    assert at is not None, "a sessioned trace has sessions"
    n = total["n"]
    found.set("depth.p50", at["0.5"], n)
    found.set("depth.p90", at["0.9"], n)
    found.set("depth.p99", at["0.99"], n)
    found.set("depth.max", total["deepest"], n)
    found.set("depth.mean", ratio(total["calls"], n), n)
    edge = upper_edge(trace.engine.dialect, "calls", 90)
    rows = trace.rows(f"select {edge} - 1 as calls, count(*) as sessions from sessions group by 1 order by 1")
    above = n
    for row in rows:
        above -= row["sessions"]
        row["ccdf"] = ratio(above, n)
    found.table(CCDF, rows)


METRIC = Metric(
    name="depth",
    question="How many model calls does a session make?",
    population="sessions: calls with a session id",
    source="paper 3.1",
    needs=("sessioned",),
    numbers=(
        Number("depth.p50", "calls", "median of calls per session, nearest rank"),
        Number("depth.p90", "calls", "90th percentile of calls per session, nearest rank"),
        Number("depth.p99", "calls", "99th percentile of calls per session, nearest rank"),
        Number("depth.max", "calls", "calls of the deepest session"),
        Number("depth.mean", "calls", "calls with a session id / sessions"),
    ),
    tables=(CCDF,),
    compute=compute,
)
