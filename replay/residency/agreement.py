"""Does the fleet behave like a policy at a budget? Predicted hits of the replay beside the hits of the log.

What each replayed cell predicts of a call and what was logged of it give four counts; see
`replay.residency.comparison`. Clairvoyant policies are left out: no fleet runs one.
"""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from metrics.core.metric import Column, Findings, Number, TableSpec, ratio
from replay.residency.budgets import Budget
from replay.residency.cells import Plan, Replayed
from replay.residency.comparison import BANDS, MOVES, Agreement
from replay.residency.policy import find_policy
from replay.residency.stream_file import STREAM_DOC

__all__ = ["NOTHING", "agreement_study", "declared_agreements", "no_agreement"]

_CELL = (
    Column("stream", pa.string(), STREAM_DOC),
    Column("object_key", pa.string(), "what one KV object belongs to"),
    Column("release", pa.string(), "last: an object leaves after its last access in the stream; never: it does not"),
    Column("policy", pa.string(), "what is done when the budget is exceeded"),
    Column("budget_share", pa.float64(), "budget as a share of K*; null for a budget in bytes"),
    Column("budget", pa.string(), "budget as it was asked for"),
)
_COUNTS = (
    Column("calls", pa.int64(), "calls of the stream that report cached tokens and have a context above 0"),
    Column("hit_hit", pa.int64(), "predicted to hit, and cached tokens logged"),
    Column("hit_miss", pa.int64(), "predicted to hit, and none logged"),
    Column("miss_hit", pa.int64(), "predicted to miss, and cached tokens logged"),
    Column("miss_miss", pa.int64(), "predicted to miss, and none logged"),
    Column("agreement", pa.float64(), "(hit_hit + miss_miss) / calls"),
    Column("hit_context_tokens", pa.int64(), "context tokens of the calls predicted to hit"),
    Column("hit_cached_tokens", pa.int64(), "cached tokens, by the log, of the calls predicted to hit"),
    Column("miss_cached_tokens", pa.int64(), "cached tokens, by the log, of the calls predicted to miss"),
)
TABLE = TableSpec("replay_agreement", "one policy under one budget, beside the log", (*_CELL, *_COUNTS))
BY_WAY = TableSpec("replay_agreement_by", "one policy under one budget beside the log, of the calls that follow the "
                   "session's preceding call in one way", (
    *_CELL,
    Column("transition", pa.string(), "what changed since the session's preceding call, as in transition_reuse; "
           "before_stream: that call lies before the stream, so that every policy is predicted to miss"),
    Column("gap", pa.string(), "time since the session's preceding call; null: there is none"),
    *_COUNTS,
))

#: Why nothing can be compared.
NOTHING = "no call of the stream reports cached tokens and has a context above 0"


def _cells(plan: Plan) -> list[tuple[str, str, Budget]]:
    """(object key, policy, budget)."""
    return [(key, policy, budget) for key in plan.keys for policy in plan.policies
            if not find_policy(policy).clairvoyant for budget in plan.budgets]


def no_agreement(plan: Plan, why: str) -> Findings:
    """What is published where there is nothing to compare."""
    found = Findings()
    found.missing(why, *(number.key for number in declared_agreements(plan)))
    return found


def agreement_study(plan: Plan, replayed: Replayed) -> Findings:
    """What the comparison says of cells that were set beside the log."""
    found = Findings()
    table: list[Mapping[str, object]] = []
    by_way: list[Mapping[str, object]] = []
    beside = {(key, cell.policy, cell.budget): cell.beside_log or {} for key in plan.keys
              for cell in replayed.cells[key]}
    for key, policy, budget in _cells(plan):
        seen, where = beside[key, policy, budget], _where(plan, key, policy, budget)
        every = Agreement.total(seen.values())
        found.set(_key(plan, key, policy, budget), _share(every), every.calls, why=NOTHING)
        table.append(where | _counts(every))
        by_way += [where | {"transition": MOVES[move], "gap": BANDS[band]} | _counts(some)
                   for (move, band), some in sorted(seen.items())]
    found.table(TABLE, table)
    found.table(BY_WAY, by_way)
    return found


def _share(seen: Agreement) -> float | None:
    return ratio(seen.hit_hit + seen.miss_miss, seen.calls)


def _where(plan: Plan, key: str, policy: str, budget: Budget) -> dict[str, object]:
    return {"stream": plan.stream, "object_key": key, "release": plan.release, "policy": policy,
            "budget_share": None if budget.share is None else float(budget.share), "budget": budget.label}


def _counts(seen: Agreement) -> dict[str, object]:
    return {"calls": seen.calls, "hit_hit": seen.hit_hit, "hit_miss": seen.hit_miss, "miss_hit": seen.miss_hit,
            "miss_miss": seen.miss_miss, "agreement": _share(seen), "hit_context_tokens": seen.hit_context,
            "hit_cached_tokens": seen.hit_cached, "miss_cached_tokens": seen.miss_cached}


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
