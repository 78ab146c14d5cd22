"""The events of a fleet in order of time, a piece at a time.

Where a session begins depends on where it ends, so the sessions' gaps are drawn once to put them in the order of their
first events, and again when it is their turn. From then on what is held is the blocks being drawn and the events that
sessions which have begun have yet to log; of a session that has not begun its start and its depth.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor

from tracesim.events.fleet import EventFleet, Events, blocks_of
from tracesim.events.profile import EventProfile

__all__ = ["EventTimeline"]

#: Events drawn at once.
BLOCK = 1 << 19


class EventTimeline:
    """An event log as pieces in order of time.

    Parameters
    ----------
    profile : EventProfile
    seed : int
        0 to 2^64 - 1. The same profile and seed give the same events.
    threads, block : int
        Blocks drawn side by side, and events in a block; the log does not depend on either.
    """

    def __init__(self, profile: EventProfile, seed: int, *, threads: int = 1, block: int = BLOCK) -> None:
        self._fleet = EventFleet(profile, seed, threads=threads, block=block)
        self._threads, self._block = threads, block

    @property
    def units(self) -> int:
        """Sessions."""
        return len(self._fleet.order)

    def pieces(self) -> Iterator[tuple[int, Events]]:
        """Sessions drawn so far, and the next events in order of time, each once."""
        carried, drawn = Events.joined([]), [Events.joined([])]
        for done, events in self._blocks():
            drawn.append(events)
            # What is carried is sorted again each time: seldom enough that it costs no more than the drawing.
            if done < self.units and sum(map(len, drawn)) < len(carried):
                continue
            known = Events.joined([carried, *drawn]).in_order()
            whole = int(known.t_us.searchsorted(self._fleet.starts_us[done])) if done < self.units else len(known)
            carried, drawn = known.take(slice(whole, None)), [Events.joined([])]
            yield done, known.take(slice(0, whole))

    def _blocks(self) -> Iterator[tuple[int, Events]]:
        """Blocks of sessions in their order, the next ones drawn meanwhile, and the sessions up to the end of each."""
        waiting: deque[tuple[int, Future[Events]]] = deque()
        with ThreadPoolExecutor(self._threads) as pool:
            try:
                for part in blocks_of(self._fleet.depths, self._block):
                    waiting.append((part.stop, pool.submit(self._fleet.events, part)))
                    if len(waiting) > self._threads:
                        done, first = waiting.popleft()
                        yield done, first.result()
                while waiting:
                    done, first = waiting.popleft()
                    yield done, first.result()
            finally:  # a stop, too: what is queued must not run on
                pool.shutdown(wait=False, cancel_futures=True)
