"""Every cell of every route, replayed in this process or on an engine's workers; the numbers are the same."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from metrics.core.engine import SpreadingEngine
from replay.residency.budgets import Budget, units_to_bytes
from replay.residency.cells import Plan
from replay.residency.factorize import factorize
from replay.residency.policy import find_policy
from replay.residency.routing.accesses import Accesses, accesses_of
from replay.residency.routing.fleet import Fleet, fleet_of
from replay.residency.routing.load import Load, load_of
from replay.residency.routing.options import ROUTES, Routing
from replay.residency.routing.placements import place, replicas_of
from replay.residency.routing.replicas import Moved, divide, preceding, replay_replicas
from replay.residency.stream import UNITS, no_eviction_peak
from replay.residency.stream_file import StreamFile

__all__ = ["POOLED", "Routed", "RoutedCell", "cells_of", "routed_here", "routed_spread"]

POOLED = "pooled"
"""One budget that all replicas share, beside the divisions of `options.DIVISIONS`."""

_POLICIES = ("lru", "mrr")


@dataclass(frozen=True)
class RoutedCell:
    """One policy under one budget, on one route.

    Attributes
    ----------
    memory : str
        `pooled`, or how the budget is divided among replicas.
    budget_bytes : int
        Of all replicas together.
    """

    memory: str
    policy: str
    budget: Budget
    budget_bytes: int
    moved: Moved


@dataclass(frozen=True)
class Routed:
    """What a route does.

    Attributes
    ----------
    calls, tokens : int
        Of the stream.
    unlimited : Moved
        With memory without end: its misses are the first touches.
    moves : int
        Calls of a session and model on another replica than the preceding one.
    peak_tokens : int
        Sum over replicas of the most that each holds when nothing is evicted.
    """

    route: str
    calls: int
    tokens: int
    unlimited: Moved
    moves: int
    peak_tokens: int
    load: Load
    cells: list[RoutedCell]


def cells_of(plan: Plan, routing: Routing, route: str) -> list[tuple[str, str, Budget]]:
    """(memory, policy, budget) of each cell: of the plan's policies LRU and MRR. Where KV moves at no cost, a pool
    would be one replica, so it has no cell."""
    memories = (routing.division,) if ROUTES[route].copies else (POOLED, routing.division)
    return [(memory, policy, budget) for memory in memories for policy in plan.policies if policy in _POLICIES
            for budget in plan.budgets]


def routed_here(plan: Plan, routing: Routing, stream: StreamFile, beta: int, threads: int) -> list[Routed]:
    """Every route that can be replayed on the stream, in order; `beta` is KV bytes a token."""
    fleet, kstar = _known(stream, plan)
    return [_route(fleet, kstar, plan, routing, name, beta, threads) for name in routing.routes]


def routed_spread(engine: SpreadingEngine, plan: Plan, routing: Routing, path: Path, beta: int) -> list[Routed]:
    """The same, a task a route; the stream file at `path` is brought to the workers."""
    return engine.scatter([_Part(plan, routing, name, beta) for name in routing.routes], _route_part, path)


@dataclass(frozen=True)
class _Part:
    plan: Plan
    routing: Routing
    route: str
    beta: int


def _route_part(part: _Part, path: Path) -> Routed:
    fleet, kstar = _opened(path, part.plan)
    return _route(fleet, kstar, part.plan, part.routing, part.route, part.beta, threads=1)


@cache
def _opened(path: Path, plan: Plan) -> tuple[Fleet, int]:
    """A worker replays many routes of one stream."""
    return _known(StreamFile.open(path), plan)


def _known(stream: StreamFile, plan: Plan) -> tuple[Fleet, int]:
    """The fleet, and K* by session and model in tokens: what all routes' budgets are shares of."""
    return fleet_of(stream), no_eviction_peak(stream.stream("session+model"), plan.release)


def _route(fleet: Fleet, kstar: int, plan: Plan, routing: Routing, name: str, beta: int, threads: int) -> Routed:
    route, last = ROUTES[name], plan.release == "last"
    server = place(fleet, route.placement, routing.load_limit)
    replica = replicas_of(fleet, server)
    accesses = accesses_of(fleet.owner, fleet.owners, replica, fleet.replicas, fleet.tokens, fleet.time_us,
                           route.copies)
    previous = preceding(fleet.owner, fleet.owners, fleet.tokens) if route.copies else None
    peaks = [no_eviction_peak(stream, plan.release) for stream in accesses.streams]
    weights = _weights(fleet, replica, peaks)[routing.division]
    pool = None if route.copies else _pool(fleet, replica)

    def run(cell: tuple[str, str, Budget]) -> RoutedCell:
        memory, policy, budget = cell
        units = budget.resolve(kstar * UNITS, beta)
        size = units_to_bytes(units, beta) if budget.bytes is None else budget.bytes
        seen, parts = (pool, [units]) if memory == POOLED else (accesses, divide(units, weights))
        assert seen is not None, "where KV moves there is no cell with a pool"
        return RoutedCell(memory, policy, budget, size, replay_replicas(find_policy(policy).kernel, seen, parts, last,
                                                                        fleet.tokens, previous))

    # A replica with room for its own peak never evicts.
    unlimited = replay_replicas(find_policy("lru").kernel, accesses, [peak * UNITS for peak in peaks], last,
                                fleet.tokens, previous)
    return Routed(name, fleet.calls, int(fleet.tokens.sum()), unlimited,
                  _moves(fleet.owner, fleet.owners, replica), sum(peaks), load_of(fleet, server),
                  _run(run, cells_of(plan, routing, name), threads))


def _weights(fleet: Fleet, replica: NDArray[np.int32], peaks: list[int]) -> dict[str, list[int]]:
    """What each replica's part of a budget is in proportion to, by division. A deployment that a route leaves without
    calls still has its equal part."""
    calls = np.bincount(replica, minlength=fleet.replicas).tolist()
    return {"peak": peaks, "calls": calls, "equal": [1] * fleet.deployments + [int(calls[-1] > 0)]}


def _pool(fleet: Fleet, replica: NDArray[np.int32]) -> Accesses:
    """All replicas' objects, told apart, in one pool."""
    objects, count = factorize(fleet.owner.astype(np.int64) * fleet.replicas + replica)
    return accesses_of(objects, count, np.zeros_like(replica), 1, fleet.tokens, fleet.time_us, copies=0)


def _moves(owner: NDArray[np.int32], owners: int, replica: NDArray[np.int32]) -> int:
    before = preceding(owner, owners, replica.astype(np.int64) + 1)
    return int(np.count_nonzero((before > 0) & (before != replica + 1)))


def _run(run: Callable[[tuple[str, str, Budget]], RoutedCell], cells: list[tuple[str, str, Budget]],
         threads: int) -> list[RoutedCell]:
    with ThreadPoolExecutor(threads) as pool:
        runs = [pool.submit(run, cell) for cell in cells]
        try:
            return [each.result() for each in runs]
        except BaseException:  # a stop, too: what is queued must not run on
            pool.shutdown(wait=False, cancel_futures=True)
            raise
