"""Clients of a tier for tests: one conversation grows a context, and its turns go through the whole protocol."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence

from kvcensus_gate import Hints, Lookup, StorePlan, Tier, make_tier

SECOND = 1_000_000


class Clock:
    """A clock that stands still until it is told otherwise."""

    def __init__(self) -> None:
        self.now_us = 0

    def __call__(self) -> int:
        return self.now_us

    def wait(self, seconds: float) -> None:
        self.now_us += round(seconds * SECOND)


class Server:
    """A tier, its clock, and turns whose transfers end at once."""

    def __init__(self, policy: str, capacity: int, parameters: Mapping[str, object] | None = None):
        self.clock = Clock()
        self.tier: Tier = make_tier(policy, capacity, self.clock, parameters=parameters)
        self.requests = 0

    def begin(self, session: str | None, gap_s: float | None = None, last: bool = False) -> str:
        self.requests += 1
        request = f"r{self.requests}"
        self.tier.begin(request, Hints(session, None, None if gap_s is None else round(gap_s * SECOND), last))
        return request

    def turn(self, session: str | None, keys: Sequence[Hashable] | str, gap_s: float | None = None,
             last: bool = False) -> StorePlan:
        """A whole turn: begin, touch, load what is there, store the rest, finish. A text is one key a character."""
        request = self.begin(session, gap_s, last)
        self.tier.touch(request, list(keys), whole=True)
        found = self.prefix(keys)
        self.tier.prepare_load(request, found)
        self.tier.complete_load(found)
        plan = self.tier.prepare_store(request, list(keys)[len(found):])
        self.tier.complete_store(plan.store)
        self.tier.finish(request)
        return plan

    def prefix(self, keys: Sequence[Hashable] | str) -> list[Hashable]:
        """The longest prefix that can be loaded."""
        found: list[Hashable] = []
        for key in keys:
            if self.tier.lookup(key) is not Lookup.HIT:
                break
            found.append(key)
        return found

    def held(self, keys: Sequence[Hashable] | str) -> str:
        """Of these keys, those that are resident, joined."""
        return "".join(str(key) for key in keys if self.tier.lookup(key) is not Lookup.MISS)

    def evict(self, n: int) -> str:
        """What the policy gives up for `n` blocks, in order; past the admission rule."""
        blocks = self.tier._blocks
        victims = self.tier.policy.evict(n, {}, self.clock())
        assert victims is not None
        for block in victims[0]:
            del blocks[block.key]
        return "".join(str(block.key) for block in victims[0])


def adds_up(tier: Tier) -> bool:
    """The two identities of `Counters`."""
    counters = tier.counters
    return (counters.stored == tier.resident + sum(counters.evicted.values()) + counters.cleared
            and counters.offered == (counters.present + sum(counters.refused.values()) + counters.stored
                                     + counters.failed + tier.in_flight))
