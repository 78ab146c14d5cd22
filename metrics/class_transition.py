"""How predictable the next model class is (paper 3.4.3, Fig. 4c)."""

from __future__ import annotations

from collections import Counter

import pyarrow as pa

from metrics.core.classes import CLASSES, MAPPINGS
from metrics.core.metric import Column, Findings, Metric, Number, TableSpec, ratio
from metrics.core.trace import Trace

NAMED = tuple(name for name in CLASSES if name != "unknown")

TRANSITION = TableSpec("class_transition", "one pair of classes under one mapping", (
    Column("mapping", pa.string(), "conservative or broad"),
    Column("from_class", pa.string(), "class of a call"),
    Column("to_class", pa.string(), "class of the next call of its session"),
    Column("transitions", pa.int64(), "consecutive pairs of calls"),
    Column("probability", pa.float64(), "P(to_class | from_class); null where from_class has no successor"),
))

_PAIRS = """
    select a.conservative as from_conservative, a.broad as from_broad,
           b.conservative as to_conservative, b.broad as to_broad, cast(sum(n) as bigint) as n
    from (select previous_model_no, model_no, count(*) as n from steps
          where previous_model_no > 0 and model_no > 0 group by previous_model_no, model_no) as pairs
    join models as a on pairs.previous_model_no = a.model_no
    join models as b on pairs.model_no = b.model_no
    group by a.conservative, a.broad, b.conservative, b.broad"""


def compute(trace: Trace, found: Findings) -> None:
    pairs = trace.rows(_PAIRS)
    table = []
    for mapping in MAPPINGS:
        counts: Counter[tuple[str, str]] = Counter()
        for row in pairs:
            counts[row[f"from_{mapping}"], row[f"to_{mapping}"]] += row["n"]
        leaving = {name: sum(counts[name, other] for other in NAMED) for name in NAMED}
        table += [{"mapping": mapping, "from_class": a, "to_class": b, "transitions": counts[a, b],
                   "probability": ratio(counts[a, b], leaving[a])} for a in NAMED for b in NAMED]
        if mapping == "conservative":
            _numbers(found, counts, leaving)
    found.table(TRANSITION, table)


def _numbers(found: Findings, counts: Counter[tuple[str, str]], leaving: dict[str, int]) -> None:
    total = sum(leaving.values())
    guessed = sum(max(counts[name, other] for other in NAMED) for name in NAMED)
    found.set("class.transitions", total, total)
    found.set("class.next_accuracy", ratio(guessed, total), total, why="no two consecutive calls name their model")
    found.set("class.spine_self", ratio(counts["spine", "spine"], leaving["spine"]), leaving["spine"],
              why="no Spine call has a successor")


METRIC = Metric(
    name="class_transition",
    question="Does a call's class tell the class of the next?",
    population="consecutive calls of a session, both with a model name",
    source="paper 3.4.3",
    needs=("sessioned", "model"),
    numbers=(
        Number("class.transitions", "transitions", "consecutive pairs of calls with model names"),
        Number("class.next_accuracy", "share", "sum over classes of the most frequent successor's count / all "
               "transitions, conservative mapping"),
        Number("class.spine_self", "share", "P(spine | spine), conservative mapping"),
    ),
    tables=(TRANSITION,),
    compute=compute,
)
