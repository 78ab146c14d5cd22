"""What happens to reuse when the next call goes elsewhere (paper 4.4.2, Fig. 9)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import pyarrow as pa

from metrics.core.clock import MINUTE_US
from metrics.core.metric import Column, Findings, Metric, Number, TableSpec, ratio
from metrics.core.steps import SAME_DEPLOYMENT, TRANSITIONS
from metrics.core.trace import Trace

REUSE = TableSpec("transition_reuse", "one kind of transition, over the window or on one day", (
    Column("transition", pa.string(), "what changed since the session's preceding call"),
    Column("day", pa.string(), "calendar day in the report's zone; null = the whole window"),
    Column("calls", pa.int64(), "calls with a session id"),
    Column("share", pa.float64(), "their share of the calls with a session id, of the window or of the day"),
    Column("mean_reuse", pa.float64(), "mean of cached / context tokens over those that report them"),
))

Row = dict[str, Any]

MAX_DAYS = 100
QUARTER_US = 15 * MINUTE_US  # days begin at a quarter of an hour in every zone
_BY_QUARTER = """
    select {quarter} as quarter, transition, count(*) as calls, count(r_ppb) as reported,
           cast(sum(r_ppb) as bigint) as reuse
    from steps group by 1, 2"""


def compute(trace: Trace, found: Findings) -> None:
    profile, clock = trace.profile, trace.settings.clock
    offset = clock.shift_us(profile.first_us)
    groups = trace.rows(_BY_QUARTER.format(quarter=trace.engine.dialect.div(f"t_us + {offset}", QUARTER_US)))
    no_cache, no_place = trace.lacks("cached"), trace.lacks("deployment")
    table: list[Row] = []
    whole = _sums(groups)
    for code, name in TRANSITIONS.items():
        calls, reported, reuse = (whole[code, what] for what in ("calls", "reported", "reuse"))
        share, mean = ratio(calls, profile.sessioned), ratio(reuse, reported * 10**9)
        table.append({"transition": name, "day": None, "calls": calls, "share": share, "mean_reuse": mean})
        why = trace.lacks("region") if name == "cross_region" else no_place if "deployment" in name else None
        if why is not None and not calls:
            found.missing(why, f"transition.{name}.share", f"transition.{name}.reuse")
            continue
        found.set(f"transition.{name}.share", share, profile.sessioned)
        found.set(f"transition.{name}.reuse", mean, reported,
                  why=no_cache or ("no such transition" if not calls else "no such call reports cached tokens"))
    found.table(REUSE, [row for row in table if row["calls"]] + _days(trace, groups, offset))


def _sums(rows: Iterable[Row]) -> Counter[tuple[int, str]]:
    """(transition, what) -> sum."""
    sums: Counter[tuple[int, str]] = Counter()
    for row in rows:
        for what in ("calls", "reported", "reuse"):
            sums[row["transition"], what] += row[what] or 0
    return sums


def _days(trace: Trace, groups: list[Row], offset: int) -> list[Row]:
    """The same by day for calls that stay; at most `MAX_DAYS` days, the first."""
    edges = trace.settings.clock.day_edges(trace.profile.first_us, trace.profile.last_us)[:MAX_DAYS]
    table: list[Row] = []
    for day, start, end in edges:
        inside = [row for row in groups if start <= row["quarter"] * QUARTER_US - offset < end]
        total = sum(row["calls"] for row in inside)
        sums = _sums(inside)
        calls, reported, reuse = (sums[SAME_DEPLOYMENT, what] for what in ("calls", "reported", "reuse"))
        if calls:
            table.append({"transition": "same_deployment", "day": day, "calls": calls, "share": ratio(calls, total),
                          "mean_reuse": ratio(reuse, reported * 10**9)})
    return table


_MEANING = {
    "first_call": "first calls of a session",
    "unknown_model": "calls where their own or the preceding call's model is unknown",
    "model_switch": "calls to another model than the preceding call",
    "same_deployment": "calls to the same model on the same deployment",
    "cross_deployment": "calls to the same model in the same region on another deployment",
    "cross_region": "calls to the same model in another region",
    "unknown": "calls to the same model where a placement is unknown",
}

METRIC = Metric(
    name="transition_reuse",
    question="What happens to reuse when the next call goes elsewhere?",
    population="calls with a session id",
    source="paper 4.4.2",
    needs=("sessioned",),
    numbers=tuple(
        number for name in TRANSITIONS.values() for number in (
            Number(f"transition.{name}.share", "share", f"{_MEANING[name]} / calls with a session id"),
            Number(f"transition.{name}.reuse", "share", f"mean of cached / context tokens over {_MEANING[name]}, "
                   "to 10^-9", "those of them that report cached tokens and have a context above 0"),
        )),
    tables=(REUSE,),
    compute=compute,
)
