"""The tier and its session policies once more, plainly: every decision looks at every block and every session.

Written from the rules in the policies' docstrings, to be read and not to be fast. Nothing is kept between decisions but
facts: who owns a block, how deep it lies, when it was last moved.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kvcensus_gate import Hints

SECOND = 1_000_000
NEVER_EVICTED = {"gate": ("running",), "gate_tags_off": ("running",), "job_aware": ("running",),
                 "continuum_ttl_admission": ("pinned", "running")}
ORDER = {
    "mori": ("orphaned", "idle", "running"),
    "marconi": ("orphaned", "idle", "running"),
    "continuum_ttl": ("orphaned", "expired", "unpinned", "pinned", "running"),
    "continuum_ttl_admission": ("orphaned", "expired", "unpinned", "pinned", "running"),
    "job_aware": ("orphaned", "finished", "overdue", "far", "untagged", "recent", "near", "running"),
    "gate": ("orphaned", "finished", "overdue", "far", "recent", "running"),
    "gate_tags_off": ("orphaned", "finished", "overdue", "far", "recent", "running"),
}
COUNT_AGAINST_A_STORE = {"gate": ("far", "recent", "running"), "gate_tags_off": ("far", "recent", "running"),
                         "job_aware": ("far", "recent", "near", "running"),
                         "continuum_ttl_admission": ("pinned", "running")}
READS_TAGS = ("continuum_ttl", "continuum_ttl_admission", "job_aware", "gate", "lru_reclaim")


@dataclass(eq=False)
class Life:
    """A session."""

    id: str | None
    serial: int
    running: int = 0
    latest: int = 0
    ending: bool = False
    since: int = 0
    gap: int | None = None
    depth: int = 0


@dataclass(eq=False)
class Asked:
    """A request."""

    life: Life
    hints: Hints
    serial: int
    positions: dict[Hashable, int] = field(default_factory=dict)
    found: set[Hashable] = field(default_factory=set)
    end: int = 0
    whole: bool = False


@dataclass(eq=False)
class Held:
    """A block."""

    key: Hashable
    depth: int
    serial: int
    owners: list[Life]
    refs: int = -1
    left: tuple[str, int, int] | None = None
    moved: int = 0
    ended: int | None = None
    anonymous: bool = False


class PlainTier:
    """The tier under one of the session policies, or `lru` or `lru_reclaim`."""

    def __init__(self, policy: str, capacity: int, clock: Callable[[], int], parameters: Mapping[str, Any]):
        self.policy, self.capacity, self.clock = policy, capacity, clock
        self.rules = {"slack_s": 5, "live_ttl_s": 20, "longest_gap_s": 600, "near_s": 0.2,
                      "weight_s": 6, "linear_blocks": 1914, "admission_control": True, "identity": True, **parameters}
        self.blocks: dict[Hashable, Held] = {}
        self.lives: dict[str, Life] = {}
        self.requests: dict[str, Asked] = {}
        self.evicted: dict[str, int] = {}
        self.numbers = dict.fromkeys(("life", "request", "block", "move", "end"), 0)

    def number(self, of: str) -> int:
        self.numbers[of] += 1
        return self.numbers[of] - 1

    # --- requests

    def begin(self, request: str, hints: Hints) -> None:
        identity = hints.session_id if self.rules["identity"] else None
        life = self.lives.get(identity) if identity is not None else None
        if life is None:
            life = Life(identity, self.number("life"))
            if identity is not None:
                self.lives[identity] = life
        asked = Asked(life, hints, self.number("request"))
        life.running, life.latest, life.ending, life.since = life.running + 1, asked.serial, False, self.clock()
        self.requests[request] = asked

    def finish(self, request: str) -> None:
        asked = self.requests.pop(request)
        life = asked.life
        life.running, life.since = life.running - 1, self.clock()
        life.depth = asked.end
        if self.policy in READS_TAGS:
            life.gap = asked.hints.expected_gap_us
            life.ending |= asked.hints.last_turn and life.latest == asked.serial
        if life.ending and not life.running:
            self.end(life)
        elif not life.running and not any(life in block.owners for block in self.blocks.values()):
            self.lives.pop(life.id or "", None)

    def end(self, life: Life) -> None:
        name = "expired" if self.policy.startswith("continuum") else "finished"
        for block in sorted(self.blocks.values(), key=lambda block: (-block.depth, -block.serial)):
            if life in block.owners:
                block.owners.remove(life)
                if not block.owners:
                    block.left = (name, self.clock(), life.serial)
                    block.ended = self.number("end") if block.refs == 0 else block.ended
        self.lives.pop(life.id or "", None)

    def show(self, request: str, keys: Sequence[Hashable], whole: bool = False) -> None:
        asked = self.requests[request]
        known = asked.positions
        start = 0 if whole else asked.end
        if not whole and keys and keys[0] in known:
            start = known[keys[0]]
        found = []
        for at, key in enumerate(keys):
            if key in self.blocks and key not in asked.found:
                known[key] = start + at
                asked.found.add(key)
                found.append(self.blocks[key])
            known.setdefault(key, start + at)
        asked.end = max(asked.end, start + len(keys))
        for block in found:
            self.claim(asked.life, block)
        for block in reversed(found):
            if block.refs == 0:
                block.moved = self.number("move")
        if whole and not asked.whole and asked.life.running == 1:
            asked.whole = True
            for block in self.blocks.values():
                if asked.life in block.owners and block.refs == 0 and block.key not in known:
                    self.orphan(asked.life, block)

    def claim(self, life: Life, block: Held) -> None:
        block.anonymous |= life.id is None
        if life not in block.owners:
            block.owners = [other for other in block.owners
                            if life.id is not None or other.id is not None or other.running] + [life]

    def orphan(self, life: Life, block: Held) -> None:
        if self.policy in ORDER:
            block.owners.remove(life)
            if not block.owners:
                block.left = ("orphaned", self.clock(), life.serial)

    # --- transfers

    def load(self, request: str, keys: Sequence[Hashable]) -> None:
        self.show(request, keys)
        for key in keys:
            self.blocks[key].refs += 1

    def loaded(self, keys: Sequence[Hashable]) -> None:
        self.release(keys)

    def release(self, keys: Sequence[Hashable]) -> None:
        for key in reversed(keys):
            block = self.blocks.get(key)
            if block is not None:
                block.refs -= 1
                if block.refs == 0:
                    block.moved = self.number("move")
                    block.ended = None if block.owners else self.number("end")

    def stored(self, keys: Sequence[Hashable], success: bool) -> None:
        for key in reversed(keys):
            if key in self.blocks and success:
                self.blocks[key].refs = 1
        if success:
            self.release(keys)
        else:
            for key in keys:
                self.blocks.pop(key, None)
        self.collect()

    def clear(self) -> None:
        self.blocks.clear()
        for asked in self.requests.values():
            asked.positions.clear()
            asked.end = 0
            asked.found.clear()
        self.collect()

    def collect(self) -> None:
        owners = {life for block in self.blocks.values() for life in block.owners}
        for identity, life in list(self.lives.items()):
            if not life.running and life not in owners:
                del self.lives[identity]

    # --- decisions

    def store(self, request: str, keys: Sequence[Hashable]) -> tuple[list[Hashable], list[Hashable], str | None]:
        self.show(request, keys)
        asked = self.requests[request]
        new = [key for key in keys if key not in self.blocks]
        short = len(self.blocks) + len(new) - self.capacity
        victims: list[Held] = []
        if new and short > 0:
            self.lapse()
            against = sum(self.class_of(block) in COUNT_AGAINST_A_STORE.get(self.policy, ())
                          for block in self.blocks.values())
            asks = self.policy in COUNT_AGAINST_A_STORE
            if asks and self.rules["admission_control"] and against + len(new) > self.capacity:
                return [], [], "admission"
            victims = self.victims(set(keys))[:short]
            if len(victims) < short:
                return [], [], "no_room"
        for block in victims:
            name = self.class_of(block)
            self.evicted[name] = self.evicted.get(name, 0) + 1
        for block in victims:
            del self.blocks[block.key]
        for key in new:
            self.blocks[key] = Held(key, asked.positions[key], self.number("block"), [asked.life],
                                    anonymous=asked.life.id is None)
            asked.found.add(key)
        self.collect()
        return new, [block.key for block in victims], None

    def victims(self, protected: set[Hashable]) -> list[Held]:
        idle = [block for block in self.blocks.values() if block.refs == 0 and block.key not in protected]
        if self.policy == "lru":
            return sorted(idle, key=lambda block: block.moved)
        if self.policy == "lru_reclaim":
            dead = [block for block in idle if not block.owners and not block.anonymous]
            rest = [block for block in idle if block.owners or block.anonymous]
            return (sorted(dead, key=lambda block: block.ended or 0) + sorted(rest, key=lambda block: block.moved))
        spared = NEVER_EVICTED.get(self.policy, ())
        return sorted((block for block in idle if self.class_of(block) not in spared),
                      key=lambda block: (self.rank(block), -block.depth, -block.serial))

    def class_of(self, block: Held) -> str:
        if self.policy == "lru" or (self.policy == "lru_reclaim" and (block.owners or block.anonymous)):
            return "recent"
        return "finished" if self.policy == "lru_reclaim" else ORDER[self.policy][self.rank(block)[0]]

    def rank(self, block: Held) -> tuple[int, int, int]:
        order = ORDER[self.policy]
        if not block.owners:
            assert block.left is not None
            return order.index(block.left[0]), block.left[1], block.left[2]
        return max((order.index(name), score, life.serial) for life in block.owners
                   for name, score, _ in [self.standing(life)])

    def lapse(self) -> None:
        """Sessions that are given up lose their claim on what a safer one owns."""
        if self.policy not in ORDER:
            return
        for block in self.blocks.values():
            safest = self.rank(block)
            block.owners = [life for life in block.owners
                            if not self.standing(life)[2] or safest[2] == life.serial]
        self.collect()

    def standing(self, life: Life) -> tuple[str, int, bool]:
        """Class, score, and whether the session is given up."""
        now, rules = self.clock(), self.rules
        gap = life.gap if life.gap is not None and life.gap <= rules["longest_gap_s"] * SECOND else None
        late = life.since + round(rules["live_ttl_s"] * SECOND)
        if gap is not None:
            late = life.since + gap + round(rules["slack_s"] * SECOND)
        if self.policy in ("mori", "marconi"):
            worth = life.since
            if self.policy == "marconi":
                worth += round(rules["weight_s"] * (1 + life.depth / (2 * rules["linear_blocks"])) * SECOND)
            return ("running", worth, False) if life.running else ("idle", worth, True)
        if life.running:
            return "running", life.since, False
        if life.id is None and self.policy.startswith("continuum"):
            return "unpinned", life.since, False
        if life.id is None and self.policy == "job_aware":
            return "untagged", life.since, False
        if now > late:
            return ("expired" if self.policy.startswith("continuum") else "overdue"), late, True
        if self.policy.startswith("continuum"):
            return "pinned", life.since, False
        if gap is None:
            return "recent", life.since, False
        wake = life.since + gap
        near = self.policy == "job_aware" and now > wake - round(rules["near_s"] * SECOND)
        return ("near" if near else "far"), -wake, False
