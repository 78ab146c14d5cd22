"""Does Spine reuse survive an excursion to other models? (paper 3.4.4, Eq. 4, Fig. 5)

For each Spine call after the session's first, k is the number of non-Spine calls since the
preceding Spine call. Beyond the paper, the mean is split by the time since the preceding Spine
call and by the move of placement from it, since both differ with k.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pyarrow as pa

from metrics.core.bands import GAP_NAMES, gap_band
from metrics.core.metric import Column, Findings, Metric, Number, TableSpec, ratio
from metrics.core.steps import TRANSITION, TRANSITIONS
from metrics.core.trace import Trace

LENGTHS = ("0", "1", "2", "3+")

REUSE = TableSpec("excursion_reuse", "one excursion length, in all or in one band of a split", (
    Column("split", pa.string(), "all; gap = time since the preceding Spine call; placement = move from it"),
    Column("band", pa.string(), "which part of the split"),
    Column("excursion", pa.string(), "non-Spine calls since the preceding Spine call: 0, 1, 2, 3+"),
    Column("calls", pa.int64(), "Spine calls that report cached tokens"),
    Column("mean_reuse", pa.float64(), "mean of cached / context tokens over these calls"),
))

# Within a run of Spine calls the preceding Spine call is the predecessor itself. Between runs it is the
# predecessor of the call with which the session left Spine: only these borders need ordering.
_STAYS = """
    select 0 as k, gap_us, r_ppb, transition from steps
    where model_no in ({spine}) and previous_model_no in ({spine})"""
_RETURNS = """
    select call_index - previous_index - 1 as k, t_us - previous_us as gap_us, r_ppb, {transition} as transition
    from (
        select returns, call_index, t_us, model_no, seat, r_ppb,
               lag(left_index) over w as previous_index, lag(left_us) over w as previous_us,
               lag(left_model_no) over w as previous_model_no, lag(left_seat) over w as previous_seat
        from (
            select session, call_index, t_us, model_no, seat, r_ppb, (model_no in ({spine})) as returns,
                   call_index - 1 as left_index, t_us - gap_us as left_us, previous_model_no as left_model_no,
                   previous_seat as left_seat
            from steps where call_index > 1 and (model_no in ({spine})) <> (previous_model_no in ({spine}))
        ) as borders
        window w as (partition by session order by call_index)
    ) as moves where returns and previous_index is not null"""
_GROUPED = """
    select case when k > 3 then 3 else k end as k, {band} as band, transition,
           count(*) as calls, cast(sum(r_ppb) as bigint) as reuse
    from ({part}) as e where r_ppb is not null group by 1, 2, 3"""


def compute(trace: Trace, found: Findings) -> None:
    numbers = [row["model_no"] for row in trace.rows("select model_no from models where conservative = 'spine'")]
    if not numbers:
        found.missing("no model of the trace is of class spine", *(number.key for number in METRIC.numbers))
        return
    spine = ", ".join(str(number) for number in sorted(numbers))
    groups = [row for part in (_STAYS.format(spine=spine), _RETURNS.format(spine=spine, transition=TRANSITION))
              for row in trace.rows(_GROUPED.format(band=gap_band("gap_us"), part=part))]
    for k, length in enumerate(LENGTHS):
        calls, mean = _mean(row for row in groups if row["k"] == k)
        found.set(_key(length), mean, calls, why=f"no Spine call follows an excursion of {_calls(length)}")
    found.table(REUSE, _table(groups))


def _key(length: str) -> str:
    return f"excursion.reuse_{length.replace('+', 'plus')}"


def _calls(length: str, kind: str = "") -> str:
    """`1 call`, `2 non-Spine calls`, `3 calls or more`."""
    number, more = length.rstrip("+"), " or more" if length.endswith("+") else ""
    return f"{number} {kind}call{'' if length == '1' else 's'}{more}"


def _mean(rows: Iterable[dict[str, Any]]) -> tuple[int, float | None]:
    rows = list(rows)
    calls = sum(row["calls"] for row in rows)
    return calls, ratio(sum(row["reuse"] for row in rows), calls * 10**9)


def _table(groups: list[dict[str, Any]]) -> list[dict[str, Any]]:
    splits = [("all", "all", groups)]
    splits += [("gap", name, [row for row in groups if row["band"] == place]) for place, name in enumerate(GAP_NAMES)]
    splits += [("placement", name, [row for row in groups if row["transition"] == code])
               for code, name in TRANSITIONS.items() if name != "first_call"]
    table = []
    for split, band, rows in splits:
        for k, length in enumerate(LENGTHS):
            calls, mean = _mean(row for row in rows if row["k"] == k)
            if calls:
                table.append({"split": split, "band": band, "excursion": length, "calls": calls,
                              "mean_reuse": mean})
    return table


METRIC = Metric(
    name="excursion",
    question="Does reuse survive an excursion to other models?",
    population="Spine calls (conservative mapping) after the session's first Spine call, with reported cached "
               "tokens and a context above 0",
    source="paper 3.4.4, Eq. 4",
    needs=("sessioned", "model", "cached"),
    numbers=tuple(Number(_key(length), "share", f"mean reuse of Spine calls after {_calls(length, 'non-Spine ')}, to "
                         "10^-9") for length in LENGTHS),
    tables=(REUSE,),
    compute=compute,
)
