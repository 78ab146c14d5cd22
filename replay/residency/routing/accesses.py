"""What each replica sees of a route: a stream of accesses of its own, which the ordinary policies replay.

Without moves a replica sees the calls that it serves. With copies (see `Route.copies`), a session's KV is held, up to
date, by the replicas that served it last. A call is then an access on each of them: on the one that serves it, and on
its peers, which receive what the context gained. Where this replica is new, the one that served longest ago gives its
copy up, if there are more than allowed: an access after which the copy has size 0, so that it takes no memory.

What a policy holds after an access does not depend on whether the access found something. Each replica can thus be
replayed alone, and exactly: a call finds its KV iff, just before it, one of the holders still had it, and their own
replays say so, since each of them has an access at this very call.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from replay.residency.compiled import compiled
from replay.residency.factorize import factorize
from replay.residency.stream import Stream, build_stream

__all__ = ["ARRIVED", "LEFT", "SERVED", "UPDATED", "Accesses", "accesses_of", "spread_reference"]

SERVED, ARRIVED, UPDATED, LEFT = 0, 1, 2, 3
"""Kinds: on the serving replica, which held the session; on it, which did not; on a peer that keeps its copy; on one
that gives it up."""


@dataclass(frozen=True, eq=False)
class Accesses:
    """The accesses of every replica.

    Attributes
    ----------
    call : int64[a]
        The call that caused each access; by replica, and within one in stream order.
    kind : int8[a]
    starts : int64[replicas + 1]
        Where each replica's accesses begin.
    streams : list of Stream
        One a replica; objects are the sessions' KV there.
    """

    call: NDArray[np.int64]
    kind: NDArray[np.int8]
    starts: NDArray[np.int64]
    streams: list[Stream]


def accesses_of(owner: NDArray[np.int32], owners: int, replica: NDArray[np.int32], replicas: int,
                tokens: NDArray[np.int64], time_us: NDArray[np.int64], copies: int) -> Accesses:
    """The accesses of every replica.

    Parameters
    ----------
    owner : int32[n]
        Whose KV each call needs, 0 to owners - 1.
    replica : int32[n]
        Who serves it, 0 to replicas - 1.
    tokens, time_us : int64[n]
    copies : int
        0: no KV moves.
    """
    if copies:
        none64, none32, none8 = np.empty(0, np.int64), np.empty(0, np.int32), np.empty(0, np.int8)
        count = _spread(owner, owners, replica, copies, none64, none32, none8)
        call, at, kind = np.empty(count, np.int64), np.empty(count, np.int32), np.empty(count, np.int8)
        _spread(owner, owners, replica, copies, call, at, kind)
    else:
        call, at, kind = np.arange(len(owner)), replica, np.full(len(owner), SERVED, np.int8)
    order, starts = _by_replica(at, replicas)
    call, kind = call[order], kind[order]
    size = np.where(kind == LEFT, 0, tokens[call])
    # Numbered by first appearance, so those of a replica are in a row.
    objects, _ = factorize(owner[call].astype(np.int64) * replicas + at[order])
    streams, first = [], 0
    for start, end in pairwise(starts.tolist()):
        after = int(objects[start:end].max()) + 1 if start < end else first
        streams.append(build_stream(objects[start:end] - np.int32(first), size[start:end], after - first,
                                    time_us[call[start:end]]))
        first = after
    return Accesses(call, kind, starts, streams)


@compiled
def _by_replica(replica: NDArray[np.int32], replicas: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The order that sorts by replica and keeps the order within each, and where each begins."""
    starts = np.zeros(replicas + 1, np.int64)
    for one in replica:
        starts[one + 1] += 1
    starts = np.cumsum(starts)
    at = starts.copy()
    order = np.empty(len(replica), np.int64)
    for i in range(len(replica)):
        order[at[replica[i]]] = i
        at[replica[i]] += 1
    return order, starts


@compiled
def _spread(owner: NDArray[np.int32], owners: int, replica: NDArray[np.int32], copies: int, call: NDArray[np.int64],
            at: NDArray[np.int32], kind: NDArray[np.int8]) -> int:
    """Write call, replica and kind of each access into arrays of that length, or of none; returns the length.

    `held` is who holds an owner's KV, the last to serve it first.
    """
    held = np.full((owners, copies), -1, np.int32)
    written = 0
    for i in range(len(owner)):
        row = held[owner[i]]
        place = 0
        while place < copies and row[place] >= 0 and row[place] != replica[i]:
            place += 1
        found = place < copies and row[place] == replica[i]
        for other in range(copies):
            if row[other] < 0:
                break
            if other == place:
                continue
            if call.size:
                call[written] = i
                at[written] = row[other]
                kind[written] = LEFT if place == copies and other == copies - 1 else UPDATED
            written += 1
        if call.size:
            call[written] = i
            at[written] = replica[i]
            kind[written] = SERVED if found else ARRIVED
        written += 1
        for other in range(min(place, copies - 1), 0, -1):
            row[other] = row[other - 1]
        row[0] = replica[i]
    return written


def spread_reference(owner: list[int], replica: list[int], copies: int) -> list[tuple[int, int, int]]:
    """(call, replica, kind) of each access, plainly."""
    held: dict[int, list[int]] = {}
    found = []
    for i, (session, serving) in enumerate(zip(owner, replica, strict=True)):
        holders = held.setdefault(session, [])
        kept = [serving, *(one for one in holders if one != serving)][:copies]
        found += [(i, one, UPDATED if one in kept else LEFT) for one in holders if one != serving]
        found.append((i, serving, SERVED if serving in holders else ARRIVED))
        held[session] = kept
    return found
