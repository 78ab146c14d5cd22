"""PFOO-L: how few misses can the best policy not avoid? A proven lower bound for a whole budget grid at once.

A hit at access j means that its object stayed, at the size s_i of its access before, i, after each of the accesses
i to j - 1: it took s_i * (j - i) of the room, which is what the budget holds after an access times the accesses but
the last. Whatever is kept when, hits together take no more than all the room, so no policy has more hits than there
are reuse intervals, cheapest first, before the room is full. METHODOLOGY.md has the proof for objects that change in
size, for copies and for a host tier.

Costs are not sorted: they are counted in buckets of about 1/256 of their value, and only the bucket in which the room
of some budget ends is looked into. That takes two passes over the stream, and memory for the buckets.

Source: PFOO-L of Berger, Beckmann, Harchol-Balter, "Practical Bounds on Optimal Caching with Variable Object Sizes",
POMACS 2(2), 2018, section 5; there sizes are constant.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from replay.residency.compiled import compiled
from replay.residency.keeping import Room
from replay.residency.stream import Stream

__all__ = ["pfoo_l", "pfoo_l_reference"]

#: A stream's sizes times its length are below 2^56 (see `Stream`), and so are costs: 256 buckets for each power of
#: two, one more for cost 0, and one for what rounds up to 2^56.
BUCKETS = 56 * 256 + 2

#: Sum of a bucket's costs, in two words of 64 bits: below, above.
LOW, HIGH = 0, 1


def pfoo_l(stream: Stream, rooms: Sequence[Room]) -> list[int]:
    """Fewest misses that the room of each budget allows.

    Parameters
    ----------
    stream : Stream
    rooms : sequence of Room
        Budgets, and what may be kept of an object, as `replay.residency.keeping.Keeping.room` puts them.

    Returns
    -------
    list of int
        By room. First touches are misses; of the others, those whose intervals do not fit.
    """
    if not rooms or not stream.calls:
        return [0 for _ in rooms]
    most = int(stream.tokens.max())  # rooms for which every object is small enough are alike
    sizes = np.unique(np.array([min(room.largest, most) for room in rooms], np.int64))
    counts, sums = _count(stream.tokens, stream.next_use, sizes)
    steps = _steps(counts, sums)
    turns = [steps[int(np.searchsorted(sizes, min(room.largest, most)))].turn(room.limit) for room in rooms]
    looked_into = _Members(stream, counts.sum(axis=0), {bucket for bucket, _, _ in turns}, int(sizes[-1]))
    return [stream.calls - taken - looked_into.fitting(bucket, room.largest, left)
            for room, (bucket, taken, left) in zip(rooms, turns, strict=True)]


@dataclass(frozen=True)
class _Steps:
    """How many intervals there are up to each bucket that has some, and what they cost together; both begin with 0."""

    buckets: list[int]
    counts: list[int]
    costs: list[int]

    def turn(self, limit: int) -> tuple[int, int, int]:
        """The first bucket that does not fit whole (-1: all do), intervals before it, and the room that they leave."""
        place = bisect_right(self.costs, limit) - 1
        bucket = self.buckets[place] if place < len(self.buckets) else -1
        return bucket, self.counts[place], limit - self.costs[place]


def _steps(counts: NDArray[np.int64], sums: NDArray[np.uint64]) -> list[_Steps]:
    """By row: the steps of the intervals of this row and of those before."""
    found = []
    number = np.zeros(BUCKETS, np.int64)
    costs = [0] * BUCKETS
    for row in range(len(counts)):
        number += counts[row]
        for bucket in np.flatnonzero(counts[row]).tolist():
            low, high = sums[row, bucket].tolist()
            costs[bucket] += low + (high << 64)
        buckets = np.flatnonzero(number).tolist()
        found.append(_Steps(buckets, [0, *accumulate(number[buckets].tolist())],
                            [0, *accumulate(costs[bucket] for bucket in buckets)]))
    return found


class _Members:
    """The intervals of some buckets, by cost."""

    def __init__(self, stream: Stream, counts: NDArray[np.int64], buckets: set[int], largest: int) -> None:
        self._inside: dict[int, slice] = {}
        starts = np.full(BUCKETS, -1, np.int64)
        end = 0
        for bucket in sorted(buckets - {-1}):
            starts[bucket] = end
            end += int(counts[bucket])
            self._inside[bucket] = slice(int(starts[bucket]), end)
        self._costs, self._tokens = _collect(stream.tokens, stream.next_use, starts, end, largest)
        for inside in self._inside.values():
            order = np.argsort(self._costs[inside])
            self._costs[inside] = self._costs[inside][order]
            self._tokens[inside] = self._tokens[inside][order]

    def fitting(self, bucket: int, largest: int, room: int) -> int:
        """How many intervals of a bucket fit a room, cheapest first, of objects of at most `largest` tokens."""
        if bucket < 0:
            return 0
        inside = self._inside[bucket]
        return int(_fitting(self._costs[inside], self._tokens[inside], largest, np.uint64(room >> 64),
                            np.uint64(room & (2**64 - 1))))


@compiled
def _bucket(cost: int) -> int:
    """A cost's bucket: exponent and eight bits of a double's fraction. Rounding to a double keeps the order."""
    bits = int(np.float64(cost).view(np.int64))
    return max((bits >> 44) - ((1023 << 8) - 1), 0)


@compiled
def _count(tokens: NDArray[np.int64], next_use: NDArray[np.int64],
           sizes: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.uint64]]:
    """Reuse intervals by the least of `sizes` that they fit, and by bucket: their number, and their costs' sum."""
    n = len(tokens)
    counts = np.zeros((len(sizes), BUCKETS), np.int64)
    sums = np.zeros((len(sizes), BUCKETS, 2), np.uint64)
    for i in range(n):
        if next_use[i] == n:
            continue
        row = 0
        while row < len(sizes) and tokens[i] > sizes[row]:
            row += 1
        if row == len(sizes):
            continue
        cost = tokens[i] * (next_use[i] - i)
        bucket = _bucket(cost)
        counts[row, bucket] += 1
        sums[row, bucket, LOW] += np.uint64(cost)
        sums[row, bucket, HIGH] += np.uint64(sums[row, bucket, LOW] < np.uint64(cost))
    return counts, sums


@compiled
def _collect(tokens: NDArray[np.int64], next_use: NDArray[np.int64], starts: NDArray[np.int64], total: int,
             largest: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Costs and tokens of the intervals in the buckets that have a start, from there on."""
    n = len(tokens)
    costs = np.empty(total, np.int64)
    sizes = np.empty(total, np.int64)
    place = starts.copy()
    for i in range(n):
        if next_use[i] < n and tokens[i] <= largest:
            cost = tokens[i] * (next_use[i] - i)
            bucket = _bucket(cost)
            if place[bucket] >= 0:
                costs[place[bucket]] = cost
                sizes[place[bucket]] = tokens[i]
                place[bucket] += 1
    return costs, sizes


@compiled
def _fitting(costs: NDArray[np.int64], sizes: NDArray[np.int64], largest: int, high: np.uint64, low: np.uint64) -> int:
    """How many of the sorted costs, of objects that fit, fit the room of high * 2^64 + low."""
    taken = 0
    for place in range(len(costs)):
        if sizes[place] > largest:
            continue
        cost = np.uint64(costs[place])
        if cost > low:
            if high == np.uint64(0):
                break
            high -= np.uint64(1)
        low -= cost
        taken += 1
    return taken


def pfoo_l_reference(stream: Stream, rooms: Sequence[Room]) -> list[int]:
    """The same, plainly: sort the costs, and take the cheapest while they fit."""
    found = []
    for room in rooms:
        costs = sorted(tokens * (after - before) for before, (tokens, after)
                       in enumerate(zip(stream.tokens.tolist(), stream.next_use.tolist(), strict=True))
                       if after < stream.calls and tokens <= room.largest)
        found.append(stream.calls - sum(total <= room.limit for total in accumulate(costs)))
    return found
