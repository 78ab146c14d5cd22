"""The events of a fleet in order of time, a piece at a time.

A session ends where it is selected, and begins as long before as its gaps say. So clocks are drawn first, which tells
when each session lives and how many events each hour has; then, for some hours together, the sessions that live in them
are drawn whole, and what lies in these hours is kept. A session that lives long is drawn several times, and nothing is
held but the hours in hand, and for a session its depth and its two ends.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import numpy as np

from tracesim.compiled import Longs
from tracesim.events.fleet import HOUR_US, EventFleet, Events, blocks_of
from tracesim.events.profile import EventProfile

__all__ = ["EventTimeline"]

#: Events drawn at once, and in a piece unless a single hour has more.
BLOCK, PIECE = 1 << 19, 1 << 22


class EventTimeline:
    """An event log as pieces in order of time.

    Parameters
    ----------
    profile : EventProfile
    seed : int
        0 to 2^64 - 1. The same profile and seed give the same events.
    threads, block, piece : int
        Blocks drawn side by side, events in a block, and in a piece; the log does not depend on any of them.
    """

    def __init__(self, profile: EventProfile, seed: int, *, threads: int = 1, block: int = BLOCK,
                 piece: int = PIECE) -> None:
        self._fleet = EventFleet(profile, seed, threads=threads, block=block)
        self._start_us = profile.window.start_us
        self._threads, self._block, self._piece = threads, block, piece

    @property
    def units(self) -> int:
        """Sessions."""
        return len(self._fleet.depths)

    def pieces(self) -> Iterator[tuple[int, Events]]:
        """Sessions that are over, and the next events in order of time, each once."""
        fleet = self._fleet
        for hours in blocks_of(fleet.by_hour, self._piece):
            from_us, to_us = (self._start_us + hour * HOUR_US for hour in (hours.start, hours.stop))
            living = np.flatnonzero((fleet.first_us < to_us) & (fleet.last_us >= from_us))
            yield int((fleet.last_us < to_us).sum()), Events.joined(self._inside(living, from_us, to_us)).in_order()

    def _inside(self, sessions: Longs, from_us: int, to_us: int) -> Iterator[Events]:
        """What of sessions lies in a range of time, block by block, the next ones drawn meanwhile."""
        def draw(part: slice) -> Events:
            events = self._fleet.events(sessions[part])
            return events.take((events.t_us >= from_us) & (events.t_us < to_us))

        waiting: deque[Future[Events]] = deque()
        with ThreadPoolExecutor(self._threads) as pool:
            try:
                for part in blocks_of(self._fleet.depths[sessions], self._block):
                    waiting.append(pool.submit(draw, part))
                    if len(waiting) > self._threads:
                        yield waiting.popleft().result()
                while waiting:
                    yield waiting.popleft().result()
            finally:  # a stop, too: what is queued must not run on
                pool.shutdown(wait=False, cancel_futures=True)
