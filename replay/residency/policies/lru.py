"""Least recently used: what does recency alone achieve under a budget?

Rule: while over the budget, discard the object whose last access is oldest. The accessed object is
the most recent, so it goes last; it goes when it alone exceeds the budget.

Source: "Understanding KV Residency in Production-Scale Agentic LLM Workloads", arXiv:2610.22863,
5.2.
"""

from __future__ import annotations

from collections import OrderedDict

import numpy as np
from numpy.typing import NDArray

from replay.residency.compiled import AHEAD, compiled, prefetch
from replay.residency.keeping import WHOLE
from replay.residency.policy import MISSED, Outcome, Policy
from replay.residency.stream import UNITS, Stream

__all__ = ["POLICIES", "kernel", "reference"]

LAST, SIZE = 0, 1
"""Columns of a node: position of an object's last access, its size there in units."""


@compiled
def _lru(objects: NDArray[np.int32], tokens: NDArray[np.int64], next_use: NDArray[np.int64],
         object_count: int, budget: int, release_last: bool, log: NDArray[np.int8]) -> tuple[int, int]:
    """Misses and missed tokens, in O(n).

    The stream is itself the recency list: positions in order are last accesses in order, once those
    that a later access superseded are skipped. LRU discards a prefix of it, so one position
    describes the cache: an object is resident iff its last access lies at or after `oldest`.
    """
    n = len(objects)
    gone = n if release_last else n + 1
    node = np.full((object_count, 2), -1, np.int64)
    oldest = 0
    resident = 0
    misses = 0
    missed_tokens = 0
    for i in range(n):
        prefetch(node, objects[min(i + AHEAD, n - 1)])
        item = objects[i]
        # Arithmetic on truth values instead of branches: near an even mix of hits and misses,
        # branches that the processor cannot predict would cost more than everything else.
        miss = node[item, LAST] < oldest
        misses += miss
        missed_tokens += tokens[i] * miss
        if log.size:
            log[i] = MISSED * miss
        resident -= node[item, SIZE] * (not miss)
        size = tokens[i] * UNITS
        node[item, LAST] = i
        node[item, SIZE] = size
        # `resident` is the others' here; 0 <= spares the machine code a test of where an index counts from.
        room = budget - size
        while resident > room and 0 <= oldest < i:
            live = (next_use[oldest] > i) & (next_use[oldest] < gone)
            resident -= tokens[oldest] * UNITS * live
            oldest += 1
        if room < 0:
            size = 0
            oldest = i + 1
        resident += size * (next_use[i] < gone)
    return misses, missed_tokens


def kernel(stream: Stream, budget_units: int, release_last: bool, log: NDArray[np.int8]) -> Outcome:
    """LRU, compiled. See `replay.residency.policy.Replay`."""
    return Outcome(*_lru(stream.objects, stream.tokens, stream.next_use, stream.object_count,
                         budget_units, release_last, log))


def reference(stream: Stream, budget_units: int, release_last: bool, log: NDArray[np.int8]) -> Outcome:
    """LRU, plainly: sizes by object, in order of last access."""
    sizes: OrderedDict[int, int] = OrderedDict()
    misses = missed_tokens = 0
    for i in range(stream.calls):
        item, tokens = int(stream.objects[i]), int(stream.tokens[i])
        if item not in sizes:
            misses += 1
            missed_tokens += tokens
            log[i : i + 1] = MISSED
        sizes[item] = tokens * UNITS
        sizes.move_to_end(item)
        while sum(sizes.values()) > budget_units:
            sizes.popitem(last=False)
        if release_last and stream.next_use[i] == stream.calls:
            sizes.pop(item, None)
    return Outcome(misses, missed_tokens)


POLICIES = (Policy("lru", "discard the least recently used object", clairvoyant=False, kernel=kernel,
                   reference=reference, by_default=True, keeping=WHOLE),)
