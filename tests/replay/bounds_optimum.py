"""The fewest misses of all policies, by exhaustive search; for short streams of few objects."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations, product

from replay.residency.keeping import Keeping
from replay.residency.stream import UNITS, Stream

WHOLE, COPY, GONE = "whole", "copy", "gone"

#: What an object that was kept so may become without a call to it: a copy never becomes whole again.
NEXT = {WHOLE: (WHOLE, COPY, GONE), COPY: (COPY, GONE)}

#: Objects that are held, and how.
State = frozenset[tuple[int, str]]


def optimum(stream: Stream, keeping: Keeping, budget: int, release_last: bool) -> int:
    """Least misses over all that may be kept whole, kept as a copy or discarded after each call.

    The budget holds only after the policy has acted: a call may bring any object in, of any size. With a host tier
    copies are there and nowhere else.
    """
    best: dict[State, int] = {frozenset(): 0}
    size: dict[int, int] = {}
    for i, item in enumerate(stream.objects.tolist()):
        size[item] = int(stream.tokens[i])
        after: dict[State, int] = {}
        for state, misses in best.items():
            held = dict(state)
            misses += item not in held
            held[item] = WHOLE
            for kept in _kept(held, size, keeping, budget):
                if release_last and stream.next_use[i] == stream.calls:
                    kept = frozenset(entry for entry in kept if entry[0] != item)
                after[kept] = min(after.get(kept, misses), misses)
        best = after
    return min(best.values())


def _kept(held: Mapping[int, str], size: Mapping[int, int], keeping: Keeping, budget: int) -> Iterator[State]:
    """Every state that a policy may leave."""
    for forms in product(*(NEXT[form] for form in held.values())):
        kept = {item: form for item, form in zip(held, forms, strict=True) if form != GONE}
        whole = sum(size[item] * UNITS for item, form in kept.items() if form == WHOLE)
        copies = sum(size[item] * keeping.copy_units for item, form in kept.items() if form == COPY)
        if (whole <= budget and copies <= keeping.host * budget) if keeping.host else whole + copies <= budget:
            yield frozenset(kept.items())


def lazy_optimum(stream: Stream, budget: int, release_last: bool) -> int:
    """Least misses of policies that discard whole objects, one by one, and only while the budget is exceeded."""
    best: dict[frozenset[int], int] = {frozenset(): 0}
    size: dict[int, int] = {}
    for i, item in enumerate(stream.objects.tolist()):
        size[item] = int(stream.tokens[i]) * UNITS
        after: dict[frozenset[int], int] = {}
        for state, misses in best.items():
            misses += item not in state
            for gone in _victims(state | {item}, size, budget):
                kept = (state | {item}) - gone
                if release_last and stream.next_use[i] == stream.calls:
                    kept -= {item}
                after[kept] = min(after.get(kept, misses), misses)
        best = after
    return min(best.values())


def _victims(held: frozenset[int], size: Mapping[int, int], budget: int) -> Iterator[frozenset[int]]:
    """Every set of objects whose discarding, in some order, ends when the budget is met and not before."""
    resident = sum(size[item] for item in held)
    if resident <= budget:
        yield frozenset()
        return
    for count in range(1, len(held) + 1):
        for gone in combinations(held, count):
            left = resident - sum(size[item] for item in gone)
            if left <= budget < left + max(size[item] for item in gone):
                yield frozenset(gone)
