"""Calls as Parquet with the columns of the telemetry schema, in row groups of one size."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from tracesim.compiled import Flags, Longs
from tracesim.measured import DurationTables
from tracesim.profile import Placement, Profile
from tracesim.sessions import Calls

__all__ = ["SCHEMA", "TraceWriter", "table_of"]

ROW_GROUP = 1 << 17

_LABEL = pa.dictionary(pa.int32(), pa.string())
SCHEMA = pa.schema([
    pa.field("session_id", _LABEL),
    pa.field("timestamp", pa.timestamp("us", tz="UTC"), nullable=False),
    pa.field("context_tokens", pa.int64(), nullable=False),
    pa.field("cached_tokens", pa.int64()),
    pa.field("output_tokens", pa.int64()),
    pa.field("model", _LABEL),
    pa.field("turn_id", pa.int32()),
    pa.field("user_initiated", pa.bool_()),
    pa.field("region", _LABEL),
    pa.field("deployment", _LABEL),
    pa.field("duration_ms", pa.float64()),
])


def table_of(calls: Calls, profile: Profile) -> pa.Table:
    """Calls under the names of the profile."""
    anonymous = calls.session < 0
    unturned = anonymous if profile.turns is not None else np.ones(len(calls), np.bool_)
    names = [model.name for model in profile.classes.models]
    columns = {
        "session_id": _session_ids(calls.session, anonymous),
        "timestamp": pa.array(calls.t_us).cast(pa.timestamp("us", tz="UTC")),
        "context_tokens": calls.context.astype(np.int64),
        "cached_tokens": _known(calls.cached.astype(np.int64), profile.reuse is not None),
        "output_tokens": _known(calls.output.astype(np.int64), _outputs(profile)),
        "model": _labels(calls.model, names),
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
    return {"region": _labels(calls.region, placement.regions), "deployment": _labels(seat, seats)}


def _labels(places: NDArray[Any], names: Iterable[str]) -> pa.DictionaryArray:
    return pa.DictionaryArray.from_arrays(pa.array(places.astype(np.int32)), pa.array(list(names), pa.string()))


def _session_ids(session: Longs, anonymous: Flags) -> pa.DictionaryArray:
    """Numbers as text of nine digits or more, so that they sort alike."""
    known, places = np.unique(session, return_inverse=True)
    text = pa.array([f"s{number:09d}" if number >= 0 else "" for number in known.tolist()], pa.string())
    return pa.DictionaryArray.from_arrays(pa.array(places.astype(np.int32), mask=anonymous), text)


class ParquetRows:
    """Writes tables of `SCHEMA` as row groups of one file; a context manager.

    Parameters
    ----------
    path : Path
    about : mapping of str to str
        For the file's metadata.
    """

    #: Columns of few different values.
    LABELS = ("session_id", "model", "region", "deployment", "turn_id")

    def __init__(self, path: Path, about: Mapping[str, str]) -> None:
        self._file = pq.ParquetWriter(path, SCHEMA.with_metadata(dict(about)), compression="zstd", compression_level=1,
                                      use_dictionary=list(self.LABELS))

    def __enter__(self) -> ParquetRows:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the file."""
        self._file.close()

    def write(self, table: pa.Table) -> None:
        """One row group."""
        self._file.write_table(table, row_group_size=ROW_GROUP)


class TraceWriter:
    """Writes pieces of a trace into one file; a context manager.

    Parameters
    ----------
    path : Path
    profile : Profile
    about : mapping of str to str
        For the file's metadata.

    Attributes
    ----------
    rows : int
    """

    def __init__(self, path: Path, profile: Profile, about: Mapping[str, str]) -> None:
        self._profile, self._file = profile, ParquetRows(path, about)
        self._waiting: list[Calls] = []
        self.rows = 0

    def __enter__(self) -> TraceWriter:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        try:
            if kind is None:
                self._write(1)
        finally:
            self._file.close()

    def add(self, calls: Calls) -> None:
        """Write the calls that fill row groups; the rest waits."""
        self._waiting.append(calls)
        if sum(map(len, self._waiting)) >= ROW_GROUP:
            self._write(ROW_GROUP)

    def _write(self, least: int) -> None:
        """Write row groups as long as there are so many calls."""
        calls, at = Calls.joined(self._waiting), 0
        while len(calls) - at >= least:
            group = calls.take(slice(at, at + ROW_GROUP))
            self._file.write(table_of(group, self._profile))
            self.rows += len(group)
            at += len(group)
        self._waiting = [calls.take(slice(at, None))]
