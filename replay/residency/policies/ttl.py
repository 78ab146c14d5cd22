"""Idle cap under a budget: what does it cost to drop KV that has idled for longer than a fixed time?

Rule: an object leaves once it has idled for longer than the cap, whether or not memory is short. While over the
budget, what idles beyond the cap goes first, then the least recently used. A gap as long as the cap still finds its
object, as in the idle-cap sweep (`metrics.idle_cap`, whose caps these are).

What idles longest was used least recently, so that an order by recency puts all that is beyond the cap first. Two
things follow. A call misses iff it misses under LRU at the same budget, or its object idled for longer than the cap:
a cap saves memory, never a miss. And when exactly an idle object leaves changes no outcome: kept on until memory is
short it would be the first to go, and a call that comes after the cap may not find it either way. It changes what is
resident, so here it leaves when its cap ends.

The cap replayed by default is five minutes, the lifetime after its last use that a prompt-caching service gives a
prefix by default (Anthropic, "Prompt caching", API documentation). Caps of an hour and more cannot end within a busiest
hour.

Source: "Understanding KV Residency in Production-Scale Agentic LLM Workloads", arXiv:2610.22863, 5.1, which has no
budget.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from metrics.idle_cap import CAPS
from replay.residency.compiled import AHEAD, compiled, prefetch
from replay.residency.keeping import WHOLE
from replay.residency.policy import MISSED, Outcome, Policy, Replay
from replay.residency.stream import UNITS, Stream
from telemetry.errors import InputError

__all__ = ["POLICIES", "idle_cap"]

LAST, SIZE = 0, 1
"""Columns of a node: position of an object's last access, its size there in units."""

_DEFAULT = "5m"


@compiled
def _ttl(objects: NDArray[np.int32], tokens: NDArray[np.int64], next_use: NDArray[np.int64],
         time_us: NDArray[np.int64], object_count: int, budget: int, release_last: bool, log: NDArray[np.int8],
         cap_us: int) -> tuple[int, int]:
    """Misses and missed tokens, in O(n).

    LRU's one position (see `lru`), which an idle object's age moves as well as a lack of room.
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
        while 0 <= oldest < i and time_us[i] - time_us[oldest] > cap_us:
            # The accessed object's own last access is not superseded yet: >= i.
            live = (next_use[oldest] >= i) & (next_use[oldest] < gone)
            resident -= tokens[oldest] * UNITS * live
            oldest += 1
        item = objects[i]
        miss = node[item, LAST] < oldest
        misses += miss
        missed_tokens += tokens[i] * miss
        if log.size:
            log[i] = MISSED * miss
        resident -= node[item, SIZE] * (not miss)
        size = tokens[i] * UNITS
        node[item, LAST] = i
        node[item, SIZE] = size
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


def _times(stream: Stream) -> NDArray[np.int64]:
    if stream.time_us is None:
        raise InputError("replay stream: it has no times, which an idle cap reads.")
    return stream.time_us


def kernel(cap_us: int) -> Replay:
    """TTL, compiled, with a cap in microseconds. See `replay.residency.policy.Replay`."""
    def run(stream: Stream, budget_units: int, release_last: bool, log: NDArray[np.int8]) -> Outcome:
        return Outcome(*_ttl(stream.objects, stream.tokens, stream.next_use, _times(stream), stream.object_count,
                             budget_units, release_last, log, cap_us))
    return run


def reference(cap_us: int) -> Replay:
    """TTL, plainly: (last use, its time, size) by object."""
    def run(stream: Stream, budget_units: int, release_last: bool, log: NDArray[np.int8]) -> Outcome:
        held: dict[int, tuple[int, int, int]] = {}
        misses = missed_tokens = 0
        for i, now in enumerate(_times(stream).tolist()):
            item, tokens = int(stream.objects[i]), int(stream.tokens[i])
            held = {other: entry for other, entry in held.items() if now - entry[1] <= cap_us}
            if item not in held:
                misses += 1
                missed_tokens += tokens
                log[i : i + 1] = MISSED
            held[item] = (i, now, tokens * UNITS)
            while sum(size for _, _, size in held.values()) > budget_units:
                del held[min(held, key=lambda other: held[other][0])]
            if release_last and stream.next_use[i] == stream.calls:
                held.pop(item, None)
        return Outcome(misses, missed_tokens)
    return run


def idle_cap(name: str, cap_us: int, *, by_default: bool = False) -> Policy:
    """An idle cap, for a file that declares another one."""
    return Policy(f"ttl_{name}", f"discard what has idled for more than {name}, then the least recently used object",
                  clairvoyant=False, kernel=kernel(cap_us), reference=reference(cap_us), by_default=by_default,
                  keeping=WHOLE)


# Without a cap it is LRU.
POLICIES = tuple(idle_cap(name, cap_us, by_default=name == _DEFAULT)
                 for name, cap_us in CAPS.items() if cap_us is not None)
