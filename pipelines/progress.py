"""Progress on stderr: one line that moves on a terminal, plain lines otherwise."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TextIO

import pyarrow as pa

from pipelines.streams import tell

__all__ = ["Progress"]


class Progress:
    """Stages of a run, with the time each took.

    Attributes
    ----------
    seconds : dict
        Stage -> seconds, summed over windows.
    """

    _REFRESH_S = 0.2

    def __init__(self, stages: int = 1, stream: TextIO | None = None) -> None:
        self._stream = stream if stream is not None else sys.stderr
        self._moves = _is_terminal(self._stream)
        self._stages = stages
        self._done = 0
        self._shown = time.perf_counter()
        self.seconds: dict[str, float] = {}

    def expect(self, stages: int) -> None:
        """Say how many stages the run has, once that is known."""
        self._stages = stages

    @contextmanager
    def stage(self, name: str, detail: str = "") -> Iterator[None]:
        """A stage of the run."""
        title = f"{name} {detail}".rstrip()
        self._show(title, "...", final=not self._moves)
        began = time.perf_counter()
        try:
            yield
        except BaseException:
            if self._moves:  # the message that follows has a line of its own
                tell("", stream=self._stream)
            raise
        took = time.perf_counter() - began
        self._done += 1
        self.seconds[name] = self.seconds.get(name, 0.0) + took
        if self._moves:
            self._show(title, f"{took:.1f} s", final=True)

    def counted(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The batches, while the number of rows is shown."""
        rows = 0
        for batch in batches:
            rows += batch.num_rows
            self.at(f"reading {rows:,} rows")
            yield batch

    @contextmanager
    def pieces(self, name: str, total: int, what: str) -> Iterator[Callable[[bool], None]]:
        """A stage of so many pieces: call what it gives at the end of each, with whether its result was known before.

        On a terminal the bar shows the pieces, how many are done a second, and the time left; else there is a line at
        each tenth.
        """
        began, done, worked = time.perf_counter(), 0, 0

        def one(known: bool) -> None:
            nonlocal done, worked
            done, worked = done + 1, worked + (not known)
            state = f"{name} {done:,} of {total:,} {what}"
            if self._moves:
                self.at(state + _pace(worked, total - done, time.perf_counter() - began), done / total)
            elif done < total and done * 10 // total > (done - 1) * 10 // total:
                self._show(state, "...", final=True)

        with self.stage(name, f"{total:,} {what}"):
            yield one

    def at(self, state: str, share: float | None = None) -> None:
        """Show how far the stage is, on a terminal and not too often; the bar shows `share`, or the stages."""
        if self._moves and time.perf_counter() - self._shown > self._REFRESH_S:
            self._shown = time.perf_counter()
            self._show(state, "", final=False, share=share)

    def _show(self, title: str, state: str, *, final: bool, share: float | None = None) -> None:
        width = 20
        filled = min(width, width * self._done // max(self._stages, 1)) if share is None else int(width * share)
        bar = f"[{'#' * filled}{'.' * (width - filled)}] " if self._moves else ""
        start, end = ("\r\x1b[2K", "\n" if final else "") if self._moves else ("", "\n")
        tell(f"{start}{bar}{title} {state}", end=end, stream=self._stream)


def _pace(worked: int, left: int, seconds: float) -> str:
    """How many pieces a second, and the time that the rest takes at that pace."""
    if not worked or seconds <= 0:
        return ""
    return f", {worked / seconds:.3g} a second, {left * seconds / worked:,.0f} s left"


def _is_terminal(stream: TextIO | None) -> bool:
    try:
        return stream is not None and stream.isatty()
    except ValueError:  # closed
        return False
