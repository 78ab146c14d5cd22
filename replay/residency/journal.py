"""Runs of policies, kept in a file as they are done: a run that is known is not done again.

One line a run, which ends in a hash of it, so that a line that was cut or changed is known for what it is. What a run
found depends on the calls of the stream, the release mode, the policy and its code, and the budget in units of 1/128
token. These are its name; object key, geometry and the share that a budget is are in them. The file holds counts and
hashes, and nothing of a call.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import metrics.idle_cap
import replay.residency.comparison
import replay.residency.keeping
import replay.residency.policies
import replay.residency.policy
import replay.residency.stream
from replay.residency.comparison import Agreement, Logged
from replay.residency.policy import Outcome, policies
from replay.residency.replay import Run
from replay.residency.stream import Release, Stream

__all__ = ["CODE", "FileJournal", "code_hash", "open_journal", "stream_hash"]

_SIZE = 16  # bytes of a hash
#: What decides what a policy finds, beside the policies' own files.
CODE = (replay.residency.stream, replay.residency.policy, replay.residency.keeping, replay.residency.comparison,
        metrics.idle_cap)

#: (code, stream, release, policy, units)
_Name = tuple[str, str, str, str, int]


class FileJournal:
    """An open journal.

    Attributes
    ----------
    damaged : int
        Lines that could not be read; their runs are done again.
    found, added : int
        Runs that were known, and runs that were done.
    """

    def __init__(self, descriptor: int, known: Mapping[_Name, Run], damaged: int,
                 done: Callable[[bool], None] | None = None) -> None:
        self._descriptor = descriptor
        self._known = dict(known)
        self._done = done
        self.damaged = damaged
        self.found = self.added = 0

    def of(self, stream: Stream, logged: Logged | None, release: Release) -> _Kept:
        """The runs of one stream."""
        return _Kept(self, stream_hash(stream, logged), release)

    def find(self, name: _Name) -> Run | None:
        """A run by its name, if it is known."""
        run = self._known.get(name)
        if run is not None:
            self.found += 1
            self._tell(True)
        return run

    def keep(self, name: _Name, run: Run) -> None:
        """Add a run to the file."""
        _write(self._descriptor, _line(name, run))
        self._known[name] = run
        self.added += 1
        self._tell(False)

    def _tell(self, known: bool) -> None:
        if self._done is not None:
            self._done(known)


class _Kept:
    """The runs of one stream under one release mode."""

    def __init__(self, journal: FileJournal, stream: str, release: Release) -> None:
        self._journal, self._stream, self._release = journal, stream, release

    def find(self, policy: str, units: int) -> Run | None:
        return self._journal.find(self._name(policy, units))

    def keep(self, policy: str, units: int, run: Run) -> None:
        self._journal.keep(self._name(policy, units), run)

    def _name(self, policy: str, units: int) -> _Name:
        return code_hash(), self._stream, self._release, policy, units


@contextmanager
def open_journal(path: Path, done: Callable[[bool], None] | None = None) -> Iterator[FileJournal]:
    """The journal in a file, which is made if it is not there.

    Lines that are damaged, and those of other code, are taken out first: what follows them starts on a line of its own.

    Parameters
    ----------
    path : Path
    done : callable, optional
        Called for each run that is known (with True) or done (with False).

    Raises
    ------
    OSError
        When the file cannot be read or written.
    """
    content = path.read_bytes() if path.exists() else b""
    known, damaged, kept = _read(content)
    if kept != content:
        partial = path.with_name(f"{path.name}.partial")
        partial.write_bytes(kept)
        partial.replace(path)
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        yield FileJournal(descriptor, known, damaged, done)
    finally:
        os.close(descriptor)


def stream_hash(stream: Stream, logged: Logged | None) -> str:
    """A hash of all that a replay of the stream reads; next uses follow from the objects."""
    digest = hashlib.blake2b(digest_size=_SIZE)
    digest.update(f"{stream.calls} {stream.object_count} {stream.time_us is None} {logged is None}".encode())
    for array in (stream.objects, stream.tokens, stream.time_us, *((logged.cached, logged.way) if logged else ())):
        if array is not None:
            digest.update(memoryview(array).cast("B") if array.size else b"")
    return digest.hexdigest()


@cache
def code_hash() -> str:
    """A hash of the sources of every policy and of what they count with."""
    digest = hashlib.blake2b(digest_size=_SIZE)
    folder = Path(next(iter(replay.residency.policies.__path__)))
    for path in (*sorted(folder.glob("*.py")), *(Path(str(module.__file__)) for module in CODE)):
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def _read(content: bytes) -> tuple[dict[_Name, Run], int, bytes]:
    """Known runs, damaged lines, and the lines of the known runs."""
    known: dict[_Name, Run] = {}
    damaged, kept = 0, []
    for line in content.splitlines(keepends=True):
        try:
            name, run = _parsed(line)
        except (ValueError, KeyError, TypeError):
            damaged += 1
            continue
        if name[0] == code_hash() and name[3] in policies():
            known[name] = run
            kept.append(line)
    return known, damaged, b"".join(kept)


def _line(name: _Name, run: Run) -> bytes:
    outcome, beside = run.outcome, run.beside_log
    text = json.dumps({
        "name": name, "misses": outcome.misses, "missed_tokens": outcome.missed_tokens,
        "counters": dict(outcome.counters),
        "beside_log": None if beside is None else [[*way, *vars(seen).values()] for way, seen in beside.items()],
    }, separators=(",", ":")).encode()
    return text + b"\t" + _check(text) + b"\n"


def _parsed(line: bytes) -> tuple[_Name, Run]:
    """ValueError, KeyError or TypeError for a line that `_line` did not write."""
    text, _, check = line.partition(b"\t")
    if check != _check(text) + b"\n":
        raise ValueError("damaged")
    entry: dict[str, Any] = json.loads(text)
    code, stream, release, policy, units = entry["name"]
    beside = entry["beside_log"]
    counts = None if beside is None else {(move, band): Agreement(*some) for move, band, *some in beside}
    outcome = Outcome(entry["misses"], entry["missed_tokens"], entry["counters"])
    return (code, stream, release, policy, units), Run(outcome, counts)


def _check(text: bytes) -> bytes:
    return hashlib.blake2b(text, digest_size=_SIZE).hexdigest().encode()


def _write(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data):]
