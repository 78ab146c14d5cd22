"""What an endless cache would have found, beside what the log says was found: the ground truth inside a trace.

An endless cache holds the KV of every session for every model that it called. A call is *predicted* to hit iff its
session called the same model before, and can reuse as many leading tokens as both contexts have,
min(x, x of that earlier call). Beyond the paper.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import pyarrow as pa

from metrics.core.bands import GAP_NAMES, gap_band
from metrics.core.metric import Column, Findings, Metric, Number, TableSpec, ratio
from metrics.core.steps import TRANSITIONS
from metrics.core.trace import Trace

Row = dict[str, Any]

FIRST, UNKNOWN_MODEL, RETURN = 0, 1, 2
#: Codes as in `TRANSITIONS`, under the names that they have here.
KINDS = TRANSITIONS | {FIRST: "first_touch", RETURN: "model_return"}

TABLE = TableSpec("calibration", "one way in which a call follows the preceding one to its model, in one band", (
    Column("transition", pa.string(), "first_touch: the session's first call to the model; unknown_model: the own or "
           "the preceding call's model is unknown; model_return: calls to other models lie between; else placement "
           "beside the preceding call"),
    Column("gap", pa.string(), "time since the session's preceding call to the model; null: there is none, or it "
           "is not known"),
    Column("calls", pa.int64(), "calls that report cached tokens and have a context above 0"),
    Column("hits", pa.int64(), "those with cached tokens above 0"),
    Column("hit_rate", pa.float64(), "hits / calls"),
    Column("context_tokens", pa.int64(), "their context tokens"),
    Column("cached_tokens", pa.int64(), "their cached tokens"),
    Column("reusable_tokens", pa.int64(), "tokens that an endless cache would have found: min(context, the preceding "
           "context of the session and model); null, as what follows, where a model is unknown"),
    Column("lost_tokens", pa.int64(), "reusable tokens beyond the cached ones: what the fleet computed again"),
    Column("unexplained_tokens", pa.int64(), "cached tokens beyond the reusable ones: found in another session's KV"),
))

_SAME = "select transition as kind, gap_us, x, c, previous_x as held from steps where transition > 2"
_FIRST = """
    select case when model_no = 0 then 1 else 0 end as kind, gap_us, x, c, previous_x as held
    from steps where transition = 0"""
_UNKNOWN = """
    select 1 as kind, cast(null as bigint) as gap_us, x, c, cast(null as bigint) as held
    from steps where transition = 1"""
# A session's runs of one model: where a run begins it enters the model, where the next begins it has left it. Of one
# model these alternate, so that what precedes an entry is the end of the preceding run. Only borders need ordering.
_RETURNS = """
    select case when left_us is null then 0 else 2 end as kind, t_us - left_us as gap_us, x, c, held
    from (
        select switches, t_us, x, c, lag(t_us) over w as left_us, lag(x) over w as held
        from (
            select session, model_no, 2 * call_index as place, transition = 2 as switches, t_us, x, c
            from steps where transition in (1, 2) and model_no <> 0
            union all
            select session, previous_model_no as model_no, 2 * call_index - 1 as place, false as switches,
                   t_us - gap_us as t_us, previous_x as x, cast(null as bigint) as c
            from steps where transition in (1, 2) and previous_model_no <> 0
        ) as borders
        window w as (partition by session, model_no order by place)
    ) as entries where switches"""
_GROUPED = """
    select kind, case when gap_us is not null then {band} end as band, count(*) as calls,
           count(case when c > 0 then 1 end) as hits, cast(sum(x) as bigint) as context_tokens,
           cast(sum(c) as bigint) as cached_tokens, cast(sum(reusable) as bigint) as reusable_tokens,
           cast(sum(case when reusable > c then reusable - c else 0 end) as bigint) as lost_tokens,
           cast(sum(case when c > reusable then c - reusable else 0 end) as bigint) as unexplained_tokens
    from (
        select kind, gap_us, x, c, case when held is null then 0 when held < x then held else x end as reusable
        from ({part}) as calls_of_a_kind where c is not null and x > 0
    ) as predicted group by 1, 2"""
_LOGGED = ("calls", "hits", "context_tokens", "cached_tokens")
_SUMS = (*_LOGGED, "reusable_tokens", "lost_tokens", "unexplained_tokens")


def compute(trace: Trace, found: Findings) -> None:
    groups = [row for part in (_SAME, _FIRST, _UNKNOWN, _RETURNS)
              for row in trace.rows(_GROUPED.format(band=gap_band("gap_us"), part=part))]
    known = [row for row in groups if row["kind"] != UNKNOWN_MODEL]
    every, predicted = _sum(known), _sum(row for row in known if row["kind"] != FIRST)
    first = _sum(row for row in known if row["kind"] == FIRST)
    n, why = every["calls"], "no call with a known model reports cached tokens and has a context above 0"
    found.set("calibration.predicted_share", ratio(predicted["calls"], n), n, why=why)
    found.set("calibration.hit_where_predicted", ratio(predicted["hits"], predicted["calls"]), predicted["calls"],
              why="no call is predicted to hit")
    found.set("calibration.hit_where_not_predicted", ratio(first["hits"], first["calls"]), first["calls"],
              why="every call is predicted to hit")
    found.set("calibration.agreement", ratio(predicted["hits"] + first["calls"] - first["hits"], n), n, why=why)
    found.set("calibration.reusable_share", ratio(every["reusable_tokens"], every["context_tokens"]), n, why=why)
    found.set("calibration.lost_token_share", ratio(every["lost_tokens"], every["reusable_tokens"]), n,
              why="an endless cache would have found nothing")
    found.set("calibration.unexplained_token_share", ratio(every["unexplained_tokens"], every["cached_tokens"]), n,
              why="nothing was found in the cache")
    found.table(TABLE, _table(groups))


def _sum(rows: Iterable[Row]) -> Counter[str]:
    sums: Counter[str] = Counter()
    for row in rows:
        sums.update({what: row[what] for what in _SUMS})
    return sums


def _table(groups: list[Row]) -> list[Row]:
    table = []
    for code, kind in KINDS.items():
        for place, band in [*enumerate(GAP_NAMES), (None, None)]:
            sums = _sum(row for row in groups if (row["kind"], row["band"]) == (code, place))
            if sums["calls"]:
                told = _SUMS if code != UNKNOWN_MODEL else _LOGGED
                table.append(dict.fromkeys(_SUMS) | {what: sums[what] for what in told} | {
                    "transition": kind, "gap": band, "hit_rate": ratio(sums["hits"], sums["calls"])})
    return table


_POPULATION = ("calls with a session id and a known model, not after a call of unknown model, that report cached "
               "tokens and have a context above 0")

METRIC = Metric(
    name="calibration",
    question="What would an endless cache have found that the fleet did not?",
    population=_POPULATION,
    source="beyond the paper",
    needs=("sessioned", "cached", "model"),
    numbers=(
        Number("calibration.predicted_share", "share", "calls predicted to hit, as their session called the same model "
               "before / calls"),
        Number("calibration.hit_where_predicted", "share", "calls with cached tokens above 0 / calls predicted to hit",
               f"{_POPULATION}, predicted to hit"),
        Number("calibration.hit_where_not_predicted", "share", "calls with cached tokens above 0 / first calls of a "
               "session to a model", f"{_POPULATION}, predicted to miss"),
        Number("calibration.agreement", "share", "calls that hit as predicted or miss as predicted / calls"),
        Number("calibration.reusable_share", "share", "sum of min(context, preceding context of the session and model) "
               "/ sum of contexts: reuse in an endless cache without sharing among sessions"),
        Number("calibration.lost_token_share", "share", "sum of reusable tokens beyond the cached ones / sum of "
               "reusable tokens: what the fleet computed again"),
        Number("calibration.unexplained_token_share", "share", "sum of cached tokens beyond the reusable ones / sum of "
               "cached tokens: found, but not in KV of the session"),
    ),
    tables=(TABLE,),
    compute=compute,
)
