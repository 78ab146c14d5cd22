"""What reclaiming KV after an idle cap saves, and what it costs (paper 5.1, Fig. 10)."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from metrics.core.clock import DAY_US, HOUR_US, MINUTE_US
from metrics.core.engine import inline, scratch
from metrics.core.metric import Column, Findings, Metric, Number, TableSpec, ratio
from metrics.core.sweep import peaks
from metrics.core.trace import Trace

TABLE = TableSpec("idle_cap", "one idle cap", (
    Column("theta", pa.string(), "the cap; inf = never reclaimed"),
    Column("theta_s", pa.float64(), "the cap in seconds; null = infinite"),
    Column("ceiling_bytes", pa.int64(), "most bytes held at once; the last run of a session ends with its last call"),
    Column("trailing_ceiling_bytes", pa.int64(), "the same when it ends one cap after it; null where infinite"),
    Column("runs", pa.int64(), "runs of calls without a gap above the cap"),
    Column("reconstruction", pa.float64(), "runs / calls: share of calls that find no KV"),
    Column("added_points", pa.float64(), "reconstruction minus that of the infinite cap, in percentage points"),
    Column("added_intra_points", pa.float64(), "of it, at gaps within a turn"),
    Column("added_inter_points", pa.float64(), "of it, at gaps between turns"),
    Column("inter_share_of_reclaimed", pa.float64(), "gaps between turns / classified gaps above the cap"),
    Column("duty_cycle", pa.float64(), "engine time / resident time, over sessions whose durations are all known"),
))

_LONG_GAPS = """
    select t_us, t_us - gap_us as previous_us, gap_us, opens, peak_x, durations_missing, gap_us - idle_us as busy_us
    from steps join sessions on steps.session = sessions.session
    where gap_us > {shortest}"""
# A session arrives with its first call (part 0) and departs with its last or a cap after it: a part for each
# way. A long gap ends one run, a cap after its last call, and starts the next: a part for each cap.
_MOVES = """
    select 0 as part, first_us as t_us, peak_x as up, 0 as down, 1 as came, 0 as went from sessions
    union all
    select part, last_us + trailing_us as t_us, 0 as up, peak_x as down, 0 as came, 1 as went
    from sessions cross join endings
    union all
    select part, t_us, peak_x as up, 0 as down, 1 as came, 0 as went from long_gaps join breaks on gap_us > theta_us
    union all
    select part, previous_us + theta_us as t_us, 0 as up, peak_x as down, 0 as came, 1 as went
    from long_gaps join breaks on gap_us > theta_us"""
# What each cap reclaims, all in one look at the long gaps.
_RECLAIMED = {
    "gaps": "count(case when gap_us > {theta} then 1 end)",
    "inter": "count(case when gap_us > {theta} and opens then 1 end)",
    "intra": "count(case when gap_us > {theta} and not opens then 1 end)",
    "resident_us": """cast(coalesce(sum(
        case when gap_us > {theta} and durations_missing = 0 then gap_us - {theta} end), 0) as bigint)""",
    "busy_us": """cast(coalesce(sum(
        case when busy_us > {theta} and durations_missing = 0 then busy_us - {theta} end), 0) as bigint)""",
}
_TOTALS = """
    select count(*) as sessions, cast(sum(calls) as bigint) as calls,
           cast(sum(case when durations_missing = 0 then last_us - first_us end) as bigint) as resident_us,
           cast(sum(case when durations_missing = 0 then busy_us end) as bigint) as busy_us
    from sessions"""


#: The caps in microseconds; None never reclaims.
CAPS: dict[str, int | None] = {
    "1m": MINUTE_US, "5m": 5 * MINUTE_US, "15m": 15 * MINUTE_US, "1h": HOUR_US, "6h": 6 * HOUR_US,
    "1d": DAY_US, "inf": None,
}


def compute(trace: Trace, found: Findings) -> None:
    shortest = min(theta for theta in CAPS.values() if theta is not None)
    totals = trace.row(_TOTALS)
    table = []
    with scratch(trace.engine, "long_gaps", _LONG_GAPS.format(shortest=shortest)):
        ceilings = _ceilings(trace)
        reclaimed = _reclaimed(trace)
    for name, theta in CAPS.items():
        row = {"theta": name, **_row(trace, theta, totals, reclaimed[name]), "ceiling_bytes": ceilings[name, False],
               "trailing_ceiling_bytes": None if theta is None else ceilings[name, True]}
        table.append(row)
        found.set(f"idle_cap.{name}.reconstruction", row["reconstruction"], totals["calls"])
        found.set(f"idle_cap.{name}.ceiling_bytes", row["ceiling_bytes"], totals["sessions"])
        found.set(f"idle_cap.{name}.reduction", ratio(ceilings["inf", False], row["ceiling_bytes"]),
                  totals["sessions"], why="every context is empty")
    found.table(TABLE, table)


def _ceilings(trace: Trace) -> dict[tuple[str, bool], int]:
    """Peaks in bytes by cap, when sessions end with their last call, and when they end a cap after it."""
    finite = {name: theta for name, theta in CAPS.items() if theta is not None}
    trailing = {"inf": 1, **{name: part for part, name in enumerate(finite, start=2)}}
    broken = {name: part for part, name in enumerate(finite, start=len(CAPS) + 1)}
    sets = {("inf", False): [0, 1]}
    for name in finite:
        sets[name, False] = [0, 1, broken[name]]
        sets[name, True] = [0, trailing[name], broken[name]]
    with (inline(trace.engine, "endings", part=trailing.values(), trailing_us=[0, *finite.values()]),
          inline(trace.engine, "breaks", part=broken.values(), theta_us=finite.values())):
        found = peaks(trace.engine, _MOVES, list(sets.values()), trace.profile.first_us,
                      trace.profile.last_us + max(finite.values()))
    return {which: peak.tokens * trace.settings.beta for which, peak in zip(sets, found, strict=True)}


def _reclaimed(trace: Trace) -> dict[str, dict[str, int]]:
    """What each cap takes from the resident time: cap -> gaps, by kind, and microseconds."""
    columns = [f"{sql.format(theta=theta)} as {what}_{name}" for name, theta in CAPS.items() if theta is not None
               for what, sql in _RECLAIMED.items()]
    row = trace.row(f"select {', '.join(columns)} from long_gaps")
    return {name: {what: row.get(f"{what}_{name}", 0) for what in _RECLAIMED} for name in CAPS}


def _row(trace: Trace, theta: int | None, totals: dict[str, int], cut: dict[str, int]) -> dict[str, Any]:
    calls = totals["calls"]
    turns = trace.lacks("turn") is None
    runs = totals["sessions"] + cut["gaps"]
    return {
        "theta_s": None if theta is None else theta / 1e6,
        "runs": runs, "reconstruction": ratio(runs, calls), "added_points": ratio(100 * cut["gaps"], calls),
        "added_intra_points": ratio(100 * cut["intra"], calls) if turns else None,
        "added_inter_points": ratio(100 * cut["inter"], calls) if turns else None,
        "inter_share_of_reclaimed": ratio(cut["inter"], cut["inter"] + cut["intra"]) if turns else None,
        "duty_cycle": None if totals["resident_us"] is None or totals["busy_us"] is None else ratio(
            totals["busy_us"] - cut["busy_us"], totals["resident_us"] - cut["resident_us"]),
    }


_SESSIONS = "sessions: calls with a session id"


def _declared(name: str) -> tuple[Number, ...]:
    cap = "without an idle cap" if name == "inf" else f"with an idle cap of {name}"
    return (
        Number(f"idle_cap.{name}.reconstruction", "share", f"runs / calls {cap}: calls that find no KV"),
        Number(f"idle_cap.{name}.ceiling_bytes", "bytes", f"most bytes held at once {cap}, sessions at their working "
               "set, exact event sweep", _SESSIONS),
        Number(f"idle_cap.{name}.reduction", "ratio", f"hold-all-live ceiling / ceiling {cap}", _SESSIONS),
    )


METRIC = Metric(
    name="idle_cap",
    question="What does reclaiming idle KV save, and what does it cost?",
    population="calls with a session id",
    source="paper 5.1",
    kind="estimated",
    needs=("sessioned",),
    numbers=tuple(number for name in CAPS for number in _declared(name)),
    tables=(TABLE,),
    compute=compute,
)
