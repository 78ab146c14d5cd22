"""The output folder: ours, whole, or untouched.

A window is written into a hidden folder beside its place and moved there by rename when it is
complete. Folders that are not ours are never written to; what a killed run left is cleared away.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from telemetry.errors import InputError, UsageError

__all__ = ["OutputFolder", "write_error"]

_MARKER = ".kvcensus"
_PARTIAL = ".partial-"
_OLD = ".old-"


class OutputFolder:
    """The folder named by --out.

    Raises
    ------
    UsageError
        When it exists and holds things that kvcensus did not write.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        if path.exists() and not path.is_dir():
            raise UsageError(f"--out {path} is a file. Name a folder that is new, empty, or an earlier --out.")
        if path.is_dir() and any(path.iterdir()) and not (path / _MARKER).is_file():
            raise UsageError(f"--out {path} holds files that kvcensus did not write. Name a folder that is new, empty, "
                             "or an earlier --out.")

    def prepare(self) -> None:
        """Create the folder, and clear what a killed run left."""
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            (self.path / _MARKER).write_text("An output folder of kvcensus; its results may be replaced.\n")
            for left in (*self.path.glob(f"{_PARTIAL}*"), *self.path.glob(f"{_OLD}*")):
                shutil.rmtree(left)
        except OSError as error:
            raise write_error(self.path, error) from error

    @contextmanager
    def window(self, name: str) -> Iterator[Path]:
        """A hidden folder to fill; at the end of the block it replaces the window's folder."""
        partial, place, old = self.path / f"{_PARTIAL}{name}", self.path / name, self.path / f"{_OLD}{name}"
        try:
            partial.mkdir()
            yield partial
            if place.exists():
                place.rename(old)
            partial.rename(place)
            shutil.rmtree(old, ignore_errors=True)
        except OSError as error:
            raise write_error(self.path, error) from error
        finally:
            shutil.rmtree(partial, ignore_errors=True)

    def write(self, name: str, text: str) -> None:
        """Write one file of the folder itself, by rename."""
        partial = self.path / f"{_PARTIAL}{name}"
        try:
            partial.write_text(text, encoding="utf-8")
            partial.rename(self.path / name)
        except OSError as error:
            raise write_error(self.path, error) from error


def write_error(path: Path, error: OSError) -> InputError:
    """A write that failed, as an error that says where and what to do."""
    return InputError(f"cannot write to {path}: {error.strerror or error}. Free space or choose another folder.")
