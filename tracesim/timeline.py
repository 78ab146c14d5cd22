"""The calls of a fleet in order of time, a piece at a time.

Units arrive in order of time, so once a block of them is drawn, every call before the arrival of
the next is known. What lies later is carried on: the calls that live sessions have yet to make. That,
and the blocks being drawn, is all that is held, however long the trace.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor

from tracesim.independent import IndependentFleet
from tracesim.profile import Profile
from tracesim.sessions import Calls, Fleet

__all__ = ["Timeline"]

#: Units drawn at once.
BLOCK = 1 << 13


class Timeline:
    """A trace as pieces in order of time.

    Parameters
    ----------
    profile : Profile
    seed : int
        0 to 2^64 - 1. The same profile and seed give the same calls.
    threads, block : int
        Blocks drawn side by side, and units in a block; the calls do not depend on either.

    independent : bool
        Without what ties the components together.

    Attributes
    ----------
    cut_calls : int
        Calls left out because they start after the window; known when the pieces are through.
    """

    def __init__(self, profile: Profile, seed: int, *, threads: int = 1, block: int = BLOCK,
                 independent: bool = False) -> None:
        self._fleet = IndependentFleet(profile, seed) if independent else Fleet(profile, seed)
        self._end_us = profile.window.start_us + round(profile.window.days * 86_400_000_000)
        self._cuts = profile.window.cuts
        self._threads, self._block = threads, block
        self.cut_calls = 0

    @property
    def units(self) -> int:
        """Sessions and calls without one."""
        return self._fleet.units

    def pieces(self) -> Iterator[tuple[int, Calls]]:
        """Units drawn so far, and the next calls in order of time."""
        carried, drawn = Calls.none(), [Calls.none()]
        done = 0
        for calls in self._blocks():
            done = min(done + self._block, self.units)
            drawn.append(self._inside(calls))
            # What is carried is sorted again each time: seldom enough that it costs no more than the drawing.
            if done < self.units and sum(map(len, drawn)) < len(carried):
                continue
            known = Calls.joined([carried, *drawn]).in_order()
            whole = int(known.t_us.searchsorted(self._fleet.start_us(done))) if done < self.units else len(known)
            carried, drawn = known.take(slice(whole, None)), [Calls.none()]
            yield done, known.take(slice(0, whole))

    def _inside(self, calls: Calls) -> Calls:
        """The calls of the window; the others are counted, unless the window cuts none."""
        if not self._cuts:
            return calls
        inside = calls.t_us < self._end_us
        if inside.all():
            return calls
        self.cut_calls += len(calls) - int(inside.sum())
        return calls.take(inside)

    def _blocks(self) -> Iterator[Calls]:
        """Blocks of units in their order, the next ones drawn meanwhile."""
        waiting: deque[Future[Calls]] = deque()
        with ThreadPoolExecutor(self._threads) as pool:
            try:
                for first in range(0, self.units, self._block):
                    count = min(self._block, self.units - first)
                    waiting.append(pool.submit(self._fleet.calls, first, count))
                    if len(waiting) > self._threads:
                        yield waiting.popleft().result()
                while waiting:
                    yield waiting.popleft().result()
            finally:  # a stop, too: what is queued must not run on
                pool.shutdown(wait=False, cancel_futures=True)
