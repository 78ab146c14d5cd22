"""How much context is served from the prefix cache (paper 2.3, Eq. 1 and 2; 3.5, Fig. 6)."""

from __future__ import annotations

import pyarrow as pa

from metrics.core.metric import Column, Findings, Metric, Number, TableSpec, ratio
from metrics.core.trace import Trace

BINS = 50


def _histogram(name: str, of: str) -> TableSpec:
    return TableSpec(name, "one bin of width 1/50", (
        Column("low", pa.float64(), "lower edge, in the bin"),
        Column("high", pa.float64(), "upper edge, not in the bin, but for the last"),
        Column(of, pa.int64(), f"{of} whose reuse lies in the bin"),
        Column("share", pa.float64(), "their share"),
    ))


BY_CALL = _histogram("reuse_histogram", "calls")
BY_SESSION = _histogram("session_reuse_histogram", "sessions")

_CALLS = """
    select cast(sum(x) as bigint) as x, cast(sum(c) as bigint) as c, count(*) as reported,
           count(case when x > 0 then 1 end) as n,
           count(case when x > 0 and 20 * c >= 19 * x then 1 end) as warm,
           count(case when 5 * c < x then 1 end) as cold,
           count(case when x > 0 and 5 * c >= x and 5 * c < 4 * x then 1 end) as between
    from steps where c is not null"""
_SESSIONS = """
    select count(*) as n, count(case when 5 * sum_c >= 4 * sum_x_reported then 1 end) as warm,
           count(case when 5 * sum_c >= sum_x_reported and 5 * sum_c < 4 * sum_x_reported then 1 end) as between
    from sessions where sum_x_reported > 0"""


def compute(trace: Trace, found: Findings) -> None:
    calls, sessions = trace.row(_CALLS), trace.row(_SESSIONS)
    empty = "every call that reports cached tokens has a context of 0"
    found.set("reuse.aggregate", ratio(calls["c"], calls["x"]), calls["reported"], why=empty)
    found.set("reuse.carry_tax", ratio(calls["x"], calls["x"] - calls["c"]), calls["reported"],
              why="no context had to be computed" if calls["x"] else empty)
    for key, count in (("ge_95", "warm"), ("lt_20", "cold"), ("20_80", "between")):
        found.set(f"reuse.calls_{key}", ratio(calls[count], calls["n"]), calls["n"], why=empty)
    for key, count in (("ge_80", "warm"), ("20_80", "between")):
        found.set(f"reuse.sessions_{key}", ratio(sessions[count], sessions["n"]), sessions["n"], why=empty)
    div = trace.engine.dialect.div
    by_call, by_session = div("r_ppb", 10**9 // BINS), div(f"sum_c * {BINS}", "sum_x_reported")
    _bins(trace, found, BY_CALL, by_call, "steps where r_ppb is not null", "calls")
    _bins(trace, found, BY_SESSION, by_session, "sessions where sum_x_reported > 0", "sessions")


def _bins(trace: Trace, found: Findings, spec: TableSpec, place: str, source: str, of: str) -> None:
    counted = {row["place"]: row["n"] for row in trace.rows(
        f"select case when {place} >= {BINS} then {BINS - 1} else {place} end as place, count(*) as n "
        f"from {source} group by 1")}
    total = sum(counted.values())
    found.table(spec, ({"low": i / BINS, "high": (i + 1) / BINS, of: counted.get(i, 0),
                        "share": ratio(counted.get(i, 0), total)} for i in range(BINS)))


_WITH_R = "calls with a session id, reported cached tokens and a context above 0"

METRIC = Metric(
    name="reuse",
    question="How much context is found in the prefix cache?",
    population="calls with a session id that report cached tokens",
    source="paper 2.3, 3.5",
    needs=("sessioned", "cached"),
    numbers=(
        Number("reuse.aggregate", "share", "R: sum of cached tokens / sum of context tokens (Eq. 2)"),
        Number("reuse.carry_tax", "ratio", "1 / (1 - R): context tokens processed per token computed"),
        Number("reuse.calls_ge_95", "share", "calls with at least 95 % of their context cached", _WITH_R),
        Number("reuse.calls_lt_20", "share", "calls with less than 20 % of their context cached", _WITH_R),
        Number("reuse.calls_20_80", "share", "calls with 20 % to below 80 % of their context cached", _WITH_R),
        Number("reuse.sessions_ge_80", "share", "sessions whose own aggregate reuse is at least 80 %",
               "sessions with reported cached tokens and a context above 0"),
        Number("reuse.sessions_20_80", "share", "sessions whose own aggregate reuse is 20 % to below 80 %",
               "sessions with reported cached tokens and a context above 0"),
    ),
    tables=(BY_CALL, BY_SESSION),
    compute=compute,
)
