"""The results store: what one window found, as files that anyone can read.

    numbers.json     key -> value, lo, hi, unit, population, n, method, command, why
    tables/*.parquet small tables, every column documented in its field metadata
    audit.json       what became of each input row; not there where no rows were read
    report.html      the same for people
    manifest.json    written last: a folder without it is no result

Everything but the manifest is the same bytes on every run over the same input and configuration.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import pyarrow as pa
import pyarrow.parquet as pq

from metrics.core.metric import Finding, Findings, Number
from telemetry.errors import InputError, shorten

__all__ = ["FORMAT_VERSION", "Published", "Results", "StoreWriter"]

FORMAT_VERSION = 1
_MOST = 1e40  # what is stored is below: sums of bytes have 128 bits
_FIELDS = ("value", "lo", "hi", "unit", "population", "n", "method", "command", "why")


@dataclass(frozen=True)
class Published:
    """One number of the store.

    Attributes
    ----------
    value : int, float, str or None
        None: `why` says why.
    lo, hi : int, float or None
        Bounds, where the value is not certain.
    unit, population, method, command : str
    n : int or None
        Size of the population.
    why : str or None
    """

    value: Any
    lo: Any
    hi: Any
    unit: str
    population: str
    n: int | None
    method: str
    command: str
    why: str | None


class StoreWriter:
    """Collects findings and writes them into a folder; the manifest comes from the caller, last."""

    def __init__(self, folder: Path, command: str) -> None:
        self.folder = folder
        self._command = command
        self._numbers: dict[str, Published] = {}
        (folder / "tables").mkdir(parents=True)

    def add(self, numbers: Iterable[Number], findings: Findings, population: str, command: str | None = None) -> None:
        """Publish what a metric or a replay found.

        Parameters
        ----------
        population : str
            That of numbers without their own.
        command : str, optional
            What gives the numbers, where it is not the command of the store.
        """
        for number in numbers:
            if number.key in self._numbers:
                raise RuntimeError(f"{number.key} is published twice")
            found = findings.numbers[number.key]
            self._numbers[number.key] = self._published(number, found, population, command or self._command)
        for name, table in findings.tables.items():
            self._table(name, table)

    @property
    def numbers(self) -> Mapping[str, Published]:
        """What was published so far."""
        return self._numbers

    def table(self, name: str) -> pa.Table | None:
        """A table that was published so far."""
        path = self._path(name)
        return pq.read_table(path) if path.exists() else None

    def _path(self, name: str) -> Path:
        return self.folder / "tables" / f"{name}.parquet"

    def _published(self, number: Number, found: Finding, population: str, command: str) -> Published:
        return Published(found.value, found.low, found.high, number.unit, number.population or population, found.n,
                         number.method, command, found.why)

    def _table(self, name: str, table: pa.Table) -> None:
        path = self._path(name)
        if path.exists():
            raise RuntimeError(f"table {name} is published twice")
        pq.write_table(table, path, compression="zstd")

    def write_numbers(self) -> None:
        """Write numbers.json, sorted by key."""
        _write_json(self.folder / "numbers.json", {
            key: {field: getattr(number, field) for field in _FIELDS} for key, number in self._numbers.items()})

    def write_audit(self, audit: Mapping[str, Any]) -> None:
        """Write audit.json."""
        _write_json(self.folder / "audit.json", audit)

    def write_manifest(self, manifest: Mapping[str, Any]) -> None:
        """Write manifest.json, which makes the folder a result."""
        _write_json(self.folder / "manifest.json", {"format_version": FORMAT_VERSION, **manifest})


def _write_json(path: Path, content: Mapping[str, Any]) -> None:
    text = json.dumps(content, sort_keys=True, indent=1, ensure_ascii=False, allow_nan=False)
    path.write_text(text + "\n", encoding="utf-8")


class Results:
    """The results of one window, read from its folder."""

    def __init__(self, folder: Path, numbers: Mapping[str, Published], audit: Mapping[str, Any],
                 manifest: Mapping[str, Any]) -> None:
        self.folder = folder
        self.numbers = numbers
        self.audit = audit
        self.manifest = manifest

    @classmethod
    def open(cls, folder: Path | str) -> Results:
        """Open a finished result.

        Raises
        ------
        InputError
            When the folder holds no manifest, or its files cannot be read.
        """
        folder = Path(folder)
        if not (folder / "manifest.json").is_file():
            raise InputError(f"{folder} holds no result: it has no manifest.json. Name the folder of a window, "
                             "and run characterize again if its run was stopped.")
        manifest = _read_json(folder / "manifest.json")
        if manifest.get("format_version") != FORMAT_VERSION:
            other = shorten(manifest.get("format_version"))
            raise InputError(f"{folder} was written by another version of kvcensus (format {other}, not "
                             f"{FORMAT_VERSION}). Run characterize again.")
        return cls.preview(folder, manifest)

    @classmethod
    def preview(cls, folder: Path, manifest: Mapping[str, Any]) -> Results:
        """The same before the manifest is written, for the report that goes into the folder."""
        path = folder / "numbers.json"
        numbers = {key: _number(path, key, entry) for key, entry in _read_json(path).items()}
        audit = folder / "audit.json"
        return cls(folder, numbers, _read_json(audit) if audit.exists() else {}, manifest)

    def has_table(self, name: str) -> bool:
        return (self.folder / "tables" / f"{name}.parquet").is_file()

    def table(self, name: str) -> pa.Table:
        """A table by name; KeyError where the trace lacks what it is made of."""
        if not self.has_table(name):
            raise KeyError(name)
        path = self.folder / "tables" / f"{name}.parquet"
        try:
            return pq.read_table(path)
        except (OSError, pa.ArrowException) as error:
            why = str(error).partition("\n")[0]
            raise InputError(f"{path} cannot be read: {shorten(why, 200)}. Run characterize again.") from error


def _number(path: Path, key: str, entry: object) -> Published:
    """One entry of numbers.json; what `StoreWriter` would not have written is an error."""
    fine = (isinstance(entry, dict) and set(entry) == set(_FIELDS)
            and (isinstance(entry["value"], str) or all(_is_number(entry[name]) for name in ("value", "lo", "hi")))
            and all(isinstance(entry[name], str) for name in ("unit", "population", "method", "command"))
            and (entry["n"] is None or type(entry["n"]) is int) and isinstance(entry["why"], str | None))
    if not fine:
        raise InputError(f"{path} cannot be read: {shorten(key)} is no number with {', '.join(_FIELDS)}. Run "
                         "characterize again.")
    return Published(**cast("dict[str, Any]", entry))


def _is_number(value: object) -> bool:
    return value is None or (type(value) in (int, float) and abs(cast("float", value)) < _MOST)


def _read_json(path: Path) -> dict[str, Any]:
    if path.exists() and not path.is_file():
        raise InputError(f"{path} cannot be read: it is no file. Run characterize again.")
    try:
        content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"{path} cannot be read: {shorten(str(error), 200)}. Run characterize again.") from error
    if not isinstance(content, dict):
        raise InputError(f"{path} cannot be read: it holds no JSON object. Run characterize again.")
    return content
