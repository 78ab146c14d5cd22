"""Parquet files as chunks: only the columns of a call, a bounded number of rows at a time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from telemetry.adapter import Piece, Source
from telemetry.errors import InputError, quoted, shorten
from telemetry.readers_chunk import Chunk, check_required

__all__ = ["parquet_pieces", "read_parquet"]

#: Columns whose texts repeat: decoding each text once is several times as fast.
_LABELS: Final = ("session_id", "model", "turn_id", "region", "deployment", "status", "event", "tool")
_ROWS: Final = 1 << 17
_ROWS_WITH_LISTS: Final = 1 << 13  # block hashes: thousands a row
_PIECE_BYTES: Final = 1 << 26  # of columns as stored
_HERE: Final = 1 << 20  # bytes of a column read at once; a store takes long for each request
_AWAY: Final = 1 << 23


def read_parquet(source: Source, names: Mapping[str, str]) -> Iterator[Chunk]:
    """The records of one Parquet file.

    Raises
    ------
    InputError
        When the file is not Parquet, is truncated or damaged, or lacks a required column.
    """
    return _read(source, names, names)


def parquet_times(source: Source, names: Mapping[str, str]) -> Iterator[Chunk]:
    """The same with the times alone: as many records a chunk.

    Raises
    ------
    InputError
        As `read_parquet`.
    """
    return _read(source, names, {"timestamp": names["timestamp"]})


def _read(source: Source, names: Mapping[str, str], asked: Mapping[str, str]) -> Iterator[Chunk]:
    """Chunks of the columns that are asked for, as long as if all were."""
    metadata = _metadata(source)
    try:
        # Without pre-buffering only the pages of the batch in hand are held.
        labels = _labels(metadata.schema.to_arrow_schema(), names)
        file = pq.ParquetFile(source.for_arrow(), metadata=metadata, pre_buffer=False,
                              buffer_size=_HERE if isinstance(source.path, Path) else _AWAY, read_dictionary=labels)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise _no_parquet(source, error) from None
    groups = range(metadata.num_row_groups) if source.piece is None else source.piece.groups
    row = 0 if source.piece is None else source.piece.records_before
    try:
        with file:
            present = file.schema_arrow.names
            check_required(source, present, names)
            mine = {name: column for name, column in names.items() if column in present}
            twice = [column for column in mine.values() if present.count(column) > 1]
            if twice:
                raise InputError(f"{source.name}: two columns are called {quoted(twice[0])}. Rename one.")
            size = _ROWS_WITH_LISTS if "hash_ids" in mine else _ROWS
            mine = {name: column for name, column in mine.items() if name in asked}
            wanted = list(dict.fromkeys(mine.values()))
            for batch in file.iter_batches(size, row_groups=list(groups), columns=wanted):
                rows = np.arange(row + 1, row + 1 + batch.num_rows, dtype=np.int64)
                yield Chunk(rows, {name: batch.column(column) for name, column in mine.items()})
                row += batch.num_rows
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise InputError(f"{source.name}: damaged Parquet data after row {row} ({_first_line(error)}). "
                         "Copy or export it again.") from None


def _labels(schema: pa.Schema, names: Mapping[str, str]) -> list[str]:
    """Columns to be read as codes; a column in columns has no name that could be read so."""
    present = [names[name] for name in _LABELS if name in names and schema.names.count(names[name]) == 1]
    return [column for column in present if not pa.types.is_nested(schema.field(column).type)]


def parquet_pieces(source: Source) -> list[Source]:
    """One file as several sources, each some of its row groups, in order.

    Raises
    ------
    InputError
        When the file is not Parquet, or is truncated.
    """
    metadata = _metadata(source)
    pieces: list[Piece] = []
    groups: list[int] = []
    before = size = rows = 0
    for group in range(metadata.num_row_groups):
        groups.append(group)
        size += metadata.row_group(group).total_byte_size
        rows += metadata.row_group(group).num_rows
        if size >= _PIECE_BYTES or group == metadata.num_row_groups - 1:
            pieces.append(Piece(tuple(groups), before))
            groups, size, before = [], 0, rows
    return [replace(source, piece=piece) for piece in pieces] or [source]


def _metadata(source: Source) -> pq.FileMetaData:
    try:
        return pq.read_metadata(source.for_arrow())
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise _no_parquet(source, error) from None


def _no_parquet(source: Source, error: Exception) -> InputError:
    return InputError(f"{source.name}: not a Parquet file, or a truncated one ({_first_line(error)}). "
                      "Copy or export it again.")


def _first_line(error: Exception) -> str:
    return shorten(str(error).split("\n", 1)[0], 120)
