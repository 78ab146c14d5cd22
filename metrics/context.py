"""How context grows along a session, and how it shrinks (paper 3.2, Fig. 3c; 3.3, Eq. 3)."""

from __future__ import annotations

import pyarrow as pa

from metrics.core.metric import Column, Findings, Metric, Number, TableSpec, ratio
from metrics.core.quantile import quantiles
from metrics.core.trace import Trace

BY_INDEX = TableSpec("context_by_index", "one call index", (
    Column("call_index", pa.int64(), "position of the call in its session, from 1"),
    Column("q1", pa.int64(), "lower quartile of context tokens over sessions that reach the index"),
    Column("median", pa.int64(), "median of context tokens over these sessions"),
    Column("q3", pa.int64(), "upper quartile of context tokens over these sessions"),
    Column("sessions", pa.int64(), "sessions that reach the index"),
))

_MARKS = (1, 11, 30)
_REDUCED = """
    select count(case when calls > 1 then 1 end) as multi, count(case when reductions > 0 then 1 end) as reduced
    from sessions"""


def compute(trace: Trace, found: Findings) -> None:
    _by_index(trace, found)
    row = trace.row(_REDUCED)
    found.set("context.reduction_session_share", ratio(row["reduced"], row["multi"]), row["multi"],
              why="no session has two calls")
    remaining = trace.engine.dialect.div("x * 1000000000", "previous_x")
    at = trace.quantiles("(select x, previous_x from steps where x < previous_x)", remaining, "0.5")
    if at is None:
        found.missing("no call has less context than its predecessor", "context.reduction_remaining_p50")
    else:
        found.set("context.reduction_remaining_p50", at["0.5"] / 10**9, at.total)


def _by_index(trace: Trace, found: Findings) -> None:
    last = trace.settings.context_indexes
    by_index = quantiles(trace.engine, f"(select call_index, x from steps where call_index <= {last})", "x",
                         ("0.25", "0.5", "0.75"), group="call_index")
    found.table(BY_INDEX, ({
        "call_index": index, "q1": at["0.25"], "median": at["0.5"], "q3": at["0.75"], "sessions": at.total,
    } for index, at in sorted(by_index.items())))
    for mark in _MARKS:
        at = by_index.get(mark)
        found.set(f"context.index_{mark}_p50", at["0.5"] if at else None, at.total if at else 0,
                  why=f"no session reaches call {mark}" if mark <= last else f"only {last} call indexes were asked for")
    goal = by_index[max(by_index)]["0.5"]
    first = min(index for index, at in by_index.items() if 100 * at["0.5"] >= 95 * goal)
    found.set("context.saturation_index", first, by_index[1].total)


METRIC = Metric(
    name="context",
    question="How does a session's context grow?",
    population="sessions: calls with a session id",
    source="paper 3.2",
    needs=("sessioned",),
    numbers=(
        *(Number(f"context.index_{mark}_p50", "tokens", f"median context of the {mark}. call over sessions that "
                 "reach it, nearest rank") for mark in _MARKS),
        Number("context.saturation_index", "call", "first call index whose median context is at least 95 % of the "
               "median at the last index"),
        Number("context.reduction_session_share", "share", "multi-call sessions with a call that has less context "
               "than its predecessor / multi-call sessions", population="sessions with two calls or more"),
        Number("context.reduction_remaining_p50", "share", "median of context / predecessor's context over such "
               "calls, to 10^-9", population="calls with less context than their predecessor"),
    ),
    tables=(BY_INDEX,),
    compute=compute,
)
