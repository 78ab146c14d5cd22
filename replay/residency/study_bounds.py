"""What a residency study publishes of bounds: what no policy can avoid, and how far each policy stands from it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction

import pyarrow as pa

from metrics.core.metric import Column, Findings, Number, TableSpec, ratio
from replay.residency import study_sampled as sampled
from replay.residency.bounds.grid import KINDS, Bound, bound_name, bound_of
from replay.residency.cells import Plan, Replayed
from replay.residency.policy import keeping_of
from replay.residency.replay import Cell
from replay.residency.sampling_error import Estimate
from replay.residency.stream import UNITS
from replay.residency.stream_file import STREAM_DOC, StreamFile

__all__ = ["declared", "publish"]

_WHERE = (
    Column("stream", pa.string(), STREAM_DOC),
    Column("object_key", pa.string(), "what one KV object belongs to"),
    Column("release", pa.string(), "last: an object leaves after its last access in the stream; never: it does not"),
)
_BUDGET = (
    Column("budget_share", pa.float64(), "budget as a share of K*; null for a budget in bytes"),
    Column("budget_bytes", pa.int64(), "budget in bytes"),
    Column("calls", pa.int64(), "calls of the stream"),
)
_BOUNDS = TableSpec("replay_bound", "one bound under one budget", (
    *_WHERE,
    Column("bound", pa.string(), "; ".join(f"{kind}: {what}" for kind, what in KINDS.items())),
    Column("q", pa.float64(), "size of a copy / size of its object, where policies keep copies; 1 for whole objects"),
    Column("h", pa.int64(), "host tier for copies / budget; 0 where there is none"),
    Column("bounds", pa.string(), "which policies it bounds"),
    Column("policies", pa.string(), "those of them that were replayed"),
    *_BUDGET,
    Column("misses", pa.int64(), "misses of the bound"),
    Column("reconstruction_rate", pa.float64(), "misses / calls"),
    Column("first_touch_floor", pa.float64(), "distinct objects / calls: the rate of any policy at K*"),
    Column("objects", pa.int64(), "distinct KV objects of the stream"),
))
_SAMPLED_BOUNDS = TableSpec(_BOUNDS.name, _BOUNDS.row, _BOUNDS.columns + sampled.COLUMNS)
_DISTANCE = TableSpec("replay_distance", "one policy under one budget", (
    *_WHERE,
    Column("policy", pa.string(), "what is done when the budget is exceeded"),
    *_BUDGET,
    Column("misses", pa.int64(), "misses of the policy"),
    Column("bound", pa.string(), "name of the lower bound for what the policy may keep; null where none is for it"),
    Column("bound_misses", pa.int64(), "misses of the lower bound"),
    Column("above_bound_misses", pa.int64(), "misses - bound_misses: at most so many could be avoided"),
    Column("above_bound", pa.float64(), "above_bound_misses / calls"),
    Column("low", pa.float64(), "lower end of the interval of above_bound, of a sample"),
    Column("high", pa.float64(), "its upper end"),
    Column("repeat_misses", pa.int64(), "misses that are no first touches: misses - objects"),
    Column("above_bound_share", pa.float64(), "above_bound_misses / repeat_misses: at most this share of them could be "
           "avoided; null where all misses are first touches"),
    Column("feasible_misses", pa.int64(), "misses of the feasible schedule pfoo_u for the same; null where it was not "
           "computed"),
    Column("above_feasible_misses", pa.int64(), "misses - feasible_misses: at least so many could be avoided; negative "
           "where the policy is better than that schedule"),
))

#: Ends a key, after the prefix and before policy and budget -> unit, definition.
_NUMBERS = {
    "above_bound": "(misses of {policy} - those of the lower bound {bound}) / calls: at most that much a better policy "
                   "of its kind would save",
    "above_bound_share": "(misses of {policy} - those of the lower bound {bound}) / its misses that are no first "
                         "touches: at most this share of them could be avoided",
}
_UNBOUNDED = "no bound is for a policy that is not held to the budget, or that is not known to bounds"

#: The bounds of one object key, by name, such as `pfoo_l_q32.b10`.
_Named = Mapping[str, Bound]


def publish(found: Findings, plan: Plan, stream: StreamFile, replayed: Replayed, sure: sampled.Estimates) -> None:
    """Publish the bounds of a study and how far its policies stand from them; nothing where none were asked for."""
    if not plan.bounds:
        return
    limits, distances = [], []
    for key in plan.keys:
        prefix, named = plan.prefix(key), {bound.name: bound for bound in replayed.bounds[key]}
        for name, bound in named.items():
            estimate = sure.get((prefix, name))
            low, high = (None, None) if estimate is None else (estimate.low, estimate.high)
            found.set(f"{prefix}.{name}", bound.rate, bound.calls, low=low, high=high)
            limits.append(_where(plan, key) | _bound_row(plan, bound) | sampled.columns(stream, estimate))
        if "pfoo_l" in plan.bounds:
            apart = sampled.distances(plan, stream, replayed, key)
            distances += [_where(plan, key) | _distance(found, prefix, cell, named, apart.get(cell.name))
                          for cell in replayed.cells[key]]
    found.table(_BOUNDS if plan.sample is None else _SAMPLED_BOUNDS, limits)
    if "pfoo_l" in plan.bounds:
        found.table(_DISTANCE, distances)


def _where(plan: Plan, key: str) -> dict[str, object]:
    return {"stream": plan.stream, "object_key": key, "release": plan.release}


def _budget(cell: Cell | Bound) -> dict[str, object]:
    share = cell.budget.share
    return {"budget_share": None if share is None else float(share), "budget_bytes": cell.budget_bytes,
            "calls": cell.calls, "misses": cell.misses}


def _bound_row(plan: Plan, bound: Bound) -> dict[str, object]:
    keeping = bound.keeping
    return _budget(bound) | {
        "bound": bound.kind, "q": float(Fraction(keeping.copy_units, UNITS)), "h": keeping.host,
        "bounds": keeping.words,
        "policies": ", ".join(policy for policy in plan.policies if keeping_of(policy) == keeping),
        "reconstruction_rate": bound.rate, "first_touch_floor": ratio(bound.objects, bound.calls),
        "objects": bound.objects,
    }


def _distance(found: Findings, prefix: str, cell: Cell, named: _Named, sure: Estimate | None) -> dict[str, object]:
    """Publish how far a policy stands from its bound; the row of the table."""
    lower, feasible = (bound_of(cell.policy, kind) for kind in ("pfoo_l", "pfoo_u"))
    bound, schedule = (named.get(f"{name}.{cell.budget.key}") for name in (lower, feasible))
    above = None if bound is None else cell.misses - bound.misses
    repeats = cell.misses - cell.objects
    low, high = (None, None) if sure is None else (sure.low, sure.high)
    shares = {"above_bound": ratio(above, cell.calls), "above_bound_share": ratio(above, repeats)}
    if bound is None:
        found.missing(_UNBOUNDED, *(f"{prefix}.{what}.{cell.name}" for what in shares))
    else:
        found.set(f"{prefix}.above_bound.{cell.name}", shares["above_bound"], cell.calls, low=low, high=high)
        found.set(f"{prefix}.above_bound_share.{cell.name}", shares["above_bound_share"], repeats,
                  why="every miss is a first touch, which nothing avoids" if cell.calls else "nothing in the window to "
                  "count")
    return _budget(cell) | shares | {
        "policy": cell.policy, "bound": lower, "bound_misses": None if bound is None else bound.misses,
        "above_bound_misses": above, "low": low, "high": high, "repeat_misses": repeats,
        "feasible_misses": None if schedule is None else schedule.misses,
        "above_feasible_misses": None if schedule is None else cell.misses - schedule.misses,
    }


def declared(plan: Plan, population: str, interval: str) -> Iterator[Number]:
    """Every number about bounds that the study of a plan publishes."""
    if not plan.bounds:
        return
    for key in plan.keys:
        prefix, of = plan.prefix(key), f"objects by {key}, release={plan.release}"
        for budget in plan.budgets:
            at = f"{budget.label} of K*" if budget.share is not None else budget.label
            for kind in plan.bounds:
                for keeping in plan.keepings:
                    yield Number(f"{prefix}.{bound_name(kind, keeping)}.{budget.key}", "share",
                                 f"misses / calls of {kind} ({KINDS[kind]}) at {at}, for {keeping.words}, "
                                 f"{of}{interval}", population)
            for policy in plan.policies if "pfoo_l" in plan.bounds else ():
                for what, method in _NUMBERS.items():
                    said = method.format(policy=policy, bound=bound_of(policy, "pfoo_l") or "(none)")
                    sure = interval if what == "above_bound" else ""
                    yield Number(f"{prefix}.{what}.{policy}.{budget.key}", "share", f"{said}, at {at}, {of}{sure}",
                                 population)

