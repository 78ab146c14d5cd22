"""The device pool against a free queue of single blocks, as vLLM has it."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from replay.tier.device import DevicePool

CAPACITY = 12


class Queue:
    """Every block by itself: (session, depth) for a cached one; free blocks in a list, the next victim first."""

    def __init__(self) -> None:
        self.free: list[tuple[int, int] | None] = [None] * CAPACITY

    def cached(self, session: int) -> int:
        depth = 0
        while (session, depth) in self.free:
            depth += 1
        return depth

    def serve(self, session: int, blocks: int) -> bool:
        """A request that needs so many blocks comes and goes."""
        hits = [(session, depth) for depth in range(min(self.cached(session), blocks))]
        rest = [block for block in self.free if block not in hits]
        new = blocks - len(hits)
        if new > len(rest):
            return False
        self.free = rest[new:] + [(session, depth) for depth in reversed(range(blocks))]
        return True


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 5)), max_size=25))
def test_sessions_that_grow_lose_what_a_free_queue_takes(requests: list[tuple[int, int]]) -> None:
    pool, queue = DevicePool(CAPACITY), Queue()
    length = dict.fromkeys(range(4), 1)
    for session, more in requests:
        length[session] += more
        blocks = length[session]
        hit = min(pool.cached(session), blocks)
        assert hit == min(queue.cached(session), blocks)
        served = pool.reserve(session, blocks - hit)
        assert served == queue.serve(session, blocks)
        if served:
            pool.release(session, blocks - hit, blocks)
        assert pool.used == sum(pool.cached(s) for s in range(4)) <= CAPACITY
        assert [pool.cached(s) for s in range(4)] == [queue.cached(s) for s in range(4)]


def test_two_requests_of_a_session_share_what_is_cached() -> None:
    pool = DevicePool(10)
    assert pool.reserve(0, 4)
    pool.release(0, 4, 4)
    assert pool.reserve(0, 1)  # a probe
    assert pool.reserve(0, 2)  # the turn
    assert pool.used == 7
    assert not pool.reserve(1, 4)  # what runs is no victim
    pool.release(0, 1, 4)
    pool.release(0, 2, 6)
    assert (pool.used, pool.cached(0)) == (6, 6)
    assert pool.reserve(1, 6)
    assert pool.cached(0) == 4


def test_a_cut_context_gives_its_blocks_back() -> None:
    pool = DevicePool(10)
    assert pool.reserve(0, 8)
    pool.release(0, 8, 8)
    pool.cut(0, 3)
    assert (pool.used, pool.cached(0)) == (3, 3)
    assert pool.reserve(1, 10)
    assert (pool.used, pool.cached(0)) == (10, 0)
