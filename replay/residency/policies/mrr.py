"""Mixed-resolution residency: what if pressure first lowers the precision of what is cold?

Rule, while over the budget: (1) demote the least recently used fp16 object, other than the accessed
one, to a copy of q times its size; (2) else discard the least recently used copy other than the
accessed one's; (3) else demote the accessed object; (4) else discard it. Recency is last access,
unchanged by demotion. A call to a copy is a hit: the copy goes, the object re-enters at its new size.

Source: "Understanding KV Residency in Production-Scale Agentic LLM Workloads", arXiv:2610.22863,
5.3.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from replay.residency.compiled import AHEAD, compiled, prefetch
from replay.residency.keeping import Keeping
from replay.residency.policy import MISSED, PROMOTED, Outcome, Policy, Replay
from replay.residency.stream import UNITS, Stream

__all__ = ["INT4", "POLICIES", "mixed_resolution"]

LAST, TOKENS = 0, 1
"""Columns of a node: position of an object's last access, its tokens there."""

INT4 = 32
"""Size of an int4 copy of a token, in units: q = 32/128, scales not counted."""


@compiled
def _live(next_use: int, now: int, gone: int) -> bool:
    """Whether an access is still its object's last one, and the object was not released."""
    return (next_use > now) & (next_use < gone)


@compiled
def _mrr(objects: NDArray[np.int32], tokens: NDArray[np.int64], next_use: NDArray[np.int64],
         object_count: int, budget: int, release_last: bool, log: NDArray[np.int8],
         copy_units: int) -> tuple[int, int, int]:
    """Misses, missed tokens and promotions, in O(n); a copy takes `copy_units` units a token.

    Two positions in the stream describe the cache, as one does for LRU. A demotion takes the fp16
    object with the oldest last access, so every copy's last access is older than every fp16
    object's, and later accesses only add newer ones. An object is thus fp16 iff its last access
    lies at or after `whole_from`, else a copy iff at or after `copy_from`, else absent; both
    positions only move forward. Step 2 is reached only when no other fp16 object is left, step 3
    only when no copy is, so the four steps are four blocks, each run once.

    What a call costs is the branches that the processor cannot predict: how many positions step 1
    passes is random. Most calls pass at most two, so two are first looked at without a branch.
    """
    n = len(objects)
    gone = n if release_last else n + 1
    node = np.full((object_count, 2), -1, np.int64)
    saved = UNITS - copy_units
    whole_from = 0
    copy_from = 0
    resident = 0
    misses = 0
    missed_tokens = 0
    promotions = 0
    for i in range(n):
        prefetch(node, objects[min(i + AHEAD, n - 1)])
        item = np.uint32(objects[i])  # unsigned: no test whether an index counts from the end
        miss = node[item, LAST] < copy_from
        whole = node[item, LAST] >= whole_from
        promoted = (not miss) & (not whole)
        misses += miss
        missed_tokens += tokens[i] * miss
        promotions += promoted
        if log.size:
            log[i] = MISSED * miss + PROMOTED * promoted
        resident -= node[item, TOKENS] * ((not miss) * copy_units + whole * saved)
        node[item, LAST] = i
        node[item, TOKENS] = tokens[i]
        # `resident` is the others' here; 0 <= spares the machine code a test of where an index counts from.
        size = tokens[i] * UNITS
        room = budget - size
        if 0 <= whole_from < i - 1:
            first = tokens[whole_from] * saved * _live(next_use[whole_from], i, gone)
            second = tokens[whole_from + 1] * saved * _live(next_use[whole_from + 1], i, gone)
            one = resident - room > 0
            two = one & (resident - room > first)
            resident -= first * one + second * two
            whole_from += one + two
        while resident > room and 0 <= whole_from < i:
            resident -= tokens[whole_from] * saved * _live(next_use[whole_from], i, gone)
            whole_from += 1
        while resident > room and 0 <= copy_from < i:
            resident -= tokens[copy_from] * copy_units * _live(next_use[copy_from], i, gone)
            copy_from += 1
        if room < 0:
            size = tokens[i] * copy_units
            whole_from = i + 1
            if size > budget:
                size = 0
                copy_from = i + 1
        resident += size * (next_use[i] < gone)
    return misses, missed_tokens, promotions


def kernel(copy_units: int) -> Replay:
    """MRR, compiled, with q = copy_units / 128. See `replay.residency.policy.Replay`."""
    def run(stream: Stream, budget_units: int, release_last: bool, log: NDArray[np.int8]) -> Outcome:
        misses, missed_tokens, promotions = _mrr(stream.objects, stream.tokens, stream.next_use, stream.object_count,
                                                 budget_units, release_last, log, copy_units)
        return Outcome(misses, missed_tokens, {"promotions": promotions})
    return run


def reference(copy_units: int) -> Replay:
    """MRR, plainly: who is whole and who is a copy as (last use, tokens) by object, and the four steps."""
    def run(stream: Stream, budget_units: int, release_last: bool, log: NDArray[np.int8]) -> Outcome:
        whole: dict[int, tuple[int, int]] = {}
        copies: dict[int, tuple[int, int]] = {}

        def resident() -> int:
            return (sum(tokens * UNITS for _, tokens in whole.values())
                    + sum(tokens * copy_units for _, tokens in copies.values()))

        def relieve(accessed: int) -> None:
            other_whole = [item for item in whole if item != accessed]
            other_copies = [item for item in copies if item != accessed]
            if other_whole:
                oldest = min(other_whole, key=lambda item: whole[item])
                copies[oldest] = whole.pop(oldest)
            elif other_copies:
                del copies[min(other_copies, key=lambda item: copies[item])]
            elif accessed in whole:
                copies[accessed] = whole.pop(accessed)
            else:
                del copies[accessed]

        misses = missed_tokens = promotions = 0
        for i in range(stream.calls):
            item, tokens = int(stream.objects[i]), int(stream.tokens[i])
            if item in copies:
                promotions += 1
                log[i : i + 1] = PROMOTED
                del copies[item]
            elif item not in whole:
                misses += 1
                missed_tokens += tokens
                log[i : i + 1] = MISSED
            whole[item] = (i, tokens)
            while resident() > budget_units:
                relieve(item)
            if release_last and stream.next_use[i] == stream.calls:
                whole.pop(item, None)
                copies.pop(item, None)
        return Outcome(misses, missed_tokens, {"promotions": promotions})
    return run


def mixed_resolution(name: str, description: str, copy_units: int, *, by_default: bool = False) -> Policy:
    """MRR with copies of q = copy_units / 128, for a file that declares another q."""
    return Policy(name, description, clairvoyant=False, kernel=kernel(copy_units),
                  reference=reference(copy_units), by_default=by_default, counts=("promotions",),
                  keeping=Keeping(copy_units))


POLICIES = (mixed_resolution("mrr", "demote the least recently used to an int4 copy, then discard copies",
                             copy_units=INT4, by_default=True),)
