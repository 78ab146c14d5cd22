"""Chunks of a file as batches of a canonical schema, each row with its defect, if it has one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import pyarrow as pa

from telemetry.adapter import DefectLog, ReadOptions, Source
from telemetry.columns import tokens
from telemetry.errors import InputError, escaped
from telemetry.readers_chunk import Chunk
from telemetry.readers_decimal import Ints
from telemetry.readers_text import Mask, raw_value, valid_mask
from telemetry.shapes import Shape
from telemetry.times import check_first, to_microseconds

__all__ = ["Normaliser"]

_FINE, _BAD_TIMESTAMP, _BAD_TOKENS, _DUPLICATE = range(4)
_REASONS: Final = pa.array([None, "bad_timestamp", "bad_tokens", "duplicate"], pa.string())


class Normaliser:
    """Turns the chunks of one file, in order, into batches of the shape's schema."""

    def __init__(self, shape: Shape, source: Source, options: ReadOptions, log: DefectLog) -> None:
        self._shape = shape
        self._source = source
        self._options = options
        self._log = log
        self._believed = source.piece is not None and source.piece.judged

    def batch(self, chunk: Chunk) -> pa.RecordBatch:
        """One chunk as a batch in order of the records; unreadable ones are among them.

        Raises
        ------
        InputError
            When the timestamps cannot be read as declared; at a bad record when the log is strict.
        """
        with self._log.gathered():
            return self._batch(chunk)

    def judged(self, chunk: Chunk) -> bool:
        """Whether the chunks up to this one show a timestamp, which is looked at.

        Raises
        ------
        InputError
            As `batch`, of the timestamps.
        """
        self._instants(chunk)
        return self._believed

    def _batch(self, chunk: Chunk) -> pa.RecordBatch:
        for row, text in chunk.unreadable[:DefectLog.EXAMPLES]:
            self._log.note("unreadable", self._source, row, "(record)", text)
        size = len(chunk.rows)
        columns: dict[str, pa.Array] = {"t_us": self._instants(chunk)}
        reason = np.full(size, _DUPLICATE if self._source.repeats is not None else _FINE, dtype=np.int8)
        late = ~valid_mask(columns["t_us"])
        bad_tokens = self._tokens(chunk, columns)
        reason[bad_tokens] = _BAD_TOKENS
        reason[late] = _BAD_TIMESTAMP
        self._note("bad_timestamp", chunk, "timestamp", late)
        self._optional(chunk, columns, reason == _FINE)
        columns |= self._shape.derive(columns, self._options)
        self._clock(columns["t_us"], reason == _FINE)
        columns["defect"] = _REASONS.take(pa.array(reason)) if reason.any() else pa.nulls(size, pa.string())
        return self._with_unreadable(self._assemble(chunk.rows, columns), chunk.unreadable)

    def _instants(self, chunk: Chunk) -> pa.Array:
        """t_us; the first timestamps of a file are checked for plausibility."""
        column = chunk.columns.get("timestamp")
        if column is None:
            return pa.nulls(len(chunk.rows), pa.int64())
        rule = self._options.timestamp
        try:
            instants = to_microseconds(column, rule)
        except InputError as error:
            if self._believed:  # some records in another form are bad records, not another export
                return pa.nulls(len(column), pa.int64())
            raise InputError(f"{self._where('timestamp')}: {error}") from None
        if not self._believed and column.null_count < len(column):
            check_first(column, instants, rule, self._where("timestamp"))
            self._believed = True
        return instants

    def _tokens(self, chunk: Chunk, columns: dict[str, pa.Array]) -> Mask:
        """The token columns, and the rows in which one of them is bad."""
        any_bad = np.zeros(len(chunk.rows), dtype=np.bool_)
        for place, name in enumerate(self._shape.counts):
            column = chunk.columns.get(name)
            if column is None:
                columns[name] = pa.nulls(len(chunk.rows), pa.int64())
                bad = any_bad
            else:
                columns[name], bad = tokens(column, self._shape.largest)
            if place == 0 and self._shape.context_needed:
                bad = ~valid_mask(columns[name])
            if column is not None:
                self._note("bad_tokens", chunk, name, bad)
            any_bad = any_bad | bad
        if self._options.context_excludes_cached:
            any_bad = any_bad | self._whole_context(chunk, columns, any_bad)
        return any_bad

    def _whole_context(self, chunk: Chunk, columns: dict[str, pa.Array], bad: Mask) -> Mask:
        """Add the cached tokens to the context; returns the rows in which that is too much."""
        name, cached_name, _ = self._shape.counts
        context, cached = columns[name], columns[cached_name]
        # A call needs a context, so one that reports no cached tokens is taken to have none; an event knows neither.
        known = valid_mask(context) if self._shape.context_needed else valid_mask(context) & valid_mask(cached)
        total = context.fill_null(0).to_numpy() + cached.fill_null(0).to_numpy()
        above: Mask = known & (total > self._shape.largest)
        self._note("bad_tokens", chunk, name, above & ~bad)
        columns[name] = pa.array(total, mask=~known | above)
        return above

    def _optional(self, chunk: Chunk, columns: dict[str, pa.Array], kept: Mask) -> None:
        """The other columns; counts the kept rows in which one does not parse."""
        any_bad = np.zeros(len(kept), dtype=np.bool_)
        for target, name, convert in self._shape.optional:
            column = chunk.columns.get(name)
            if column is None:
                continue
            columns[target], bad = convert(column)
            if bad.any():
                self._note("bad_optional", chunk, name, bad & kept)
                any_bad |= bad & kept
        if any_bad.any():
            self._log.flag("bad_optional", int(any_bad.sum()))

    def _clock(self, instants: pa.Array, usable: Mask) -> None:
        """Counts usable records that start before the preceding usable one of the file."""
        times = instants.fill_null(0).to_numpy()
        times = times if usable.all() else times[usable]
        if len(times) == 0:
            return
        rank, first, last = self._source.rank, int(times[0]), int(times[-1])
        before = self._log.spans.get(rank, (first, first))
        back = int(np.count_nonzero(times[1:] < times[:-1])) + (first < before[1])
        self._log.spans[rank] = before[0], last
        if back:
            self._log.flag("clock_reversal", back)

    def _note(self, reason: str, chunk: Chunk, name: str, bad: Mask) -> None:
        """The first examples of a chunk."""
        for index in np.flatnonzero(bad)[:DefectLog.EXAMPLES].tolist() if bad.any() else ():
            value = raw_value(chunk.columns[name], index) if name in chunk.columns else "no such field"
            self._log.note(reason, self._source, int(chunk.rows[index]), self._name(name), value)

    def _name(self, name: str) -> str:
        """The user's name of a column."""
        return self._options.columns.get(name, name)

    def _where(self, name: str) -> str:
        """A column, for a message."""
        return f"{self._source.name}, column {escaped(self._name(name))}"

    def _assemble(self, rows: Ints, columns: dict[str, pa.Array]) -> pa.RecordBatch:
        size = len(rows)
        columns["source_rank"] = pa.array(np.full(size, self._source.rank, dtype=np.int32))
        columns["source_row"] = pa.array(rows, pa.int64())
        schema = self._shape.rows.schema
        arrays = [columns[field.name] if field.name in columns else pa.nulls(size, field.type) for field in schema]
        return pa.RecordBatch.from_arrays(arrays, schema=schema)

    def _with_unreadable(self, batch: pa.RecordBatch,
                         unreadable: Sequence[tuple[int, str]]) -> pa.RecordBatch:
        """The batch with a row for each unreadable record, in its place."""
        if not unreadable:
            return batch
        rows = np.array([row for row, _ in unreadable], dtype=np.int64)
        reasons = pa.array(["unreadable"] * len(rows))
        both = pa.Table.from_batches([batch, self._assemble(rows, {"defect": reasons})]).unify_dictionaries()
        order = np.argsort(both["source_row"].to_numpy(), kind="stable")
        return both.take(pa.array(order)).combine_chunks().to_batches()[0]
