"""What a tier counts, in blocks."""

from __future__ import annotations

from dataclasses import dataclass, field

__all__ = ["Counters"]


@dataclass
class Counters:
    """Counts since a tier was made.

    Two identities hold at any time: `offered = present + refused + stored + failed + in flight`, and
    `stored = resident + evicted + cleared`, where resident blocks are those whose store has completed.

    Attributes
    ----------
    offered : int
        Blocks that the server would have liked to store.
    present : int
        Of these, already in the tier, ready or on their way.
    stored : int
        Blocks whose store completed.
    failed : int
        Blocks whose store failed, or was under way when the tier was cleared.
    reloaded : int
        Blocks loaded back; one that is loaded twice counts twice.
    cleared : int
        Blocks dropped by `Tier.clear`.
    stores_refused : int
        Calls of `Tier.prepare_store` that were refused.
    refused : dict
        Reason -> blocks. `admission`: the policy declined them; `no_room`: too few blocks could be evicted.
    evicted : dict
        Class -> blocks, in the words of the policy.
    stray : int
        Completions for blocks that awaited none, such as those of transfers that a clear has overtaken.
    malformed_hints : int
        Hint fields that could not be used.
    """

    offered: int = 0
    present: int = 0
    stored: int = 0
    failed: int = 0
    reloaded: int = 0
    cleared: int = 0
    stores_refused: int = 0
    refused: dict[str, int] = field(default_factory=dict)
    evicted: dict[str, int] = field(default_factory=dict)
    stray: int = 0
    malformed_hints: int = 0

    def in_bytes(self, block_bytes: int) -> dict[str, int]:
        """Bytes stored, reloaded, refused and evicted, for blocks of one size."""
        return {"stored_bytes": self.stored * block_bytes, "reloaded_bytes": self.reloaded * block_bytes,
                "refused_bytes": sum(self.refused.values()) * block_bytes,
                "evicted_bytes": sum(self.evicted.values()) * block_bytes}
