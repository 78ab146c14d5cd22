"""Least recently used: vLLM's default, which knows when a block was read and nothing else.

Rule: evict the idle block that was shown by a request, or moved, longest ago; of the blocks of one call, the last. A
store is never declined.

Source: Tenure 3; Continuum-D 2.1.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any

from kvcensus_gate.policy import Block, Policy, Victims
from kvcensus_gate.sessions import Key, Session

__all__ = ["POLICY", "Lru"]


class Lru(Policy):
    """O(1) a block: the idle blocks in one list, oldest first."""

    name = "lru"
    description = "evict the block that was read longest ago"

    def __init__(self, capacity: int, parameters: Any = None):
        super().__init__(capacity, parameters)
        self._idle: OrderedDict[Key, Block] = OrderedDict()

    def access(self, session: Session, found: Sequence[Block], missing: Sequence[Key]) -> None:
        for block in reversed(found):
            if block.refs == 0:
                self._idle.move_to_end(block.key)

    def insert(self, session: Session, blocks: Sequence[Block]) -> None:
        return

    def hold(self, blocks: Sequence[Block]) -> None:
        for block in blocks:
            del self._idle[block.key]

    def release(self, blocks: Sequence[Block]) -> None:
        for block in reversed(blocks):
            self._idle[block.key] = block

    def remove(self, blocks: Sequence[Block]) -> None:
        return

    def evict(self, n: int, protected: Mapping[Key, Block], now_us: int) -> Victims | None:
        idle = self._idle
        if len(idle) - sum(key in idle for key in protected) < n:
            return None
        victims: list[Block] = []
        for key, block in idle.items():
            if key not in protected:
                victims.append(block)
                if len(victims) == n:
                    break
        for block in victims:
            del idle[block.key]
        return victims, {"recent": n}

    def clear(self) -> None:
        self._idle.clear()


POLICY = Lru
