"""A feasible schedule, greedily: how few misses can surely be had? An upper bound on the optimum.

Reuse intervals are taken by increasing cost, size times accesses to the next use; one is accepted if it fits beside
those accepted before, after every access that it spans. What was accepted can be kept as it is, so the best policy
misses no more. "Increasing cost" goes by steps of half a power of two, and by position within a step: on generated
traces that is no worse than the exact order, and neighbours in the stream are looked up together.

A tree over the accesses holds the room that is taken after each: to ask for the most over a range, and to add to a
range, takes O(log n).

PFOO-U of Berger, Beckmann, Harchol-Balter, "Practical Bounds on Optimal Caching with Variable Object Sizes", POMACS
2(2), 2018, section 5, which gives this bound its name, is another schedule: it solves min-cost flows over segments of
the stream. Any schedule that respects the budget after every access bounds the optimum from the same side.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from replay.residency.compiled import compiled
from replay.residency.stream import MAX_UNITS, Stream

__all__ = ["cheapest_first", "pfoo_u", "pfoo_u_reference"]


def cheapest_first(stream: Stream) -> NDArray[np.int64]:
    """Starts of the reuse intervals, cheapest first: by cost in steps of half a power of two, then by position."""
    starts = np.flatnonzero(stream.next_use < stream.calls)
    cost = stream.tokens[starts] * (stream.next_use[starts] - starts)
    # Exponent and first bit of the fraction of a double; below 2^56 that is less than 113, and costs 0 and 1 are one.
    step = (np.maximum(cost, 1).astype(np.float64).view(np.int64) >> 51) - (1023 << 1)
    return starts[np.argsort(step.astype(np.uint8), kind="stable")]


def pfoo_u(stream: Stream, order: NDArray[np.int64], tiers: Sequence[int]) -> int:
    """Misses of the schedule.

    Parameters
    ----------
    stream : Stream
    order : int64[]
        `cheapest_first(stream)`, which serves every budget.
    tiers : sequence of int
        Tokens that each tier holds after an access, one or two; see `replay.residency.keeping.Keeping.tiers`.
        An interval goes to the first tier where it fits.
    """
    rooms = np.array([min(tier, MAX_UNITS) for tier in tiers], np.int64)  # which no stream exceeds
    return stream.calls - int(_accepted(stream.tokens, stream.next_use, order, rooms))


@compiled
def _accepted(tokens: NDArray[np.int64], next_use: NDArray[np.int64], order: NDArray[np.int64],
              tiers: NDArray[np.int64]) -> int:
    """How many intervals are accepted; 16 bytes a call and tier, rounded up to a power of two."""
    leaves = 1
    while leaves < len(tokens):
        leaves *= 2
    taken = np.zeros((len(tiers), 2 * leaves), np.int64)
    accepted = 0
    for start in order:
        last = next_use[start] - 1
        for tier in range(len(tiers)):
            room = tiers[tier] - tokens[start]
            if room >= 0 and _most(taken[tier], leaves + start, leaves + last) <= room:
                _add(taken[tier], leaves + start, leaves + last, tokens[start])
                accepted += 1
                break
    return accepted


@compiled
def _most(taken: NDArray[np.int64], first: int, last: int) -> int:
    """The most that is taken at the leaves `first` to `last`.

    Node 1 is the root, and nodes 2 p and 2 p + 1 are below node p. The most at the leaves below a node is the sum of
    the values from this node up to the root; what siblings have in common is in their parent, so the larger one of
    their values is 0.
    """
    most: int = taken[first]
    if first != last:
        right = taken[last]
        while first ^ last != 1:
            if first & 1 == 0:
                most = max(most, taken[first + 1])
            if last & 1 == 1:
                right = max(right, taken[last - 1])
            first >>= 1
            last >>= 1
            most += taken[first]
            right += taken[last]
        most = max(most, right)
    first >>= 1
    while first >= 1:
        most += taken[first]
        first >>= 1
    return most


@compiled
def _lift(taken: NDArray[np.int64], node: int) -> int:
    """Move what a node and its sibling have in common up to their parent; how much that was."""
    common: int = max(taken[node], taken[node ^ 1])
    taken[node] -= common
    taken[node ^ 1] -= common
    taken[node >> 1] += common
    return common


@compiled
def _add(taken: NDArray[np.int64], first: int, last: int, tokens: int) -> None:
    """Take `tokens` more at the leaves `first` to `last`."""
    taken[first] += tokens
    if first != last:
        taken[last] += tokens
        while first ^ last != 1:
            if first & 1 == 0:
                taken[first + 1] += tokens
            if last & 1 == 1:
                taken[last - 1] += tokens
            _lift(taken, first)
            _lift(taken, last)
            first >>= 1
            last >>= 1
    while first > 1 and _lift(taken, first) != 0:
        first >>= 1


def pfoo_u_reference(stream: Stream, tiers: Sequence[int]) -> int:
    """The same, plainly: every slot is looked at."""
    intervals = []
    for start, (tokens, end) in enumerate(zip(stream.tokens.tolist(), stream.next_use.tolist(), strict=True)):
        if end < stream.calls:
            fraction, power = math.frexp(max(tokens * (end - start), 1))
            intervals.append((power, fraction >= 0.75, start, end, tokens))  # in steps of 1, 1.5, 2, 3, 4, 6, ...
    taken = [[0] * stream.calls for _ in tiers]
    misses = stream.calls
    for _, _, start, end, tokens in sorted(intervals):
        for tier, most in zip(taken, tiers, strict=True):
            if max(tier[start:end]) + tokens <= most:
                tier[start:end] = [held + tokens for held in tier[start:end]]
                misses -= 1
                break
    return misses
