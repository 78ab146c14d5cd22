"""How much of the token volume is context rather than output (paper 3.3, Eq. 3)."""

from __future__ import annotations

from metrics.core.metric import Findings, Metric, Number, ratio
from metrics.core.trace import Trace

_SUMS = """
    select cast(sum(output) as bigint) as n, cast(sum(x_with_output) as bigint) as context,
           cast(sum(o) as bigint) as output
    from loads"""


def compute(trace: Trace, found: Findings) -> None:
    row = trace.row(_SUMS)
    found.set("context.share", ratio(row["context"], row["context"] + row["output"]), row["n"],
              why="all calls are empty")
    found.set("context.to_output", ratio(row["context"], row["output"]), row["n"], why="no call has output")


METRIC = Metric(
    name="volume",
    question="Does context or output dominate the token volume?",
    population="all calls that report output tokens",
    source="paper 3.3, Eq. 3",
    needs=("output",),
    numbers=(
        Number("context.share", "share", "sum of context tokens / sum of context and output tokens"),
        Number("context.to_output", "ratio", "sum of context tokens / sum of output tokens"),
    ),
    compute=compute,
)
