"""On objects of one constant size the replay agrees with libCacheSim, a simulator of general caches.

libCacheSim (PyPI `libcachesim`, here 0.3.5) keeps the first size of an object, so larger claims cannot be compared.
Its counts on one stream are written down, for where it is not installed.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replay.residency.policy import find_policy, no_log
from replay.residency.stream import UNITS, Stream, build_stream

SIZE = 3
NEVER = 2**63 - 1
#: 400 accesses to 10 objects, from a quadratic congruence.
ACCESSES = [i * i * 7 % 31 % 12 for i in range(1, 401)]
#: Objects that fit -> misses of libCacheSim's LRU, and of its Belady.
COUNTS = {1: (361, 361), 2: (336, 285), 4: (236, 158), 6: (160, 108), 8: (84, 58), 12: (10, 10)}

STREAMS = st.lists(st.integers(0, 11), min_size=1, max_size=80)


def stream_of(accesses: list[int]) -> Stream:
    names = list(dict.fromkeys(accesses))
    objects = np.array([names.index(item) for item in accesses], np.int32)
    return build_stream(objects, np.full(len(objects), SIZE, np.int64), len(names))


def misses(policy: str, accesses: list[int], room: int) -> int:
    return find_policy(policy).kernel(stream_of(accesses), room * SIZE * UNITS, False, no_log()).misses


def admitting_belady(accesses: list[int], room: int) -> int:
    """Misses of Belady's rule where every object that is called must be admitted: the furthest of the others goes."""
    next_use = stream_of(accesses).next_use.tolist()
    held: dict[int, int] = {}
    missed = 0
    for place, item in enumerate(accesses):
        if item not in held:
            missed += 1
            if len(held) == room:
                del held[max(held, key=lambda other: held[other])]
        held[item] = next_use[place]
    return missed


def simulated(policy: str, accesses: list[int], room: int) -> int:
    libcachesim = pytest.importorskip("libcachesim", reason="libcachesim is not installed: pip install libcachesim")
    cache = getattr(libcachesim, policy)(room * SIZE)
    next_use = stream_of(accesses).next_use.tolist()
    return sum(not cache.get(libcachesim.Request(obj_id=item, obj_size=SIZE, clock_time=place, next_access_vtime=(
        NEVER if next_use[place] == len(accesses) else next_use[place]))) for place, item in enumerate(accesses))


@pytest.mark.parametrize("room", COUNTS)
def test_counts_of_libcachesim(room: int):
    lru, belady = COUNTS[room]
    assert misses("lru", ACCESSES, room) == lru
    assert admitting_belady(ACCESSES, room) == belady
    # The replay's clairvoyant may turn the accessed object away, and then has room for another one.
    assert misses("fnu", ACCESSES, room) <= belady


def test_the_counts_are_those_of_libcachesim():
    for room, counts in COUNTS.items():
        assert (simulated("LRU", ACCESSES, room), simulated("Belady", ACCESSES, room)) == counts


@given(accesses=STREAMS, room=st.integers(1, 12))
@settings(max_examples=100, deadline=None)
def test_lru_is_that_of_libcachesim(accesses: list[int], room: int):
    assert misses("lru", accesses, room) == simulated("LRU", accesses, room)


@given(accesses=STREAMS, room=st.integers(1, 12))
@settings(max_examples=100, deadline=None)
def test_belady_of_libcachesim_admits(accesses: list[int], room: int):
    belady = admitting_belady(accesses, room)
    assert belady == simulated("Belady", accesses, room)
    assert misses("fnu", accesses, room) <= belady
