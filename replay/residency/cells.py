"""The cells of a study, replayed in this process or on an engine's workers; the numbers are the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

from metrics.core.engine import SpreadingEngine
from replay.residency.budgets import Budget
from replay.residency.replay import Cell, replay
from replay.residency.sampling import GROUPS, Sample
from replay.residency.stream import Release, Stream, no_eviction_peak
from replay.residency.stream_file import StreamFile
from telemetry.errors import UsageError

__all__ = ["Cells", "Group", "Plan", "Replayed", "cells_here", "cells_spread"]

#: The cells of one stream: policies in the order of the plan; within a policy, budgets.
Cells = list[Cell]


@dataclass(frozen=True)
class Plan:
    """What is replayed.

    Attributes
    ----------
    stream : str
        `busiest-hour` or `window`.
    keys, policies : tuple of str
    budgets : tuple of Budget
    release : {"last", "never"}
    sample : Sample or None
        The sessions whose calls are replayed; None for all.

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

    def __post_init__(self) -> None:
        amounts = [budget.label for budget in self.budgets if budget.share is None]
        if self.sample is not None and amounts:
            raise UsageError(f"budget {amounts[0]} for a sample of the sessions: an amount is memory of all sessions, "
                             "and which part of it is the sample's nobody knows. Write shares of K*, such as 10%.")

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
    """

    own: Cells
    split: Cells


@dataclass(frozen=True)
class Replayed:
    """What the replays of a plan found, by object key; groups where a sample was drawn."""

    cells: Mapping[str, Cells]
    groups: Mapping[str, Sequence[Group]]


def cells_here(plan: Plan, stream: StreamFile, beta: int, threads: int) -> Replayed:
    """Every cell of the plan; `beta` is KV bytes a token."""
    return Replayed({key: replay(stream.stream(key), plan.policies, plan.budgets, plan.release, beta=beta,
                                 threads=threads) for key in plan.keys},
                    {key: [_replay_group(group, stream, threads) for group in _groups(plan, stream, key, beta)]
                     for key in plan.keys})


def cells_spread(engine: SpreadingEngine, plan: Plan, path: Path, beta: int) -> Replayed:
    """The same, a task a cell, and one a group of a sample; the stream file at `path` is brought to the workers."""
    stream = StreamFile.open(path)
    parts = [_Part(key, policy, budget, plan.release, beta)
             for key in plan.keys for policy in plan.policies for budget in plan.budgets]
    # All cells of a group together are about as much work as two or three cells of the sample.
    groups = [group for key in plan.keys for group in _groups(plan, stream, key, beta)]
    work: list[_Part | _Group] = [*parts, *groups]
    found = engine.scatter(work, _replay_one, path)
    cells, of_groups = found[:len(parts)], found[len(parts):]
    size, count = len(plan.policies) * len(plan.budgets), len(groups) // len(plan.keys)
    return Replayed({key: cells[place * size:(place + 1) * size] for place, key in enumerate(plan.keys)},
                    {key: of_groups[place * count:(place + 1) * count] for place, key in enumerate(plan.keys)})


@dataclass(frozen=True)
class _Part:
    key: str
    policy: str
    budget: Budget
    release: Release
    beta: int


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


def _replay_one(part: _Part | _Group, path: Path) -> Any:
    if isinstance(part, _Group):
        return _replay_group(part, StreamFile.open(path), threads=1)
    return replay(_opened(path, part.key), (part.policy,), (part.budget,), part.release, beta=part.beta)[0]


def _replay_group(part: _Group, file: StreamFile, threads: int) -> Group:
    plan, stream = part.plan, file.group(part.key, part.number)
    peak = no_eviction_peak(stream, plan.release)
    # The part of the sample's K* that is the group's, as a share of the group's own.
    scale = Fraction(part.peak, GROUPS * peak) if peak else Fraction(1)
    split = [replace(budget, share=(budget.share or 0) * scale) for budget in plan.budgets]
    return Group(*(replay(stream, plan.policies, budgets, plan.release, beta=part.beta, threads=threads)
                   for budgets in (plan.budgets, split)))


@cache
def _opened(path: Path, key: str) -> Stream:
    """A worker runs many cells of one stream."""
    return StreamFile.open(path).stream(key)
