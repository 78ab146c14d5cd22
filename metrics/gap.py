"""How long a session's KV idles between calls (paper 4.3, Fig. 8)."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pyarrow as pa

from metrics.core.bins import upper_edge
from metrics.core.metric import Column, Findings, Metric, Number, TableSpec, ratio
from metrics.core.quantile import quantiles
from metrics.core.trace import Trace

CDF = TableSpec("gap_cdf", "one bin of gaps of one kind", (
    Column("kind", pa.string(), "all; inter = the later call opens a turn; intra = it does not; idle = after the "
           "engine's latest end"),
    Column("seconds", pa.float64(), "upper edge of the bin"),
    Column("gaps", pa.int64(), "gaps in the bin"),
    Column("cdf", pa.float64(), "share of the kind's gaps that are shorter than the upper edge"),
))

_STEPS_A_DECADE = 18
IDLE = "case when busy_us >= gap_us then 0 else gap_us - busy_us end"
_TURNS = """
    select count(*) as n, count(case when opens then 1 end) as inter,
           cast(sum(gap_us) as bigint) as time_us,
           cast(sum(case when opens then gap_us else 0 end) as bigint) as inter_us
    from steps where gap_us is not null and opens is not null"""


def compute(trace: Trace, found: Findings) -> None:
    none = "no session has two calls"
    at = trace.quantiles("steps", "gap_us", "0.5", "0.99", "1")
    if at is None:
        found.missing(none, *(number.key for number in METRIC.numbers))
        return
    for p, key in (("0.5", "p50"), ("0.99", "p99"), ("1", "max")):
        found.set(f"gap.{key}_s", at[p] / 1e6, at.total)
    binned = _binned(trace, "gap_us", "opens", "gap_us is not null")
    table = _cdf("all", binned)
    if _turn_gaps(trace, found):
        table += _cdf("inter", [row for row in binned if row["part"] is True])
        table += _cdf("intra", [row for row in binned if row["part"] is False])
    if _idle_gaps(trace, found):
        table += _cdf("idle", _binned(trace, IDLE, "true", "busy_us is not null"))
    found.table(CDF, table)


def _turn_gaps(trace: Trace, found: Findings) -> bool:
    """Gaps within and between turns; false when the trace marks none."""
    why = trace.lacks("turn")
    if why is not None:
        found.missing(why, "gap.inter_share", "gap.inter_idle_share", "gap.inter_p50_s", "gap.intra_p50_s")
        return False
    row = trace.row(_TURNS)
    why = "no gap is classified as within or between turns"
    found.set("gap.inter_share", ratio(row["inter"], row["n"]), row["n"], why=why)
    found.set("gap.inter_idle_share", ratio(row["inter_us"], row["time_us"]), row["n"], why=why)
    medians = quantiles(trace.engine, "(select gap_us, opens from steps where opens is not null)", "gap_us", ("0.5",),
                        group="case when opens then 1 else 0 end")
    for group, name in ((1, "inter"), (0, "intra")):
        at = medians.get(group)
        found.set(f"gap.{name}_p50_s", at["0.5"] / 1e6 if at else None, at.total if at else 0,
                  why=f"no {name}-turn gap")
    return True


def _idle_gaps(trace: Trace, found: Findings) -> bool:
    """Gaps in which no engine works; false when no duration is known."""
    keys = ("gap.idle_p50_s", "gap.idle_p99_s", "gap.idle_max_s")
    at = trace.quantiles("(select gap_us, busy_us from steps where busy_us is not null)", IDLE, "0.5", "0.99", "1")
    if at is None:
        found.missing(trace.lacks("duration") or "no gap follows a call of known duration", *keys)
        return False
    for p, key in zip(("0.5", "0.99", "1"), keys, strict=True):
        found.set(key, at[p] / 1e6, at.total)
    return True


def _binned(trace: Trace, value: str, part: str, condition: str) -> list[dict[str, Any]]:
    """Gaps by decimal bin and part, in order of the bins."""
    edge = upper_edge(trace.engine.dialect, "value", _STEPS_A_DECADE)
    return trace.rows(f"select {edge} as edge, part, count(*) as gaps from (select {value} as value, {part} as part "
                      f"from steps where {condition}) as v group by 1, 2 order by 1, 2")


def _cdf(kind: str, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    edges: Counter[int] = Counter()
    for row in rows:
        edges[row["edge"]] += row["gaps"]
    total, below, table = edges.total(), 0, []
    for edge, gaps in edges.items():
        below += gaps
        table.append({"kind": kind, "seconds": edge / 1e6, "gaps": gaps, "cdf": ratio(below, total)})
    return table


_CLASSIFIED = "gaps whose later call is classified as opening a turn or not"
_IDLE_GAPS = "gaps after a call of known duration"
_IDLE_OF = "of max(0, start - latest end of the session's earlier calls)"

METRIC = Metric(
    name="gap",
    question="How long does a session idle between calls?",
    population="gaps between consecutive calls of a session, start to start",
    source="paper 4.3",
    needs=("sessioned",),
    numbers=(
        Number("gap.p50_s", "s", "median of start - predecessor's start, nearest rank"),
        Number("gap.p99_s", "s", "99th percentile of it, nearest rank"),
        Number("gap.max_s", "s", "the longest"),
        Number("gap.inter_share", "share", "gaps whose later call opens a turn / classified gaps", _CLASSIFIED),
        Number("gap.inter_idle_share", "share", "their summed time / summed time of classified gaps", _CLASSIFIED),
        Number("gap.inter_p50_s", "s", "median gap before a call that opens a turn", _CLASSIFIED),
        Number("gap.intra_p50_s", "s", "median gap before a call that opens none", _CLASSIFIED),
        Number("gap.idle_p50_s", "s", f"median {_IDLE_OF}", _IDLE_GAPS),
        Number("gap.idle_p99_s", "s", f"99th percentile {_IDLE_OF}", _IDLE_GAPS),
        Number("gap.idle_max_s", "s", f"largest {_IDLE_OF}", _IDLE_GAPS),
    ),
    tables=(CDF,),
    compute=compute,
)
