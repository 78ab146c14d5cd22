"""Every policy on random traffic: what always holds, and the plain tier decision for decision."""

from __future__ import annotations

import random
from collections.abc import Hashable
from typing import Any

import pytest
from gate_driver import SECOND, Clock, adds_up
from gate_reference import ORDER, PlainTier
from hypothesis import given, settings
from hypothesis import strategies as st

from kvcensus_gate import Hints, Lookup, Tier, known_policies, make_tier

CONVERSATIONS = 6
GAPS = (None, 0, 2 * SECOND, 8 * SECOND, 9 * SECOND, 1000 * SECOND)
KINDS = ("whole", "whole", "whole", "turn", "offer", "offer", "stored", "load", "loaded", "finish", "wait")
Step = tuple[str, int, int]
STEPS = st.tuples(st.sampled_from(KINDS), st.integers(0, 7), st.integers(0, 11))


def long_traffic(seed: int) -> list[Step]:
    """What Hypothesis would hardly ever grow: hundreds of steps, in which sessions share, age, lapse and return."""
    draw = random.Random(seed)
    return [(draw.choice(KINDS), draw.randrange(8), draw.randrange(12)) for _ in range(300)]


TRAFFIC = st.lists(STEPS, max_size=60)


class Traffic:
    """Conversations that share prefixes, grow, are compacted, overlap and end; the last two are untagged."""

    def __init__(self, policy: str, capacity: int, parameters: dict[str, Any], plain: PlainTier | None = None):
        self.clock = Clock()
        self.tier = make_tier(policy, capacity, self.clock, parameters=parameters)
        self.plain = plain
        if plain is not None:
            plain.clock = self.clock
        self.contexts = [[f"p{at}" for at in range(who % 3)] for who in range(CONVERSATIONS)]
        self.made = 0
        self.running: list[tuple[str, int]] = []
        self.storing: list[tuple[Hashable, ...]] = []
        self.loading: list[tuple[Hashable, ...]] = []

    def step(self, kind: str, who: int, much: int) -> None:
        getattr(self, kind)(who, much)
        check(self.tier, self)
        if self.plain is not None and self.plain.policy in ORDER:
            assert {name: life.serial for name, life in self.plain.lives.items()} == self.records()

    def records(self) -> dict[str, int]:
        """Serials of the sessions that have a record, by id."""
        return {name: session.serial for name, session in self.tier.sessions._by_id.items()}

    def turn(self, who: int, much: int) -> None:
        who %= CONVERSATIONS
        context = self.contexts[who]
        if much == 11 or len(context) > 12:
            del context[who % 3:]
        for _ in range(much % 4):
            self.made += 1
            context.append(f"{who}.{self.made}")
        request = f"r{self.made}.{len(self.running)}.{self.clock.now_us}"
        if request in dict(self.running):
            return
        hints = Hints(f"s{who}" if who < 4 else None, None, GAPS[much % len(GAPS)], much in (4, 10))
        self.tier.begin(request, hints)
        self.running.append((request, who))
        if self.plain is not None:
            self.plain.begin(request, hints)
        if much % 5:
            self.tier.touch(request, context, whole=True)
            if self.plain is not None:
                self.plain.show(request, context, whole=True)

    def whole(self, who: int, much: int) -> None:
        """A turn from its begin to its end; one in two loads what is there."""
        before = len(self.running)
        self.turn(who, much)
        if len(self.running) == before:
            return
        at, storing = len(self.running) - 1, len(self.storing)
        if much % 2:
            self.load(at, 11)
            self.loaded(len(self.loading) - 1, 0)
        self.offer(at, 0)
        if len(self.storing) > storing:
            self.stored(storing, 0)
        self.finish(at, 0)

    def offer(self, who: int, much: int) -> None:
        if not self.running:
            return
        request, talk = self.running[who % len(self.running)]
        keys = self.contexts[talk][much % 3:]
        plan = self.tier.prepare_store(request, keys)
        if plan.store:
            self.storing.append(plan.store)
        if self.plain is not None:
            assert (list(plan.store), list(plan.evict), plan.refused) == self.plain.store(request, keys)
            assert self.tier.counters.evicted == self.plain.evicted

    def stored(self, who: int, much: int) -> None:
        if self.storing:
            keys = self.storing.pop(who % len(self.storing))
            self.tier.complete_store(keys, success=much != 7)
            if self.plain is not None:
                self.plain.stored(keys, success=much != 7)

    def load(self, who: int, much: int) -> None:
        if not self.running:
            return
        request, talk = self.running[who % len(self.running)]
        keys = tuple(key for key in self.contexts[talk] if self.tier.lookup(key) is Lookup.HIT)[:much]
        self.tier.prepare_load(request, keys)
        self.loading.append(keys)
        if self.plain is not None:
            self.plain.load(request, keys)

    def loaded(self, who: int, much: int) -> None:
        if self.loading:
            keys = self.loading.pop(who % len(self.loading))
            self.tier.complete_load(keys)
            if self.plain is not None:
                self.plain.loaded(keys)

    def finish(self, who: int, much: int) -> None:
        if self.running:
            request, _ = self.running.pop(who % len(self.running))
            self.tier.finish(request)
            if self.plain is not None:
                self.plain.finish(request)

    def wait(self, who: int, much: int) -> None:
        self.clock.wait(much * much / 4)

    def clear(self, who: int, much: int) -> None:
        self.tier.clear()
        self.storing.clear()
        self.loading.clear()
        if self.plain is not None:
            self.plain.clear()

    def drain(self) -> None:
        """Let everything under way come to its end."""
        while self.storing or self.loading or self.running:
            self.stored(0, 0)
            self.loaded(0, 0)
            self.finish(0, 0)


def check(tier: Tier, traffic: Traffic) -> None:
    """What holds after every call."""
    assert len(tier) <= tier.capacity
    assert adds_up(tier)
    assert all(tier.lookup(key) is Lookup.PENDING for keys in traffic.storing for key in keys)
    assert all(tier.lookup(key) is Lookup.HIT for keys in traffic.loading for key in keys)
    assert tier.in_flight == sum(len(keys) for keys in traffic.storing)


@pytest.mark.parametrize("policy", known_policies())
@given(traffic=TRAFFIC, capacity=st.integers(1, 24), clear_at=st.integers(0, 120))
@settings(max_examples=30, deadline=None)
def test_capacity_flight_and_counters(policy: str, traffic: list[Step], capacity: int, clear_at: int):
    at_work = Traffic(policy, capacity, {})
    for number, step in enumerate(traffic):
        at_work.step(*step)
        if number == clear_at:
            at_work.step("clear", 0, 0)
            assert len(at_work.tier) == 0
    at_work.drain()
    check(at_work.tier, at_work)
    assert at_work.tier.running == 0
    at_work.tier.clear()
    assert len(at_work.tier.sessions) == 0


PLAIN = pytest.mark.parametrize(("policy", "parameters"), [
    ("lru", {}), ("lru_reclaim", {}), *((name, {}) for name in ORDER),
    ("gate", {"slack_s": 0, "live_ttl_s": 0}), ("gate_tags_off", {"identity": False}),
    ("job_aware", {"near_s": 1000}), ("job_aware", {"near_s": 0, "admission_control": False}),
    ("marconi", {"weight_s": 30, "linear_blocks": 2})], ids=str)


@PLAIN
@given(traffic=TRAFFIC, capacity=st.integers(1, 24), clear_at=st.integers(0, 120))
@settings(max_examples=20, deadline=None)
def test_decisions_are_those_of_the_plain_tier(policy: str, parameters: dict[str, Any], traffic: list[Step],
                                               capacity: int, clear_at: int):
    at_work = Traffic(policy, capacity, parameters, PlainTier(policy, capacity, lambda: 0, parameters))
    for number, step in enumerate(traffic):
        at_work.step(*step)
        if number == clear_at:
            at_work.step("clear", 0, 0)


@PLAIN
@pytest.mark.parametrize("seed", range(4))
def test_decisions_are_those_of_the_plain_tier_for_long(policy: str, parameters: dict[str, Any], seed: int):
    capacity = 10 + 7 * seed
    at_work = Traffic(policy, capacity, parameters, PlainTier(policy, capacity, lambda: 0, parameters))
    for step in long_traffic(seed):
        at_work.step(*step)
    assert at_work.tier.counters.stored > 2 * capacity


@pytest.mark.parametrize("policy", known_policies())
def test_long_traffic(policy: str):
    at_work = Traffic(policy, 20, {})
    for step in long_traffic(99):
        at_work.step(*step)
    at_work.drain()
    check(at_work.tier, at_work)


@pytest.mark.parametrize("policy", sorted(known_policies().keys() - {"none"}))
@given(traffic=TRAFFIC)
@settings(max_examples=10, deadline=None)
def test_while_everything_fits_every_policy_is_lru(policy: str, traffic: list[Step]):
    at_work, lru = Traffic(policy, 10_000, {}), Traffic("lru", 10_000, {})
    for step in traffic:
        at_work.step(*step)
        lru.step(*step)
    assert at_work.tier.counters == lru.tier.counters
    assert len(at_work.tier) == len(lru.tier)
