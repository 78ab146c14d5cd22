"""Ctrl-C and SIGTERM: both end a run as KeyboardInterrupt, so that it clears up."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

__all__ = ["Stop", "stoppable"]

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
#: One stop often comes as several signals: to a process, then to its group.
_ONE_STOP_S = 1.0


class Stop:
    """The handler of both signals.

    Attributes
    ----------
    asked : bool
        Whether a signal came.
    leaves : callable
        What a run that is stopped now leaves, in words.
    """

    def __init__(self) -> None:
        self.asked = False
        self.leaves: Callable[[], str] = lambda: "nothing half-written was left"
        self._quiet = False
        self._last = float("-inf")

    def __call__(self, signum: int, frame: FrameType | None) -> None:
        self.asked = True
        if self._quiet or time.monotonic() - self._last < _ONE_STOP_S:
            return
        self._last = time.monotonic()
        raise KeyboardInterrupt

    @contextmanager
    def held(self) -> Iterator[None]:
        """Raise at the end of the block only: modules that are loaded do not stand it in between."""
        self._quiet = True
        try:
            yield
        finally:
            self._quiet = False
        if self.asked:
            raise KeyboardInterrupt

    def over(self) -> None:
        """From here on a signal changes nothing: the run has ended."""
        self._quiet = True


@contextmanager
def stoppable(*, keep: bool) -> Iterator[Stop]:
    """Install the handler; `keep` leaves it there, for a process that ends with the run.

    A signal that is ignored (`nohup`, a job in the background) stays ignored.
    """
    stop = Stop()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return
    before = {which: signal.getsignal(which) for which in _SIGNALS}
    for which, handler in before.items():
        if handler is not signal.SIG_IGN:
            signal.signal(which, stop)
    try:
        yield stop
    finally:
        if keep:
            stop.over()
        else:
            for which, handler in before.items():
                signal.signal(which, handler)
