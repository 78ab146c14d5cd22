"""What a study of routing publishes: for each route its floor, its load, what moves, and its misses under budgets."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pyarrow as pa

from metrics.core.metric import Column, Findings, Number, TableSpec, ratio
from replay.residency.budgets import units_to_bytes
from replay.residency.cells import Plan
from replay.residency.policy import find_policy
from replay.residency.routing.fleet import Fleet
from replay.residency.routing.options import DIVISIONS, ROUTES, Routing
from replay.residency.routing.routed import POOLED, Routed, RoutedCell, cells_of
from replay.residency.stream import UNITS
from replay.residency.stream_file import STREAM_DOC

__all__ = ["declared_routes", "no_routes", "routing_study", "unroutable"]

TABLE = TableSpec("replay_routing", "one policy under one budget on one route", (
    Column("stream", pa.string(), STREAM_DOC),
    Column("release", pa.string(), "last: an object leaves after its last access in the stream; never: it does not"),
    Column("route", pa.string(), "where calls are served, and whether KV moves when a session does"),
    Column("memory", pa.string(), "pooled: one budget for all replicas; else what a replica's part of it is in "
           "proportion to: peak (its own K*), calls, equal"),
    Column("policy", pa.string(), "what a replica does when its budget is exceeded"),
    Column("budget_share", pa.float64(), "budget of all replicas as a share of K* by session and model; null for a "
           "budget in bytes"),
    Column("budget_bytes", pa.int64(), "budget of all replicas in bytes"),
    Column("calls", pa.int64(), "calls of the stream"),
    Column("misses", pa.int64(), "calls that find no KV of theirs where they are served"),
    Column("reconstruction_rate", pa.float64(), "misses / calls"),
    Column("missed_tokens", pa.int64(), "context tokens of the missed calls, to be prefilled again"),
    Column("missed_token_share", pa.float64(), "missed_tokens / context tokens of all calls of the stream"),
    Column("moved_bytes", pa.int64(), "KV sent between replicas under this budget"),
    Column("first_touch_floor", pa.float64(), "the rate on this route with memory without end"),
    Column("moved_call_share", pa.float64(), "calls served on another deployment than the preceding one of their "
           "session and model / calls"),
    Column("peak_bytes", pa.int64(), "sum over replicas of the most bytes that each holds when nothing is evicted"),
    Column("load_p50", pa.float64(), "median over calls of the load where they are served: calls of a deployment and "
           "model in a minute / its fair share, rounded up to whole calls"),
    Column("load_p99", pa.float64(), "99th percentile of the same"),
    Column("load_max", pa.float64(), "its largest value"),
))

_NO_MODELS = "no call of the stream has both a known model and a known deployment"
_SAMPLED = "a sample of the sessions does not show what load its deployments have"


def unroutable(plan: Plan, fleet: Fleet | None) -> str | None:
    """Why no route can be replayed, or None; the fleet of a sample is not asked for."""
    if plan.sample is not None:
        return _SAMPLED
    if fleet is None or fleet.deployments > 1:
        return None
    if not fleet.deployments:
        return "no call of the stream has a known deployment"
    return "all calls of the stream with a known deployment are on the same one: there is nothing to route"


def no_routes(plan: Plan, routing: Routing, why: str) -> Findings:
    """What is published where there is nothing to route."""
    found = Findings()
    found.missing(why, *(number.key for number in declared_routes(plan, routing)))
    return found


def routing_study(plan: Plan, routing: Routing, fleet: Fleet, routed: Sequence[Routed], beta: int) -> Findings:
    """What the routes say; `beta` is KV bytes a token."""
    found, table = Findings(), []
    prefix = f"replay.{plan.stream}.routing"
    found.set(f"{prefix}.deployments", fleet.deployments, fleet.calls)
    found.set(f"{prefix}.fixed_share", ratio(fleet.fixed, fleet.calls), fleet.calls)
    for route in routed:
        base = plan.prefix(f"routing.{route.route}")
        if not len(fleet.model_of) and route.route != "as_logged":
            found.missing(_NO_MODELS, *(number.key for number in _of_route(plan, routing, route.route)))
            continue
        _summary(found, base, route, beta)
        for cell in route.cells:
            found.set(f"{base}.{cell.memory}.{cell.policy}.{cell.budget.key}",
                      ratio(cell.moved.misses, route.calls), route.calls)
            table.append(_row(plan, route, cell, beta))
    found.table(TABLE, table)
    return found


def _summary(found: Findings, base: str, route: Routed, beta: int) -> None:
    found.set(f"{base}.floor", ratio(route.unlimited.misses, route.calls), route.calls)
    found.set(f"{base}.moved_call_share", ratio(route.moves, route.calls), route.calls)
    found.set(f"{base}.peak_bytes", _bytes(route.peak_tokens, beta), route.calls)
    if ROUTES[route.route].copies:
        found.set(f"{base}.moved_bytes", _bytes(route.unlimited.moved_tokens, beta), route.calls)
    for name in ("p50", "p99", "max"):
        found.set(f"{base}.load_{name}", getattr(route.load, name), route.load.calls, why=_NO_MODELS)


def _bytes(tokens: int, beta: int) -> int:
    return units_to_bytes(tokens * UNITS, beta)


def _row(plan: Plan, route: Routed, cell: RoutedCell, beta: int) -> dict[str, object]:
    share = cell.budget.share
    return {
        "stream": plan.stream, "release": plan.release, "route": route.route, "memory": cell.memory,
        "policy": cell.policy, "budget_share": None if share is None else float(share),
        "budget_bytes": cell.budget_bytes, "calls": route.calls, "misses": cell.moved.misses,
        "reconstruction_rate": ratio(cell.moved.misses, route.calls), "missed_tokens": cell.moved.missed_tokens,
        "missed_token_share": ratio(cell.moved.missed_tokens, route.tokens),
        "moved_bytes": _bytes(cell.moved.moved_tokens, beta),
        "first_touch_floor": ratio(route.unlimited.misses, route.calls),
        "moved_call_share": ratio(route.moves, route.calls), "peak_bytes": _bytes(route.peak_tokens, beta),
        "load_p50": route.load.p50, "load_p99": route.load.p99, "load_max": route.load.max,
    }


def declared_routes(plan: Plan, routing: Routing) -> tuple[Number, ...]:
    """Every number that a study of routing publishes; none where no route was asked for."""
    if not routing.routes:
        return ()
    prefix, calls = f"replay.{plan.stream}.routing", f"calls with a session id in the stream {plan.stream}"
    return (
        Number(f"{prefix}.deployments", "deployments", "known deployments", calls),
        Number(f"{prefix}.fixed_share", "share", "calls whose deployment or model is unknown, which every route leaves "
               "where they are, those of unknown deployment as a replica of their own / calls", calls),
        *(number for route in routing.routes for number in _of_route(plan, routing, route)))


def _of_route(plan: Plan, routing: Routing, name: str) -> Iterable[Number]:
    base, route = plan.prefix(f"routing.{name}"), ROUTES[name]
    calls = f"calls with a session id in the stream {plan.stream}"
    limit = f" (load limit {float(routing.load_limit):g})" if route.placement == "sticky_limit" else ""
    of = f"calls are served {route.meaning}{limit}; release={plan.release}"
    yield Number(f"{base}.floor", "share", f"calls that find no KV even with memory without end / calls: {of}", calls)
    yield Number(f"{base}.moved_call_share", "share", "calls served on another deployment than the preceding one of "
                 f"their session and model / calls: {of}", calls)
    yield Number(f"{base}.peak_bytes", "bytes", "sum over replicas of the most bytes that each holds when nothing is "
                 f"evicted: {of}", calls)
    if route.copies:
        yield Number(f"{base}.moved_bytes", "bytes", f"KV sent between replicas with memory without end: {of}", calls)
    for part, words in (("p50", "median over calls"), ("p99", "99th percentile over calls"), ("max", "maximum")):
        yield Number(f"{base}.load_{part}", "ratio", f"{words} of the load where they are served: calls of a "
                     f"deployment and model in a minute / its fair share, rounded up to whole calls: {of}",
                     f"{calls}, of known deployment and model")
    for memory, policy, budget in cells_of(plan, routing, name):
        at = f"{budget.label} of K* by session and model" if budget.share is not None else budget.label
        shared = "shared by all replicas" if memory == POOLED else (
            f"divided among replicas in proportion to {DIVISIONS[memory]}" if memory != "equal" else
            "divided among replicas in equal parts")
        yield Number(f"{base}.{memory}.{policy}.{budget.key}", "share",
                     f"misses / calls of {policy} ({find_policy(policy).description}) at {at}, {shared}: {of}", calls)
