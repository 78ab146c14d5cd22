"""How agentic the trace is: calls that no user asked for (paper 2.2, 2.4, Table 2)."""

from __future__ import annotations

from metrics.core.metric import Findings, Metric, Number, ratio
from metrics.core.trace import Trace

_COUNTS = """
    select count(opens) as classified, count(case when opens then 1 end) as turns,
           count(*) - count(opens) as unclassified,
           count(distinct case when opens is not null then session end) as sessions
    from steps"""


def compute(trace: Trace, found: Findings) -> None:
    row = trace.row(_COUNTS)
    classified, turns = row["classified"], row["turns"]
    found.set("turns.per_session", ratio(turns, row["sessions"]), row["sessions"])
    found.set("turns.calls_per_turn", ratio(classified, turns), classified, why="no call opens a user turn")
    found.set("turns.internal_share", ratio(classified - turns, classified), classified)
    found.set("turns.unclassified", row["unclassified"], trace.profile.sessioned)


METRIC = Metric(
    name="turns",
    question="How many calls does one user request set off?",
    population="calls with a session id that are classified as opening a turn or not",
    source="paper 2.2, 2.4, Table 2",
    needs=("sessioned", "turn"),
    numbers=(
        Number("turns.per_session", "turns", "user turns / sessions with a classified call"),
        Number("turns.calls_per_turn", "calls", "classified calls / user turns"),
        Number("turns.internal_share", "share", "classified calls that open no turn / classified calls"),
        Number("turns.unclassified", "calls", "calls with neither a user_initiated flag nor a turn id",
               population="calls with a session id"),
    ),
    compute=compute,
)
