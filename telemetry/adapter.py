"""What an adapter is: a source format, read as Arrow batches of a canonical schema.

An adapter is one file in `telemetry/adapters/`; it declares an `ADAPTER`, and `telemetry.registry`
finds it by its name. It never holds a whole input in memory and never drops a record: a record that cannot be
used is yielded with its `defect`, so that the audit accounts for each one.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO

import pyarrow as pa

from telemetry.errors import InputError, escaped, quoted
from telemetry.places import StorePath, open_file, size_of
from telemetry.schema import CALLS, Rows

__all__ = ["Adapter", "Arrivals", "DefectLog", "Piece", "ReadOptions", "Source", "TimestampRule", "whole"]


@dataclass(frozen=True)
class Piece:
    """Some row groups of a file of the input, and how many records stand before them.

    `judged`: the file's timestamps were looked at as a whole, so they are believed.
    """

    groups: tuple[int, ...]
    records_before: int
    judged: bool = False


@dataclass(frozen=True)
class Source:
    """One file of the input.

    Attributes
    ----------
    rank : int
        Position in the lexicographic order of the input's files, from 0.
    path : Path or StorePath
        Where it lies, here or in a store.
    name : str
        How messages call it: relative to what the user typed, with what cannot be printed escaped.
    repeats : str or None
        Name of an earlier file with the same bytes and partition; the records of this one are
        duplicates.
    partition : mapping of str to str
        Columns that the folder names of a Hive-partitioned tree carry (`day=2026-01-01`).
    piece : Piece or None
        The part of the file that is meant; None is all of it.
    """

    rank: int
    path: Path | StorePath
    name: str
    repeats: str | None = None
    partition: Mapping[str, str] = field(default_factory=dict)
    piece: Piece | None = None

    def row(self, number: int) -> str:
        """How messages call a record of the file."""
        return f"row {number} after the header" if self.headed else f"row {number}"

    def open(self) -> IO[bytes]:
        """The file's bytes; OSError for a path that cannot be opened, InputError for a store that refuses."""
        return open_file(self.path)

    def for_arrow(self) -> Path | IO[bytes]:
        """What Arrow's readers take: a path as it is, as they read it best, else an open stream."""
        return self.path if isinstance(self.path, Path) else open_file(self.path, buffered=False)

    def anywhere(self) -> Source:
        """The same for a process that works in another folder."""
        return replace(self, path=self.path.absolute()) if isinstance(self.path, Path) else self

    @property
    def size(self) -> int:
        """Bytes; OSError for a path that is not there."""
        return size_of(self.path)

    @property
    def headed(self) -> bool:
        """Whether a header, which is not counted, stands before the records."""
        return self.path.name.lower().removesuffix(".gz").endswith((".csv", ".tsv"))


@dataclass(frozen=True)
class TimestampRule:
    """How the timestamps of an export are to be read; nothing about them is guessed.

    `unit` (s, ms, us, ns) is needed for numbers. `zone` (an IANA name) is needed for text and
    for timestamps without an offset. `epoch_us` is added to numbers that do not count from 1970
    and switches the plausibility check off.
    """

    unit: str | None = None
    zone: str | None = None
    epoch_us: int | None = None


@dataclass(frozen=True)
class Arrivals:
    """Synthetic arrivals for sessions without a place in time: Poisson, sessions a second."""

    rate: float
    seed: int


@dataclass(frozen=True)
class ReadOptions:
    """What a user declares about an input.

    Attributes
    ----------
    columns : mapping of str to str
        Canonical name -> the name in the user's export; a name not listed stands for itself.
    timestamp : TimestampRule
    context_excludes_cached : bool
        True when the export's context column counts only the tokens not found in the cache.
    arrivals : Arrivals or None
    tool_events : tuple of str
        The words by which an event log calls the execution of a tool; case does not matter.
    """

    columns: Mapping[str, str] = field(default_factory=dict)
    timestamp: TimestampRule = field(default_factory=TimestampRule)
    context_excludes_cached: bool = False
    arrivals: Arrivals | None = None
    tool_events: tuple[str, ...] = ("tool",)


class DefectLog:
    """Collects what was wrong with records: a few examples a kind, or an error when `strict`.

    Counts of defects come from the `defect` column; counts of flags that only an adapter can
    see (`bad_optional`, `clock_reversal`) are added here.

    Attributes
    ----------
    examples : dict
        Reason -> where and what, for the user's terminal only: names of files and values can
        hold identifiers.
    places : dict
        The same as may be published: file number, row and column.
    flags : dict
        Flag -> records.
    recognised : int
        Records that had the shape of the format, where an adapter counts them.
    columns : set of str
        Canonical columns that some file had, where an adapter maps columns.
    spans : dict
        Rank of a file -> start of its first and of its last usable record, where an adapter reads
        files in pieces.
    """

    EXAMPLES = 3

    def __init__(self, *, strict: bool = False) -> None:
        self.strict = strict
        self.examples: dict[str, list[str]] = {}
        self.places: dict[str, list[str]] = {}
        self.flags: dict[str, int] = {}
        self.recognised = 0
        self.columns: set[str] = set()
        self.spans: dict[int, tuple[int, int]] = {}
        self._seen: dict[str, list[tuple[int, int]]] = {}  # rank and row of each example
        self._gathered: list[tuple[int, str]] | None = None

    @contextmanager
    def gathered(self) -> Iterator[None]:
        """Records of one file that are looked at column by column: of a strict log the first record is the error."""
        self._gathered = []
        yield
        found, self._gathered = self._gathered, None
        if found:
            raise InputError(min(found, key=lambda each: each[0])[1])

    def note(self, reason: str, source: Source, row: int, column: str, value: object) -> None:
        """Record one bad record; raises InputError when strict."""
        name, column = escaped(source.name), escaped(column)
        where = f"{name}, {source.row(row)}, column {column}: {reason} ({quoted(value)})"
        if self.strict:
            message = f"{where}. Mend the record, or run without --strict to set such rows aside."
            if self._gathered is None:
                raise InputError(message)
            self._gathered.append((row, message))
        # The first of the input, in whatever order they are met.
        seen = self._seen.setdefault(reason, [])
        at = bisect_right(seen, (source.rank, row))
        place = f"file {source.rank + 1}, {source.row(row)}, column {column}"
        seen.insert(at, (source.rank, row))
        del seen[self.EXAMPLES:]
        for texts, new in ((self.examples, where), (self.places, place)):
            shown = texts.setdefault(reason, [])
            shown.insert(at, new)
            del shown[self.EXAMPLES:]

    def flag(self, name: str, count: int = 1) -> None:
        """Count records that are kept."""
        self.flags[name] = self.flags.get(name, 0) + count

    def as_json(self) -> str:
        """What was collected, for `absorb` elsewhere."""
        return json.dumps({"examples": self.examples, "places": self.places, "flags": self.flags,
                           "recognised": self.recognised, "columns": sorted(self.columns),
                           "spans": list(self.spans.items())})

    def absorb(self, text: str) -> None:
        """Take in what was collected from the next file, or the next piece of the last one."""
        other = json.loads(text)
        for mine, theirs in ((self.examples, other["examples"]), (self.places, other["places"])):
            for reason, seen in theirs.items():
                mine[reason] = [*mine.get(reason, ()), *seen][:self.EXAMPLES]
        for name, count in other["flags"].items():
            self.flag(name, count)
        self.recognised += other["recognised"]
        self.columns |= set(other["columns"])
        for rank, (first_us, last_us) in other["spans"]:
            before = self.spans.get(rank)
            if before is not None and first_us < before[1]:
                self.flag("clock_reversal")
            self.spans[rank] = (first_us if before is None else before[0], last_us)


Reader = Callable[[list[Source], ReadOptions, DefectLog], Iterator[pa.RecordBatch]]
Check = Callable[[Sequence[Source], ReadOptions, DefectLog], None]


def _nothing_to_check(sources: Sequence[Source], options: ReadOptions, log: DefectLog) -> None:
    """For formats in which every input that reads well is one."""


def whole(sources: Sequence[Source], options: ReadOptions) -> Iterator[list[Source]]:
    """The pieces of files that are each read as one."""
    return ([source] for source in sources)


@dataclass(frozen=True)
class Adapter:
    """A source format.

    Attributes
    ----------
    name, description : str
    suffixes : tuple of str
        File names that belong to it when a folder is given.
    read : callable
        (sources, options, log) -> batches with the schema of `rows`, sources in order of rank.
    check : callable
        (sources, options, log) -> None, or InputError for what only the whole input shows; asked
        when all of it was read.
    pieces : callable or None
        (sources, options) -> for each source its pieces, which can be read apart, in order; None where files depend
        on each other.
    notes : tuple of str
        What the report must say about numbers from this source.
    whole_sessions : bool
        True when the format holds complete sessions, so that none is cut at a window's edge
        unless its own calls lie outside.
    rows : Rows
        What its records are: calls, or events.
    repeats_calls : bool
        True when the format writes a call or an event several times, so that repeats are no fault of
        an input.
    needs_arrivals : bool
        True when sessions have no place in time of their own (`--arrivals` is required).
    derived : mapping of str to str
        Canonical columns that the adapter computes rather than reads, and how.
    """

    name: str
    description: str
    suffixes: tuple[str, ...]
    read: Reader
    check: Check = _nothing_to_check
    pieces: Callable[[Sequence[Source], ReadOptions], Iterator[list[Source]]] | None = None
    notes: tuple[str, ...] = ()
    whole_sessions: bool = False
    rows: Rows = CALLS
    repeats_calls: bool = False
    needs_arrivals: bool = False
    derived: Mapping[str, str] = field(default_factory=dict)

    def batches(self, sources: list[Source], options: ReadOptions, log: DefectLog) -> Iterator[pa.RecordBatch]:
        """The whole input, read here.

        Raises
        ------
        InputError
            As `read` and `check`.
        """
        yield from self.read(sources, options, log)
        self.check(sources, options, log)
