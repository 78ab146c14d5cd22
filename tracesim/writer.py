"""Calls as Parquet with the columns of the telemetry schema; and how any rows get into row groups of one size."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Generic, Protocol, Self, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from tracesim.compiled import Flags, Longs
from tracesim.measured import DurationTables
from tracesim.profile import Placement, Profile
from tracesim.sessions import Calls

__all__ = ["LABEL", "SCHEMA", "PieceWriter", "TraceWriter", "labels_of", "session_ids", "table_of"]

ROW_GROUP = 1 << 17

LABEL = pa.dictionary(pa.int32(), pa.string())
SCHEMA = pa.schema([
    pa.field("session_id", LABEL),
    pa.field("timestamp", pa.timestamp("us", tz="UTC"), nullable=False),
    pa.field("context_tokens", pa.int64(), nullable=False),
    pa.field("cached_tokens", pa.int64()),
    pa.field("output_tokens", pa.int64()),
    pa.field("model", LABEL),
    pa.field("turn_id", pa.int32()),
    pa.field("user_initiated", pa.bool_()),
    pa.field("region", LABEL),
    pa.field("deployment", LABEL),
    pa.field("duration_ms", pa.float64()),
])


def table_of(calls: Calls, profile: Profile) -> pa.Table:
    """Calls under the names of the profile."""
    anonymous = calls.session < 0
    unturned = anonymous if profile.turns is not None else np.ones(len(calls), np.bool_)
    names = [model.name for model in profile.classes.models]
    columns = {
        "session_id": session_ids(calls.session, anonymous),
        "timestamp": pa.array(calls.t_us).cast(pa.timestamp("us", tz="UTC")),
        "context_tokens": calls.context.astype(np.int64),
        "cached_tokens": _known(calls.cached.astype(np.int64), profile.reuse is not None),
        "output_tokens": _known(calls.output.astype(np.int64), _outputs(profile)),
        "model": labels_of(calls.model, names),
        "turn_id": pa.array(calls.turn, mask=unturned),
        "user_initiated": pa.array(calls.opens, mask=unturned),
        **_places(calls, names, profile.placement),
        "duration_ms": _known(calls.duration_us / 1_000.0, _durations(profile)),
    }
    return pa.table(columns, schema=SCHEMA)


def _known(values: NDArray[Any], logged: bool) -> pa.Array:
    """A column, or nulls for a fleet that does not log it."""
    array = pa.array(values)
    return array if logged else pa.nulls(len(values), array.type)


def _outputs(profile: Profile) -> bool:
    tables = profile.durations
    return tables is not None and not (isinstance(tables, DurationTables) and tables.output is None)


def _durations(profile: Profile) -> bool:
    tables = profile.durations
    return tables is not None and not (isinstance(tables, DurationTables) and tables.busy is None)


def _places(calls: Calls, names: list[str], placement: Placement | None) -> dict[str, pa.Array]:
    """Region and deployment; a deployment serves one model in one region, and its name says which model."""
    if placement is None:
        return {name: pa.nulls(len(calls), pa.string()) for name in ("region", "deployment")}
    seats = [f"{name}-{number:02d}" for name in names for number in range(placement.deployments)]
    seat = calls.model.astype(np.int32) * placement.deployments + calls.deployment
    return {"region": labels_of(calls.region, placement.regions), "deployment": labels_of(seat, seats)}


def labels_of(places: NDArray[Any], names: Iterable[str], missing: Flags | None = None) -> pa.DictionaryArray:
    """Names by their places."""
    return pa.DictionaryArray.from_arrays(pa.array(places.astype(np.int32), mask=missing),
                                          pa.array(list(names), pa.string()))


def session_ids(session: Longs, anonymous: Flags) -> pa.DictionaryArray:
    """Numbers as text of nine digits or more, so that they sort alike."""
    known, places = np.unique(session, return_inverse=True)
    text = pa.array([f"s{number:09d}" if number >= 0 else "" for number in known.tolist()], pa.string())
    return pa.DictionaryArray.from_arrays(pa.array(places.astype(np.int32), mask=anonymous), text)


class ParquetRows:
    """Writes tables of one schema as row groups of one file; a context manager.

    Parameters
    ----------
    path : Path
    about : mapping of str to str
        For the file's metadata.
    schema : pa.Schema
    """

    #: Columns of calls with few different values.
    LABELS = ("session_id", "model", "region", "deployment", "turn_id")

    def __init__(self, path: Path, about: Mapping[str, str], schema: pa.Schema = SCHEMA) -> None:
        coded = [item.name for item in schema if pa.types.is_dictionary(item.type) or item.name in self.LABELS]
        self._file = pq.ParquetWriter(path, schema.with_metadata(dict(about)), compression="zstd", compression_level=1,
                                      use_dictionary=coded)

    def __enter__(self) -> ParquetRows:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the file."""
        self._file.close()

    def write(self, table: pa.Table) -> None:
        """One row group."""
        self._file.write_table(table, row_group_size=max(len(table), 1))


class Piece(Protocol):
    """Columns of one length."""

    def __len__(self) -> int: ...
    def take(self, rows: slice, /) -> Self: ...


P = TypeVar("P", bound=Piece)


class PieceWriter(Generic[P]):
    """Writes pieces into one file, in row groups of one size; a context manager.

    Parameters
    ----------
    path : Path
    schema : pa.Schema
    table_of : callable
        A piece -> its rows.
    joined : callable
        Pieces -> one.
    about : mapping of str to str
        For the file's metadata.

    Attributes
    ----------
    rows : int
    """

    def __init__(self, path: Path, schema: pa.Schema, table_of: Callable[[P], pa.Table],
                 joined: Callable[[Iterable[P]], P], about: Mapping[str, str]) -> None:
        self._table_of, self._joined, self._file = table_of, joined, ParquetRows(path, about, schema)
        self._waiting: list[P] = []
        self.rows = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        try:
            if kind is None:
                self._write(1)
        finally:
            self._file.close()

    def add(self, piece: P) -> None:
        """Write what fills row groups; the rest waits."""
        self._waiting.append(piece)
        if sum(map(len, self._waiting)) >= ROW_GROUP:
            self._write(ROW_GROUP)

    def _write(self, least: int) -> None:
        """Write row groups as long as there is so much."""
        piece, at = self._joined(self._waiting), 0
        while len(piece) - at >= least:
            table = self._table_of(piece.take(slice(at, at + ROW_GROUP)))
            self._file.write(table)
            self.rows += len(table)
            at += ROW_GROUP
        self._waiting = [piece.take(slice(at, None))]


class TraceWriter(PieceWriter[Calls]):
    """Writes pieces of a trace."""

    def __init__(self, path: Path, profile: Profile, about: Mapping[str, str]) -> None:
        super().__init__(path, SCHEMA, partial(table_of, profile=profile), Calls.joined, about)
