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

    def cut(self, session: int, depth: int) -> None:
        """Blocks from `depth` on have another content from now on than the session's: they stay where they are."""
        self.free = [(-1, id(block)) if block is not None and block[0] == session and block[1] >= depth else block
                     for block in self.free]

    def serve(self, session: int, blocks: int) -> bool:
        """A request that needs so many blocks comes and goes."""
        hits = [(session, depth) for depth in range(min(self.cached(session), blocks))]
        rest = [block for block in self.free if block not in hits]
        new = blocks - len(hits)
        if new > len(rest):
            return False
        self.free = rest[new:] + [(session, depth) for depth in reversed(range(blocks))]
        return True


@settings(max_examples=400, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 5), st.none() | st.integers(0, 6)), max_size=25))
def test_sessions_lose_what_a_free_queue_takes(requests: list[tuple[int, int, int | None]]) -> None:
    pool, queue = DevicePool(CAPACITY), Queue()
    length = dict.fromkeys(range(4), 1)
    for session, more, kept in requests:
        if kept is not None and kept < length[session]:
            pool.cut(session, kept)
            queue.cut(session, kept)
            length[session] = max(1, kept)
        length[session] += more
        blocks = length[session]
        hit = min(pool.cached(session), blocks)
        assert hit == min(queue.cached(session), blocks)
        served = pool.reserve(session, blocks - hit)
        assert served == queue.serve(session, blocks)
        if served:
            pool.release(session, blocks - hit, blocks)
        assert pool.used == CAPACITY - queue.free.count(None) <= CAPACITY
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


def test_blocks_of_a_context_that_changed_go_when_room_is_needed() -> None:
    pool = DevicePool(10)
    assert pool.reserve(0, 2)
    pool.release(0, 2, 2)
    assert pool.reserve(1, 8)
    pool.release(1, 8, 8)
    pool.cut(1, 3)
    assert (pool.used, pool.cached(1)) == (10, 3)
    assert pool.reserve(2, 4)  # two of the session that has been idle longest, then two that nobody finds
    assert (pool.used, pool.cached(0), pool.cached(1)) == (10, 0, 3)
    assert pool.reserve(3, 4)  # the other three, and then the deepest of what can be found
    assert (pool.used, pool.cached(1)) == (10, 2)
