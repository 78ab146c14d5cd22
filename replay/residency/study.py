"""The residency study of one window: policies x budgets x object keys over one stream (paper 5.2 to 5.5).

Everything it publishes is a counterfactual of the observed calls: what a policy would have missed.
"""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa

from metrics.core.metric import Column, Findings, Number, TableSpec, ratio
from replay.residency import study_bounds as limits
from replay.residency import study_bytes as moved
from replay.residency import study_cost as costs
from replay.residency import study_sampled as sampled
from replay.residency import study_uncertain as uncertain
from replay.residency.bootstrap import Resampled
from replay.residency.cells import Plan, Replayed
from replay.residency.policy import find_policy
from replay.residency.replay import Cell
from replay.residency.resampling_error import Spread
from replay.residency.sampling_error import Estimate
from replay.residency.stream_file import STREAM_DOC, StreamFile

__all__ = ["declared", "no_study", "study"]

TABLE = TableSpec("residency_replay", "one policy under one budget", (
    Column("stream", pa.string(), STREAM_DOC),
    Column("object_key", pa.string(), "what one KV object belongs to"),
    Column("release", pa.string(), "last: an object leaves after its last access in the stream; never: it does not"),
    Column("policy", pa.string(), "what is done when the budget is exceeded"),
    Column("budget_share", pa.float64(), "budget as a share of K*; null for a budget in bytes"),
    Column("budget_bytes", pa.int64(), "budget in bytes"),
    Column("calls", pa.int64(), "calls of the stream"),
    Column("misses", pa.int64(), "calls whose KV object is absent"),
    Column("reconstruction_rate", pa.float64(), "misses / calls (Eq. 7)"),
    Column("missed_tokens", pa.int64(), "context tokens of the missed calls, to be prefilled again"),
    Column("missed_token_share", pa.float64(), "missed_tokens / context tokens of all calls of the stream"),
    Column("first_touch_floor", pa.float64(), "distinct objects / calls: the rate of any policy at K*"),
    Column("kstar_bytes", pa.int64(), "K*: most bytes held at once when nothing is evicted"),
    Column("objects", pa.int64(), "distinct KV objects of the stream"),
    Column("promotions", pa.int64(), "calls that found the object as a compressed copy, which are no misses; null for "
           "a policy that keeps no copies"),
))
#: The same of a sample of the sessions.
SAMPLED_TABLE = TableSpec(TABLE.name, TABLE.row, TABLE.columns + sampled.COLUMNS)


def no_study(plan: Plan, why: str) -> Findings:
    """What a plan publishes where there is nothing to replay."""
    found = Findings()
    found.missing(why, *(number.key for number in declared(plan)))
    return found


def study(plan: Plan, stream: StreamFile, replayed: Replayed, resampled: Resampled | None = None) -> Findings:
    """What the cells of a plan say."""
    found, table, priced, sure = Findings(), [], [], sampled.estimates(plan, stream, replayed)
    intervals: dict[tuple[str, str], Estimate | Spread] = {**sure, **uncertain.intervals(plan, replayed, resampled)}
    for key in plan.keys:
        prefix, cells = plan.prefix(key), replayed.cells[key]
        _summary(found, prefix, cells[0], intervals.get((prefix, "floor")))
        for cell in cells:
            low, high = _interval(intervals.get((prefix, cell.name)))
            found.set(f"{prefix}.{cell.name}", cell.reconstruction_rate, cell.calls, low=low, high=high)
            table.append(_row(plan, key, cell) | sampled.columns(stream, sure.get((prefix, cell.name))))
            priced.append({**table[-1], "low": low, "high": high})
    moved.publish(found, plan, stream, replayed)
    found.set(f"replay.{plan.stream}.unknown_deployment_share",
              ratio(stream.unknown_deployment, stream.calls), stream.calls)
    limits.publish(found, plan, stream, replayed, sure)
    sampled.publish(found, plan, stream, sure)
    uncertain.publish(found, plan, replayed, resampled)
    found.table(TABLE if plan.sample is None else SAMPLED_TABLE, table)
    costs.publish(found, plan, stream, replayed, priced)
    return found


def _interval(sure: Estimate | Spread | None) -> tuple[float | None, float | None]:
    return (None, None) if sure is None else (sure.low, sure.high)


def _summary(found: Findings, prefix: str, cell: Cell, floor: Estimate | Spread | None) -> None:
    low, high = _interval(floor)
    found.set(f"{prefix}.floor", cell.floor, cell.calls, low=low, high=high)
    found.set(f"{prefix}.kstar_bytes", cell.kstar_bytes, cell.calls)
    found.set(f"{prefix}.calls", cell.calls, cell.calls)
    found.set(f"{prefix}.objects", cell.objects, cell.calls)


def _row(plan: Plan, key: str, cell: Cell) -> dict[str, object]:
    share = cell.budget.share
    return {
        "stream": plan.stream, "object_key": key, "release": plan.release, "policy": cell.policy,
        "budget_share": None if share is None else float(share), "budget_bytes": cell.budget_bytes,
        "calls": cell.calls, "misses": cell.misses, "reconstruction_rate": cell.reconstruction_rate,
        "missed_tokens": cell.missed_tokens, "missed_token_share": cell.missed_token_share,
        "first_touch_floor": cell.floor, "kstar_bytes": cell.kstar_bytes, "objects": cell.objects,
        "promotions": cell.counters.get("promotions"),
    }


def declared(plan: Plan) -> tuple[Number, ...]:
    """Every number that the study of a plan publishes."""
    return tuple(_declared(plan))


def _declared(plan: Plan) -> Iterable[Number]:
    population, interval = f"calls with a session id in the stream {plan.stream}", ""
    if plan.sample is not None:
        population, interval = f"{population}, of the sessions in a sample ({plan.sample})", sampled.INTERVAL
        yield from sampled.declared(plan, plan.sample)
    elif plan.bootstrap is not None:
        interval = uncertain.INTERVAL
    yield from uncertain.declared(plan, population)
    yield Number(f"replay.{plan.stream}.unknown_deployment_share", "share", "calls of unknown deployment, which have a "
                 "KV object of their own under session+deployment / calls", population)
    yield from costs.declared(plan, population)
    yield from moved.declared(plan, population)
    for key in plan.keys:
        prefix, of = plan.prefix(key), f"objects by {key}, release={plan.release}"
        yield Number(f"{prefix}.floor", "share", f"distinct objects / calls, {of}{interval}", population)
        yield Number(f"{prefix}.kstar_bytes", "bytes", f"K*: most bytes held at once without eviction, {of}",
                     population)
        yield Number(f"{prefix}.calls", "calls", "calls of the stream", population)
        yield Number(f"{prefix}.objects", "objects", f"distinct KV objects, {of}", population)
        for policy in plan.policies:
            about = find_policy(policy).description
            for budget in plan.budgets:
                at = f"{budget.label} of K*" if budget.share is not None else budget.label
                yield Number(f"{prefix}.{policy}.{budget.key}", "share",
                             f"misses / calls of {policy} ({about}) at {at}, {of}{interval}", population)
    yield from limits.declared(plan, population, "" if plan.sample is None else interval)
