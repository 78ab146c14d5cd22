"""Which class of models holds the context, and which has to compute it (paper 3.4.1, 3.4.2, Fig. 4)."""

from __future__ import annotations

import pyarrow as pa

from metrics.core.classes import CLASSES, MAPPINGS
from metrics.core.metric import Column, Findings, Metric, Number, TableSpec, ratio
from metrics.core.trace import Trace

SHARE = TableSpec("class_share", "one class under one mapping", (
    Column("mapping", pa.string(), "conservative (reasoning models are mid) or broad (they are spine)"),
    Column("class", pa.string(), "model class; unknown = calls without a model name"),
    Column("context_tokens", pa.int64(), "sum of context tokens over all calls of the class"),
    Column("context_share", pa.float64(), "its share of the sum over all calls"),
    Column("uncached_tokens", pa.int64(), "sum of context - cached tokens over sessioned calls that report them"),
    Column("uncached_share", pa.float64(), "its share of the sum over these calls"),
))

_BY_MODEL = """
    select models.conservative as conservative, models.broad as broad,
           cast(sum(x) as bigint) as context,
           cast(sum(case when sessioned then uncached end) as bigint) as uncached
    from loads join models on loads.model_no = models.model_no
    group by models.conservative, models.broad"""


def compute(trace: Trace, found: Findings) -> None:
    by_model = trace.rows(_BY_MODEL)
    no_cache = trace.lacks("cached")
    total = sum(row["context"] for row in by_model)
    uncached_total = sum(row["uncached"] or 0 for row in by_model)
    table = []
    for mapping in MAPPINGS:
        for name in CLASSES:
            rows = [row for row in by_model if row[mapping] == name]
            context = sum(row["context"] for row in rows)
            uncached = None if no_cache else sum(row["uncached"] or 0 for row in rows)
            entry = {"mapping": mapping, "class": name, "context_tokens": context,
                     "context_share": ratio(context, total), "uncached_tokens": uncached,
                     "uncached_share": ratio(uncached, uncached_total)}
            table.append(entry)
            found.set(f"class_share.{mapping}.{name}", entry["context_share"], trace.profile.calls,
                      why="no call has context")
            found.set(f"class_share.uncached.{mapping}.{name}", entry["uncached_share"], trace.profile.cached,
                      why=no_cache or "no context had to be computed")
    found.table(SHARE, table)


METRIC = Metric(
    name="class_share",
    question="Which class of models holds the context?",
    population="all calls",
    source="paper 3.4.1, 3.4.2",
    needs=("model",),
    numbers=tuple(
        number for mapping in MAPPINGS for name in CLASSES for number in (
            Number(f"class_share.{mapping}.{name}", "share",
                   f"context tokens of {name} calls / context tokens of all calls, {mapping} mapping"),
            Number(f"class_share.uncached.{mapping}.{name}", "share",
                   f"context - cached tokens of {name} calls / those of all classes, {mapping} mapping",
                   population="calls with a session id that report cached tokens"),
        )),
    tables=(SHARE,),
    compute=compute,
)
