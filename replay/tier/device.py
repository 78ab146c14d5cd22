"""The device's KV pool with prefix caching, in blocks.

A session's blocks are its own: no prefix is shared between sessions. What a finished request leaves stays cached
until others need the room; then the session that has been idle longest loses its deepest blocks first. For such
sessions that is the free queue of vLLM, which takes the blocks of a finished request from the last to the first, so a
count of leading blocks a session is all there is to keep. Blocks of a context that has changed after them are found by
nobody, and wait in the queue, where they were, until the room is needed.
"""

from __future__ import annotations

import heapq

__all__ = ["DevicePool"]

#: A place in the queue: when the request ended, and for what it left of one context the deepest first.
_Place = tuple[int, int]


class DevicePool:
    """A pool of `capacity` blocks; O(1) a request and a session that is evicted.

    Attributes
    ----------
    used : int
        Blocks of running requests and cached blocks.
    """

    def __init__(self, capacity: int):
        self.capacity = capacity
        self.used = 0
        self._cached: dict[int, int] = {}
        self._pins: dict[int, int] = {}
        self._idle: dict[int, _Place] = {}
        self._queue: list[tuple[_Place, int]] = []  # with places that are void by now
        self._idle_blocks = 0
        self._serial = 0
        self._stale = 0

    def cached(self, session: int) -> int:
        """Leading blocks of a session's context that are cached."""
        return self._cached.get(session, 0)

    def reserve(self, session: int, new: int) -> bool:
        """Take `new` blocks beside those that the session has cached, which are kept; False: there is no room."""
        own = self._cached.get(session, 0) if session in self._idle else 0
        short = self.used + new - self.capacity
        if short > self._idle_blocks - own:
            return False
        if session in self._idle:
            del self._idle[session]
            self._idle_blocks -= own
        self._pins[session] = self._pins.get(session, 0) + 1
        if short > 0:
            self._evict(short)
        self.used += new
        return True

    def release(self, session: int, new: int, cached: int) -> None:
        """A request ends: it gives its `new` blocks back, and `cached` leading blocks of its context stay cached."""
        before = self._cached.get(session, 0)
        after = max(before, cached)
        self.used += after - before - new
        self._cached[session] = after
        pins = self._pins[session] - 1
        if pins:
            self._pins[session] = pins
            return
        del self._pins[session]
        if after:
            self._serial += 1
            self._idle_blocks += after
            self._enqueue(session, (self._serial, 0))

    def cut(self, session: int, cached: int) -> None:
        """No more than `cached` leading blocks can be found again: the context has changed after them."""
        lost = self._cached.get(session, 0) - cached
        if lost <= 0:
            return
        self._cached[session] = cached
        if session not in self._idle:  # a request of the session runs, and gives back what it holds
            self.used -= lost
            return
        ended, _ = self._idle[session]
        self._stale -= 1  # a name that no session has
        self._cached[self._stale] = lost
        self._enqueue(self._stale, (ended, -cached - 1))
        if not cached:
            del self._idle[session]

    def _enqueue(self, who: int, place: _Place) -> None:
        self._idle[who] = place
        heapq.heappush(self._queue, (place, who))

    def _evict(self, short: int) -> None:
        while short > 0:
            place, who = self._queue[0]
            if self._idle.get(who) != place:
                heapq.heappop(self._queue)
                continue
            have = self._cached[who]
            take = min(short, have)
            short -= take
            self.used -= take
            self._idle_blocks -= take
            if take == have:
                del self._idle[who]
                del self._cached[who]
            else:
                self._cached[who] = have - take
