"""Files of named columns, in CSV, JSON lines or Parquet, as batches: what the exports of calls and of events share."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import pyarrow as pa

from telemetry.adapter import DefectLog, ReadOptions, Source
from telemetry.errors import InputError, quoted
from telemetry.readers_ahead import ahead
from telemetry.readers_chunk import REQUIRED, Chunk, column_names
from telemetry.readers_csv import read_csv
from telemetry.readers_jsonl import read_jsonl
from telemetry.readers_parquet import parquet_pieces, parquet_times, read_parquet
from telemetry.readers_rows import Normaliser
from telemetry.shapes import Shape

__all__ = ["SUFFIXES", "Export"]

_READERS: Final = {
    ".csv": read_csv, ".csv.gz": read_csv, ".tsv": read_csv, ".tsv.gz": read_csv,
    ".jsonl": read_jsonl, ".jsonl.gz": read_jsonl, ".ndjson": read_jsonl, ".ndjson.gz": read_jsonl,
    ".parquet": read_parquet,
}
SUFFIXES: Final = tuple(_READERS)


@dataclass(frozen=True)
class Export:
    """Files of one shape.

    Attributes
    ----------
    format : str
        Its name, for messages.
    shape : Shape
    """

    format: str
    shape: Shape

    def read(self, sources: list[Source], options: ReadOptions, log: DefectLog) -> Iterator[pa.RecordBatch]:
        """Batches of the shape's schema, file after file, each row of the input once.

        A column of a Hive tree stands in where the files lack it. A file that repeats the bytes of
        an earlier one yields its records as duplicates.

        Raises
        ------
        InputError
            When a file has another suffix, cannot be read, or lacks a required column.
        UsageError
            When `options` names an unknown column, unit or zone.
        """
        names = self._names(options)
        readers = [self._reader(source) for source in sources]  # before the first row, not after hours
        chunks = ((source, _with_partition(chunk, source, names))
                  for source, reader in zip(sources, readers, strict=True) for chunk in reader(source, names))
        current: tuple[Source, Normaliser] | None = None
        for source, chunk in ahead(chunks):
            if current is None or current[0] is not source:
                current = source, Normaliser(self.shape, source, options, log)
            log.columns |= set(chunk.columns)
            batch = current[1].batch(chunk)
            if batch.num_rows:
                yield batch

    def check(self, sources: Sequence[Source], options: ReadOptions, log: DefectLog) -> None:
        """Raise InputError when a column that the user mapped is in no file."""
        unseen = set(options.columns) - set(REQUIRED) - log.columns
        if sources and unseen:
            name = min(unseen)
            raise InputError(f"[columns] in --config maps {name} to {quoted(options.columns[name])}, which is in no "
                             "file of the input. Correct the name, or take the line out.")

    def pieces(self, sources: Sequence[Source], options: ReadOptions) -> Iterator[list[Source]]:
        """A Parquet file in pieces of row groups; any other file as one.

        Raises
        ------
        InputError, UsageError
            As `read`, as far as a file's footer and its first timestamps tell.
        """
        names = self._names(options)
        for source, reader in [(source, self._reader(source)) for source in sources]:
            parts = parquet_pieces(source) if reader is read_parquet else [source]
            if len(parts) > 1:
                judge = Normaliser(self.shape, source, options, DefectLog())
                any(judge.judged(_with_partition(chunk, source, names)) for chunk in parquet_times(source, names))
                parts = [replace(part, piece=replace(part.piece, judged=True)) for part in parts if part.piece]
            yield parts

    def _names(self, options: ReadOptions) -> dict[str, str]:
        return column_names(options, self.shape.columns, self.shape.one)

    def _reader(self, source: Source) -> Callable[[Source, Mapping[str, str]], Iterator[Chunk]]:
        """The reader of a file's suffix."""
        name = source.path.name.lower()
        for suffix, reader in _READERS.items():
            if name.endswith(suffix):
                return reader
        raise InputError(f"{source.name}: the format '{self.format}' reads files that end with {', '.join(_READERS)}. "
                         "Rename or convert the file, or choose another --format.")


def _with_partition(chunk: Chunk, source: Source, names: Mapping[str, str]) -> Chunk:
    """The chunk with the columns that only the file's folders carry."""
    extra = {name: source.partition[column] for name, column in names.items()
             if column in source.partition and name not in chunk.columns}
    if not extra:
        return chunk
    constant = {name: pa.repeat(pa.scalar(value), len(chunk.rows)) for name, value in extra.items()}
    return Chunk(chunk.rows, {**chunk.columns, **constant}, chunk.unreadable)
