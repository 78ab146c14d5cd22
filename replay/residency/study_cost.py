"""What a residency study publishes for `kvcensus cost` and `size`: the stream's size, orders of policies, budgets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from metrics.core.metric import Findings, Number
from replay.cost import order, size_table
from replay.residency.cells import Plan, Replayed
from replay.residency.stream_file import StreamFile

__all__ = ["declared", "publish"]

_SECOND_US = 1_000_000


def declared(plan: Plan, population: str) -> Iterable[Number]:
    """Every number of it."""
    yield Number(f"replay.{plan.stream}.tokens", "tokens", "context tokens of all calls of the stream", population)
    yield Number(f"replay.{plan.stream}.span_s", "s", "length of the stream: an hour, or from a window's first call to "
                 "its last", population)
    for key in plan.keys:
        prefix = plan.prefix(key)
        yield Number(f"{prefix}.order_differs", "count", "budgets at which some policy has fewer misses and more "
                     f"missed tokens than another, objects by {key}, release={plan.release}", population)
        yield from size_table.declared(prefix, plan.policies, population)


def publish(found: Findings, plan: Plan, stream: StreamFile, replayed: Replayed,
            table: Sequence[Mapping[str, Any]]) -> None:
    """Publish it; `table` has the rows of `residency_replay`, with `low` and `high` of the rate."""
    tokens = replayed.cells[plan.keys[0]][0].tokens
    found.set(f"replay.{plan.stream}.tokens", tokens, stream.calls)
    found.set(f"replay.{plan.stream}.span_s", stream.span_us / _SECOND_US, stream.calls)
    ordered, sizes = order.order_rows(table), size_table.size_rows(table, tokens)
    for key in plan.keys:
        prefix, calls = plan.prefix(key), stream.calls
        differing = {row["budget_bytes"] for row in ordered if row["object_key"] == key and row["differs"]}
        found.set(f"{prefix}.order_differs", len(differing), len(plan.budgets))
        size_table.publish(found, prefix, plan.policies, [row for row in sizes if row["object_key"] == key], calls)
    found.table(order.TABLE, ordered)
    found.table(size_table.TABLE, sizes)
