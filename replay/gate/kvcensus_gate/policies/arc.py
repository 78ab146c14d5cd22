"""Adaptive replacement: recency against frequency, balanced by what was evicted too early.

Rule: blocks shown by one request lie in T1, those shown by more in T2; keys evicted from them are remembered in B1 and
B2. A request for a key of B1 raises the target size of T1, one of B2 lowers it. Evict the oldest of T1 while T1 is
at its target or above, else the oldest of T2, else of the other. A store is never declined.

Source: Megiddo and Modha, "ARC: A Self-Tuning, Low Overhead Replacement Cache", FAST 2003, with the changes that vLLM
makes: each ghost list holds as many keys as the tier has blocks, and a batch is evicted at once. An access counts
once a request, however often a waiting request asks again.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kvcensus_gate.policy import STORING, Block, Policy, Victims
from kvcensus_gate.sessions import Key, Session

__all__ = ["POLICY"]


class _List:
    """T1 or T2: its idle blocks, oldest first, how many more are in flight, and the ghosts of what it lost."""

    __slots__ = ("ghosts", "idle", "in_flight", "name")

    def __init__(self, name: str):
        self.name = name
        self.idle: OrderedDict[Key, Block] = OrderedDict()
        self.in_flight = 0
        self.ghosts: OrderedDict[Key, None] = OrderedDict()

    def __len__(self) -> int:
        return len(self.idle) + self.in_flight


class Arc(Policy):
    """O(1) a block."""

    name = "arc"
    description = "adaptive replacement: two lists, of blocks read once and of blocks read again"

    def __init__(self, capacity: int, parameters: Any = None):
        super().__init__(capacity, parameters)
        self._once, self._again = _List("once"), _List("again")
        self._target = 0.0

    def clear(self) -> None:
        self._once, self._again = _List("once"), _List("again")
        self._target = 0.0

    def access(self, session: Session, found: Sequence[Block], missing: Sequence[Key]) -> None:
        for block in reversed(found):
            if block.refs != STORING:
                self._promote(block)
        for key in reversed(missing):
            self._learn(key)

    def _promote(self, block: Block) -> None:
        source: _List = block.place
        block.place = self._again
        if block.refs == 0:
            del source.idle[block.key]
            self._again.idle[block.key] = block
        else:
            source.in_flight -= 1
            self._again.in_flight += 1

    def _learn(self, key: Key) -> None:
        once, again = self._once.ghosts, self._again.ghosts
        if key in once:
            self._target = min(self._target + max(1.0, len(again) / len(once)), self.capacity)
            once.move_to_end(key)
        elif key in again:
            self._target = max(self._target - max(1.0, len(once) / len(again)), 0.0)
            again.move_to_end(key)

    def insert(self, session: Session, blocks: Sequence[Block]) -> None:
        for block in blocks:
            block.place = self._once
            self._once.ghosts.pop(block.key, None)
            self._again.ghosts.pop(block.key, None)
        self._once.in_flight += len(blocks)

    def hold(self, blocks: Sequence[Block]) -> None:
        for block in blocks:
            place: _List = block.place
            del place.idle[block.key]
            place.in_flight += 1

    def release(self, blocks: Sequence[Block]) -> None:
        for block in reversed(blocks):
            place: _List = block.place
            place.idle[block.key] = block
            place.in_flight -= 1

    def remove(self, blocks: Sequence[Block]) -> None:
        for block in blocks:
            block.place.in_flight -= 1

    def evict(self, n: int, protected: Mapping[Key, Block], now_us: int) -> Victims | None:
        once, again = self._once, self._again
        spared = sum(block.refs == 0 for block in protected.values())
        if len(once.idle) + len(again.idle) - spared < n:
            return None
        candidates = {place: _unprotected(place, protected) for place in (once, again)}
        size = len(once)
        victims: list[Block] = []
        while len(victims) < n:
            order = (once, again) if size >= int(self._target) else (again, once)
            block = next(candidates[order[0]], None) or next(candidates[order[1]])
            size -= block.place is once
            victims.append(block)
        classes: dict[str, int] = {}
        for block in victims:
            place: _List = block.place
            classes[place.name] = classes.get(place.name, 0) + 1
            del place.idle[block.key]
            place.ghosts[block.key] = None
        for place in (once, again):
            while len(place.ghosts) > self.capacity:
                place.ghosts.popitem(last=False)
        return victims, classes


def _unprotected(place: _List, protected: Mapping[Key, Block]) -> Iterator[Block]:
    return (block for key, block in place.idle.items() if key not in protected)


POLICY = Arc
