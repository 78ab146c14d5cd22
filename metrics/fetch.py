"""In how many gaps there was time to fetch the session's KV before its next call? (paper 5.7)

What is fetched is the whole context of the preceding call, as fp16, one way. A copy of x tokens over a link of w bytes
a second takes beta * x / w seconds; it fits iff that is no longer than the gap. All in whole microseconds, exact:
it fits iff gap_us >= ceil(x * beta * 10^6 / w). Contexts are below 2^33, beta is at most 10^9 and w is whole megabytes
a second, so that x times the reduced factor stays below 2^63.
"""

from __future__ import annotations

from math import gcd
from typing import Any

import pyarrow as pa

from metrics.core.engine import Dialect
from metrics.core.metric import Column, Findings, Metric, Number, TableSpec, ratio
from metrics.core.trace import Trace

Row = dict[str, Any]

_SECOND_US = 1_000_000
_GIGABYTE = 10**9
#: Bandwidths in GB/s (a choice): where the paper's break-even begins; a network of 40 Gb/s; what copies reach over
#: PCIe 4.0 x16 and 5.0 x16; NVLink of an H100, one way.
LINKS = (1, 5, 25, 50, 450)
#: Kind of a gap in the table -> its column in `steps` and the word in keys.
_KINDS = {"all": ("gap_us", "gap"), "idle": ("idle_us", "idle")}

TABLE = TableSpec("fetch", "one bandwidth and kind of gap", (
    Column("kind", pa.string(), "all: from start to start; idle: after the engine's latest end, where it is known"),
    Column("bandwidth_bytes_per_s", pa.int64(), "of the link, one way, for one session at a time"),
    Column("gaps", pa.int64(), "gaps of the kind"),
    Column("fitting", pa.int64(), "those in which the KV of the preceding call can be fetched"),
    Column("fitting_share", pa.float64(), "fitting / gaps"),
    Column("tokens", pa.int64(), "contexts of the preceding calls"),
    Column("fitting_tokens", pa.int64(), "of those that fit"),
    Column("break_even_tokens_per_s", pa.float64(), "bandwidth / KV bytes of a token: prefill that is slower than "
           "that is slower than the fetch, whatever the gap"),
))


def compute(trace: Trace, found: Findings) -> None:
    row = trace.row(_query(trace.engine.dialect, trace.settings.beta))
    table = []
    for gigabytes in LINKS:
        for kind, (_, word) in _KINDS.items():
            key, gaps, fitting = f"fetch.{gigabytes}gb.{word}_share", row[f"{kind}_n"], row[f"{kind}_{gigabytes}_n"]
            found.set(key, ratio(fitting, gaps), gaps, why=_why(trace, row, kind))
            if gaps:
                table.append(_line(kind, gigabytes, row, trace.settings.beta))
    if table:
        found.table(TABLE, table)


def _why(trace: Trace, row: Row, kind: str) -> str:
    if not row["all_n"]:
        return "no session has two calls"
    return trace.lacks("duration") or "no gap follows a call of known duration" if kind == "idle" else ""


def _line(kind: str, gigabytes: int, row: Row, beta: int) -> Row:
    gaps, fitting = row[f"{kind}_n"], row[f"{kind}_{gigabytes}_n"]
    return {"kind": kind, "bandwidth_bytes_per_s": gigabytes * _GIGABYTE, "gaps": gaps, "fitting": fitting,
            "fitting_share": ratio(fitting, gaps), "tokens": row[f"{kind}_x"],
            "fitting_tokens": row[f"{kind}_{gigabytes}_x"],
            "break_even_tokens_per_s": ratio(gigabytes * _GIGABYTE, beta)}


def _query(dialect: Dialect, beta: int) -> str:
    """One look at every gap: how many there are, and how many fit each link."""
    parts = [part for kind, (column, _) in _KINDS.items()
             for part in (f"count({column}) as {kind}_n", _sum(f"{column} is not null", f"{kind}_x"))]
    for gigabytes in LINKS:
        for kind, (column, _) in _KINDS.items():
            fits = f"{column} >= {_needed(dialect, beta, gigabytes * _GIGABYTE)}"
            parts += [f"count(case when {fits} then 1 end) as {kind}_{gigabytes}_n",
                      _sum(fits, f"{kind}_{gigabytes}_x")]
    return f"select {', '.join(parts)} from steps where gap_us is not null"


def _sum(condition: str, name: str) -> str:
    return f"cast(coalesce(sum(case when {condition} then previous_x end), 0) as bigint) as {name}"


def _needed(dialect: Dialect, beta: int, bandwidth: int) -> str:
    """SQL for the microseconds that a fetch takes, rounded up."""
    common = gcd(beta * _SECOND_US, bandwidth)
    factor, divisor = beta * _SECOND_US // common, bandwidth // common
    return dialect.div(f"(cast(previous_x as bigint) * {factor} + {divisor - 1})", divisor)


_KNOWN = "gaps after a call of known duration"

METRIC = Metric(
    name="fetch",
    question="In how many gaps was there time to fetch the session's KV?",
    population="gaps between consecutive calls of a session, start to start",
    source="paper 5.7",
    needs=("sessioned",),
    kind="estimated",
    numbers=tuple(
        Number(f"fetch.{gigabytes}gb.{word}_share", "share", f"gaps in which {gigabytes} GB/s fetch the KV of the "
               f"preceding call's whole context, one way{of}", population)
        for gigabytes in LINKS
        for word, of, population in (("gap", "", None), ("idle", ", after the engine's latest end", _KNOWN))
    ),
    tables=(TABLE,),
    compute=compute,
)
