"""The cells of a study, replayed in this process or on an engine's workers; the numbers are the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from metrics.core.engine import SpreadingEngine
from replay.residency.budgets import Budget
from replay.residency.replay import Cell, replay
from replay.residency.sampling import GROUPS, Sample
from replay.residency.stream import Release, Stream
from replay.residency.stream_file import StreamFile

__all__ = ["Cells", "Plan", "Replayed", "cells_here", "cells_spread"]

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
    """

    stream: str
    keys: tuple[str, ...]
    policies: tuple[str, ...]
    budgets: tuple[Budget, ...]
    release: Release
    sample: Sample | None = None

    def prefix(self, key: str) -> str:
        """`replay.<stream>.<object_key>`, and `.never` under the release mode that is no default."""
        return f"replay.{self.stream}.{key}" + ("" if self.release == "last" else f".{self.release}")


@dataclass(frozen=True)
class Replayed:
    """What the replays of a plan found, by object key.

    Attributes
    ----------
    cells : mapping of str to list of Cell
    groups : mapping of str to list of list of Cell
        The same of each group of a sample, alone; empty where none was drawn.
    """

    cells: Mapping[str, Cells]
    groups: Mapping[str, Sequence[Cells]]


def cells_here(plan: Plan, stream: StreamFile, beta: int, threads: int) -> Replayed:
    """Every cell of the plan; `beta` is KV bytes a token."""
    def of(part: Stream) -> Cells:
        return replay(part, plan.policies, plan.budgets, plan.release, beta=beta, threads=threads)

    groups = range(GROUPS if plan.sample is not None else 0)
    return Replayed({key: of(stream.stream(key)) for key in plan.keys},
                    {key: [of(stream.group(key, number)) for number in groups] for key in plan.keys})


def cells_spread(engine: SpreadingEngine, plan: Plan, path: Path, beta: int) -> Replayed:
    """The same, a task a cell, and one a group of a sample; the stream file at `path` is brought to the workers."""
    parts = [_Part(key, (policy,), (budget,), plan.release, beta)
             for key in plan.keys for policy in plan.policies for budget in plan.budgets]
    if plan.sample is not None:  # a task a group: all its cells take about as long as one cell of the sample
        parts += [_Part(key, plan.policies, plan.budgets, plan.release, beta, number)
                  for key in plan.keys for number in range(GROUPS)]
    found = engine.scatter(parts, _replay_part, path)
    return Replayed({key: [cell for part, cells in zip(parts, found, strict=True)
                           if part.key == key and part.group is None for cell in cells] for key in plan.keys},
                    {key: [cells for part, cells in zip(parts, found, strict=True)
                           if part.key == key and part.group is not None] for key in plan.keys})


@dataclass(frozen=True)
class _Part:
    key: str
    policies: tuple[str, ...]
    budgets: tuple[Budget, ...]
    release: Release
    beta: int
    group: int | None = None


def _replay_part(part: _Part, path: Path) -> Cells:
    stream = _opened(path, part.key) if part.group is None else StreamFile.open(path).group(part.key, part.group)
    return replay(stream, part.policies, part.budgets, part.release, beta=part.beta)


@cache
def _opened(path: Path, key: str) -> Stream:
    """A worker runs many cells of one stream."""
    return StreamFile.open(path).stream(key)
