"""The cells of a study, replayed in this process or on an engine's workers; the numbers are the same."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from metrics.core.engine import SpreadingEngine
from replay.residency.budgets import Budget
from replay.residency.replay import Cell, replay
from replay.residency.stream import Release, Stream
from replay.residency.stream_file import StreamFile

__all__ = ["Cells", "Plan", "cells_here", "cells_spread"]

#: Object key -> its cells: policies in the order of the plan; within a policy, budgets.
Cells = Mapping[str, list[Cell]]


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
    """

    stream: str
    keys: tuple[str, ...]
    policies: tuple[str, ...]
    budgets: tuple[Budget, ...]
    release: Release

    def prefix(self, key: str) -> str:
        """`replay.<stream>.<object_key>`, and `.never` under the release mode that is no default."""
        return f"replay.{self.stream}.{key}" + ("" if self.release == "last" else f".{self.release}")


def cells_here(plan: Plan, stream: StreamFile, beta: int, threads: int) -> Cells:
    """Every cell of the plan; `beta` is KV bytes a token."""
    return {key: replay(stream.stream(key), plan.policies, plan.budgets, plan.release, beta=beta, threads=threads)
            for key in plan.keys}


def cells_spread(engine: SpreadingEngine, plan: Plan, path: Path, beta: int) -> Cells:
    """The same, a task a cell; the stream file at `path` is brought to the workers."""
    parts = [_Part(key, policy, budget, plan.release, beta)
             for key in plan.keys for policy in plan.policies for budget in plan.budgets]
    cells = engine.scatter(parts, _replay_one, path)
    size = len(plan.policies) * len(plan.budgets)
    return {key: cells[place * size:(place + 1) * size] for place, key in enumerate(plan.keys)}


@dataclass(frozen=True)
class _Part:
    key: str
    policy: str
    budget: Budget
    release: Release
    beta: int


def _replay_one(part: _Part, path: Path) -> Cell:
    return replay(_opened(path, part.key), (part.policy,), (part.budget,), part.release, beta=part.beta)[0]


@cache
def _opened(path: Path, key: str) -> Stream:
    """A worker runs many cells of one stream."""
    return StreamFile.open(path).stream(key)
