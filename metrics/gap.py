"""How long a session's KV idles between calls (paper 4.3, Fig. 8)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from metrics.core.bins import upper_edge
from metrics.core.metric import Column, Findings, Metric, Number, TableSpec, ratio
from metrics.core.quantile import Quantiles, quantiles
from metrics.core.trace import Trace

CDF = TableSpec("gap_cdf", "one bin of gaps of one kind", (
    Column("kind", pa.string(), "all; inter = the later call opens a turn; intra = it does not; idle = after the "
           "engine's latest end"),
    Column("seconds", pa.float64(), "upper edge of the bin"),
    Column("gaps", pa.int64(), "gaps in the bin"),
    Column("cdf", pa.float64(), "share of the kind's gaps that are shorter than the upper edge"),
))

Row = dict[str, Any]

ALL, INTER, INTRA, UNCLASSIFIED = range(4)
_STEPS_A_DECADE = 18
_TURNS = """
    select count(*) as n, count(case when opens then 1 end) as inter,
           cast(sum(gap_us) as bigint) as time_us,
           cast(sum(case when opens then gap_us else 0 end) as bigint) as inter_us
    from steps where gap_us is not null and opens is not null"""


def compute(trace: Trace, found: Findings) -> None:
    at = quantiles(trace.engine, "steps", "gap_us", ("0.5", "0.99", "1"), everything=ALL,
                   group=f"case when opens then {INTER} when not opens then {INTRA} else {UNCLASSIFIED} end")
    if not at:
        found.missing("no session has two calls", *(number.key for number in METRIC.numbers))
        return
    for p, key in (("0.5", "p50"), ("0.99", "p99"), ("1", "max")):
        found.set(f"gap.{key}_s", at[ALL][p] / 1e6, at[ALL].total)
    binned = _binned(trace, "gap_us", "opens", "gap_us is not null")
    table = _cdf("all", binned)
    table += _turn_gaps(trace, found, at, binned)
    table += _idle_gaps(trace, found)
    found.table(CDF, table)


def _turn_gaps(trace: Trace, found: Findings, at: Mapping[int, Quantiles], binned: list[Row]) -> list[Row]:
    """Gaps within and between turns."""
    why = trace.lacks("turn")
    if why is not None:
        found.missing(why, "gap.inter_share", "gap.inter_idle_share", "gap.inter_p50_s", "gap.intra_p50_s")
        return []
    row = trace.row(_TURNS)
    why = "no gap is classified as within or between turns"
    found.set("gap.inter_share", ratio(row["inter"], row["n"]), row["n"], why=why)
    found.set("gap.inter_idle_share", ratio(row["inter_us"], row["time_us"]), row["n"],
              why="gaps of no length have no share of time" if row["n"] else why)
    for group, name in ((INTER, "inter"), (INTRA, "intra")):
        of = at.get(group)
        found.set(f"gap.{name}_p50_s", of["0.5"] / 1e6 if of else None, of.total if of else 0,
                  why=f"no {name}-turn gap")
    return (_cdf("inter", [row for row in binned if row["part"] is True])
            + _cdf("intra", [row for row in binned if row["part"] is False]))


def _idle_gaps(trace: Trace, found: Findings) -> list[Row]:
    """What no engine works in."""
    keys = ("gap.idle_p50_s", "gap.idle_p99_s", "gap.idle_max_s")
    at = trace.quantiles("steps", "idle_us", "0.5", "0.99", "1")
    if at is None:
        found.missing(trace.lacks("duration") or "no gap follows a call of known duration", *keys)
        return []
    for p, key in zip(("0.5", "0.99", "1"), keys, strict=True):
        found.set(key, at[p] / 1e6, at.total)
    return _cdf("idle", _binned(trace, "idle_us", "true", "idle_us is not null"))


def _binned(trace: Trace, value: str, part: str, condition: str) -> list[Row]:
    """Gaps by decimal bin and part, in order of the bins."""
    edge = upper_edge(trace.engine.dialect, "value", _STEPS_A_DECADE)
    return trace.rows(f"select {edge} as edge, part, count(*) as gaps from (select {value} as value, {part} as part "
                      f"from steps where {condition}) as v group by 1, 2 order by 1, 2")


def _cdf(kind: str, rows: list[Row]) -> list[Row]:
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
