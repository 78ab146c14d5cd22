"""The output folder: ours, whole, or untouched.

A run writes its windows into hidden folders beside their places. When all are complete they are
moved there by rename, and what an earlier run left goes: OUT holds the results of one run. Folders
that are not ours are never written to; what a killed run left is cleared away or undone.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from pipelines.locks import lock
from pipelines.moves import Moves
from telemetry.errors import InputError, UsageError
from telemetry.sources import OUTPUT_MARKER

__all__ = ["ADVICE", "INDEX", "MARK", "OutputFolder", "ResultSet", "write_error"]

INDEX = "index.html"
ADVICE = "Name a folder that is new, empty, or an earlier --out."
#: What the marker file says.
MARK = b"An output folder of kvcensus; its results may be replaced."


class ResultSet:
    """The windows of a run, hidden until the last is complete."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._moves = Moves(path)
        self._names: list[str] = []

    def partial(self, name: str) -> Path:
        """Where a window is until all are complete."""
        return self._moves.partial(name)

    def window(self, name: str) -> Path:
        """A hidden folder to fill for a window."""
        self._names.append(name)
        self.partial(name).mkdir()
        return self.partial(name)

    def index(self, text: str) -> None:
        """The page that leads to the windows."""
        self._names.append(INDEX)
        self.partial(INDEX).write_text(text, encoding="utf-8")

    def publish(self) -> None:
        """Move everything to its place, in place of all that an earlier run wrote."""
        stale = [path.name for path in self.path.iterdir()
                 if not path.name.startswith(".") and path.name not in self._names
                 and (path.name == INDEX or (path / "manifest.json").is_file())]
        self._moves.make(self._names, stale)

    def clear(self) -> None:
        """Undo moves that did not come to their end, and remove what is hidden."""
        self._moves.clear()


class OutputFolder:
    """The folder named by --out.

    Raises
    ------
    UsageError
        When it exists and holds things that kvcensus did not write, when it cannot be entered, and
        when another run writes to it.
    InputError
        When nothing may be written there.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock: int | None = None
        try:
            above = next(place for place in (path, *path.absolute().parents) if place.exists())
            if path.exists() and not path.is_dir():
                raise UsageError(f"--out {path} is a file. {ADVICE}")
            if path.is_dir() and any(path.iterdir()) and not (path / OUTPUT_MARKER).is_file():
                raise UsageError(f"--out {path} holds files that kvcensus did not write. {ADVICE}")
        except OSError as error:
            raise UsageError(f"--out {path} cannot be used: {error.strerror or error}. {ADVICE}") from error
        if above.is_dir() and not os.access(above, os.W_OK | os.X_OK):  # told before hours of work
            raise write_error(path, PermissionError(errno.EACCES, os.strerror(errno.EACCES)))

    def show(self, name: str) -> str:
        """Where what lies in it is found."""
        return str(self.path / name)

    @contextmanager
    def claimed(self) -> Iterator[None]:
        """Keep other runs out until the end of the block; a folder that is not there yet is not made."""
        try:
            self._claim(os.O_RDONLY)
            yield
        finally:
            if self._lock is not None:
                os.close(self._lock)
                self._lock = None

    @contextmanager
    def replaced(self) -> Iterator[ResultSet]:
        """Results to write; at the end of the block they replace those of the folder."""
        results = ResultSet(self.path)
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            self._claim(os.O_RDWR | os.O_CREAT)
            results.clear()
            try:
                yield results
                results.publish()
            except BaseException:
                results.clear()
                raise
            with suppress(OSError):  # the results are in place; the next run clears what stays
                results.clear()
        except OSError as error:
            raise write_error(self.path, error) from error

    def _claim(self, flags: int) -> None:
        """Lock the marker file."""
        marker = self.path / OUTPUT_MARKER
        if self._lock is not None:
            return
        try:
            descriptor = os.open(marker, flags, 0o666)
        except OSError:
            if flags & os.O_CREAT:
                raise
            return
        if not lock(descriptor):
            os.close(descriptor)
            raise UsageError(f"another run is writing to --out {self.path}. Wait for its end, or name another folder.")
        self._lock = descriptor
        if flags & os.O_CREAT and not os.fstat(descriptor).st_size:
            os.write(descriptor, MARK + b"\n")


def write_error(path: Path, error: OSError) -> InputError:
    """A write that failed, as an error that says where and what to do.

    A file that the error itself names stands for the folder, unless it lies in it.
    """
    named = error.filename
    place = named if isinstance(named, str) and not Path(named).is_relative_to(path) else path
    return InputError(f"cannot write to {place}: {error.strerror or error}. Free space or choose another folder.")
