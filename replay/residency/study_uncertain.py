"""What a residency study publishes of resampled sessions: how sure each rate is, and each ratio between policies."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import pyarrow as pa

from metrics.core.metric import Column, Findings, Number, TableSpec, ratio
from replay.residency.bootstrap import FEWEST_SESSIONS, Replicate, Resampled
from replay.residency.cells import Plan, Replayed
from replay.residency.replay import Cell
from replay.residency.resampling_error import (
    FEWEST_REPLICATES,
    GROUPS,
    Pair,
    Spread,
    bootstrap_spread,
    jackknife_spread,
)

__all__ = ["INTERVAL", "declared", "intervals", "publish"]

#: What ratios are against.
REFERENCE = "lru"

#: Ends the method of a number whose interval is that of the bootstrap.
INTERVAL = ("; the interval is 1.96 standard errors either way, from replays of resampled sessions (bootstrap), where "
            "there are 20")

_WHERE = (
    Column("stream", pa.string(), "busiest-hour: the clock hour with most sessioned calls; window: all of them"),
    Column("object_key", pa.string(), "what one KV object belongs to"),
    Column("release", pa.string(), "last: an object leaves after its last access in the stream; never: it does not"),
)
_SURE = (
    Column("method", pa.string(), "bootstrap: as many sessions as there are, drawn with replacement; jackknife: all "
           f"but those of one of {GROUPS} random groups, in turn"),
    Column("value", pa.float64(), "of the stream itself"),
    Column("lo", pa.float64(), "lower end of the interval of 95 %, 1.96 or, of the jackknife, 2.094 standard errors "
           "from value; null where it is not known"),
    Column("hi", pa.float64(), "its upper end"),
    Column("se", pa.float64(), "standard error; null where it is not known"),
    Column("replicate_mean", pa.float64(), "mean of the replicates; how far it is from value tells how much a "
           "replicate differs from the stream by being one"),
    Column("p2_5", pa.float64(), "percentile 2.5 of the bootstrap's replicates"),
    Column("p97_5", pa.float64(), "percentile 97.5 of the bootstrap's replicates"),
    Column("replicates", pa.int64(), "replicates that were replayed"),
    Column("seed", pa.int64(), "seed of the draws"),
    Column("sessions", pa.int64(), "sessions of the stream, which are resampled"),
    Column("why", pa.string(), "why the interval is not known, where it is not"),
)
_BUDGET = (
    Column("budget_share", pa.float64(), "budget as a share of K*, in a replicate of its own; null for an amount"),
    Column("budget_bytes", pa.int64(), "budget in bytes, for the stream itself"),
    Column("calls", pa.int64(), "calls of the stream itself"),
    Column("misses", pa.int64(), "misses of the policy in the stream itself"),
)
_RATES = TableSpec("replay_uncertainty", "one policy under one budget, by one method", (
    *_WHERE,
    Column("policy", pa.string(), "what is done when the budget is exceeded; floor: first touches / calls, of any "
           "policy under any budget"),
    *_BUDGET, *_SURE))
_RATIOS = TableSpec("replay_ratio", f"one policy beside {REFERENCE} under one budget, by one method", (
    *_WHERE,
    Column("policy", pa.string(), "what is done when the budget is exceeded"),
    *_BUDGET,
    Column(f"{REFERENCE}_misses", pa.int64(), f"misses of {REFERENCE} under the same budget in the stream itself"),
    *_SURE))


def declared(plan: Plan, population: str) -> Iterator[Number]:
    """Every number that is published besides the intervals of rates."""
    if plan.bootstrap is None:
        return
    start, sessions = f"replay.{plan.stream}.bootstrap", f"sessions of the stream {plan.stream}"
    yield Number(f"{start}.replicates", "replicates", "times that the sessions were drawn anew, as many as there are, "
                 "with replacement", sessions)
    yield Number(f"{start}.seed", "seed", "seed of the draws", sessions)
    yield Number(f"{start}.sessions", "sessions", "sessions that were resampled", sessions)
    for key in plan.keys:
        for policy in _compared(plan):
            for budget in plan.budgets:
                at = f"{budget.label} of K*" if budget.share is not None else budget.label
                yield Number(f"{plan.prefix(key)}.ratio.{policy}.{budget.key}", "ratio", f"misses of {policy} / misses "
                             f"of {REFERENCE} at {at}, objects by {key}, release={plan.release}{INTERVAL}, both of the "
                             "same sessions in each", population)


def _compared(plan: Plan) -> tuple[str, ...]:
    """Policies that have a ratio; none where what they are compared with is not replayed."""
    return tuple(policy for policy in plan.policies if policy != REFERENCE and REFERENCE in plan.policies)


def intervals(plan: Plan, replayed: Replayed, resampled: Resampled | None) -> Mapping[tuple[str, str], Spread]:
    """How sure each rate is, by the prefix of its key and the rest of it.

    Empty for a sample: the interval of its rates is that of the sample, which says how far they are from those of all
    sessions. What the bootstrap of a sample says, that of sessions like those drawn, stands in the table.
    """
    if resampled is None or plan.sample is not None:
        return {}
    found = {}
    for key in plan.keys:
        some = resampled.bootstrap[key]
        first = replayed.cells[key][0]
        found[plan.prefix(key), "floor"] = bootstrap_spread((first.objects, first.calls), _floors(some), most=1)
        for place, cell in enumerate(replayed.cells[key]):
            whole = (cell.misses, cell.calls)
            found[plan.prefix(key), cell.name] = bootstrap_spread(whole, _rates(some, place), most=1)
    return found


def publish(found: Findings, plan: Plan, replayed: Replayed, resampled: Resampled | None) -> None:
    """Publish the replicates' numbers and tables; nothing where no bootstrap was asked for."""
    if resampled is None or plan.bootstrap is None:
        return
    start, why = f"replay.{plan.stream}.bootstrap", _why(plan, resampled)
    found.set(f"{start}.replicates", plan.bootstrap.replicates if resampled.sessions >= FEWEST_SESSIONS else None,
              resampled.sessions, why=why or "")
    found.set(f"{start}.seed", plan.bootstrap.seed, resampled.sessions)
    found.set(f"{start}.sessions", resampled.sessions, resampled.sessions)
    found.table(_RATES, [row for key in plan.keys for row in _rate_rows(plan, replayed, resampled, key)])
    found.table(_RATIOS, [row for key in plan.keys for row in _ratio_rows(found, plan, replayed, resampled, key)])


def _why(plan: Plan, resampled: Resampled) -> str | None:
    """Why there is no interval of the bootstrap."""
    if resampled.sessions < FEWEST_SESSIONS:
        return f"the stream has {resampled.sessions:,} sessions; resampling them takes {FEWEST_SESSIONS}"
    if plan.bootstrap is not None and plan.bootstrap.replicates < FEWEST_REPLICATES:
        return f"an interval of 95 % takes {FEWEST_REPLICATES} replicates"
    return None


def _rate_rows(plan: Plan, replayed: Replayed, resampled: Resampled, key: str) -> Iterator[dict[str, object]]:
    cells, some, others = replayed.cells[key], resampled.bootstrap[key], resampled.jackknife[key]
    first = cells[0]
    nothing = {"policy": "floor", "budget_share": None, "budget_bytes": None, "calls": first.calls, "misses":
               first.objects}
    for row in _sure(plan, resampled, (first.objects, first.calls), _floors(some), _floors(others), most=1):
        yield _where(plan, key) | nothing | row
    for place, cell in enumerate(cells):
        whole = (cell.misses, cell.calls)
        for row in _sure(plan, resampled, whole, _rates(some, place), _rates(others, place), most=1):
            yield _where(plan, key) | _cell(cell) | row


def _ratio_rows(found: Findings, plan: Plan, replayed: Replayed, resampled: Resampled,
                key: str) -> Iterator[dict[str, object]]:
    """Publish the ratios of one object key; the rows of their table."""
    cells, some, others = replayed.cells[key], resampled.bootstrap[key], resampled.jackknife[key]
    places = {(cell.policy, cell.budget): place for place, cell in enumerate(cells)}
    for (policy, budget), place in places.items():
        if policy not in _compared(plan):
            continue
        cell, base = cells[place], places[REFERENCE, budget]
        whole = (cell.misses, cells[base].misses)
        rows = _sure(plan, resampled, whole, _ratios(some, place, base), _ratios(others, place, base), most=None)
        found.set(f"{plan.prefix(key)}.ratio.{cell.name}", ratio(*whole), cell.calls, low=rows[0]["lo"],
                  high=rows[0]["hi"])
        for row in rows:
            yield _where(plan, key) | _cell(cell) | {f"{REFERENCE}_misses": cells[base].misses} | row


def _where(plan: Plan, key: str) -> dict[str, object]:
    return {"stream": plan.stream, "object_key": key, "release": plan.release}


def _cell(cell: Cell) -> dict[str, object]:
    share = cell.budget.share
    return {"policy": cell.policy, "budget_share": None if share is None else float(share),
            "budget_bytes": cell.budget_bytes, "calls": cell.calls, "misses": cell.misses}


def _sure(plan: Plan, resampled: Resampled, whole: Pair, bootstrap: Sequence[Pair], jackknife: Sequence[Pair], *,
          most: int | None) -> tuple[dict[str, float | int | str | None], ...]:
    """The columns of both methods."""
    assert plan.bootstrap is not None, "nothing is published without a bootstrap"
    few = _why(plan, resampled) if resampled.sessions < FEWEST_SESSIONS else None
    return tuple(
        {"method": method, "value": ratio(*whole), "lo": spread.low, "hi": spread.high, "se": spread.error,
         "replicate_mean": spread.mean, "p2_5": spread.from_low, "p97_5": spread.from_high,
         "replicates": count, "seed": plan.bootstrap.seed, "sessions": resampled.sessions, "why": why}
        for method, spread, count, why in (
            ("bootstrap", bootstrap_spread(whole, bootstrap, most), len(bootstrap), _why(plan, resampled)),
            ("jackknife", jackknife_spread(whole, jackknife, most), len(jackknife), few)))


def _floors(replicates: Iterable[Replicate]) -> list[Pair]:
    return [(each.objects, each.calls) for each in replicates]


def _rates(replicates: Iterable[Replicate], place: int) -> list[Pair]:
    return [(each.misses[place], each.calls) for each in replicates]


def _ratios(replicates: Iterable[Replicate], place: int, base: int) -> list[Pair]:
    """Misses of two cells; a replicate has first touches, so the second one misses."""
    return [(each.misses[place], each.misses[base]) for each in replicates]
