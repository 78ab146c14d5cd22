"""How large the KV state of one session gets (paper 4.1, Eq. 5, Fig. 7)."""

from __future__ import annotations

import pyarrow as pa

from metrics.core.bins import upper_edge
from metrics.core.metric import Column, Findings, Metric, Number, TableSpec, ratio
from metrics.core.trace import Trace

GIB = 2**30
HBM_BYTES = 80 * 10**9

CDF = TableSpec("working_set_cdf", "one bin of working sets", (
    Column("gib", pa.float64(), "a working set w in GiB: the largest of its bin of tokens"),
    Column("sessions", pa.int64(), "sessions whose working set lies in the bin that ends with w"),
    Column("cdf", pa.float64(), "share of sessions whose working set is at most w"),
))


def compute(trace: Trace, found: Findings) -> None:
    beta = trace.settings.beta
    at = trace.quantiles("sessions", "peak_x", "0.5", "0.9", "0.99")
    assert at is not None, "a sessioned trace has sessions"
    for p, key in (("0.5", "p50"), ("0.9", "p90"), ("0.99", "p99")):
        found.set(f"working_set.{key}_gib", at[p] * beta / GIB, at.total)
    over = trace.row(f"select count(*) as n from sessions where peak_x > {HBM_BYTES // beta}")["n"]
    found.set("working_set.over_80gb_share", ratio(over, at.total), at.total)
    edge = upper_edge(trace.engine.dialect, "peak_x", 90)
    rows = trace.rows(f"select {edge} - 1 as tokens, count(*) as sessions from sessions group by 1 order by 1")
    below = 0
    for row in rows:
        below += row["sessions"]
        row["gib"], row["cdf"] = row["tokens"] * beta / GIB, ratio(below, at.total)
    found.table(CDF, rows)


METRIC = Metric(
    name="working_set",
    question="How much KV does one session hold at its peak?",
    population="sessions: calls with a session id",
    source="paper 4.1, Eq. 5",
    kind="estimated",
    needs=("sessioned",),
    numbers=(
        *(Number(f"working_set.p{p}_gib", "GiB", f"{p}th percentile over sessions of beta * largest context, "
                 "nearest rank") for p in (50, 90, 99)),
        Number("working_set.over_80gb_share", "share", "sessions whose working set exceeds 80 * 10^9 bytes"),
    ),
    tables=(CDF,),
    compute=compute,
)
