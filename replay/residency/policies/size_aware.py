"""Size-aware clairvoyance: what if the future is known and size counts as well as distance?

Rule: while over the budget, discard the object with the largest size * distance to its next use, the room and time
that it would take; the distance is counted in accesses from the current one, at each eviction anew. Of equal products
the further next use goes first. An object that is not used again goes before all others, and the accessed object may be
the victim. With objects of one size this is `fnu`. It is no bound either.

Source: beyond the paper. Berger, Beckmann and Harchol-Balter, "Practical Bounds on Optimal Caching with Variable Object
Sizes", Proc. ACM Meas. Anal. Comput. Syst. 2(2), 2018, compare with it under the name Belady-Size.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from replay.residency.compiled import compiled
from replay.residency.keeping import WHOLE
from replay.residency.policy import MISSED, Outcome, Policy
from replay.residency.stream import UNITS, Stream

__all__ = ["POLICIES"]

TOKENS, NEXT = 0, 1
"""Columns of a node: an object's tokens at its last access, position of its next one."""


@compiled
def _raise(keys: NDArray[np.int64], items: NDArray[np.int32], place: NDArray[np.int32], node: NDArray[np.int64],
           at: int, key: int, item: int) -> None:
    """Put an entry at the place to which it rises from `at`."""
    while at:
        above = (at - 1) >> 1
        if key < keys[above] or (key == keys[above] and node[item, NEXT] < node[items[above], NEXT]):
            break
        keys[at], items[at] = keys[above], items[above]
        place[items[at]] = at
        at = above
    keys[at], items[at] = key, item
    place[item] = at


@compiled
def _sink(keys: NDArray[np.int64], items: NDArray[np.int32], place: NDArray[np.int32], node: NDArray[np.int64],
          count: int, at: int, key: int, item: int) -> None:
    """Put an entry at the place to which it sinks from `at`, in a heap of `count`."""
    while True:
        below = 2 * at + 1
        if below >= count:
            break
        other = below + 1
        if other < count and (keys[other] > keys[below] or (
                keys[other] == keys[below] and node[items[other], NEXT] > node[items[below], NEXT])):
            below = other
        if key > keys[below] or (key == keys[below] and node[item, NEXT] > node[items[below], NEXT]):
            break
        keys[at], items[at] = keys[below], items[below]
        place[items[at]] = at
        at = below
    keys[at], items[at] = key, item
    place[item] = at


@compiled
def _replace(keys: NDArray[np.int64], items: NDArray[np.int32], place: NDArray[np.int32], node: NDArray[np.int64],
             count: int, at: int, key: int, item: int) -> None:
    """Put an entry in the place of the one at `at`, and from there where it belongs."""
    above = (at - 1) >> 1
    if at and (key > keys[above] or (key == keys[above] and node[item, NEXT] > node[items[above], NEXT])):
        _raise(keys, items, place, node, at, key, item)
    else:
        _sink(keys, items, place, node, count, at, key, item)


@compiled
def _size_aware(objects: NDArray[np.int32], tokens: NDArray[np.int64], next_use: NDArray[np.int64],
                object_count: int, budget: int, log: NDArray[np.int8]) -> tuple[int, int]:
    """Misses and missed tokens, exactly; 32 bytes an object.

    A heap of resident objects by (key, next use), where a key is the product as it was when it was last computed. A
    product only falls until the next access, so an old key is an upper bound: an entry at the top whose key is still
    true is the largest of all, and one whose key is not gets its true one and sinks. This is lazy evaluation as for
    submodular maximization (Minoux, 1978). Most keys are never computed again, as the object is used before it
    comes to the top; there is no such promise for every stream.
    """
    n = len(objects)
    keys = np.empty(object_count, np.int64)
    items = np.empty(object_count, np.int32)
    place = np.full(object_count, -1, np.int32)
    node = np.zeros((object_count, 2), np.int64)
    count = 0
    resident = 0
    misses = 0
    missed_tokens = 0
    for i in range(n):
        item = objects[i]
        at = place[item]
        if at < 0:
            misses += 1
            missed_tokens += tokens[i]
            if log.size:
                log[i] = MISSED
        else:
            resident -= node[item, TOKENS] * UNITS
        if next_use[i] == n:
            # Never used again: as in `fnu` it can displace nothing, and both release modes are one.
            if at >= 0:
                count -= 1
                place[item] = -1
                if at < count:
                    _replace(keys, items, place, node, count, at, keys[count], items[count])
            continue
        node[item, TOKENS] = tokens[i]
        node[item, NEXT] = next_use[i]
        resident += tokens[i] * UNITS
        key = tokens[i] * (next_use[i] - i)
        if at < 0:
            _raise(keys, items, place, node, count, key, item)
            count += 1
        else:
            _replace(keys, items, place, node, count, at, key, item)
        while resident > budget:
            top = items[0]
            key = node[top, TOKENS] * (node[top, NEXT] - i)
            if key < keys[0]:
                _sink(keys, items, place, node, count, 0, key, top)
                continue
            resident -= node[top, TOKENS] * UNITS
            place[top] = -1
            count -= 1
            if count:
                _sink(keys, items, place, node, count, 0, keys[count], items[count])
    return misses, missed_tokens


def kernel(stream: Stream, budget_units: int, release_last: bool, log: NDArray[np.int8]) -> Outcome:
    """Size-aware, compiled. See `replay.residency.policy.Replay`; both release modes are one, see `_size_aware`."""
    return Outcome(*_size_aware(stream.objects, stream.tokens, stream.next_use, stream.object_count, budget_units,
                                log))


def reference(stream: Stream, budget_units: int, release_last: bool, log: NDArray[np.int8]) -> Outcome:
    """Size-aware, plainly: (next use, size) by object, and a search of them all for each victim."""
    held: dict[int, tuple[int, int]] = {}
    misses = missed_tokens = 0
    for i in range(stream.calls):
        item, tokens, next_use = int(stream.objects[i]), int(stream.tokens[i]), int(stream.next_use[i])

        def rank(other: int, now: int = i) -> tuple[bool, int, int]:
            upcoming, size = held[other]
            return upcoming == stream.calls, size * (upcoming - now), upcoming

        if item not in held:
            misses += 1
            missed_tokens += tokens
            log[i : i + 1] = MISSED
        held[item] = (next_use, tokens * UNITS)
        while sum(size for _, size in held.values()) > budget_units:
            del held[max(held, key=rank)]
        if release_last and next_use == stream.calls:
            held.pop(item, None)
    return Outcome(misses, missed_tokens)


POLICIES = (Policy("size_aware", "discard the object with the largest size times distance to its next use",
                   clairvoyant=True, kernel=kernel, reference=reference, by_default=True, keeping=WHOLE),)
