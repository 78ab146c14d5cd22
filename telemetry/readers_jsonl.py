"""JSON lines as chunks: one object a line, values of any mixture of types."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import IO, Any, Final, cast

import numpy as np
import pyarrow as pa

from telemetry.adapter import Source
from telemetry.errors import InputError, quoted, shorten
from telemetry.readers_chunk import Chunk, check_required
from telemetry.readers_text import NOT_TEXT

__all__ = ["read_jsonl"]

_BLOCK: Final = 4 << 20
_LONGEST: Final = 64 << 20
_SHOWN: Final = 200  # characters of an unreadable line that are kept for a message

# Floats stay text, so that 1767225600.123456 loses no digit on its way to microseconds.
_DECODER: Final = json.JSONDecoder(parse_float=str, parse_constant=str)


def read_jsonl(source: Source, names: Mapping[str, str]) -> Iterator[Chunk]:
    """The records of one file of JSON lines; a record's number is its line, blank lines are none.

    Raises
    ------
    InputError
        When the file is truncated gzip, holds a line beyond 64 MiB, or no object of its first
        block has the required columns.
    """
    line = 0
    checked = False
    try:
        with _open(source) as stream:
            for lines in _lines(stream, source):
                rows: list[int] = []
                objects: list[dict[str, Any]] = []
                unreadable: list[tuple[int, str]] = []
                for raw in lines:
                    line += 1
                    text = raw.removeprefix(b"\xef\xbb\xbf").strip() if line == 1 else raw.strip()
                    if not text:
                        continue
                    value = _parse(text)
                    if value is None:
                        unreadable.append((line, raw[:_SHOWN].decode("utf-8", "backslashreplace")))
                    else:
                        rows.append(line)
                        objects.append(value)
                if objects and not checked:
                    check_required(source, chain.from_iterable(objects), names)
                    checked = True
                if rows or unreadable:
                    yield Chunk(np.array(rows, dtype=np.int64), _columns(objects, names), unreadable)
    except (EOFError, OSError, zlib.error) as error:
        raise InputError(f"{source.name}: the data is truncated or damaged after line {line} "
                         f"({shorten(error, 120)}). Copy or export the file again.") from None


def _open(source: Source) -> IO[bytes]:
    if source.path.suffix.lower() == ".gz":
        packed = source.path if isinstance(source.path, Path) else source.open()
        return cast(IO[bytes], gzip.open(packed, "rb"))
    return source.open()


def _lines(stream: IO[bytes], source: Source) -> Iterator[list[bytes]]:
    """Lines of a block at a time. Only a line feed ends a line: others may stand inside texts."""
    rest = b""
    while block := stream.read(_BLOCK):
        whole, newline, tail = block.rpartition(b"\n")
        if newline:
            yield (rest + whole).split(b"\n")
            rest = tail
        else:
            rest += block
            if len(rest) > _LONGEST:
                start = quoted(rest[:60].decode("utf-8", "backslashreplace"))
                raise InputError(f"{source.name}: a line is longer than {_LONGEST >> 20} MiB ({start}). "
                                 "JSON lines hold one object a line; rewrite a JSON array so.")
    if rest:
        yield [rest]


def _parse(text: bytes) -> dict[str, Any] | None:
    """One object; None for anything else."""
    try:
        line = text.decode("utf-8")
        value, end = _DECODER.raw_decode(line)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) and end == len(line) else None


def _columns(objects: Sequence[dict[str, Any]], names: Mapping[str, str]) -> dict[str, pa.Array]:
    """Canonical name -> values, for the names that some object has."""
    present = set(chain.from_iterable(objects))
    columns = {}
    for name, key in names.items():
        if key in present:
            values = [value.get(key) for value in objects]
            columns[name] = _lists(values) if name == "hash_ids" else _scalars(values)
    return columns


def _scalars(values: list[Any]) -> pa.Array:
    """One Arrow type where the values share it, else texts; what is no scalar cannot become text."""
    kinds = set(map(type, values)) - {type(None)}
    if len(kinds) <= 1 and not kinds & {dict, list}:
        try:
            return pa.array(values)
        except (pa.ArrowException, OverflowError, UnicodeEncodeError):
            pass  # integers beyond 64 bits, lone surrogates
    return pa.array([_as_bytes(value) for value in values], pa.binary())


def _lists(values: list[Any]) -> pa.Array:
    """Lists of integers, or their JSON text where some are not."""
    try:
        return pa.array(values, pa.list_(pa.int64()))
    except (pa.ArrowException, OverflowError, TypeError, ValueError, RecursionError):
        return pa.array([value if value is None else value.encode("utf-8", "surrogatepass")
                         if isinstance(value, str) else _json(value) for value in values], pa.binary())


def _as_bytes(value: object) -> bytes | None:
    """A scalar's text as UTF-8; a lone surrogate and a nested value as bytes that are no UTF-8."""
    if value is None:
        return None
    if isinstance(value, (dict, list)):
        return NOT_TEXT + _json(value)[:_SHOWN]
    if isinstance(value, bool):
        return b"true" if value else b"false"
    return str(value).encode("utf-8", "surrogatepass")


def _json(value: object) -> bytes:
    """A value as JSON; the parser goes deeper than the writer, and what only it can take is no text."""
    try:
        return json.dumps(value).encode()
    except RecursionError:
        return NOT_TEXT + b"nested too deep"
