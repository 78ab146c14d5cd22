"""Who serves the calls: models and deployments, under labels unless names are asked for."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from metrics.core.metric import Column, Findings, Metric, TableSpec, ratio
from metrics.core.trace import Trace

MAX_ROWS = 1000

MODELS = TableSpec("models", "one model; the last row sums up what lies beyond 1,000", (
    Column("model", pa.string(), "label, or name with --names; numbered in the order of the names"),
    Column("conservative", pa.string(), "class under the conservative mapping"),
    Column("broad", pa.string(), "class under the broad mapping"),
    Column("calls", pa.int64(), "calls"),
    Column("call_share", pa.float64(), "share of all calls"),
    Column("context_share", pa.float64(), "share of all context tokens"),
))
DEPLOYMENTS = TableSpec("deployments", "one deployment; the last row sums up what lies beyond 1,000", (
    Column("deployment", pa.string(), "label, or region and name with --names; numbered in the order of the names"),
    Column("calls", pa.int64(), "calls"),
    Column("call_share", pa.float64(), "share of all calls"),
    Column("context_share", pa.float64(), "share of all context tokens"),
))

_LOAD = "cast(sum(calls) as bigint) as calls, cast(sum(x) as bigint) as context"
_MODELS = f"""
    select rank, model as name, conservative, broad, {_LOAD}
    from loads join models on loads.model_no = models.model_no group by rank, model, conservative, broad
    order by calls desc, rank nulls last"""
_PLACES = f"""
    select case when known then dense_rank() over (order by known desc, region, deployment) end as rank,
           region, deployment, calls, context
    from (select place_no is not null as known, case when place_no is not null then coalesce(region, '') end as region,
                 case when place_no is not null then deployment end as deployment, {_LOAD}
          from loads left join regions on loads.region_no = regions.region_no
          left join deployments on loads.deployment_no = deployments.deployment_no
          group by 1, 2, 3) as p
    order by calls desc, rank nulls last"""


def compute(trace: Trace, found: Findings) -> None:
    names = trace.settings.names
    if trace.profile.model:
        models = trace.rows(_MODELS)
        digits = _digits(models)
        for row in models:
            row["model"] = _label(row["name"] if names else None, "model", row["rank"], digits)
        _publish(found, MODELS, models, {"model": "other", "conservative": None, "broad": None})
    places = trace.rows(_PLACES)
    if any(row["rank"] for row in places):
        digits = _digits(places)
        for row in places:
            known = row["rank"] is not None
            name = "/".join(part for part in (row["region"], row["deployment"]) if part) if names and known else None
            row["deployment"] = _label(name, "deployment", row["rank"], digits)
        _publish(found, DEPLOYMENTS, places, {"deployment": "other"})


def _digits(rows: list[dict[str, Any]]) -> int:
    return max(2, len(str(max((row["rank"] or 0 for row in rows), default=0))))


def _label(name: str | None, kind: str, number: int | None, digits: int) -> str:
    if not number:
        return "unknown"
    return name if name is not None else f"{kind}-{number:0{digits}d}"


def _publish(found: Findings, spec: TableSpec, rows: list[dict[str, Any]], rest: dict[str, Any]) -> None:
    calls, context = (sum(row[what] for row in rows) for what in ("calls", "context"))
    if len(rows) > MAX_ROWS:
        tail = rows[MAX_ROWS - 1:]
        beyond = {what: sum(row[what] for row in tail) for what in ("calls", "context")}
        rows = [*rows[:MAX_ROWS - 1], {**rest, **beyond}]
    for row in rows:
        row["call_share"], row["context_share"] = ratio(row["calls"], calls), ratio(row["context"], context)
    found.table(spec, rows)


METRIC = Metric(
    name="served",
    question="Which models and deployments serve the calls?",
    population="all calls",
    source="beyond the paper",
    numbers=(),
    tables=(MODELS, DEPLOYMENTS),
    compute=compute,
)
