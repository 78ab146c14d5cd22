"""CSV files as chunks of text columns, with the place of every record that has too few or many fields."""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Iterator, Mapping
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv

from telemetry.adapter import Source
from telemetry.errors import InputError, quoted, shorten
from telemetry.readers_chunk import Chunk, check_required
from telemetry.readers_decimal import Ints

__all__ = ["read_csv"]

_BLOCK: Final = 8 << 20
_HEADER: Final = 1 << 20

# The parser is given every byte as one latin-1 character. It calls back with the text of a bad
# record and must not choke on bytes that are no UTF-8; this way nothing is lost, and `_bytes`
# turns the columns back into the file's own bytes.


def read_csv(source: Source, names: Mapping[str, str]) -> Iterator[Chunk]:
    """The records of one CSV file (.tsv: between tabs), a header first; blank lines are no records.

    Raises
    ------
    InputError
        When the file is truncated, has no usable header, lacks a required column, or holds a
        quote that never closes.
    """
    delimiter = "\t" if ".tsv" in "".join(source.path.suffixes[-2:]).lower() else ","
    bad: list[tuple[int, str]] = []

    def set_aside(row: pa_csv.InvalidRow) -> str:
        bad.append((row.number - 1, row.text))  # the parser counts the header as record 1
        return "skip"

    last = 0
    try:
        header = _header(source, delimiter)
        present = [_utf8(name) for name in header]
        check_required(source, present, names)
        places = {name: present.index(column) for name, column in names.items() if column in present}
        for name, place in places.items():
            if present.count(present[place]) > 1:
                raise InputError(f"{source.name}: two columns are called {quoted(names[name])}. "
                                 "Rename one.")
        keys = [f"c{place}" for place in range(len(header))]
        with _open(source) as stream:
            counted = _Quotes(stream)
            reader = pa_csv.open_csv(
                pa.PythonFile(counted, "r"),
                # No threads: in parallel the parser does not know the number of a bad record.
                read_options=pa_csv.ReadOptions(use_threads=False, block_size=_BLOCK, encoding="latin-1",
                                                column_names=keys),
                parse_options=pa_csv.ParseOptions(delimiter=delimiter, newlines_in_values=True,
                                                  invalid_row_handler=set_aside),
                convert_options=pa_csv.ConvertOptions(
                    column_types=dict.fromkeys(keys, pa.binary()), strings_can_be_null=False,
                    include_columns=list(dict.fromkeys(keys[place] for place in places.values()))))
            first = True
            for batch in reader:
                if first:  # the header is read as a record, since the columns have names of their own
                    if bad and bad[0][0] == 0:
                        raise InputError(f"{source.name}: the header cannot be read "
                                         f"({quoted(_utf8(bad[0][1]))}). Mend its quotes.")
                    batch, first = batch.slice(1), False
                rows, unreadable = _place(last, batch.num_rows, bad)
                _check_quotes(source, unreadable)
                yield Chunk(rows, {name: _bytes(batch.column(keys[place])) for name, place in places.items()},
                            [(row, _utf8(text)) for row, text in unreadable])
                last += batch.num_rows + len(unreadable)
        if bad:
            _check_quotes(source, bad)
            yield Chunk(np.zeros(0, dtype=np.int64), {}, [(row, _utf8(text)) for row, text in bad])
        if counted.odd and _ends_in_quotes(source, delimiter):
            raise InputError(f"{source.name}, {source.row(last)}: a quote opens and never closes. Mend the quote, or "
                             "export the file again.")
    except (pa.ArrowException, OSError, EOFError) as error:
        raise _failure(source, last, error) from None


class _Quotes(io.RawIOBase):
    """A stream that knows whether the quotes in what was read are even: else one may never close."""

    def __init__(self, stream: pa.NativeFile) -> None:
        self._stream = stream
        self.odd = False

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        data: bytes = self._stream.read(size)
        self.odd ^= bool(data.count(b'"') % 2)
        return data


def _ends_in_quotes(source: Source, delimiter: str) -> bool:
    """Whether the file ends within a quoted field, as the parser that is slow and strict sees it."""
    before = csv.field_size_limit(sys.maxsize)
    try:
        with _open(source) as stream:
            for _ in csv.reader(io.TextIOWrapper(stream, "latin-1", newline=""), delimiter=delimiter, strict=True):
                pass
    except csv.Error as error:
        return "unexpected end" in str(error)
    finally:
        csv.field_size_limit(before)
    return False


def _open(source: Source) -> pa.NativeFile:
    """The file's bytes, unpacked, without a byte order mark."""
    packed = "gzip" if source.path.suffix.lower() == ".gz" else None
    stream = pa.input_stream(source.for_arrow(), compression=packed)
    if stream.read(3) == b"\xef\xbb\xbf":
        return stream
    stream.close()
    return pa.input_stream(source.for_arrow(), compression=packed)


def _header(source: Source, delimiter: str) -> list[str]:
    """Names of the columns, each byte one character."""
    with _open(source) as stream:
        start = stream.read(_HEADER).decode("latin-1")
    try:
        for record in csv.reader(io.StringIO(start, newline=""), delimiter=delimiter):
            if record:
                return record
    except csv.Error:
        pass
    raise InputError(f"{source.name}: no header. The first line must name the columns.")


def _place(last: int, count: int, bad: list[tuple[int, str]]) -> tuple[Ints, list[tuple[int, str]]]:
    """Numbers of the next `count` good records after record `last`; takes the bad ones before them.

    The parser may run ahead of the batches, so `bad` can hold records of later ones.
    """
    before = 0
    while before < len(bad) and bad[before][0] <= last + count + before:
        before += 1
    unreadable = bad[:before]
    del bad[:before]
    rows = np.arange(last + 1, last + 1 + count + before, dtype=np.int64)
    return np.delete(rows, [row - last - 1 for row, _ in unreadable]), unreadable


def _check_quotes(source: Source, unreadable: list[tuple[int, str]]) -> None:
    """A quote that never closes swallows records, which then cannot be counted."""
    for row, text in unreadable:
        if text.count('"') % 2 and "\n" in text:
            raise InputError(f"{source.name}, {source.row(row)}: a quote opens and never closes "
                             f"({quoted(_utf8(text))}). Mend the quote, or export the file again.")


def _bytes(column: pa.Array) -> pa.Array:
    """UTF-8 of latin-1 characters -> the bytes that they stood for."""
    _, offset_buffer, data_buffer = column.buffers()
    if data_buffer is None:
        return column
    data = np.frombuffer(data_buffer, dtype=np.uint8)
    offsets = np.frombuffer(offset_buffer, dtype=np.int32, count=len(column) + 1, offset=4 * column.offset)
    used = data[offsets[0]:offsets[-1]]
    if not (used & 0x80).any():
        return column
    # A character above 127 takes two bytes of UTF-8; its second byte is what shrinks the text.
    second = np.concatenate(([0], np.cumsum((used & 0xC0) == 0x80)))
    moved = (offsets - offsets[0]).astype(np.int64)
    packed = used.tobytes().decode("utf-8").encode("latin-1")
    starts = (moved - second[moved]).astype(np.int32)
    return pa.Array.from_buffers(pa.binary(), len(column), [None, pa.py_buffer(starts), pa.py_buffer(packed)])


def _utf8(text: str) -> str:
    """The file's text behind latin-1 characters; bytes that are no UTF-8 show as \\xNN."""
    return text.encode("latin-1", "replace").decode("utf-8", "backslashreplace")


def _failure(source: Source, last: int, error: Exception) -> InputError:
    """What to tell a user about an error of the parser or of the file."""
    text, rows = str(error), f"row {last} (the header is not counted)"
    if "straddling" in text:
        return InputError(f"{source.name}: a record after {rows} is longer than {_BLOCK >> 20} MiB: as a "
                          "rule a quote that never closes. Mend it, or export the file again.")
    if "runcated" in text or "zlib" in text.lower():
        return InputError(f"{source.name}: the gzip data is truncated or damaged after {rows} "
                          f"({shorten(text, 120)}). Copy or export the file again.")
    return InputError(f"{source.name}: cannot be read as CSV after {rows} ({shorten(text, 120)}). "
                      "Check the file, or export it again.")
