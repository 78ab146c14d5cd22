"""Rates of a stream in which other sessions came: for both sides of a comparison, replicates of their sessions."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from replay.residency.budgets import Budget
from replay.residency.replay import replay
from replay.residency.resampling import Bootstrap, draw_sessions, resample
from replay.residency.stream import Stream

__all__ = ["Replicates", "replicates"]


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


def replicates(stream: Stream, policies: Sequence[str], budgets: Sequence[Budget], *, beta: int, asked: Bootstrap,
               threads: int = 1) -> Replicates:
    """Replay the replicates of a stream by session; the result does not depend on `threads`.

    Parameters
    ----------
    stream : Stream
        By session, of one call at least.
    policies : sequence of str
    budgets : sequence of Budget
        Shares of K*, of each replicate its own.
    beta : int
        KV bytes of a token.
    asked : Bootstrap
    """
    def one(number: int) -> tuple[NDArray[np.float64], float, int]:
        drawn = resample(stream, stream.objects, draw_sessions(stream.object_count, asked.seed, number))
        cells = replay(drawn, policies, budgets, beta=beta)
        rates = np.array([cell.misses / cell.calls for cell in cells]).reshape(len(policies), len(budgets))
        return rates, drawn.object_count / drawn.calls, cells[0].kstar_bytes

    with ThreadPoolExecutor(threads) as pool:
        runs = [pool.submit(one, number) for number in range(1, asked.replicates + 1)]
        try:
            found = [run.result() for run in runs]
        except BaseException:  # a stop, too: what is queued must not run on
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    rates, floors, kstars = zip(*found, strict=True)
    return Replicates(np.stack(rates), np.array(floors), np.array(kstars, np.int64))
