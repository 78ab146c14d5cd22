"""From a source that is read record by record to Arrow batches of the canonical schema.

What the adapters share that walk nested JSON in Python: lines out of a file of any size, JSON
parsed without a hostile value getting through, checked numbers, and rows into batches. Formats
that Arrow itself can read do not come this way.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Decimal
from itertools import groupby, islice
from typing import IO, Any, Final, TypedDict, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from telemetry.adapter import DefectLog, Source, TimestampRule
from telemetry.errors import InputError
from telemetry.schema import CALL_SCHEMA, MAX_DURATION_S, MAX_TOKENS
from telemetry.times import check_first, to_microseconds

__all__ = ["INT64_MAX", "LINE_LIMIT", "Call", "Record", "batched", "batches", "count_of", "lines",
           "microseconds_of", "parse_json", "settle", "text"]

T = TypeVar("T")

INT64_MAX: Final = 2**63 - 1

#: Longest line that is read, in bytes: a file without line ends must not fill the memory.
LINE_LIMIT: Final = 256 * 2**20

_BATCH_ROWS: Final = 65_536
_TIME_ROWS: Final = 8_192  # timestamps parsed at once
_BATCH_KEYS: Final = 4_000_000  # prefix keys: 32 MB a batch


class Call(TypedDict, total=False):
    """A row of CALL_SCHEMA; a column left out is null."""

    source_rank: int
    source_row: int
    session_id: str | None
    t_us: int | None
    context_tokens: int | None
    cached_tokens: int | None
    output_tokens: int | None
    model: str | None
    turn_id: str | None
    user_initiated: bool | None
    region: str | None
    deployment: str | None
    duration_us: int | None
    parent_session_id: str | None
    call_id: str | None
    failed: bool | None
    prefix_keys: npt.NDArray[np.int64] | None
    block_size: int | None
    defect: str | None


def batches(rows: Iterable[Call], *, size: int = _BATCH_ROWS) -> Iterator[pa.RecordBatch]:
    """Batches of at most `size` rows, in the order given; no rows, no batch."""
    waiting: list[Call] = []
    keys = 0
    for row in rows:
        waiting.append(row)
        held = row.get("prefix_keys")
        keys += 0 if held is None else held.size
        if len(waiting) >= size or keys >= _BATCH_KEYS:
            yield _batch(waiting)
            waiting, keys = [], 0
    if waiting:
        yield _batch(waiting)


def _batch(rows: list[Call]) -> pa.RecordBatch:
    columns = [pa.array([row.get(field.name) for row in rows], type=field.type) for field in CALL_SCHEMA]
    return pa.RecordBatch.from_arrays(columns, schema=CALL_SCHEMA)


@dataclass
class Record:
    """A record read, before its time is known.

    Attributes
    ----------
    source : Source
    call : Call
        Its row; `t_us` is filled in by `settle`.
    time : object
        Its timestamp as it stands in the source.
    problem : tuple of (defect, column, value), or None
        Why the record cannot be used, apart from its time.
    """

    source: Source
    call: Call
    time: object = None
    problem: tuple[str, str, object] | None = None


def settle(records: Iterable[Record], rule: TimestampRule, log: DefectLog) -> Iterator[Record]:
    """Place records in time, give each unusable one its defect, and log both, in the order given.

    A record placed before the one that precedes it in its file is kept and flagged.
    """
    last_rank, last_us = -1, 0
    files = groupby(records, lambda record: record.source.rank)
    for number, some in (part for _, mine in files for part in enumerate(batched(mine, _TIME_ROWS))):
        placed = _microseconds([record.time for record in some], rule, some[0].source.name, doubt=number == 0)
        for record, t_us in zip(some, placed, strict=True):
            call, problem = record.call, record.problem
            call["t_us"] = t_us
            # The order of DEFECTS is the precedence: what is no call needs no time.
            if t_us is None and (problem is None or problem[0] not in ("unreadable", "synthetic")):
                problem = ("bad_timestamp", "timestamp", record.time)
            if problem is not None:
                call["defect"] = problem[0]
                if problem[0] != "synthetic":  # nothing that a user could mend
                    log.note(problem[0], record.source, call["source_row"], *problem[1:])
            elif t_us is not None:
                if record.source.rank == last_rank and t_us < last_us:
                    log.flag("clock_reversal")
                last_rank, last_us = record.source.rank, t_us
            yield record


def _microseconds(times: list[object], rule: TimestampRule, where: str, *, doubt: bool) -> list[int | None]:
    """Timestamps in microseconds UTC since 1970, null for what cannot be placed; the first ones of
    a file are looked at closely, so that a missing declaration is an error before numbers come out."""
    column = pa.array([text(_number_text(time)) for time in times], pa.string())
    try:
        instants = to_microseconds(column, rule)
    except InputError as error:
        raise InputError(f"{where}: {error}") from None
    if doubt:
        check_first(column, instants, rule, where)
    placed: list[int | None] = instants.to_pylist()
    return placed


def _number_text(value: object) -> object:
    return str(value) if isinstance(value, Decimal) else value


def batched(items: Iterable[T], size: int) -> Iterator[list[T]]:
    """Lists of `size` items, the last one shorter (itertools.batched of Python 3.12)."""
    rest = iter(items)
    while some := list(islice(rest, size)):
        yield some


def lines(stream: IO[bytes], limit: int = LINE_LIMIT) -> Iterator[tuple[int, bytes | None]]:
    """Lines of a file with their number, from 1; None stands for a line above the limit.

    Blank lines are passed over but counted, so that the number is the one an editor shows. A byte
    order mark at the start is dropped.
    """
    number = 0
    while line := stream.readline(limit + 1):
        number += 1
        if number == 1:
            line = line.removeprefix(b"\xef\xbb\xbf")
        if len(line) > limit and not line.endswith(b"\n"):
            while line and not line.endswith(b"\n"):
                line = stream.readline(limit)
            yield number, None
        elif line.strip():
            yield number, line


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")


_DECODER: Final = json.JSONDecoder(parse_float=Decimal, parse_constant=_refuse)


def parse_json(raw: bytes) -> Any:
    """UTF-8 JSON with exact decimals.

    Raises
    ------
    ValueError
        Not UTF-8, not JSON, NaN or Infinity (which Python's parser would let through), a number
        too long to read, or nesting too deep.
    """
    try:
        return _DECODER.decode(raw.decode("utf-8"))
    except (RecursionError, ArithmeticError) as error:
        raise ValueError(f"JSON that cannot be read ({type(error).__name__})") from None


def count_of(value: object, largest: int = MAX_TOKENS) -> int | None:
    """A token count: a whole number from 0 to `largest` (`5`, `5.0`); null for anything else.

    `true` is not a number, and neither is `"5"`: text where a number belongs is a changed format.
    """
    if isinstance(value, bool):
        return None
    if isinstance(value, Decimal):
        # The range first: int() of 1e999999999 would fill the memory.
        if not (0 <= value <= largest and value == value.to_integral_value()):
            return None
        return int(value)
    return value if isinstance(value, int) and 0 <= value <= largest else None


def microseconds_of(value: object, per_unit: int, limit_s: int = MAX_DURATION_S) -> int | None:
    """A span from 0 to `limit_s` seconds, in units of `per_unit` microseconds, to the nearest
    microsecond (half to even); null for anything else."""
    if isinstance(value, bool) or not isinstance(value, (int, Decimal)):
        return None
    if not 0 <= value <= limit_s * 1_000_000 // per_unit:
        return None
    return int((Decimal(value) * per_unit).to_integral_value(ROUND_HALF_EVEN))


def text(value: object) -> str | None:
    """A label: text as it stands, a whole number as its digits, anything else null.

    A lone surrogate (JSON can spell one, UTF-8 and Arrow cannot) becomes its escape, so that two
    labels never become one.
    """
    if not isinstance(value, str):
        return str(value) if isinstance(value, int) and not isinstance(value, bool) else None
    return value if value.isascii() else value.encode("utf-8", "backslashreplace").decode("utf-8")
