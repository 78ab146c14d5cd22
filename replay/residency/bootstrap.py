"""How far rates of a stream scatter when other sessions come: the session-clustered bootstrap.

A replicate draws as many sessions as the stream has, with replacement. Each drawn copy is a distinct session with the
same timestamps; calls are ordered by the stream, then by copy. Budgets are shares of the replicate's own K*, and all
policies see the same replicates, so that differences between them are paired.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from replay.residency.budgets import Budget
from replay.residency.replay import replay
from replay.residency.stream import Release, Stream, build_stream

__all__ = ["Replicates", "bootstrap", "drawn_stream"]


@dataclass(frozen=True)
class Replicates:
    """Rates of the replicates.

    Attributes
    ----------
    rates : float64 array of shape (count, policies, budgets)
        Misses / calls.
    floors : float64 array of shape (count,)
        Distinct objects / calls.
    kstars : int64 array of shape (count,)
        Bytes of the no-eviction peak.
    """

    rates: NDArray[np.float64]
    floors: NDArray[np.float64]
    kstars: NDArray[np.int64]


def bootstrap(stream: Stream, policies: Sequence[str], budgets: Sequence[Budget], release: Release = "last", *,
              beta: int, count: int, seed: int, threads: int = 1) -> Replicates:
    """Replay `count` replicates of a stream of sessions; the result does not depend on `threads`.

    Parameters
    ----------
    stream : Stream
        By session, of one call at least.
    policies : sequence of str
    budgets : sequence of Budget
        Shares of K*.
    beta : int
        KV bytes of a token.
    count : int
    seed : int
    """
    def one(state: np.random.SeedSequence) -> tuple[NDArray[np.float64], float, int]:
        picks = np.random.default_rng(state).integers(0, stream.object_count, stream.object_count)
        drawn = drawn_stream(stream, np.bincount(picks, minlength=stream.object_count))
        cells = replay(drawn, policies, budgets, release, beta=beta)
        rates = np.array([cell.misses / cell.calls for cell in cells]).reshape(len(policies), len(budgets))
        return rates, drawn.object_count / drawn.calls, cells[0].kstar_bytes

    with ThreadPoolExecutor(threads) as pool:
        runs = [pool.submit(one, state) for state in np.random.SeedSequence(seed).spawn(count)]
        try:
            found = [run.result() for run in runs]
        except BaseException:  # a stop, too: what is queued must not run on
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    rates, floors, kstars = zip(*found, strict=True)
    return Replicates(np.stack(rates), np.array(floors), np.array(kstars, np.int64))


def drawn_stream(stream: Stream, copies: NDArray[np.int64]) -> Stream:
    """The stream in which session s comes `copies[s]` times."""
    times = copies[stream.objects]
    rows = np.repeat(np.arange(stream.calls), times)
    copy = np.arange(len(rows)) - np.repeat(np.cumsum(times) - times, times)
    base = np.cumsum(copies) - copies
    objects = (base[stream.objects[rows]] + copy).astype(np.int32)
    return build_stream(objects, stream.tokens[rows], int(copies.sum()))
