"""How much of an event log is tool executions, and how fast they follow each other (paper 2.4, Fig. 2, Code)."""

from __future__ import annotations

import pyarrow as pa

from metrics.core.bins import upper_edge
from metrics.core.event_log import EventLog
from metrics.core.metric import Column, Findings, Metric, Number, TableSpec, ratio

CDF = TableSpec("tool_cadence_cdf", "one bin of gaps", (
    Column("seconds", pa.float64(), "upper edge of the bin"),
    Column("gaps", pa.int64(), "gaps in the bin"),
    Column("cdf", pa.float64(), "share of the gaps that are shorter than the upper edge"),
))

_STEPS_A_DECADE = 18
_CADENCE = ("events.tool_cadence_p50_s", "events.tool_cadence_p90_s", "events.tool_cadence_p99_s")


def compute(log: EventLog, found: Findings) -> None:
    profile = log.profile
    found.set("events.tool_share", ratio(profile.tools, profile.kinds), profile.kinds)
    _per_session(log, found)
    _cadence(log, found)


def _per_session(log: EventLog, found: Findings) -> None:
    key = "events.tool_calls_per_session_p50"
    at = log.quantiles("(select tools from event_sessions where unknown = 0)", "tools", "0.5")
    if at is None:
        found.missing(log.lacks("sessioned") or "every session has an event that does not say what it is", key)
    else:
        found.set(key, at["0.5"], at.total)


def _cadence(log: EventLog, found: Findings) -> None:
    at = log.quantiles("event_steps", "tool_gap_us", "0.5", "0.9", "0.99")
    if at is None:
        found.missing(log.lacks("sessioned_tools") or "no session executes two tools", *_CADENCE)
        return
    for key, p in zip(_CADENCE, ("0.5", "0.9", "0.99"), strict=True):
        found.set(key, at[p] / 1e6, at.total)
    edge = upper_edge(log.engine.dialect, "tool_gap_us", _STEPS_A_DECADE)
    rows = log.rows(f"select {edge} as edge, count(*) as gaps from event_steps where tool_gap_us is not null "
                    "group by 1 order by 1")
    below, table = 0, []
    for row in rows:
        below += row["gaps"]
        table.append({"seconds": row["edge"] / 1e6, "gaps": row["gaps"], "cdf": ratio(below, at.total)})
    found.table(CDF, table)


_GAPS = "gaps between a tool execution and the one before it in its session, whatever lies between"
_OF_GAP = "of start - start of the session's tool execution before, nearest rank"

METRIC = Metric(
    name="event_tools",
    question="How often does a session execute a tool?",
    population="events that say what they are",
    source="paper 2.4, Figure 2",
    needs=("kinds", "tools"),
    numbers=(
        Number("events.tool_share", "share", "tool executions / events that say what they are"),
        Number("events.tool_calls_per_session_p50", "calls", "median of tool executions per session, "
               "sessions without one among them, nearest rank", "sessions whose events all say what they are"),
        Number("events.tool_cadence_p50_s", "s", f"median {_OF_GAP}", _GAPS),
        Number("events.tool_cadence_p90_s", "s", f"90th percentile {_OF_GAP}", _GAPS),
        Number("events.tool_cadence_p99_s", "s", f"99th percentile {_OF_GAP}", _GAPS),
    ),
    tables=(CDF,),
    compute=compute,
)
