"""What a residency study of a sample publishes besides: what was drawn, and how sure each rate is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction

import pyarrow as pa

from metrics.core.metric import Column, Findings, Number
from replay.residency.bounds.grid import Bound, bound_name, bound_of
from replay.residency.cells import Plan, Replayed
from replay.residency.replay import Cell
from replay.residency.sampling import GROUPS, Sample
from replay.residency.sampling_error import Counts, Estimate, estimate
from replay.residency.stream import UNITS
from replay.residency.stream_file import StreamFile

__all__ = ["COLUMNS", "INTERVAL", "Estimates", "columns", "declared", "distances", "estimates", "publish"]

#: By the prefix of a rate's key and the rest of it: `replay.window.session`, `lru.b10`.
Estimates = Mapping[tuple[str, str], Estimate]

#: Contexts of mean size that a group's part of a budget must hold, if its misses are to say anything. Below that
#: objects fail to fit one by one, before they compete, and a rate may move either way as a sample grows.
WHOLE = 2

_MORE = "draw more sessions with --sample-sessions"

#: Of the table, where a sample was replayed.
COLUMNS = (
    Column("sample_fraction", pa.float64(), "share of the sessions that was asked for"),
    Column("sample_seed", pa.int64(), "seed of the draw"),
    Column("sample_sessions", pa.int64(), "sessions in the sample"),
    Column("stream_sessions", pa.int64(), "sessions of the stream, drawn or not"),
    Column("stream_calls", pa.int64(), "calls of the stream, drawn or not; calls are those of the sample"),
    Column("standard_error", pa.float64(), f"of the reconstruction rate, by chance of the draw, from {GROUPS} groups "
           "of sessions; null where the sample is too small to tell"),
    Column("low", pa.float64(), "lower end of the interval: 2.365 standard errors and what the sample's size may add"),
    Column("high", pa.float64(), "its upper end"),
    Column("groups_rate", pa.float64(), f"misses / calls of the {GROUPS} groups, each replayed alone at the same share "
           "of its own K*"),
    Column("split_rate", pa.float64(), f"the same with 1 / {GROUPS} of budget_bytes each"),
)

#: Ends the method of a number that has an interval.
INTERVAL = (f"; the interval is 2.365 standard errors of the draw either way, from {GROUPS} groups of the sampled "
            "sessions, and what the size of the sample may add")

_FRACTION = ("share of the sessions that was asked for: a session is in the sample if the first 60 bits of "
             "md5(seed ':' session_id) are below fraction * 2^60")
_ERROR = (f"standard error of {{key}}: of the draw, from {GROUPS} groups of the sampled sessions, each replayed alone; "
          "in parts per billion, rounded up")
_GROUPS = (f"{{key}} of the {GROUPS} groups of the sampled sessions together, each replayed alone at the same share of "
           "its own K*")
_SPLIT = (f"{{key}} of the {GROUPS} groups of the sampled sessions together, each replayed alone with 1 / {GROUPS} of "
          "the budget of the sample: how far it matters that few share memory")


def declared(plan: Plan, sample: Sample) -> Iterable[Number]:
    """What is published besides."""
    prefix, stream = f"replay.{plan.stream}.sample", f"the stream {plan.stream}"
    sessions, calls = f"sessions of {stream}", f"calls with a session id in {stream}"
    yield Number(f"{prefix}.fraction", "share", _FRACTION, sessions)
    yield Number(f"{prefix}.seed", "seed", "seed of the draw", sessions)
    yield Number(f"{prefix}.sessions", "sessions", f"sessions in the sample ({sample})", sessions)
    yield Number(f"{prefix}.stream_sessions", "sessions", "sessions, drawn or not", sessions)
    yield Number(f"{prefix}.calls", "calls", f"calls of the sessions in the sample ({sample})", calls)
    yield Number(f"{prefix}.stream_calls", "calls", "calls, drawn or not", calls)
    population = f"{calls}, of the sessions in a sample ({sample})"
    for prefix, name in _rates(plan):
        yield Number(f"{prefix}.se.{name}", "share", _ERROR.format(key=f"{prefix}.{name}"), population)
        if name != "floor":  # which is the same in groups
            yield Number(f"{prefix}.groups.{name}", "share", _GROUPS.format(key=f"{prefix}.{name}"), population)
            yield Number(f"{prefix}.split.{name}", "share", _SPLIT.format(key=f"{prefix}.{name}"), population)


def estimates(plan: Plan, stream: StreamFile, replayed: Replayed) -> Estimates:
    """How sure each rate is; of a stream with all sessions nothing is left to chance."""
    if stream.drawn is None:
        return {}
    found, fraction = {}, stream.drawn.sample.fraction
    for key in plan.keys:
        prefix = plan.prefix(key)
        cells: list[Cell | Bound] = [*replayed.cells[key], *replayed.bounds[key]]
        own, split = _groups(replayed, key)
        empty = _empty([group[0] for group in own])
        floors = [(group[0].objects, group[0].calls) for group in own]
        found[prefix, "floor"] = _estimate(cells[0].objects, cells[0].calls, floors, floors, fraction, empty)
        for place, cell in enumerate(cells):
            why = empty or _narrow(cell)
            found[prefix, cell.name] = _estimate(cell.misses, cell.calls, _counts(own, place), _counts(split, place),
                                                 fraction, why)
    return found


def distances(plan: Plan, stream: StreamFile, replayed: Replayed, key: str) -> Mapping[str, Estimate]:
    """How sure it is how far each policy stands from its lower bound, by the rest of the key of its rate.

    Policy and bound are of the same sessions, in each group, so their difference is a count as misses are.
    """
    if stream.drawn is None:
        return {}
    found, fraction = {}, stream.drawn.sample.fraction
    cells: list[Cell | Bound] = [*replayed.cells[key], *replayed.bounds[key]]
    places = {cell.name: place for place, cell in enumerate(cells)}
    own, split = _groups(replayed, key)
    empty = _empty([group[0] for group in own])
    for cell in replayed.cells[key]:
        place, low = places[cell.name], places.get(f"{bound_of(cell.policy, 'pfoo_l')}.{cell.budget.key}")
        if low is not None:
            found[cell.name] = _estimate(cell.misses - cells[low].misses, cell.calls, _counts(own, place, low),
                                         _counts(split, place, low), fraction, empty or _narrow(cell))
    return found


def _groups(replayed: Replayed, key: str) -> tuple[list[list[Cell | Bound]], list[list[Cell | Bound]]]:
    """Cells and bounds of each group, as of the whole: with budgets of its own, and with its part of the sample's."""
    groups = replayed.groups[key]
    return ([[*group.own, *group.own_bounds] for group in groups],
            [[*group.split, *group.split_bounds] for group in groups])


def _counts(groups: Sequence[Sequence[Cell | Bound]], place: int, less: int | None = None) -> Counts:
    """Misses and calls of a cell of each group; of misses, those of another one less."""
    if less is not None:
        return [(group[place].misses - group[less].misses, group[place].calls) for group in groups]
    return [(group[place].misses, group[place].calls) for group in groups]


def _estimate(misses: int, calls: int, own: Counts, split: Counts, fraction: Fraction, why: str | None) -> Estimate:
    sure = estimate(misses, calls, own, split, fraction)
    return sure if why is None else Estimate(sure.own, sure.split, None, None, None, why)


def _empty(groups: Sequence[Cell | Bound]) -> str | None:
    """Why nothing can be told of any rate: a group without a call."""
    empty = sum(not group.calls for group in groups)
    return f"{empty} of the {GROUPS} groups of its sessions hold no call; {_MORE}" if empty else None


def _narrow(cell: Cell | Bound) -> str | None:
    """Why nothing can be told of one rate: a group's part of the budget holds too few contexts of mean size."""
    if cell.budget_units * cell.calls >= WHOLE * GROUPS * UNITS * cell.tokens:
        return None
    return f"its budget holds fewer than {WHOLE * GROUPS} contexts of mean size; {_MORE}"


def publish(found: Findings, plan: Plan, stream: StreamFile, sure: Estimates) -> None:
    """Publish what was drawn, and how sure each rate is."""
    drawn = stream.drawn
    if drawn is None:
        return
    prefix = f"replay.{plan.stream}.sample"
    found.set(f"{prefix}.fraction", float(drawn.sample.fraction), drawn.sessions)
    found.set(f"{prefix}.seed", drawn.sample.seed, drawn.sessions)
    found.set(f"{prefix}.sessions", stream.sessions, drawn.sessions)
    found.set(f"{prefix}.stream_sessions", drawn.sessions, drawn.sessions)
    found.set(f"{prefix}.calls", stream.calls, drawn.calls)
    found.set(f"{prefix}.stream_calls", drawn.calls, drawn.calls)
    for (prefix, name), how in sure.items():
        found.set(f"{prefix}.se.{name}", how.error, stream.calls, why=how.why or "")
        if name != "floor":
            found.set(f"{prefix}.groups.{name}", how.own, stream.calls)
            found.set(f"{prefix}.split.{name}", how.split, stream.calls)


def columns(stream: StreamFile, sure: Estimate | None) -> dict[str, object]:
    """The columns of one row of the table; none where all sessions were replayed."""
    drawn = stream.drawn
    if drawn is None or sure is None:
        return {}
    return {"sample_fraction": float(drawn.sample.fraction), "sample_seed": drawn.sample.seed,
            "sample_sessions": stream.sessions, "stream_sessions": drawn.sessions, "stream_calls": drawn.calls,
            "standard_error": sure.error, "low": sure.low, "high": sure.high, "groups_rate": sure.own,
            "split_rate": sure.split}


def _rates(plan: Plan) -> Iterable[tuple[str, str]]:
    """Prefix and name of every rate."""
    for prefix in map(plan.prefix, plan.keys):
        yield prefix, "floor"
        limits = (bound_name(kind, keeping) for kind in plan.bounds for keeping in plan.keepings)
        yield from ((prefix, f"{name}.{budget.key}") for name in (*plan.policies, *limits) for budget in plan.budgets)
