"""Progress on stderr: one line that moves on a terminal, plain lines otherwise."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
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
        yield
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

    def at(self, state: str) -> None:
        """Show how far the stage is, on a terminal and not too often."""
        if self._moves and time.perf_counter() - self._shown > self._REFRESH_S:
            self._shown = time.perf_counter()
            self._show(state, "", final=False)

    def _show(self, title: str, state: str, *, final: bool) -> None:
        width = 20
        filled = min(width, width * self._done // max(self._stages, 1))
        bar = f"[{'#' * filled}{'.' * (width - filled)}] " if self._moves else ""
        start, end = ("\r\x1b[2K", "\n" if final else "") if self._moves else ("", "\n")
        tell(f"{start}{bar}{title} {state}", end=end, stream=self._stream)


def _is_terminal(stream: TextIO | None) -> bool:
    try:
        return stream is not None and stream.isatty()
    except ValueError:  # closed
        return False
