"""The budgets that a row of targets needs, as a table of the results store: what the figure draws."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import pyarrow as pa

from metrics.core.metric import Column, Findings, Number, TableSpec
from replay.cost.curves import MEASURES, Curve, Measure, curves_of
from replay.cost.size import AT_MOST, BETWEEN, BEYOND, NEVER, RULE, Sized, size

__all__ = ["TABLE", "TARGETS", "declared", "publish", "size_rows"]

#: In per cent. A choice: round shares from what nobody wants to what few reach.
TARGETS = (80, 60, 50, 40, 30, 20, 15, 10, 5)
#: Of these, those that are published as numbers, too.
SPOKEN = (10, 20, 50)

_WHY = {AT_MOST: "the smallest replayed budget meets the target, and no smaller one was replayed",
        BEYOND: "the largest replayed budget does not meet the target, and no larger one was replayed",
        NEVER: "no budget meets the target: the largest replayed one holds everything"}
_OF = {"misses": "misses / calls of at most", "missed-tokens": "missed tokens / context tokens of at most"}
_NO_TOKENS = "the stream has no tokens to take a share of"

TABLE = TableSpec("replay_size", "the budget that one target needs under one policy", (
    Column("stream", pa.string(), "busiest-hour: the clock hour with most sessioned calls; window: all of them"),
    Column("object_key", pa.string(), "what one KV object belongs to"),
    Column("release", pa.string(), "last: an object leaves after its last access in the stream; never: it does not"),
    Column("policy", pa.string(), "what is done when the budget is exceeded"),
    Column("measure", pa.string(), "what the target is a share of: calls that miss (misses), or context tokens of "
           "these (missed-tokens)"),
    Column("target_share", pa.float64(), "at most this share may miss"),
    Column("state", pa.string(), "between: the budget lies between two replayed ones; at_most: the smallest replayed "
           "one meets the target; beyond: the largest one does not, though a larger one may; never: no budget does"),
    Column("above_bytes", pa.int64(), "the largest replayed budget that fails and is followed by none that does; null: "
           "none fails"),
    Column("reached_bytes", pa.int64(), "the smallest replayed budget from which on all meet the target; null: none"),
    Column("point_bytes", pa.int64(), f"between these two: {RULE}; null but for between"),
    Column("point_share", pa.float64(), "point_bytes / K*"),
    Column("low_bytes", pa.int64(), "the point at the lower end of the interval of every share; null where it lies "
           "beyond the replayed budgets, or shares have no interval"),
    Column("high_bytes", pa.int64(), "the same at the upper end"),
    Column("monotone", pa.bool_(), "no larger replayed budget misses more than a smaller one"),
))


def size_rows(rows: Iterable[Mapping[str, Any]], tokens: int) -> list[dict[str, Any]]:
    """The rows of the table, of rows of `residency_replay`; `tokens` are the contexts of all calls of the stream."""
    found = []
    for curve in curves_of(rows, tokens):
        for measure in MEASURES.values():
            for target in TARGETS:
                sized = size(curve, measure, Fraction(target, 100))
                if sized is not None:
                    found.append(_row(curve, measure, target, sized))
    return found


def _row(curve: Curve, measure: Measure, target: int, sized: Sized) -> dict[str, Any]:
    point = _point(sized)
    return {
        "stream": curve.stream, "object_key": curve.object_key, "release": curve.release, "policy": curve.policy,
        "measure": measure.name, "target_share": target / 100, "state": sized.answer.state,
        "above_bytes": None if sized.above is None else sized.above.budget_bytes,
        "reached_bytes": None if sized.reached is None else sized.reached.budget_bytes,
        "point_bytes": point, "point_share": None if point is None else point / curve.kstar_bytes,
        "low_bytes": _point(sized.low), "high_bytes": _point(sized.high), "monotone": sized.answer.monotone,
    }


def _point(sized: Sized | None) -> int | None:
    return sized.budget_bytes if sized is not None and sized.answer.state == BETWEEN else None


def declared(prefix: str, policies: Iterable[str], population: str) -> Iterable[Number]:
    """The numbers of one kind of object: `<prefix>.size.<policy>.<measure>.t10` is a budget in bytes."""
    for policy in policies:
        for measure in MEASURES.values():
            for target in SPOKEN:
                yield Number(_key(prefix, policy, measure, target), "bytes", f"budget from which on {policy} has "
                             f"{_OF[measure.name]} {target}%; {RULE}; the interval is these two", population)


def publish(found: Findings, prefix: str, policies: Iterable[str], rows: Sequence[Mapping[str, Any]],
            calls: int) -> None:
    """Publish them, of the rows of the table that are of this kind of object."""
    at = {(row["policy"], row["measure"], row["target_share"]): row for row in rows}
    for policy in policies:
        for measure in MEASURES.values():
            for target in SPOKEN:
                row = at.get((policy, measure.name, target / 100))
                key = _key(prefix, policy, measure, target)
                if row is None:
                    found.missing(_NO_TOKENS, key)
                else:
                    bounds = {} if row["point_bytes"] is None else {
                        "low": row["above_bytes"], "high": row["reached_bytes"]}
                    found.set(key, row["point_bytes"], calls, why=_WHY.get(row["state"], ""), **bounds)


def _key(prefix: str, policy: str, measure: Measure, target: int) -> str:
    return f"{prefix}.size.{policy}.{measure.column}.t{target}"
