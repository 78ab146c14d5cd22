"""Routes under budgets: what each replica sees, and that together they are the fleet."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replay.residency.policy import find_policy, policies
from replay.residency.routing.accesses import (
    ARRIVED,
    LEFT,
    SERVED,
    UPDATED,
    Accesses,
    accesses_of,
    spread_reference,
)
from replay.residency.routing.replicas import Moved, divide, preceding, replay_replicas, tally, tally_reference
from replay.residency.stream import UNITS, build_stream, no_eviction_peak

REPLICAS, OWNERS = 4, 5
#: Policies that read no clock; these streams have none.
ANY = ("lru", "fnu", "mrr", "size_aware", "mrr_host_2")
CALLS = st.lists(st.tuples(st.integers(0, OWNERS - 1), st.integers(0, REPLICAS - 1),
                           st.one_of(st.integers(0, 9), st.integers(0, 60))), max_size=50)
BUDGETS = st.lists(st.integers(0, 60 * UNITS), min_size=REPLICAS, max_size=REPLICAS)


def seen(calls: list[tuple[int, int, int]], copies: int) -> tuple[Accesses, np.ndarray, np.ndarray]:
    """Accesses, tokens, and the tokens of the owners' preceding calls."""
    owner, replica, tokens = (np.array([call[i] for call in calls], np.int64) for i in range(3))
    owner = owner.astype(np.int32)
    found = accesses_of(owner, OWNERS, replica.astype(np.int32), REPLICAS, tokens, np.arange(len(calls)), copies)
    return found, tokens, preceding(owner, OWNERS, tokens)


class Replica:
    """LRU or MRR, plainly: (size in tokens, whole or a copy) by owner, in order of last access."""

    def __init__(self, budget: int, copy_units: int | None) -> None:
        self.held: dict[int, tuple[int, bool]] = {}
        self.budget, self.copy_units = budget, copy_units

    def access(self, owner: int, tokens: int) -> None:
        self.held.pop(owner, None)
        self.held[owner] = (tokens, True)
        while self._units() > self.budget:
            self._relieve(owner)

    def _units(self) -> int:
        return sum(size * (UNITS if whole else self.copy_units or 0) for size, whole in self.held.values())

    def _relieve(self, owner: int) -> None:
        others = [one for one in self.held if one != owner]
        victim = next((one for one in others if self.held[one][1]), next(iter(others), owner))
        size, whole = self.held[victim]
        if whole and self.copy_units is not None:
            self.held[victim] = (size, False)
        else:
            del self.held[victim]


def together(calls: list[tuple[int, int, int]], copies: int, budgets: list[int], release_last: bool,
             copy_units: int | None) -> Moved:
    """The whole fleet at once, call by call: sessions move, and take their KV out of the replica that they leave."""
    fleet = [Replica(budget, copy_units) for budget in budgets]
    holders: dict[int, list[int]] = {}
    context: dict[int, int] = {}
    last = {owner: place for place, (owner, _, _) in enumerate(calls)}
    misses = missed_tokens = moved = 0
    for place, (owner, serving, tokens) in enumerate(calls):
        before = holders.get(owner, [])
        present = {one for one in before if owner in fleet[one].held}
        misses += not present
        missed_tokens += 0 if present else tokens
        common, gained = min(context.get(owner, 0), tokens), max(0, tokens - context.get(owner, 0))
        if present and serving not in present:
            moved += common
        kept = ([serving] + [one for one in before if one != serving])[:copies]
        for one in before:
            if one not in kept:
                fleet[one].held.pop(owner, None)
            elif one != serving:
                moved += gained if one in present else tokens
                fleet[one].access(owner, tokens)
        fleet[serving].access(owner, tokens)
        if release_last and last[owner] == place:
            for one in kept:
                fleet[one].held.pop(owner, None)
        holders[owner], context[owner] = kept, tokens
    return Moved(misses, missed_tokens, moved)


def test_a_session_that_moves_takes_its_kv_along():
    # Session 0 on replica 0, then 1, then back; session 1 on replica 0. Tokens: 10, 12, 9; 4.
    calls = [(0, 0, 10), (1, 0, 4), (0, 1, 12), (0, 0, 9)]
    found, tokens, previous = seen(calls, copies=1)
    assert previous.tolist() == [0, 0, 10, 12]
    assert [stream.calls for stream in found.streams] == [4, 2, 0, 0]
    assert found.call.tolist() == [0, 1, 2, 3, 2, 3]
    assert found.kind.tolist() == [ARRIVED, ARRIVED, LEFT, ARRIVED, ARRIVED, LEFT]
    assert [stream.tokens.tolist() for stream in found.streams[:2]] == [[10, 4, 0, 9], [12, 0]]
    assert [stream.objects.tolist() for stream in found.streams[:2]] == [[0, 1, 0, 0], [0, 0]]
    # Room for 13 tokens on replica 0: session 1 pushes session 0 out (10 + 4), so its move finds nothing, and nothing
    # moves. Replica 1 holds it at 12; the way back takes min(12, 9) = 9 tokens along. Misses: calls 0, 1 and 2.
    lru = policies()["lru"].kernel
    assert replay_replicas(lru, found, [13 * UNITS, 12 * UNITS, 0, 0], False, tokens, previous) == Moved(3, 26, 9)
    # One more token: the first move takes 10 along.
    assert replay_replicas(lru, found, [14 * UNITS, 12 * UNITS, 0, 0], False, tokens, previous) == Moved(2, 14, 19)


def test_two_copies_are_kept_up_to_date():
    # Session 0 on replica 0 (10 tokens), 1 (12), 0 (15), 2 (11), 1 (13).
    calls = [(0, 0, 10), (0, 1, 12), (0, 0, 15), (0, 2, 11), (0, 1, 13)]
    found, tokens, previous = seen(calls, copies=2)
    kinds = list(zip(found.call.tolist(), found.kind.tolist(), strict=True))
    assert kinds == [(0, ARRIVED), (1, UPDATED), (2, SERVED), (3, UPDATED), (4, LEFT),
                     (1, ARRIVED), (2, UPDATED), (3, LEFT), (4, ARRIVED),
                     (3, ARRIVED), (4, UPDATED)]
    # Without a limit: call 1 takes 10 to replica 1, and replica 0 gets 2 more; call 2: replica 1 gets 3; call 3 takes
    # min(15, 11) = 11 to replica 2, while replica 0 gains nothing; call 4 takes 11 to replica 1, replica 2 gets 2.
    assert tally(found, np.zeros(11, np.bool_), tokens, previous) == Moved(1, 10, 10 + 2 + 3 + 11 + 11 + 2)
    # Replica 0 has no memory: each update there finds nothing and is sent whole (12 and 11); call 1 finds nothing at
    # all; call 2 finds a copy on replica 1 alone, and 12 tokens come from there. Call 3 finds replica 1's.
    lru = policies()["lru"].kernel
    assert replay_replicas(lru, found, [0, 99 * UNITS, 99 * UNITS, 0], False, tokens, previous) == Moved(
        2, 22, 12 + (12 + 3) + (11 + 11) + (11 + 2))


@given(calls=CALLS, copies=st.integers(1, 4))
@settings(max_examples=100, deadline=None)
def test_accesses_are_those_of_the_reference(calls: list[tuple[int, int, int]], copies: int):
    found, _, _ = seen(calls, copies)
    replica = np.repeat(np.arange(REPLICAS), np.diff(found.starts)).tolist()
    plain = spread_reference([call[0] for call in calls], [call[1] for call in calls], copies)
    assert sorted(zip(found.call.tolist(), replica, found.kind.tolist(), strict=True)) == sorted(plain)


@given(calls=CALLS, copies=st.integers(1, 3), budgets=BUDGETS, release_last=st.booleans())
@settings(max_examples=200, deadline=None)
@pytest.mark.parametrize(("policy", "copy_units"), [("lru", None), ("mrr", 32)])
def test_replicas_alone_are_the_fleet_together(policy: str, copy_units: int | None, calls: list[tuple[int, int, int]],
                                               copies: int, budgets: list[int], release_last: bool):
    found, tokens, previous = seen(calls, copies)
    assert replay_replicas(policies()[policy].kernel, found, budgets, release_last, tokens, previous) == together(
        calls, copies, budgets, release_last, copy_units)


@given(calls=CALLS, copies=st.integers(1, 3), seed=st.integers(0, 99))
@settings(max_examples=100, deadline=None)
def test_the_tally_is_its_reference(calls: list[tuple[int, int, int]], copies: int, seed: int):
    found, tokens, previous = seen(calls, copies)
    missed = np.random.default_rng(seed).random(len(found.call)) < 0.5
    assert tally(found, missed, tokens, previous) == tally_reference(found, missed.tolist(), tokens.tolist(),
                                                                     previous.tolist())


@given(calls=CALLS, budget=st.integers(0, 60 * UNITS), release_last=st.booleans(), copies=st.integers(0, 2))
@settings(max_examples=100, deadline=None)
def test_one_replica_is_the_pool(calls: list[tuple[int, int, int]], budget: int, release_last: bool, copies: int):
    found, tokens, previous = seen([(owner, 2, size) for owner, _, size in calls], copies)
    budgets = [0, 0, budget, 0]
    for policy in map(find_policy, ANY):
        whole = build_stream(np.array([call[0] for call in calls], np.int32), tokens, OWNERS)
        expected = policy.kernel(whole, budget, release_last, np.empty(0, np.bool_))
        assert replay_replicas(policy.kernel, found, budgets, release_last, tokens, previous if copies else None) == (
            Moved(expected.misses, expected.missed_tokens, 0))


@given(calls=CALLS, budgets=BUDGETS, release_last=st.booleans())
@settings(max_examples=100, deadline=None)
def test_kv_that_stays_is_an_object_on_each_replica(calls: list[tuple[int, int, int]], budgets: list[int],
                                                    release_last: bool):
    # Each replica alone, from its own calls, picked out one by one.
    found, tokens, _ = seen(calls, copies=0)
    for policy in map(find_policy, ANY):
        misses = missed_tokens = 0
        for one in range(REPLICAS):
            own = [(owner, size) for owner, replica, size in calls if replica == one]
            names = list(dict.fromkeys(owner for owner, _ in own))
            stream = build_stream(np.array([names.index(owner) for owner, _ in own], np.int32),
                                  np.array([size for _, size in own], np.int64), len(names))
            outcome = policy.reference(stream, budgets[one], release_last, np.zeros(len(own), np.bool_))
            misses, missed_tokens = misses + outcome.misses, missed_tokens + outcome.missed_tokens
        assert replay_replicas(policy.kernel, found, budgets, release_last, tokens, None) == Moved(
            misses, missed_tokens, 0)
    assert sum(stream.calls for stream in found.streams) == len(calls)


@given(calls=CALLS, release_last=st.booleans())
@settings(max_examples=100, deadline=None)
def test_with_room_for_its_peaks_no_replica_evicts(calls: list[tuple[int, int, int]], release_last: bool):
    for copies in (0, 1, 2):
        found, tokens, previous = seen(calls, copies)
        room = [no_eviction_peak(stream, "last" if release_last else "never") * UNITS for stream in found.streams]
        told = None if copies == 0 else previous
        counted = replay_replicas(policies()["lru"].kernel, found, room, release_last, tokens, told)
        firsts = {(owner, replica if copies == 0 else 0) for owner, replica, _ in calls}
        assert counted.misses == len(firsts)


def test_a_budget_is_divided_and_rounded_down():
    assert divide(100, [1, 1, 1]) == [33, 33, 33]
    assert divide(100, [3, 0, 1]) == [75, 0, 25]
    assert divide(100, [0, 0]) == [0, 0]
    assert divide(2**62, [2**62, 2**62]) == [2**61, 2**61]
