"""LRU that reclaims what has ended: what does the end bit alone achieve?

Rule: evict blocks whose owners have all ended, in the order of their ends and the deepest of a session first; then as
`lru`. A store is never declined. An untagged request never ends, and neither does a session that is forgotten: the
blocks that they have shown are left to recency.

Source: Tenure 5.1, "LRU plus reclaim-on-finish, no gate".
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kvcensus_gate.policies.lru import Lru
from kvcensus_gate.policy import Block, Victims, microseconds
from kvcensus_gate.sessions import Key, Session

__all__ = ["POLICY", "Reclaim"]


@dataclass(frozen=True)
class Reclaim:
    """Parameters of `lru_reclaim`.

    Attributes
    ----------
    forget_s : float
        A session that has been idle for longer is forgotten, or records would pile up where clients declare no end.
        The default, ours, lies far above the p99 of production tool gaps in Tenure 2.2, 343 s.
    """

    forget_s: float = 3600.0


class LruReclaim(Lru):
    """O(1) a block. `block.place` is the set of owners that have not ended, or None when recency alone decides."""

    name = "lru_reclaim"
    description = "as lru, but blocks of ended sessions first"
    Parameters = Reclaim
    parameters: Reclaim

    def __init__(self, capacity: int, parameters: Any = None):
        super().__init__(capacity, parameters)
        self._dead: OrderedDict[Key, Block] = OrderedDict()
        self._waiting: OrderedDict[Session, None] = OrderedDict()
        self._gone: list[Session] = []
        self._known: dict[Session, None] = {}

    def changed(self, session: Session, now_us: int) -> None:
        if session.state is None:
            session.state = {}
            self._known[session] = None
        self._waiting.pop(session, None)
        if not session.running:
            self._waiting[session] = None
        while self._waiting:
            oldest = next(iter(self._waiting))
            if now_us <= oldest.idle_since_us + microseconds(self.parameters.forget_s):
                return
            for block in list(oldest.state.values()):
                self._to_recency(block)
            self._waiting.pop(oldest, None)

    def ended(self, session: Session, now_us: int) -> None:
        for block in sorted(session.state.values(), key=lambda block: (block.depth, block.serial), reverse=True):
            block.place.discard(session)
            if not block.place and block.key in self._idle:
                self._dead[block.key] = self._idle.pop(block.key)
        session.state = {}

    def forget(self, session: Session) -> None:
        self._waiting.pop(session, None)
        self._known.pop(session, None)

    def holds(self, session: Session) -> bool:
        return bool(session.state)

    def emptied(self) -> Collection[Session]:
        gone, self._gone = self._gone, []
        return gone

    def access(self, session: Session, found: Sequence[Block], missing: Sequence[Key]) -> None:
        for block in found:
            if session.id is None:
                self._to_recency(block)
            elif block.place is not None:
                self._own(session, block)
        super().access(session, found, missing)

    def _own(self, session: Session, block: Block) -> None:
        block.place.add(session)
        session.state[block.key] = block
        if block.key in self._dead:
            self._idle[block.key] = self._dead.pop(block.key)

    def _to_recency(self, block: Block) -> None:
        if block.key in self._dead:
            self._idle[block.key] = self._dead.pop(block.key)
        self._disown(block)
        block.place = None

    def _disown(self, block: Block) -> None:
        for session in block.place or ():
            del session.state[block.key]
            if not session.state and not session.running:
                self._gone.append(session)

    def insert(self, session: Session, blocks: Sequence[Block]) -> None:
        for block in blocks:
            if session.id is not None:
                block.place = {session}
                session.state[block.key] = block

    def hold(self, blocks: Sequence[Block]) -> None:
        for block in blocks:
            if block.key in self._dead:
                del self._dead[block.key]
            else:
                del self._idle[block.key]

    def release(self, blocks: Sequence[Block]) -> None:
        for block in reversed(blocks):
            dead = block.place is not None and not block.place
            (self._dead if dead else self._idle)[block.key] = block

    def remove(self, blocks: Sequence[Block]) -> None:
        for block in blocks:
            self._disown(block)

    def evict(self, n: int, protected: Mapping[Key, Block], now_us: int) -> Victims | None:
        spared = sum(key in self._idle or key in self._dead for key in protected)
        if len(self._dead) + len(self._idle) - spared < n:
            return None
        victims: list[Block] = []
        for block in self._dead.values():
            if len(victims) == n:
                break
            if block.key not in protected:
                victims.append(block)
        for block in victims:
            del self._dead[block.key]
        classes = {"finished": len(victims)} if victims else {}
        if len(victims) < n:
            rest = super().evict(n - len(victims), protected, now_us)
            assert rest is not None, "the idle blocks were counted above"
            victims += rest[0]
            classes |= rest[1]
        for block in victims:
            self._disown(block)
        return victims, classes

    def clear(self) -> None:
        for session in self._known:
            session.state = {}
            if not session.running:
                self._gone.append(session)
        super().clear()
        self._dead.clear()


POLICY = LruReclaim
