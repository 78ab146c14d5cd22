"""Policies that rank sessions: the blocks of the least safe session go first, its deepest block first.

A block is as safe as the safest of its owners: a group takes that one's rank, and a heap of groups gives the next
victim. A rank is (level, score, serial): levels are the classes of a policy in the order of their eviction, the score
decides within a level, smallest first, and the serial makes it unique.

Ranks are brought up to date only when there is something to decide, from what has changed since: a session that
changed, a group that changed, a rank whose time has run out. While everything fits, nothing of this runs.
"""

from __future__ import annotations

import heapq
from abc import abstractmethod
from bisect import insort
from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

from kvcensus_gate.groups import Entry, Group, Rank
from kvcensus_gate.ownership import ORPHANED, Ownership
from kvcensus_gate.policy import Block, Victims
from kvcensus_gate.sessions import Key, Session

__all__ = ["FOREVER", "ORPHANED", "Ranking", "Standing"]

FOREVER = 1 << 80
"""A time that never comes."""

_MOST_CHANGES = 1024
"""Changed sessions that may wait for the next decision, so that a tier in which everything fits does not grow."""

_Timed = tuple[int, int, int, Session]
"""When a rank ends, the session's serial, and the version of the rank."""

_Filed = tuple[Rank, int, int, int, Group]
"""A group in the heap: its rank, then the deepest of its idle blocks as (-depth, -serial), and the filing's number."""


class Standing(NamedTuple):
    """Where an unfinished session stands.

    Attributes
    ----------
    level : str
        Its class.
    score : int
        Its place in the class, the smallest goes first.
    until_us : int
        The last moment at which this holds if no request comes.
    lapsing : bool
        It is given up: it loses its claim on blocks that a safer session owns too, so that its record does not stay
        for as long as they do.
    """

    level: str
    score: int
    until_us: int = FOREVER
    lapsing: bool = False


class Ranking(Ownership):
    """A policy given by levels and a rank: O(log n) a block evicted.

    Attributes
    ----------
    SPARED_FROM : str
        The first of the classes that are never evicted; empty: all may be.
    """

    SPARED_FROM: ClassVar[str] = ""

    def __init__(self, capacity: int, parameters: Any = None):
        super().__init__(capacity, parameters)
        self._first_spared = self._level.get(self.SPARED_FROM, len(self.LEVELS))
        self._heap: list[_Filed] = []
        self._filings = 0
        self._times: list[_Timed] = []
        self._most_times = _MOST_CHANGES

    @abstractmethod
    def rank(self, session: Session, now_us: int) -> Standing:
        """Where an unfinished session stands."""

    def blocks_of(self, *names: str) -> int:
        """Blocks whose safest owner is of these classes, those in flight included; as of the latest decision."""
        return sum(self._size[self._level[name]] for name in names)

    def changed(self, session: Session, now_us: int) -> None:
        super().changed(session, now_us)
        if len(self._changed_sessions) > _MOST_CHANGES:
            self._settle(now_us)

    def clear(self) -> None:
        super().clear()
        self._heap.clear()

    def admits(self, incoming: int, now_us: int) -> bool:
        self._settle(now_us)
        return True

    def evict(self, n: int, protected: Mapping[Key, Block], now_us: int) -> Victims | None:
        self._settle(now_us)
        spared = sum(block.refs == 0 and block.place.level < self._first_spared for block in protected.values())
        if sum(self._idle[:self._first_spared]) - spared < n:
            return None
        victims: list[Block] = []
        classes: dict[str, int] = {}
        aside: list[tuple[Group, Entry]] = []
        while len(victims) < n:
            group = self._next_group()
            before = len(victims)
            self._drain(group, n, protected, victims, aside)
            if len(victims) > before:
                name = self.LEVELS[group.level]
                classes[name] = classes.get(name, 0) + len(victims) - before
                self._take_out(group, len(victims) - before, len(victims) - before)
            self._file(group)
        for group, entry in aside:
            insort(group.entries, entry)
            self._changed_groups.setdefault(group, False)
        return victims, classes

    def _settle(self, now_us: int) -> None:
        """Bring ranks and heap up to date."""
        changed, self._changed_sessions = self._changed_sessions, {}
        while self._times and self._times[0][0] < now_us:
            timed = heapq.heappop(self._times)
            if _in_force(timed):
                changed[timed[3]] = None
        for session in changed:
            state = session.state
            name, score, until, state.lapsing = self.rank(session, now_us)
            state.rank = (self._level[name], score, session.serial)
            state.version += 1
            if until < FOREVER:
                heapq.heappush(self._times, (until, session.serial, state.version, session))
        # The safest first: where one of them has become the safest owner, nobody looks for another.
        for session in sorted(changed, key=_rank_of, reverse=True):
            for group in session.state.groups:
                self._compare(group, session)
        for session in changed:
            if session.state.lapsing:
                for group in list(session.state.groups):
                    if group.safest is not session and not self._changed_groups.get(group):
                        self._give_up(session, group)
        groups, self._changed_groups = self._changed_groups, {}
        for group, searched in groups.items():
            if group.size:
                if searched:
                    self._search(group)
                self._file(group)
        if len(self._times) > self._most_times:
            self._times = [timed for timed in self._times if _in_force(timed)]
            heapq.heapify(self._times)
            self._most_times = _MOST_CHANGES + 2 * len(self._times)

    def _compare(self, group: Group, session: Session) -> None:
        """An owner of the group has another rank: is it the safest now, or not any more?"""
        if self._changed_groups.get(group):
            return
        rank, safest = session.state.rank, group.safest
        assert group.rank is not None, "a group that was never searched is marked"
        if rank >= group.rank:
            self._set_rank(group, session, rank)
            self._changed_groups[group] = False
            if safest is not None and safest is not session and safest.state.lapsing:
                self._give_up(safest, group)
        elif safest is session:
            self._changed_groups[group] = True

    def _search(self, group: Group) -> None:
        """Find the safest of all owners."""
        if not group.owners:
            assert group.left is not None, "a group has owners or is what they left"
            self._set_rank(group, None, group.left)
            return
        safest = max(group.owners, key=_rank_of)
        self._set_rank(group, safest, _rank_of(safest))
        for owner in [owner for owner in group.owners if owner.state.lapsing and owner is not safest]:
            self._give_up(owner, group)

    def _set_rank(self, group: Group, safest: Session | None, rank: Rank) -> None:
        self._size[group.level] -= group.size
        self._idle[group.level] -= group.idle
        group.safest, group.rank, group.level = safest, rank, rank[0]
        self._size[group.level] += group.size
        self._idle[group.level] += group.idle

    def _file(self, group: Group) -> None:
        """Put a group where the heap will find it; an earlier filing of it is void from then on."""
        top = group.top()
        self._filings += 1
        group.filing = self._filings
        if top is not None and group.rank is not None:
            heapq.heappush(self._heap, (group.rank, -top[0], -top[1], group.filing, group))
        if len(self._heap) > _MOST_CHANGES + 2 * len(self._groups):
            self._heap = [filed for filed in self._heap if filed[4].filing == filed[3]]
            heapq.heapify(self._heap)

    def _next_group(self) -> Group:
        """The group whose deepest block goes next; it leaves the heap."""
        while True:
            _, _, _, filing, group = heapq.heappop(self._heap)
            if group.filing == filing and group.size:
                return group

    def _drain(self, group: Group, n: int, protected: Mapping[Key, Block], victims: list[Block],
               aside: list[tuple[Group, Entry]]) -> None:
        """Take victims from a group for as long as it holds the next one."""
        rival = self._rival(group)
        while len(victims) < n:
            top = group.top()
            if top is None or (rival is not None and (-top[0], -top[1]) > rival):
                return
            group.entries.pop()
            if top[2].key in protected:
                aside.append((group, top))
            else:
                top[2].entry = None
                victims.append(top[2])

    def _rival(self, group: Group) -> tuple[int, int] | None:
        """The deepest block of the next group of the same safest owner."""
        while self._heap and self._heap[0][4].filing != self._heap[0][3]:
            heapq.heappop(self._heap)
        return self._heap[0][1:3] if self._heap and self._heap[0][0] == group.rank else None


def _rank_of(session: Session) -> Rank:
    rank: Rank = session.state.rank
    return rank


def _in_force(timed: _Timed) -> bool:
    """Whether the rank whose end this is still stands."""
    _, _, version, session = timed
    return session.state is not None and session.state.version == version
