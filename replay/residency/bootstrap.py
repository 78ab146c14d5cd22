"""Every cell of a plan over replicates of its sessions, in this process or on an engine's workers; the same numbers.

A replicate serves all object keys, policies and budgets, so what is compared within it is of the same sessions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from metrics.core.engine import SpreadingEngine
from replay.residency.cells import Plan
from replay.residency.replay import replay
from replay.residency.resampling import Bootstrap, draw_sessions, group_sessions, resample
from replay.residency.resampling_error import GROUPS
from replay.residency.stream import Stream
from replay.residency.stream_file import StreamFile

__all__ = ["FEWEST_SESSIONS", "Replicate", "Resampled", "resampled_here", "resampled_spread"]

#: Sessions that resampling needs: of fewer, a group of the jackknife would be empty.
FEWEST_SESSIONS = GROUPS

#: Replicates of a task of an engine, at least, and tasks, at most: starting a task takes time.
_LEAST, _TASKS = 8, 64


class Replicate(NamedTuple):
    """What was counted in one replicate, by one object key.

    Attributes
    ----------
    calls, objects : int
    misses : tuple of int
        Of each cell: policies in the order of the plan; within a policy, budgets.
    """

    calls: int
    objects: int
    misses: tuple[int, ...]


@dataclass(frozen=True)
class Resampled:
    """Replicates by object key.

    Attributes
    ----------
    sessions : int
        Of the stream. Where they are fewer than `FEWEST_SESSIONS` there are no replicates.
    bootstrap : mapping of str to sequence of Replicate
        Sessions drawn with replacement, as many as there are.
    jackknife : mapping of str to sequence of Replicate
        All sessions but those of one group, group by group.
    """

    sessions: int
    bootstrap: Mapping[str, Sequence[Replicate]]
    jackknife: Mapping[str, Sequence[Replicate]]


def resampled_here(plan: Plan, file: StreamFile, beta: int, threads: int,
                   progress: Callable[[int, int], None] = lambda done, count: None) -> Resampled:
    """Every replicate of the plan, one a thread; `beta` is KV bytes a token.

    `progress` is told how many of how many replicates are done. A thread holds one replicate by one object key, 28
    bytes a call, beside the stream, and what a replay needs.
    """
    source, numbers = _Source.of(file, plan), _numbers(plan, file.sessions)
    with ThreadPoolExecutor(threads) as pool:
        runs = [pool.submit(_replicate, source, plan, beta, number) for number in numbers]
        try:
            for done, _ in enumerate(as_completed(runs), start=1):
                progress(done, len(runs))
            found = [run.result() for run in runs]
        except BaseException:  # a stop, too: what is queued must not run on
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return _by_key(plan, file.sessions, found)


def resampled_spread(engine: SpreadingEngine, plan: Plan, path: Path, beta: int) -> Resampled:
    """The same, some replicates a task; the stream file at `path` is brought to the workers."""
    sessions = StreamFile.open(path).sessions
    numbers = _numbers(plan, sessions)
    size = max(_LEAST, -(-len(numbers) // _TASKS))
    parts = [_Part(plan, beta, tuple(numbers[start:start + size])) for start in range(0, len(numbers), size)]
    found = engine.scatter(parts, _replicates, path) if parts else []
    return _by_key(plan, sessions, [replicate for some in found for replicate in some])


@dataclass(frozen=True)
class _Part:
    plan: Plan
    beta: int
    numbers: tuple[int, ...]


@dataclass(frozen=True)
class _Source:
    """An open stream by the plan's object keys, and the session of each call."""

    streams: Mapping[str, Stream]
    session: NDArray[np.int32]
    sessions: int

    @classmethod
    def of(cls, file: StreamFile, plan: Plan) -> _Source:
        by_session = file.stream("session")
        return cls({key: file.stream(key) for key in plan.keys}, by_session.objects, by_session.object_count)


def _numbers(plan: Plan, sessions: int) -> list[int]:
    """Replicates by number: 1, 2, ... are those of the bootstrap; 0, -1, ... lack the group 0, 1, ..."""
    if plan.bootstrap is None or sessions < FEWEST_SESSIONS:
        return []
    return [*range(1, plan.bootstrap.replicates + 1), *(-group for group in range(GROUPS))]


def _by_key(plan: Plan, sessions: int, found: Iterable[Sequence[Replicate]]) -> Resampled:
    by_number = list(found)
    count = plan.bootstrap.replicates if plan.bootstrap else 0
    bootstrap, jackknife = ({key: [replicate[place] for replicate in some] for place, key in enumerate(plan.keys)}
                            for some in (by_number[:count], by_number[count:]))
    return Resampled(sessions, bootstrap, jackknife)


def _replicates(part: _Part, path: Path) -> list[list[Replicate]]:
    return [_replicate(_opened(path, part.plan), part.plan, part.beta, number) for number in part.numbers]


@cache
def _opened(path: Path, plan: Plan) -> _Source:
    """A worker makes many replicates of one stream."""
    return _Source.of(StreamFile.open(path), plan)


def _replicate(source: _Source, plan: Plan, beta: int, number: int) -> list[Replicate]:
    """One replicate by every object key of the plan."""
    assert plan.bootstrap is not None, "without a bootstrap there are no numbers"
    copies, found = _copies(source.sessions, plan.bootstrap, number), []
    for key in plan.keys:
        stream = resample(source.streams[key], source.session, copies)
        cells = replay(stream, plan.policies, plan.budgets, plan.release, beta=beta)
        found.append(Replicate(stream.calls, stream.object_count, tuple(cell.misses for cell in cells)))
    return found


def _copies(sessions: int, asked: Bootstrap, number: int) -> NDArray[np.int64]:
    if number > 0:
        return draw_sessions(sessions, asked.seed, number)
    kept: NDArray[np.int64] = (group_sessions(sessions, asked.seed, GROUPS) != -number).astype(np.int64)
    return kept
