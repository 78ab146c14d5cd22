"""The tier as the server's offloading connector drives it: lookups, loads and stores over a link that takes time.

Prompt blocks only are offered, as vLLM does by default; generated ones are stored with the next turn, as its prompt.
Blocks become loadable when their copy has ended. Stores are settled when something asks: nothing else happens at their
end.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence

from kvcensus_gate import Hints, Lookup, Tier, make_tier
from replay.tier.engine import Link
from replay.tier.platform import Server

__all__ = ["Offload"]


class Offload:
    """A tier of `tier_bytes` under a policy, behind a server's link.

    Attributes
    ----------
    now_us : int
        What the tier's clock says.
    tier : Tier
    """

    def __init__(self, server: Server, policy: str, tier_bytes: int, parameters: Mapping[str, object] | None = None):
        self.now_us = 0
        self.tier: Tier = make_tier(policy, tier_bytes // server.block_bytes, lambda: self.now_us,
                                    block_bytes=server.block_bytes, parameters=parameters)
        self._block_bytes = server.block_bytes
        self._up, self._down = Link(server.link_bytes_per_s), Link(server.link_bytes_per_s)
        self._stores: deque[tuple[int, tuple[object, ...]]] = deque()

    def begin(self, name: str, hints: Hints) -> None:
        """A request arrives."""
        self.tier.begin(name, hints)

    def find(self, name: str, keys: Sequence[int], first: int, end: int) -> int:
        """Loadable blocks from `first` on, before `end`: as many as there are without a miss.

        Parameters
        ----------
        keys : sequence of int
            The blocks of the whole prompt.
        """
        self._settle()
        self.tier.touch(name, keys, whole=True)
        lookup, place = self.tier.lookup, first
        while place < end and lookup(keys[place]) is Lookup.HIT:
            place += 1
        return place - first

    def load(self, name: str, keys: Sequence[int], first: int) -> int:
        """Load blocks, the first of them at position `first`; returns when the copy ends."""
        self.tier.prepare_load(name, keys, first=first)
        return self._up.copy(self.now_us, len(keys) * self._block_bytes)

    def loaded(self, keys: Sequence[int]) -> None:
        """A load has ended."""
        self.tier.complete_load(keys)

    def offer(self, name: str, keys: Sequence[int], first: int) -> None:
        """Blocks that were computed, or found on the device."""
        self._settle()
        plan = self.tier.prepare_store(name, keys, first=first)
        if plan.store:
            self._stores.append((self._down.copy(self.now_us, len(plan.store) * self._block_bytes), plan.store))

    def finish(self, name: str) -> None:
        """A request has ended."""
        self._settle()
        self.tier.finish(name)

    def drain(self) -> int:
        """Wait for the last store; returns when that is."""
        self.now_us = max(self.now_us, self._stores[-1][0] if self._stores else 0)
        self._settle()
        return self.now_us

    def _settle(self) -> None:
        stores = self._stores
        while stores and stores[0][0] <= self.now_us:
            self.tier.complete_store(stores.popleft()[1])
