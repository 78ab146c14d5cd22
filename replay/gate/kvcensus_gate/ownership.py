"""Which sessions own which blocks.

A block belongs to every session that has shown it, until the session ends, or drops it from its context, or is given
up. Blocks of one set of owners lie in one `Group`; what nobody owns any more lies in groups without owners, in the
class of what became of the last one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, ClassVar

from kvcensus_gate.groups import Group, Rank
from kvcensus_gate.policy import Block, Policy
from kvcensus_gate.sessions import Key, Session

__all__ = ["ORPHANED", "Ownership"]

ORPHANED = "orphaned"
"""The first level: blocks that no session's context holds any more."""


class _State:
    """What a ranking knows of a session."""

    __slots__ = ("groups", "lapsing", "own", "rank", "version")

    def __init__(self) -> None:
        self.groups: dict[Group, None] = {}
        self.own: Group | None = None
        self.rank: Rank | None = None
        self.lapsing = False
        self.version = 0


class Ownership(Policy):
    """What a policy that ranks sessions keeps of them; O(1) amortized a block shown or stored.

    Attributes
    ----------
    LEVELS : tuple of str
        Classes in the order of eviction; the first is `orphaned`, the last holds the running sessions.
    FINISHED : str
        The class of what an ended session leaves behind.
    """

    LEVELS: ClassVar[tuple[str, ...]]
    FINISHED: ClassVar[str]

    def __init__(self, capacity: int, parameters: Any = None):
        super().__init__(capacity, parameters)
        self._level = {name: level for level, name in enumerate(self.LEVELS)}
        self._size = [0] * len(self.LEVELS)
        self._idle = [0] * len(self.LEVELS)
        self._groups: dict[Group, None] = {}
        self._changed_sessions: dict[Session, None] = {}
        self._changed_groups: dict[Group, bool] = {}  # True: its safest owner must be looked for
        self._emptied: list[Session] = []

    # --- sessions

    def changed(self, session: Session, now_us: int) -> None:
        if session.state is None:
            session.state = _State()
        self._changed_sessions[session] = None

    def ended(self, session: Session, now_us: int) -> None:
        for group in list(session.state.groups):
            self._give_up(session, group)
            if not group.owners:
                group.left = self._level[self.FINISHED], now_us, session.serial
                self._changed_groups[group] = True
        self.forget(session)

    def holds(self, session: Session) -> bool:
        return session.state is not None and bool(session.state.groups)

    def emptied(self) -> Collection[Session]:
        gone, self._emptied = self._emptied, []
        return [session for session in gone if not session.running and not self.holds(session)]

    def forget(self, session: Session) -> None:
        self._changed_sessions.pop(session, None)
        session.state = None

    def keep(self, session: Session, context: Mapping[Key, int], found: int, now_us: int) -> None:
        groups = session.state.groups
        if sum(group.size for group in groups) == found:
            return
        for group in list(groups):
            lost = [block for block in group.idle_blocks() if block.key not in context]
            if not lost:
                continue
            others = {owner: None for owner in group.owners if owner is not session}
            left = None if others else (self._level[ORPHANED], now_us, session.serial)
            self._move(lost, self._group(others, left))

    # --- blocks

    def access(self, session: Session, found: Sequence[Block], missing: Sequence[Key]) -> None:
        claimed: dict[Group, list[Block]] = {}
        for block in found:
            group = block.place
            if session not in group.owners:
                claimed.setdefault(group, []).append(block)
        for group, blocks in claimed.items():
            self._claim(session, group, blocks)

    def insert(self, session: Session, blocks: Sequence[Block]) -> None:
        group = self._own(session)
        for block in blocks:
            block.place = group
        group.size += len(blocks)
        self._size[group.level] += len(blocks)

    def hold(self, blocks: Sequence[Block]) -> None:
        for group, count in Counter([block.place for block in blocks]).items():
            group.idle -= count
            self._idle[group.level] -= count

    def release(self, blocks: Sequence[Block]) -> None:
        for block in blocks:
            if block.entry is None:
                block.place.add(block)
        for group, count in Counter([block.place for block in blocks]).items():
            group.idle += count
            self._idle[group.level] += count
            self._changed_groups.setdefault(group, False)

    def remove(self, blocks: Sequence[Block]) -> None:
        for block in blocks:
            self._take_out(block.place, 1, 0)

    def clear(self) -> None:
        for group in list(self._groups):
            self._forget(group)
        self._size = [0] * len(self.LEVELS)
        self._idle = [0] * len(self.LEVELS)

    # --- groups

    def _claim(self, session: Session, group: Group, blocks: list[Block]) -> None:
        """The session is an owner of these blocks of a group from now on.

        Nobody wakes the session of an untagged request, so the next untagged request that shows its blocks takes
        them over.
        """
        gone = [] if session.id is not None else [
            owner for owner in group.owners if owner.id is None and not owner.running]
        if len(blocks) < group.size:
            owners = {owner: None for owner in group.owners if owner not in gone}
            owners[session] = None
            self._move(blocks, self._group(owners) if len(owners) > 1 else self._own(session))
            return
        for owner in gone:
            self._give_up(owner, group)
        group.owners[session] = None
        session.state.groups[group] = None
        self._changed_sessions[session] = None

    def _own(self, session: Session) -> Group:
        """The group of what the session alone has stored or taken over."""
        state = session.state
        own: Group | None = state.own
        if own is None or len(own.owners) != 1 or session not in own.owners:
            own = state.own = self._group({session: None})
        return own

    def _group(self, owners: dict[Session, None], left: Rank | None = None) -> Group:
        group = Group(owners, left, len(self.LEVELS) - 1)
        for owner in owners:
            owner.state.groups[group] = None
        self._groups[group] = None
        self._changed_groups[group] = True
        return group

    def _move(self, blocks: Iterable[Block], target: Group) -> None:
        self._changed_groups.setdefault(target, False)
        for block in blocks:
            source: Group = block.place
            idle = int(block.refs == 0)
            target.size += 1
            target.idle += idle
            self._size[target.level] += 1
            self._idle[target.level] += idle
            block.place = target
            block.entry = None
            if idle:
                target.add(block)
            self._take_out(source, 1, idle)

    def _take_out(self, group: Group, size: int, idle: int) -> None:
        group.size -= size
        group.idle -= idle
        self._size[group.level] -= size
        self._idle[group.level] -= idle
        if group.size == 0:
            self._forget(group)

    def _forget(self, group: Group) -> None:
        """A group without blocks; so are its owners, perhaps."""
        for owner in group.owners:
            self._disown(owner, group)
        group.owners = {}
        group.safest = None
        group.entries.clear()
        group.filing = 0
        del self._groups[group]
        self._changed_groups.pop(group, None)

    def _give_up(self, owner: Session, group: Group) -> None:
        """An owner that the group loses."""
        del group.owners[owner]
        self._disown(owner, group)
        if group.safest is owner:
            self._changed_groups[group] = True

    def _disown(self, owner: Session, group: Group) -> None:
        groups = owner.state.groups
        del groups[group]
        if not groups and not owner.running:
            self._emptied.append(owner)
