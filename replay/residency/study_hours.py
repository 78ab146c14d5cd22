"""What is published of the hours of a day: the cells of each, and how far they lie apart."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from zoneinfo import ZoneInfo

import pyarrow as pa

from metrics.core.clock import iso
from metrics.core.metric import Column, Findings, Number, TableSpec
from replay.residency.cells import Plan
from replay.residency.hours import Hour, Hours
from replay.residency.replay import Cell

__all__ = ["FEW_CALLS", "declared_hours", "hours_study", "no_hours"]

#: An hour of fewer calls says too little of a policy to be compared.
FEW_CALLS = 100

_NONE = f"no hour has {FEW_CALLS} calls with a session id"
_TABLE = TableSpec("replay_hours", "one policy under one budget in one clock hour", (
    Column("hour", pa.string(), "start of the clock hour"),
    Column("busiest", pa.bool_(), "whether it is the hour with most sessioned calls of the window"),
    Column("object_key", pa.string(), "what one KV object belongs to"),
    Column("release", pa.string(), "last: an object leaves after its last access in the hour; never: it does not"),
    Column("policy", pa.string(), "what is done when the budget is exceeded"),
    Column("budget_share", pa.float64(), "budget as a share of the hour's K*; null for a budget in bytes"),
    Column("budget_bytes", pa.int64(), "budget in bytes"),
    Column("budget", pa.string(), "budget as it was asked for"),
    Column("calls", pa.int64(), "sessioned calls of the hour"),
    Column("sessions", pa.int64(), "sessions with a call in the hour"),
    Column("objects", pa.int64(), "distinct KV objects of the hour"),
    Column("kstar_bytes", pa.int64(), "K* of the hour: most bytes held at once when nothing is evicted"),
    Column("misses", pa.int64(), "calls whose KV object is absent; an object is new at its first call of the hour"),
    Column("reconstruction_rate", pa.float64(), "misses / calls; null for an hour without calls"),
    Column("first_touch_floor", pa.float64(), "distinct objects / calls"),
    Column("compared", pa.bool_(), f"whether the hour has {FEW_CALLS} calls, and so stands in the range over hours"),
))


def declared_hours(plan: Plan) -> tuple[Number, ...]:
    """Every number of the hours; none where they are not replayed."""
    return tuple(_declared(plan)) if plan.hours else ()


def _declared(plan: Plan) -> Iterator[Number]:
    population = f"clock hours with {FEW_CALLS} calls with a session id"
    if plan.sample is not None:
        population += f", of the sessions in a sample ({plan.sample})"
        yield Number("replay.hours.sample.fraction", "share", "share of the sessions that was asked for", population)
    yield Number("replay.hours.compared", "hours", f"clock hours with {FEW_CALLS} sessioned calls, of the window, or, "
                 "if it has more than 24, of the day of its busiest hour", population)
    for key in plan.keys:
        prefix, of = _prefix(plan, key), f"objects by {key}, release={plan.release}"
        over = "nearest-rank median over the hours, from the least to the most of them"
        yield Number(f"{prefix}.floor", "share", f"distinct objects / calls, {of}: {over}", population)
        yield Number(f"{prefix}.kstar_bytes", "bytes", f"K*: most bytes held at once without eviction, {of}: {over}",
                     population)
        for policy in plan.policies:
            for budget in plan.budgets:
                at = f"{budget.label} of the hour's K*" if budget.share is not None else budget.label
                yield Number(f"{prefix}.{policy}.{budget.key}", "share", f"misses / calls of {policy} at {at}, {of}: "
                             f"{over}", population)


def _prefix(plan: Plan, key: str) -> str:
    return replace(plan, stream="hours").prefix(key)


def no_hours(plan: Plan, why: str) -> Findings:
    """What is published where there is nothing to replay."""
    found = Findings()
    found.missing(why, *(number.key for number in declared_hours(plan)))
    return found


def hours_study(plan: Plan, hours: Hours, replayed: Sequence[Hour], zone: ZoneInfo) -> Findings:
    """What the cells of each hour say; `zone` is that of the times in the table."""
    found, compared = Findings(), [hour for hour in replayed if hour.calls >= FEW_CALLS]
    found.set("replay.hours.compared", len(compared), hours.count)
    if plan.sample is not None:
        found.set("replay.hours.sample.fraction", float(plan.sample.fraction), hours.count)
    for key in plan.keys:
        prefix, cells = _prefix(plan, key), [hour.cells[key] for hour in compared]
        _range(found, f"{prefix}.floor", [some[0].floor for some in cells])
        _range(found, f"{prefix}.kstar_bytes", [some[0].kstar_bytes for some in cells])
        for place, cell in enumerate(replayed[0].cells[key]):
            _range(found, f"{prefix}.{cell.name}", [some[place].reconstruction_rate for some in cells])
    found.table(_TABLE, [_where(plan, hours, place, zone) | {"object_key": key, "sessions": hour.sessions} | _cell(cell)
                         for place, hour in enumerate(replayed) for key in plan.keys for cell in hour.cells[key]])
    return found


def _range(found: Findings, key: str, values: Sequence[float | int | None]) -> None:
    """Publish the nearest-rank median of the hours, between the least and the most."""
    ordered = sorted(value for value in values if value is not None)
    if not ordered:
        return found.set(key, None, 0, why=_NONE)
    return found.set(key, ordered[(len(ordered) - 1) // 2], len(ordered), low=ordered[0], high=ordered[-1])


def _where(plan: Plan, hours: Hours, place: int, zone: ZoneInfo) -> dict[str, object]:
    return {"hour": iso(hours.bounds(place)[0], zone), "busiest": place == hours.busiest, "release": plan.release}


def _cell(cell: Cell) -> dict[str, object]:
    share = cell.budget.share
    return {
        "policy": cell.policy, "budget_share": None if share is None else float(share),
        "budget_bytes": cell.budget_bytes, "budget": cell.budget.label, "calls": cell.calls,
        "objects": cell.objects, "kstar_bytes": cell.kstar_bytes, "misses": cell.misses,
        "reconstruction_rate": cell.reconstruction_rate, "first_touch_floor": cell.floor,
        "compared": cell.calls >= FEW_CALLS,
    }
