"""Mixed-resolution residency with a host tier: what if copies are moved to host memory instead of shrunk in place?

Rule: GPU memory of the budget B holds fp16 objects only. While over it, the least recently used object, the accessed
one last, is demoted: its int4 copy, q = 32/128 of its size, goes to a host tier of h * B; while that is over its
capacity, the least recently used copy is discarded, the newcomer included. A call to a copy promotes it: a hit; the
copy goes, the object re-enters at its new size.

Bytes: a demotion moves a copy down, whether or not it can stay; a promotion moves the old copy up; a discard moves
nothing. Transfers take no time here.

Source: "Understanding KV Residency in Production-Scale Agentic LLM Workloads", arXiv:2610.22863, 5.3.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from replay.residency.compiled import AHEAD, compiled, prefetch
from replay.residency.keeping import Keeping
from replay.residency.policies.mrr import INT4
from replay.residency.policy import MISSED, PROMOTED, Outcome, Policy, Replay
from replay.residency.stream import MAX_UNITS, UNITS, Stream

__all__ = ["POLICIES", "host_tier"]

LAST, TOKENS = 0, 1
"""Columns of a node: position of an object's last access, its tokens there."""


@compiled
def _mrr_host(objects: NDArray[np.int32], tokens: NDArray[np.int64], next_use: NDArray[np.int64],
              object_count: int, budget: int, host_budget: int, release_last: bool,
              log: NDArray[np.int8]) -> tuple[int, int, int, int, int]:
    """Misses, missed tokens, promotions, units moved down and up, in O(n).

    As for MRR two positions in the stream describe both tiers: an object is whole iff its last access lies at or after
    `whole_from`, else a copy iff at or after `copy_from`, else gone. Demotions take whole objects in order of last
    access, so a newcomer is the most recent copy, and copies are discarded in that order, too. What is discarded
    between two demotions of one call or after them is the same.
    """
    n = len(objects)
    gone = n if release_last else n + 1
    node = np.full((object_count, 2), -1, np.int64)
    whole_from = 0
    copy_from = 0
    resident = 0
    hosted = 0
    misses = 0
    missed_tokens = 0
    promotions = 0
    down = 0
    up = 0
    for i in range(n):
        prefetch(node, objects[min(i + AHEAD, n - 1)])
        item = objects[i]
        # Arithmetic on truth values instead of branches, as in LRU.
        miss = node[item, LAST] < copy_from
        whole = node[item, LAST] >= whole_from
        promoted = (not miss) & (not whole)
        misses += miss
        missed_tokens += tokens[i] * miss
        promotions += promoted
        if log.size:
            log[i] = MISSED * miss + PROMOTED * promoted
        copy = node[item, TOKENS] * INT4 * promoted
        hosted -= copy
        up += copy
        resident -= node[item, TOKENS] * UNITS * whole
        node[item, LAST] = i
        node[item, TOKENS] = tokens[i]
        # `resident` and `hosted` are the others' here; 0 <= as in LRU.
        size = tokens[i] * UNITS
        copy = 0
        room = budget - size
        while resident > room and 0 <= whole_from < i:
            moved = tokens[whole_from] * ((next_use[whole_from] > i) & (next_use[whole_from] < gone))
            resident -= moved * UNITS
            hosted += moved * INT4
            down += moved * INT4
            whole_from += 1
        if room < 0:
            size = 0
            copy = tokens[i] * INT4
            down += copy
            whole_from = i + 1
        while hosted > host_budget - copy and 0 <= copy_from < i:
            live = (next_use[copy_from] > i) & (next_use[copy_from] < gone)
            hosted -= tokens[copy_from] * INT4 * live
            copy_from += 1
        if copy > host_budget:
            copy = 0
            copy_from = i + 1
        resident += size * (next_use[i] < gone)
        hosted += copy * (next_use[i] < gone)
    return misses, missed_tokens, promotions, down, up


def _host_budget(budget_units: int, times: int | None) -> int:
    """h * B; without a limit what no stream reaches."""
    return MAX_UNITS if times is None else min(budget_units * times, MAX_UNITS)


def kernel(times: int | None) -> Replay:
    """MRR with a host tier of `times` the budget, without end for None; compiled.

    See `replay.residency.policy.Replay`.
    """
    def run(stream: Stream, budget_units: int, release_last: bool, log: NDArray[np.int8]) -> Outcome:
        misses, missed_tokens, promotions, down, up = _mrr_host(
            stream.objects, stream.tokens, stream.next_use, stream.object_count, budget_units,
            _host_budget(budget_units, times), release_last, log)
        return Outcome(misses, missed_tokens, {"promotions": promotions, "down_units": down, "up_units": up})
    return run


def reference(times: int | None) -> Replay:
    """MRR with a host tier, plainly: who is whole and who is a copy as (last use, tokens) by object."""
    def run(stream: Stream, budget_units: int, release_last: bool, log: NDArray[np.int8]) -> Outcome:
        whole: dict[int, tuple[int, int]] = {}
        copies: dict[int, tuple[int, int]] = {}
        misses = missed_tokens = promotions = down = up = 0
        for i in range(stream.calls):
            item, tokens = int(stream.objects[i]), int(stream.tokens[i])
            if item in copies:
                promotions += 1
                log[i : i + 1] = PROMOTED
                up += copies.pop(item)[1] * INT4
            elif item not in whole:
                misses += 1
                missed_tokens += tokens
                log[i : i + 1] = MISSED
            whole[item] = (i, tokens)
            while sum(size for _, size in whole.values()) * UNITS > budget_units:
                victim = min(whole, key=lambda other: whole[other])
                copies[victim] = whole.pop(victim)
                down += copies[victim][1] * INT4
                while times is not None and sum(size for _, size in copies.values()) * INT4 > times * budget_units:
                    del copies[min(copies, key=lambda other: copies[other])]
            if release_last and stream.next_use[i] == stream.calls:
                whole.pop(item, None)
                copies.pop(item, None)
        return Outcome(misses, missed_tokens, {"promotions": promotions, "down_units": down, "up_units": up})
    return run


def host_tier(name: str, description: str, times: int | None) -> Policy:
    """MRR with a host tier of `times` the budget, for a file that declares another one."""
    return Policy(name, description, clairvoyant=False, kernel=kernel(times), reference=reference(times),
                  counts=("promotions", "down_units", "up_units"),
                  keeping=None if times is None else Keeping(INT4, times))


POLICIES = tuple(host_tier(f"mrr_host_{times}", "demote the least recently used to an int4 copy in a host tier of "
                           f"{times} times the budget", times) for times in (1, 2, 4))
