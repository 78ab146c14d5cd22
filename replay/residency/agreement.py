"""Does the fleet behave like a policy at a budget? Predicted hits of the replay beside the hits of the log.

A call that reports cached tokens and has a context above 0 is a logged hit iff some were cached. Beside what each
replayed cell predicts of the same call that gives four counts. Clairvoyant policies are left out: no fleet runs one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from metrics.core.engine import SpreadingEngine
from metrics.core.metric import Column, Findings, Number, TableSpec, ratio
from replay.residency.budgets import Budget
from replay.residency.cells import Plan
from replay.residency.compiled import compiled
from replay.residency.policy import MISSED, find_policy, log_policy
from replay.residency.stream import UNITS, no_eviction_peak
from replay.residency.stream_file import StreamFile

__all__ = ["Agreement", "agreement_study", "agreements_here", "agreements_spread", "compare", "compare_reference",
           "declared_agreements", "no_agreement"]

TABLE = TableSpec("replay_agreement", "one policy under one budget, beside the log", (
    Column("stream", pa.string(), "busiest-hour: the clock hour with most sessioned calls; window: all of them"),
    Column("object_key", pa.string(), "what one KV object belongs to"),
    Column("release", pa.string(), "last: an object leaves after its last access in the stream; never: it does not"),
    Column("policy", pa.string(), "what is done when the budget is exceeded"),
    Column("budget_share", pa.float64(), "budget as a share of K*; null for a budget in bytes"),
    Column("budget", pa.string(), "budget as it was asked for"),
    Column("calls", pa.int64(), "calls of the stream that report cached tokens and have a context above 0"),
    Column("hit_hit", pa.int64(), "predicted to hit, and cached tokens logged"),
    Column("hit_miss", pa.int64(), "predicted to hit, and none logged"),
    Column("miss_hit", pa.int64(), "predicted to miss, and cached tokens logged"),
    Column("miss_miss", pa.int64(), "predicted to miss, and none logged"),
    Column("agreement", pa.float64(), "(hit_hit + miss_miss) / calls"),
))

_NOTHING = "no call of the stream reports cached tokens and has a context above 0"


@dataclass(frozen=True)
class Agreement:
    """Calls by prediction and log: `hit_miss` are predicted to hit and logged as misses."""

    hit_hit: int
    hit_miss: int
    miss_hit: int
    miss_miss: int

    @property
    def calls(self) -> int:
        return self.hit_hit + self.hit_miss + self.miss_hit + self.miss_miss


def compare(missed: NDArray[np.bool_], tokens: NDArray[np.int64], cached: NDArray[np.int64]) -> Agreement:
    """The four counts.

    Parameters
    ----------
    missed : bool[n]
        What is predicted.
    tokens, cached : int64[n]
        Context, and cached tokens by the log; -1 where they are not reported.
    """
    return Agreement(*_compare(missed, tokens, cached))


@compiled
def _compare(missed: NDArray[np.bool_], tokens: NDArray[np.int64],
             cached: NDArray[np.int64]) -> tuple[int, int, int, int]:
    counts = np.zeros(4, np.int64)
    for i in range(len(missed)):
        if cached[i] >= 0 and tokens[i] > 0:
            counts[2 * missed[i] + (cached[i] == 0)] += 1
    return counts[0], counts[1], counts[2], counts[3]


def compare_reference(missed: Iterable[bool], tokens: Iterable[int], cached: Iterable[int]) -> Agreement:
    """`compare`, plainly."""
    told = [(lost, found > 0) for lost, size, found in zip(missed, tokens, cached, strict=True)
            if found >= 0 and size > 0]
    return Agreement(*(told.count(pair) for pair in ((False, True), (False, False), (True, True), (True, False))))


def _cells(plan: Plan) -> list[tuple[str, str, Budget]]:
    """(object key, policy, budget)."""
    return [(key, policy, budget) for key in plan.keys for policy in plan.policies
            if not find_policy(policy).clairvoyant for budget in plan.budgets]


def agreements_here(plan: Plan, file: StreamFile, beta: int, threads: int) -> list[Agreement]:
    """Every cell, in the order of keys, policies and budgets of the plan; `beta` is KV bytes a token."""
    cached = np.ascontiguousarray(file.table["cached"].fill_null(-1).to_numpy(), np.int64)
    streams = {key: file.stream(key) for key in plan.keys}
    peaks = {key: no_eviction_peak(stream, plan.release) * UNITS for key, stream in streams.items()}

    def run(cell: tuple[str, str, Budget]) -> Agreement:
        key, policy, budget = cell
        _, log = log_policy(find_policy(policy).kernel, streams[key], budget.resolve(peaks[key], beta),
                            plan.release == "last")
        return compare(log == MISSED, streams[key].tokens, cached)

    with ThreadPoolExecutor(threads) as pool:
        try:
            return list(pool.map(run, _cells(plan)))
        except BaseException:  # a stop, too: what is queued must not run on
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def agreements_spread(engine: SpreadingEngine, plan: Plan, path: Path, beta: int) -> list[Agreement]:
    """The same, a task an object key; the stream file at `path` is brought to the workers."""
    parts = [_Part(Plan(plan.stream, (key,), plan.policies, plan.budgets, plan.release, plan.sample), beta)
             for key in plan.keys]
    return [cell for cells in engine.scatter(parts, _part, path) for cell in cells]


@dataclass(frozen=True)
class _Part:
    plan: Plan
    beta: int


def _part(part: _Part, path: Path) -> list[Agreement]:
    return agreements_here(part.plan, StreamFile.open(path), part.beta, threads=1)


def no_agreement(plan: Plan, why: str) -> Findings:
    """What is published where there is nothing to compare."""
    found = Findings()
    found.missing(why, *(number.key for number in declared_agreements(plan)))
    return found


def agreement_study(plan: Plan, agreements: Iterable[Agreement]) -> Findings:
    """What the comparison says."""
    found, table = Findings(), []
    for (key, policy, budget), seen in zip(_cells(plan), agreements, strict=True):
        found.set(_key(plan, key, policy, budget), _share(seen), seen.calls, why=_NOTHING)
        table.append(_row(plan, key, policy, budget, seen))
    found.table(TABLE, table)
    return found


def _share(seen: Agreement) -> float | None:
    return ratio(seen.hit_hit + seen.miss_miss, seen.calls)


def _row(plan: Plan, key: str, policy: str, budget: Budget, seen: Agreement) -> Mapping[str, object]:
    return {"stream": plan.stream, "object_key": key, "release": plan.release, "policy": policy,
            "budget_share": None if budget.share is None else float(budget.share), "budget": budget.label,
            "calls": seen.calls, "hit_hit": seen.hit_hit, "hit_miss": seen.hit_miss, "miss_hit": seen.miss_hit,
            "miss_miss": seen.miss_miss, "agreement": _share(seen)}


def _key(plan: Plan, key: str, policy: str, budget: Budget) -> str:
    return f"{plan.prefix(key)}.agreement.{policy}.{budget.key}"


def declared_agreements(plan: Plan) -> tuple[Number, ...]:
    """Every number of the comparison."""
    population = (f"calls with a session id in the stream {plan.stream} that report cached tokens and have a context "
                  "above 0")
    if plan.sample is not None:
        population += f", of the sessions in a sample ({plan.sample})"
    return tuple(
        Number(_key(plan, key, policy, budget), "share", "calls that hit or miss as predicted / calls: hits of "
               f"{policy} at {budget.label}{' of K*' if budget.share is not None else ''}, objects by {key}, "
               f"release={plan.release}, beside cached tokens above 0 in the log", population)
        for key, policy, budget in _cells(plan))
