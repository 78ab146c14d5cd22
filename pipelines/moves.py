"""Several renames that happen together or not at all, also when the run dies between two of them.

    .partial-NAME   what is to appear as NAME
    .old-NAME       what stood there before
    .moving         names under way: with it, the next run takes all moves back
    .moved          the moves are done: with it, what is old goes
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

__all__ = ["Moves", "remove"]

_PARTIAL, _OLD = ".partial-", ".old-"
_MOVING, _MOVED = ".moving", ".moved"


class Moves:
    """The moves in one folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._moving, self._moved = folder / _MOVING, folder / _MOVED

    def partial(self, name: str) -> Path:
        """Where something waits until it is moved."""
        return self._folder / f"{_PARTIAL}{name}"

    def _old(self, name: str) -> Path:
        return self._folder / f"{_OLD}{name}"

    def make(self, new: Sequence[str], stale: Sequence[str]) -> None:
        """Let the new names appear and the stale ones vanish."""
        written = self.partial("moves")
        written.write_text(json.dumps({"new": list(new), "stale": list(stale)}), encoding="utf-8")
        written.rename(self._moving)
        for name in (*stale, *new):
            place = self._folder / name
            if _there(place):
                place.rename(self._old(name))
            if name in new:
                self.partial(name).rename(place)
        self._moving.rename(self._moved)

    def clear(self) -> None:
        """Take back moves that did not come to their end; then remove all that is hidden."""
        if _there(self._moving):
            self._undo(**_names(self._moving))
            remove(self._moving)
        if not _there(self._moved):
            self._restore()
        for pattern in (f"{_PARTIAL}*", f"{_OLD}*"):
            for left in self._folder.glob(pattern):
                remove(left)
        remove(self._moved)

    def _undo(self, new: Sequence[str], stale: Sequence[str]) -> None:
        """Every step can be done again, as this can die too."""
        for name in new:
            if _there(self._folder / name) and not _there(self.partial(name)):
                (self._folder / name).rename(self.partial(name))
        for name in (*new, *stale):
            if _there(self._old(name)):
                self._old(name).rename(self._folder / name)

    def _restore(self) -> None:
        """Bring back what is old and has no successor."""
        for old in self._folder.glob(f"{_OLD}*"):
            place = self._folder / old.name.removeprefix(_OLD)
            if not _there(place):
                old.rename(place)


def remove(path: Path) -> None:
    """Remove a file, a link or a whole folder; one that is not there is fine."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _there(path: Path) -> bool:
    return path.exists() or path.is_symlink()


def _names(path: Path) -> dict[str, list[str]]:
    """The names of a record that we wrote; plain names only, whoever changed it."""
    found: object = None
    with suppress(OSError, ValueError):
        found = json.loads(path.read_text(encoding="utf-8"))
    table = found if isinstance(found, dict) else {}
    return {kind: [name for name in table.get(kind, ()) if isinstance(name, str) and name and Path(name).name == name]
            for kind in ("new", "stale")}
