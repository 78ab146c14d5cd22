"""A route under a budget, pooled and divided among replicas: misses, and the KV that moves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from replay.residency.compiled import compiled
from replay.residency.policy import MISSED, Replay, log_policy, no_log
from replay.residency.routing.accesses import ARRIVED, LEFT, SERVED, UPDATED, Accesses

__all__ = ["Moved", "divide", "preceding", "replay_replicas", "tally", "tally_reference"]


@dataclass(frozen=True)
class Moved:
    """What the replay of a route counted.

    Attributes
    ----------
    misses : int
        Calls that found no KV that they could use.
    missed_tokens : int
        Sum of their contexts.
    moved_tokens : int
        KV sent from one replica to another, in tokens.
    """

    misses: int
    missed_tokens: int
    moved_tokens: int


def divide(total: int, weights: Sequence[int]) -> list[int]:
    """Parts of a budget in proportion to weights, each rounded down; none where all weights are 0."""
    whole = sum(weights)
    return [total * weight // whole if whole else 0 for weight in weights]


def replay_replicas(kernel: Replay, accesses: Accesses, budgets: Sequence[int], release_last: bool,
                    tokens: NDArray[np.int64], previous: NDArray[np.int64] | None) -> Moved:
    """One policy on every replica of a route.

    Parameters
    ----------
    kernel : Replay
    budgets : sequence of int
        Of each replica, in units.
    tokens : int64[n]
        Of each call.
    previous : int64[n] or None
        Context of the owner's preceding call, 0 for its first; None for a route on which no KV moves.
    """
    parts = zip(accesses.streams, budgets, strict=True)
    if previous is None:
        outcomes = [kernel(stream, budget, release_last, no_log()) for stream, budget in parts]
        return Moved(sum(outcome.misses for outcome in outcomes), sum(outcome.missed_tokens for outcome in outcomes), 0)
    missed = np.concatenate([log_policy(kernel, stream, budget, release_last)[1] == MISSED for stream, budget in parts])
    return tally(accesses, missed, tokens, previous)


def tally(accesses: Accesses, missed: NDArray[np.bool_], tokens: NDArray[np.int64],
          previous: NDArray[np.int64]) -> Moved:
    """What the logs of all replicas mean together.

    A call finds its KV iff a replica that held the session still has it; where the serving one has not, it gets what
    both contexts have in common, min(previous, tokens). A peer gets what the context gained, max(0, tokens - previous),
    or, where it had lost its copy, the whole context.

    Parameters
    ----------
    missed : bool[a]
        For each access, whether its replica found nothing.
    """
    return Moved(*_tally(accesses.call, accesses.kind, missed, tokens, previous))


@compiled
def _tally(call: NDArray[np.int64], kind: NDArray[np.int8], missed: NDArray[np.bool_], tokens: NDArray[np.int64],
           previous: NDArray[np.int64]) -> tuple[int, int, int]:
    found = np.zeros(len(tokens), np.bool_)
    for a in range(len(call)):
        if kind[a] != ARRIVED and not missed[a]:
            found[call[a]] = True
    moved = 0
    for a in range(len(call)):
        i = call[a]
        if kind[a] == UPDATED:
            moved += tokens[i] if missed[a] else max(0, tokens[i] - previous[i])
        elif kind[a] != LEFT and found[i] and (missed[a] or kind[a] == ARRIVED):
            moved += min(previous[i], tokens[i])
    misses = 0
    missed_tokens = 0
    for i in range(len(tokens)):
        if not found[i]:
            misses += 1
            missed_tokens += tokens[i]
    return misses, missed_tokens, moved


def tally_reference(accesses: Accesses, missed: Sequence[bool], tokens: Sequence[int],
                    previous: Sequence[int]) -> Moved:
    """`tally`, plainly."""
    seen = list(zip(accesses.call.tolist(), accesses.kind.tolist(), missed, strict=True))
    found = {call for call, kind, lost in seen if kind in (SERVED, UPDATED, LEFT) and not lost}
    moved = 0
    for call, kind, lost in seen:
        gained = max(0, tokens[call] - previous[call])
        if kind == UPDATED:
            moved += tokens[call] if lost else gained
        if (kind == ARRIVED or (kind == SERVED and lost)) and call in found:
            moved += min(tokens[call], previous[call])
    lost_calls = [call for call in range(len(tokens)) if call not in found]
    return Moved(len(lost_calls), sum(tokens[call] for call in lost_calls), moved)


@compiled
def preceding(owner: NDArray[np.int32], owners: int, values: NDArray[np.int64]) -> NDArray[np.int64]:
    """The value of the owner's preceding call, int64[n]; 0 for its first."""
    last = np.zeros(owners, np.int64)
    found = np.empty(len(owner), np.int64)
    for i in range(len(owner)):
        found[i] = last[owner[i]]
        last[owner[i]] = values[i]
    return found
