"""What a residency study publishes of policies with a host tier: the bytes that move (paper 5.3)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pyarrow as pa

from metrics.core.metric import Column, Findings, Number, TableSpec, ratio
from replay.residency.cells import Plan, Replayed
from replay.residency.policy import find_policy
from replay.residency.replay import Cell
from replay.residency.stream_file import STREAM_DOC, StreamFile

__all__ = ["TABLE", "declared", "publish"]

_SECOND_US = 1_000_000

#: Name of a key -> what is moved.
_MOVES = {
    "down": "int4 copies moved to the host tier, at each demotion",
    "up": "int4 copies moved back, at each promotion",
    "moved": "int4 copies moved between GPU memory and the host tier, both ways",
}

TABLE = TableSpec("replay_bytes", "one policy with a host tier under one budget", (
    Column("stream", pa.string(), STREAM_DOC),
    Column("object_key", pa.string(), "what one KV object belongs to"),
    Column("release", pa.string(), "last: an object leaves after its last access in the stream; never: it does not"),
    Column("policy", pa.string(), "what is done when the budget is exceeded"),
    Column("budget_share", pa.float64(), "budget as a share of K*; null for a budget in bytes"),
    Column("budget_bytes", pa.int64(), "budget in bytes, of GPU memory"),
    Column("stream_s", pa.float64(), "seconds of the stream: an hour, or from a window's first call to its last"),
    Column("promotions", pa.int64(), "calls that found the object as a copy"),
    *(Column(f"{move}_bytes", pa.int64(), f"bytes of {what}") for move, what in _MOVES.items()),
    *(Column(f"{move}_bytes_per_s", pa.float64(), f"{move}_bytes / stream_s; null where the stream has no length")
      for move in _MOVES),
))


def _policies(plan: Plan) -> Sequence[str]:
    """Those of a plan that move bytes."""
    return [policy for policy in plan.policies if "down_units" in find_policy(policy).counts]


def declared(plan: Plan, population: str) -> Iterable[Number]:
    """Every number about bytes that the study of a plan publishes."""
    for key in plan.keys:
        prefix = plan.prefix(key)
        for policy in _policies(plan):
            for budget in plan.budgets:
                name = f"{policy}.{budget.key}"
                for move, what in _MOVES.items():
                    yield Number(f"{prefix}.{move}_bytes.{name}", "bytes",
                                 f"bytes of {what}, in the replay of {prefix}.{name}", population)
                    yield Number(f"{prefix}.{move}_bytes_per_s.{name}", "bytes/s", "the same / seconds of the stream: "
                                 "an hour, or from a window's first call to its last", population)



def publish(found: Findings, plan: Plan, stream: StreamFile, replayed: Replayed) -> None:
    """Publish the bytes of every cell whose policy moves some; without such a policy nothing."""
    moving, table = _policies(plan), []
    for key in plan.keys:
        for cell in replayed.cells[key]:
            if cell.policy not in moving:
                continue
            row = _row(plan, key, cell, stream.span_us)
            table.append(row)
            for move in _MOVES:
                for what in (f"{move}_bytes", f"{move}_bytes_per_s"):
                    found.set(f"{plan.prefix(key)}.{what}.{cell.name}", row[what], cell.calls,
                              why="all calls of the stream start at one moment")
    if moving:
        found.table(TABLE, table)


def _row(plan: Plan, key: str, cell: Cell, span_us: int) -> dict[str, str | int | float | None]:
    share, down, up = cell.budget.share, cell.counters["down_bytes"], cell.counters["up_bytes"]
    bytes_moved = {"down": down, "up": up, "moved": down + up}
    return {
        "stream": plan.stream, "object_key": key, "release": plan.release, "policy": cell.policy,
        "budget_share": None if share is None else float(share), "budget_bytes": cell.budget_bytes,
        "stream_s": span_us / _SECOND_US, "promotions": cell.counters["promotions"],
        **{f"{move}_bytes": count for move, count in bytes_moved.items()},
        **{f"{move}_bytes_per_s": ratio(count * _SECOND_US, span_us) for move, count in bytes_moved.items()},
    }
