"""The cells of a study, replayed in this process or on an engine's workers; the numbers are the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

from metrics.core.engine import SpreadingEngine
from replay.residency.bounds.grid import Bound, bounds
from replay.residency.budgets import Budget
from replay.residency.comparison import Logged
from replay.residency.keeping import Keeping
from replay.residency.policy import keepings
from replay.residency.replay import Cell, Journal, replay
from replay.residency.resampling import Bootstrap
from replay.residency.sampling import GROUPS, Sample
from replay.residency.stream import Release, Stream, no_eviction_peak
from replay.residency.stream_file import StreamFile
from telemetry.errors import UsageError

__all__ = ["Cells", "Group", "Plan", "Replayed", "cells_here", "cells_spread"]

#: The cells of one stream: policies in the order of the plan; within a policy, budgets.
Cells = list[Cell]
#: Its bounds: kinds in the order of the plan; within a kind, by what may be kept; then by budget.
Bounds = list[Bound]


@dataclass(frozen=True)
class Plan:
    """What is replayed.

    Attributes
    ----------
    stream : str
        `busiest-hour`, `window`, or a clock hour, `hour:2026-01-31T13`.
    keys, policies : tuple of str
    budgets : tuple of Budget
    release : {"last", "never"}
    sample : Sample or None
        The sessions whose calls are replayed; None for all.
    bounds : tuple of str
        Kinds of bounds on what any policy misses, of `replay.residency.bounds.grid.KINDS`.
    bootstrap : Bootstrap or None
        How the sessions are resampled; None where nobody asks how sure the rates are.
    hours : bool
        Whether the cells are replayed over each hour of a day as well.

    Raises
    ------
    UsageError
        A budget in bytes for a sample.
    """

    stream: str
    keys: tuple[str, ...]
    policies: tuple[str, ...]
    budgets: tuple[Budget, ...]
    release: Release
    sample: Sample | None = None
    bounds: tuple[str, ...] = ()
    bootstrap: Bootstrap | None = None
    hours: bool = False

    def __post_init__(self) -> None:
        amounts = [budget.label for budget in self.budgets if budget.share is None]
        if self.sample is not None and amounts:
            raise UsageError(f"budget {amounts[0]} for a sample of the sessions: an amount is memory of all sessions, "
                             "and which part of it is the sample's nobody knows. Write shares of K*, such as 10%.")

    @property
    def keepings(self) -> tuple[Keeping, ...]:
        """What the policies may keep, each once: there are bounds for each."""
        return keepings(self.policies) if self.bounds else ()

    def prefix(self, key: str) -> str:
        """`replay.<stream>.<object_key>`, and `.never` under the release mode that is no default."""
        return f"replay.{self.stream}.{key}" + ("" if self.release == "last" else f".{self.release}")


@dataclass(frozen=True)
class Group:
    """A group of a sample, replayed alone.

    Attributes
    ----------
    own : list of Cell
        With budgets that are shares of its own K*.
    split : list of Cell
        With its part, 1 / GROUPS, of the budgets of the whole sample.
    own_bounds, split_bounds : list of Bound
        The same of the bounds.
    """

    own: Cells
    split: Cells
    own_bounds: Bounds
    split_bounds: Bounds


@dataclass(frozen=True)
class Replayed:
    """What the replays of a plan found, by object key; groups where a sample was drawn, bounds where asked for."""

    cells: Mapping[str, Cells]
    groups: Mapping[str, Sequence[Group]]
    bounds: Mapping[str, Bounds] = field(default_factory=dict)


def cells_here(plan: Plan, stream: StreamFile, beta: int, threads: int, *, beside_log: bool = False,
               journal: Journal | None = None) -> Replayed:
    """Every cell of the plan.

    Parameters
    ----------
    plan : Plan
    stream : StreamFile
    beta : int
        KV bytes a token.
    threads : int
        Cells that run at once.
    beside_log : bool
        Whether cells are set beside the log, in the same run.
    journal : Journal, optional
        Cells that it knows are not replayed.
    """
    logged = stream.logged() if beside_log else None
    return Replayed({key: replay(stream.stream(key), plan.policies, plan.budgets, plan.release, beta=beta,
                                 threads=threads, logged=logged, journal=journal) for key in plan.keys},
                    {key: [_replay_group(group, stream, threads, journal) for group in _groups(plan, stream, key, beta)]
                     for key in plan.keys},
                    {key: _bounds(plan, stream.stream(key), plan.budgets, beta, threads) for key in plan.keys})


def cells_spread(engine: SpreadingEngine, plan: Plan, path: Path, beta: int, *, beside_log: bool = False) -> Replayed:
    """The same, a task a cell, one a group of a sample, and one a bound, of which `pfoo_l` serves all budgets at once.

    The stream file at `path` is brought to the workers.
    """
    stream = StreamFile.open(path)
    parts = [_Part(key, policy, budget, plan.release, beta, beside_log)
             for key in plan.keys for policy in plan.policies for budget in plan.budgets]
    # All cells of a group together are about as much work as two or three cells of the sample.
    groups = [group for key in plan.keys for group in _groups(plan, stream, key, beta)]
    limits = [part for key in plan.keys for part in _bound_parts(plan, key, beta)]
    work: list[_Part | _Group | _BoundPart] = [*parts, *groups, *limits]
    found = engine.scatter(work, _replay_one, path)
    cells, of_groups = found[:len(parts)], found[len(parts):len(parts) + len(groups)]
    of_bounds = list(zip(limits, found[len(parts) + len(groups):], strict=True))
    size, count = len(plan.policies) * len(plan.budgets), len(groups) // len(plan.keys)
    return Replayed({key: cells[place * size:(place + 1) * size] for place, key in enumerate(plan.keys)},
                    {key: of_groups[place * count:(place + 1) * count] for place, key in enumerate(plan.keys)},
                    {key: [bound for part, some in of_bounds if part.key == key for bound in some]
                     for key in plan.keys})


@dataclass(frozen=True)
class _Part:
    key: str
    policy: str
    budget: Budget
    release: Release
    beta: int
    beside_log: bool


@dataclass(frozen=True)
class _Group:
    """A group of the sample, and the no-eviction peak of the whole sample in tokens."""

    key: str
    number: int
    plan: Plan
    beta: int
    peak: int


def _groups(plan: Plan, stream: StreamFile, key: str, beta: int) -> list[_Group]:
    if plan.sample is None:
        return []
    peak = no_eviction_peak(stream.stream(key), plan.release)
    return [_Group(key, number, plan, beta, peak) for number in range(GROUPS)]


@dataclass(frozen=True)
class _BoundPart:
    key: str
    kind: str
    keepings: tuple[Keeping, ...]
    budgets: tuple[Budget, ...]
    release: Release
    beta: int


def _bound_parts(plan: Plan, key: str, beta: int) -> list[_BoundPart]:
    """What each task bounds, in the order of `Bounds`."""
    found = []
    for kind in plan.bounds:
        each = [(plan.keepings, plan.budgets)] if kind == "pfoo_l" else \
            [((keeping,), (budget,)) for keeping in plan.keepings for budget in plan.budgets]
        found += [_BoundPart(key, kind, kept, budgets, plan.release, beta) for kept, budgets in each]
    return found


def _bounds(plan: Plan, stream: Stream, budgets: Sequence[Budget], beta: int, threads: int) -> Bounds:
    return bounds(stream, plan.bounds, plan.keepings, budgets, plan.release, beta=beta, threads=threads)


def _replay_one(part: _Part | _Group | _BoundPart, path: Path) -> Any:
    if isinstance(part, _Group):
        return _replay_group(part, StreamFile.open(path), threads=1)
    if isinstance(part, _BoundPart):
        return bounds(_opened(path, part.key), (part.kind,), part.keepings, part.budgets, part.release, beta=part.beta)
    return replay(_opened(path, part.key), (part.policy,), (part.budget,), part.release, beta=part.beta,
                  logged=_logged(path) if part.beside_log else None)[0]


def _replay_group(part: _Group, file: StreamFile, threads: int, journal: Journal | None = None) -> Group:
    plan, stream = part.plan, file.group(part.key, part.number)
    peak = no_eviction_peak(stream, plan.release)
    # The part of the sample's K* that is the group's, as a share of the group's own.
    scale = Fraction(part.peak, GROUPS * peak) if peak else Fraction(1)
    split = [replace(budget, share=(budget.share or 0) * scale) for budget in plan.budgets]
    both = (plan.budgets, split)
    own, part_of = (replay(stream, plan.policies, budgets, plan.release, beta=part.beta, threads=threads,
                           journal=journal) for budgets in both)
    return Group(own, part_of, *(_bounds(plan, stream, budgets, part.beta, threads) for budgets in both))


@cache
def _opened(path: Path, key: str) -> Stream:
    """A worker runs many cells of one stream."""
    return StreamFile.open(path).stream(key)


@cache
def _logged(path: Path) -> Logged:
    return StreamFile.open(path).logged()
