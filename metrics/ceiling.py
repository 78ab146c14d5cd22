"""What holding all live sessions at their peak would take (paper 4.2, Eq. 6)."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from metrics.core.clock import HOUR_US, MINUTE_US, iso
from metrics.core.engine import scratch
from metrics.core.metric import Column, Findings, Metric, Number, TableSpec
from metrics.core.quantile import quantiles
from metrics.core.sweep import levels_query, moves_of, peaks
from metrics.core.trace import Trace

MAX_ROWS = 1000

BY_HOUR = TableSpec("ceiling_by_hour", "one clock hour (several, where the window has more than 1,000)", (
    Column("hour", pa.string(), "start of the hour, ISO-8601 in the report's zone"),
    Column("peak_bytes", pa.int64(), "most bytes held at once in the hour"),
    Column("peak_sessions", pa.int64(), "most sessions live at once in the hour"),
))

_LIVES = "(select first_us as start_us, last_us as end_us, peak_x as tokens from sessions)"
# How long each level lasts: until the next event, in this bucket or in a later one.
_LASTING = """
    select tokens, coalesce(lead(t_us) over (partition by levels.bucket order by t_us), next_us) - t_us as lasts_us
    from levels join (
        select bucket, lead(min(t_us)) over (order by bucket) as next_us from levels group by bucket
    ) as buckets on levels.bucket = buckets.bucket"""


def compute(trace: Trace, found: Findings) -> None:
    engine, beta = trace.engine, trace.settings.beta
    span = trace.row("select count(*) as n, min(first_us) as first_us, max(last_us) as last_us from sessions")
    n = span["n"]
    offset = trace.settings.clock.shift_us(span["first_us"])
    hours = (span["last_us"] + offset) // HOUR_US - (span["first_us"] + offset) // HOUR_US + 1
    width = HOUR_US * -(-hours // MAX_ROWS)
    with scratch(engine, "levels", levels_query(engine, moves_of(_LIVES), width, offset)):
        top = trace.row("select max(tokens_at) as tokens, max(intervals_at) as live from levels")
        found.set("ceiling.hold_all_live_bytes", top["tokens"] * beta, n)
        found.set("ceiling.peak_sessions", top["live"], n)
        lasting = quantiles(engine, f"({_LASTING})", "tokens", ("0.5", "0.95", "0.99"), weight="lasts_us").get(0)
        for p, key in (("0.5", "p50"), ("0.95", "p95"), ("0.99", "p99")):
            found.set(f"ceiling.time_{key}_bytes", lasting[p] * beta if lasting else None, n,
                      why="all calls start at one moment")
        found.table(BY_HOUR, _by_hour(trace, width, offset))
    for name, bin_us in (("minute", MINUTE_US), ("hour", HOUR_US)):
        moves = moves_of(_binned(trace, bin_us, offset))
        peak, = peaks(engine, moves, [[0]], span["first_us"] + offset - bin_us, span["last_us"] + offset)
        found.set(f"ceiling.{name}_bins_bytes", peak.tokens * beta, n)


def _binned(trace: Trace, bin_us: int, offset_us: int) -> str:
    start, end = (trace.engine.dialect.div(f"{column} + {offset_us}", bin_us) for column in ("first_us", "last_us"))
    return (f"(select {start} * {bin_us} as start_us, {end} * {bin_us} as end_us, peak_x as tokens from sessions)")


def _by_hour(trace: Trace, width_us: int, offset_us: int) -> list[dict[str, Any]]:
    """The peak of each hour; an hour without events holds what the one before left."""
    beta, zone = trace.settings.beta, trace.settings.clock.zone
    buckets = trace.rows(
        "select bucket, max(tokens_at) as tokens, max(intervals_at) as live, max(t_us) as last_us "
        "from levels group by bucket order by bucket")
    left = {row["t_us"]: row for row in trace.rows(
        "select t_us, tokens, intervals from levels where t_us in (select max(t_us) from levels group by bucket)")}
    table: list[dict[str, Any]] = []
    carried, live = 0, 0
    known = {row["bucket"]: row for row in buckets}
    for bucket in range(buckets[0]["bucket"], buckets[-1]["bucket"] + 1):
        row = known.get(bucket)
        # What is carried into the hour may exceed every level after its first event.
        tokens = max(carried, row["tokens"]) if row else carried
        sessions = max(live, row["live"]) if row else live
        table.append({"hour": iso(bucket * width_us - offset_us, zone), "peak_bytes": tokens * beta,
                      "peak_sessions": sessions})
        if row:
            carried, live = left[row["last_us"]]["tokens"], left[row["last_us"]]["intervals"]
    return table


_TIME = ("bytes held, quantile over time between the first and the last call with a session id: at most this much for "
         "{p} % of the time")

METRIC = Metric(
    name="ceiling",
    question="How much memory would hold every live session?",
    population="sessions: calls with a session id, live from their first to their last call",
    source="paper 4.2, Eq. 6",
    kind="estimated",
    needs=("sessioned",),
    numbers=(
        Number("ceiling.hold_all_live_bytes", "bytes", "most bytes held at once when every session holds its working "
               "set from first to last call, exact event sweep"),
        Number("ceiling.peak_sessions", "sessions", "most sessions live at once"),
        *(Number(f"ceiling.time_p{p}_bytes", "bytes", _TIME.format(p=p)) for p in (50, 95, 99)),
        Number("ceiling.minute_bins_bytes", "bytes", "the same, sessions resident in every clock minute they touch"),
        Number("ceiling.hour_bins_bytes", "bytes", "the same, sessions resident in every clock hour they touch"),
    ),
    tables=(BY_HOUR,),
    compute=compute,
)
