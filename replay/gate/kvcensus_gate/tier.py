"""A tier of DRAM below the GPU's KV cache, as a server's offloading manager sees it.

The calls are those of vLLM's offloading manager, one for one, so that the same object is driven by a server and by a
simulator. What happens when:

* a request arrives: `begin` with its hints; `touch` with its context, as far as it is known.
* `lookup` finds block after block, until the first miss. It changes nothing and may be repeated.
* `prepare_load` protects blocks until `complete_load`.
* `prepare_store` decides: everything new in the offer is stored, and as many blocks as that takes are evicted; or
  nothing is stored and nothing evicted. A refusal is an empty plan, never None: vLLM repeats a None at every step.
* `complete_store` makes the blocks loadable, or drops them if the copy failed. It may come after `finish`.
* `finish`: the session falls idle, or ends if this was its last turn.

A tier holds blocks of one size. Within a session the deepest block goes first: only a prefix can be found again.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import asdict

from kvcensus_gate.counters import Counters
from kvcensus_gate.errors import GateError, shorten
from kvcensus_gate.hints import NO_HINTS, Hints
from kvcensus_gate.plan import Clock, Lookup, StorePlan
from kvcensus_gate.policy import STORING, Block, Policy
from kvcensus_gate.sessions import Key, Request, Session, Sessions

__all__ = ["Tier"]


class Tier:
    """A tier under a policy. One thread drives it.

    Parameters
    ----------
    policy : Policy
        Made for this tier; see `kvcensus_gate.registry.make_tier`.
    clock : Clock
        Read once a call that changes something.
    block_bytes : int
        Size of a block, for counters in bytes.
    """

    def __init__(self, policy: Policy, clock: Clock, block_bytes: int = 1):
        self.policy = policy
        self.capacity = policy.capacity
        self.block_bytes = block_bytes
        self.counters = Counters()
        self.sessions = Sessions()
        self._clock = clock
        self._latest_us: int | None = None
        self._blocks: dict[Key, Block] = {}
        self._requests: dict[str, Request] = {}
        self._storing = 0
        self._serial = 0

    def __len__(self) -> int:
        """Blocks that take up room: resident, or being stored."""
        return len(self._blocks)

    @property
    def resident(self) -> int:
        """Blocks whose store has completed."""
        return len(self._blocks) - self._storing

    @property
    def in_flight(self) -> int:
        """Blocks whose store is under way."""
        return self._storing

    @property
    def running(self) -> int:
        """Requests that have begun and not finished."""
        return len(self._requests)

    def report(self) -> dict[str, object]:
        """Policy, parameters and counters, ready for JSON."""
        return {"policy": self.policy.name, "parameters": asdict(self.policy.parameters), "capacity": self.capacity,
                "block_bytes": self.block_bytes, "resident": self.resident, "in_flight": self._storing,
                **asdict(self.counters), **self.counters.in_bytes(self.block_bytes),
                "sessions": {**asdict(self.sessions.tally), "recorded": len(self.sessions)}}

    def begin(self, request: str, hints: Hints = NO_HINTS) -> None:
        """A request arrives. One that is already under way goes on, and its new hints are not read."""
        if request in self._requests:
            return
        now = self._now()
        self.counters.malformed_hints += len(hints.malformed)
        record = self.sessions.begin(self.policy.sees(hints), now)
        self._requests[request] = record
        self.policy.changed(record.session, now)
        self._collect()

    def finish(self, request: str) -> None:
        """A request has finished or was aborted."""
        record = self._requests.pop(request, None)
        if record is None:
            return
        now = self._now()
        session = record.session
        if self.sessions.finish(record, now):
            self.policy.ended(session, now)
            self._forget(session)
        else:
            self.policy.changed(session, now)
            if not session.running and not self.policy.holds(session):
                self._forget(session)
        self._collect()

    def lookup(self, key: Key) -> Lookup:
        """Whether a block can be loaded."""
        block = self._blocks.get(key)
        if block is None:
            return Lookup.MISS
        return Lookup.PENDING if block.refs == STORING else Lookup.HIT

    def touch(self, request: str, keys: Sequence[Key], *, first: int | None = None, whole: bool = False) -> None:
        """Blocks that a request uses, resident or not, wherever they were found.

        Parameters
        ----------
        keys : sequence of Key
            Consecutive blocks of its context.
        first : int, optional
            Position of the first of them in the context; by default they follow what the request has shown so far.
        whole : bool
            They are its whole context so far: what its session owns beyond them was dropped by a compaction, unless
            another request of the session runs.
        """
        record = self._record(request)
        found = self._show(record, keys, 0 if whole else first)
        if whole and not record.whole and record.session.running == 1:
            record.whole = True
            self.policy.keep(record.session, record.seen, found, self._now())
        self._let_go(request, record)

    def prepare_load(self, request: str, keys: Sequence[Key], *, first: int | None = None) -> None:
        """Protect blocks from eviction until `complete_load`.

        Raises
        ------
        GateError
            A block cannot be loaded; none is protected then.
        """
        blocks = self._blocks
        for key in keys:
            if key not in blocks or blocks[key].refs == STORING:
                raise GateError(f"block {shorten(key)} cannot be loaded: it is {self.lookup(key).value}. Load what "
                                "lookup calls a hit, in the same step.")
        record = self._record(request)
        self._show(record, keys, first)
        idle = []
        for key in keys:
            block = blocks[key]
            if block.refs == 0:
                idle.append(block)
            block.refs += 1
        self.policy.hold(idle)
        self._let_go(request, record)

    def complete_load(self, keys: Sequence[Key]) -> None:
        """Loads have ended, well or badly."""
        done = []
        for key in keys:
            block = self._blocks.get(key)
            if block is None or block.refs <= 0:
                self.counters.stray += 1
                continue
            self.counters.reloaded += 1
            block.refs -= 1
            if block.refs == 0:
                done.append(block)
        self.policy.release(done)

    def prepare_store(self, request: str, keys: Sequence[Key], *, first: int | None = None) -> StorePlan:
        """Decide on blocks that could be stored; see `touch` for the arguments."""
        record = self._record(request)
        self._show(record, keys, first)
        plan = self._decide(record, keys)
        self._let_go(request, record)
        return plan

    def complete_store(self, keys: Sequence[Key], success: bool = True) -> None:
        """Copies into the tier have ended."""
        ended = []
        for key in keys:
            block = self._blocks.get(key)
            if block is None or block.refs != STORING:
                self.counters.stray += 1
                continue
            block.refs = 0
            ended.append(block)
        self._storing -= len(ended)
        if success:
            self.counters.stored += len(ended)
            self.policy.release(ended)
            return
        self.counters.failed += len(ended)
        for block in ended:
            del self._blocks[block.key]
        self.policy.remove(ended)
        self._collect()

    def clear(self) -> None:
        """Drop every block, those in flight included; requests go on."""
        self.counters.cleared += self.resident
        self.counters.failed += self._storing
        self._storing = 0
        self._blocks.clear()
        for record in self._requests.values():
            record.seen.clear()
            record.end = 0
        self.policy.clear()
        self._collect()

    def _now(self) -> int:
        now = self._clock()
        if self._latest_us is not None and now < self._latest_us:
            now = self._latest_us
        self._latest_us = now
        return now

    def _record(self, request: str) -> Request:
        """A request's record; for one that has not begun, of an untagged session that has already fallen idle."""
        record = self._requests.get(request)
        if record is not None:
            return record
        now = self._now()
        session = self.sessions.create(None, now)
        self.policy.changed(session, now)
        return Request(session, NO_HINTS, 0)

    def _let_go(self, request: str, record: Request) -> None:
        """Collect what a call has left without a block."""
        if request not in self._requests and not self.policy.holds(record.session):
            self._forget(record.session)
        self._collect()

    def _collect(self) -> None:
        """Collect the idle sessions that have lost their last block."""
        for session in self.policy.emptied():
            self._forget(session)

    def _forget(self, session: Session) -> None:
        self.policy.forget(session)
        self.sessions.collect(session)

    def _show(self, record: Request, keys: Sequence[Key], first: int | None) -> int:
        """Tell the policy of blocks; returns how many of all that were shown are resident, or -1 if not known."""
        fresh = not record.seen
        found, missing = record.show(keys, first, self._blocks)
        self.policy.access(record.session, found, missing)
        return len(found) if fresh else -1

    def _decide(self, record: Request, keys: Sequence[Key]) -> StorePlan:
        blocks, counters = self._blocks, self.counters
        new = [key for key in dict.fromkeys(keys) if key not in blocks]
        counters.offered += len(keys)
        counters.present += len(keys) - len(new)
        if not new:
            return StorePlan()
        evicted: list[Block] = []
        short = len(blocks) + len(new) - self.capacity
        # While everything fits, no policy has anything to decide (Tenure 6.3).
        if short > 0:
            now = self._now()
            if not self.policy.admits(len(new), now):
                return self._refuse("admission", new)
            victims = self.policy.evict(short, {key: blocks[key] for key in keys if key in blocks}, now)
            if victims is None:
                return self._refuse("no_room", new)
            evicted = victims[0]
            for name, count in victims[1].items():
                counters.evicted[name] = counters.evicted.get(name, 0) + count
            for block in evicted:
                del blocks[block.key]
        self._insert(record, new)
        return StorePlan(tuple(new), tuple([block.key for block in evicted]))

    def _insert(self, record: Request, keys: Collection[Key]) -> None:
        seen, serial, added = record.seen, self._serial, []
        for key in keys:
            serial += 1
            seen[key] = position = max(seen[key], ~seen[key])  # found earlier and evicted since, or missing
            block = self._blocks[key] = Block(key, position, serial)
            added.append(block)
        self._serial = serial
        self._storing += len(added)
        self.policy.insert(record.session, added)

    def _refuse(self, reason: str, keys: Sequence[Key]) -> StorePlan:
        counters = self.counters
        counters.stores_refused += 1
        counters.refused[reason] = counters.refused.get(reason, 0) + len(keys)
        return StorePlan(refused=reason)
