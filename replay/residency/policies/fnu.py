"""Furthest next use: what would knowing the future achieve, if whole objects are kept or discarded?

Rule: while over the budget, discard the object whose next access is furthest in the stream (never
counts as furthest; among those, the least recently accessed goes first). The accessed object may
be the one. With variable sizes this is a yardstick, not a bound: LRU can miss less.

Source: "Understanding KV Residency in Production-Scale Agentic LLM Workloads", arXiv:2610.22863,
5.2; the rule is Belady's.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from replay.residency.compiled import compiled
from replay.residency.keeping import WHOLE
from replay.residency.policy import MISSED, Outcome, Policy
from replay.residency.stream import UNITS, Stream

__all__ = ["POLICIES"]


@compiled
def _top_bit(word: np.uint64) -> int:
    """Position of the highest set bit of a word that is not zero."""
    top = 0
    for shift in (32, 16, 8, 4, 2, 1):
        if word >> np.uint64(shift):
            word >>= np.uint64(shift)
            top += shift
    return top


@compiled
def _levels(n: int) -> NDArray[np.int64]:
    """Where each level of a bitmap tree over keys 0 to n - 1 starts in one array; last: its length."""
    starts = np.zeros(8, np.int64)
    depth = 0
    width = n
    while depth == 0 or width > 1:
        width = (width >> 6) + 1
        starts[depth + 1] = starts[depth] + width
        depth += 1
    return starts[: depth + 1]


@compiled
def _insert(words: NDArray[np.uint64], starts: NDArray[np.int64], key: int) -> None:
    """Set a key's bit; a word that was zero sets its own bit one level up."""
    for level in range(len(starts) - 1):
        at = starts[level] + (key >> 6)
        was = words[at]
        words[at] = was | (np.uint64(1) << np.uint64(key & 63))
        if was:
            return
        key >>= 6


@compiled
def _remove_largest(words: NDArray[np.uint64], starts: NDArray[np.int64], key: int) -> int:
    """Remove `key`, the largest of a tree; the largest that is left, or -1."""
    rest = key
    for level in range(len(starts) - 1):
        at = starts[level] + (rest >> 6)
        words[at] ^= np.uint64(1) << np.uint64(rest & 63)
        rest >>= 6
        if words[at]:
            largest = (rest << 6) | _top_bit(words[at])
            for below in range(level - 1, -1, -1):
                largest = (largest << 6) | _top_bit(words[starts[below] + largest])
            return largest
    return -1


@compiled
def _fnu(objects: NDArray[np.int32], tokens: NDArray[np.int64], next_use: NDArray[np.int64],
         object_count: int, budget: int, log: NDArray[np.int8]) -> tuple[int, int]:
    """Misses and missed tokens, in O(n log64 n); one bit a call and 8 bytes an object.

    A resident object is a bit at the position of its next access, in a tree of 64-bit words; the
    furthest is the highest bit, and access i is a hit iff bit i is set. Bits at and below i may
    stay: they are reached only when no object is left, and then nothing is over the budget.
    """
    n = len(objects)
    starts = _levels(n)
    words = np.zeros(starts[-1], np.uint64)
    size = np.zeros(object_count, np.int64)
    furthest = -1
    resident = 0
    misses = 0
    missed_tokens = 0
    for i in range(n):
        if words[i >> 6] >> np.uint64(i & 63) & np.uint64(1):
            resident -= size[objects[i]]
        else:
            misses += 1
            missed_tokens += tokens[i]
            if log.size:
                log[i] = MISSED
        if next_use[i] == n:
            # Never used again: the first to go whenever room is short, itself included, so it can
            # displace nothing and nobody asks for it. Both release modes thus miss the same calls.
            continue
        _insert(words, starts, next_use[i])
        furthest = max(furthest, next_use[i])
        size[objects[i]] = tokens[i] * UNITS
        resident += size[objects[i]]
        while resident > budget:
            resident -= size[objects[furthest]]
            furthest = _remove_largest(words, starts, furthest)
    return misses, missed_tokens


def kernel(stream: Stream, budget_units: int, release_last: bool, log: NDArray[np.int8]) -> Outcome:
    """FNU, compiled. See `replay.residency.policy.Replay`; both release modes are one, see `_fnu`."""
    return Outcome(*_fnu(stream.objects, stream.tokens, stream.next_use, stream.object_count,
                         budget_units, log))


def reference(stream: Stream, budget_units: int, release_last: bool, log: NDArray[np.int8]) -> Outcome:
    """FNU, plainly: (next use, last use, size) by object, and a search of them all for each victim."""
    held: dict[int, tuple[int, int, int]] = {}
    misses = missed_tokens = 0
    for i in range(stream.calls):
        item, tokens, next_use = int(stream.objects[i]), int(stream.tokens[i]), int(stream.next_use[i])
        if item not in held:
            misses += 1
            missed_tokens += tokens
            log[i : i + 1] = MISSED
        held[item] = (next_use, i, tokens * UNITS)
        while sum(size for _, _, size in held.values()) > budget_units:
            del held[max(held, key=lambda other: (held[other][0], -held[other][1]))]
        if release_last and next_use == stream.calls:
            held.pop(item, None)
    return Outcome(misses, missed_tokens)


POLICIES = (Policy("fnu", "discard the object whose next use is furthest", clairvoyant=True, kernel=kernel,
                   reference=reference, by_default=True, keeping=WHOLE),)
