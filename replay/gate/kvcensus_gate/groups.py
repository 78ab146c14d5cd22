"""Blocks with one set of owners, deepest last."""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterator

from kvcensus_gate.policy import Block
from kvcensus_gate.sessions import Session

__all__ = ["Entry", "Group", "Rank"]

Rank = tuple[int, int, int]
"""(level, score, serial of the owner), the least safe first."""

Entry = tuple[int, int, Block]
"""(depth, serial, block) of an idle block. It is void once the block has another entry, or none."""

_FEW = 64


class Group:
    """Blocks that belong to the same sessions.

    Attributes
    ----------
    owners : dict of Session to None
        In the order in which they came.
    left : Rank or None
        Without owners: the class of what they left behind, when, and the serial of the last of them.
    size, idle : int
        Blocks, and those of them that may be evicted.
    level : int
        The level under which its blocks are counted.
    safest, rank : Session or None, Rank or None
        Its safest owner and that one's rank, as of the latest decision; None before the first.
    filing : int
        The latest filing in the heap; earlier ones are void.
    """

    __slots__ = ("entries", "filing", "idle", "left", "level", "owners", "rank", "safest", "size")

    def __init__(self, owners: dict[Session, None], left: Rank | None, level: int):
        self.owners = owners
        self.left = left
        self.level = level
        self.safest: Session | None = None
        self.rank: Rank | None = None
        self.size = 0
        self.idle = 0
        self.filing = 0
        self.entries: list[Entry] = []

    def add(self, block: Block) -> None:
        """Make an idle block a candidate. Blocks come in the order of their depth, nearly always."""
        entry = (block.depth, block.serial, block)
        block.entry = entry
        entries = self.entries
        if entries and entry < entries[-1]:
            insort(entries, entry)
        else:
            entries.append(entry)
        if len(entries) > _FEW + 2 * self.size:
            entries[:] = [entry for entry in entries if entry[2].entry is entry]

    def top(self) -> Entry | None:
        """The deepest candidate."""
        entries = self.entries
        while entries:
            entry = entries[-1]
            block = entry[2]
            if block.entry is entry:
                if block.refs == 0:
                    return entry
                block.entry = None  # in flight: it comes back by `add`
            entries.pop()
        return None

    def idle_blocks(self) -> Iterator[Block]:
        """Every candidate."""
        for entry in self.entries:
            if entry[2].entry is entry and entry[2].refs == 0:
                yield entry[2]
