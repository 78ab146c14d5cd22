"""How the input gets into an engine: streamed through this process, or read where the engine's workers are.

Both ways make `raw`: the columns of a canonical schema, numbers in place of names, and `pos`, which
orders the input: source_rank and source_row in one integer.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from metrics.core.engine import Engine, Sink, SpreadingEngine
from metrics.core.names import NUMBERED, Names, Numbers, numbered_schema
from metrics.core.session_ids import SESSION_SCHEMA, SessionIds
from metrics.core.tally import Tally
from telemetry.adapter import Adapter, DefectLog, ReadOptions, Source
from telemetry.errors import InputError, KvcensusError
from telemetry.places import locate
from telemetry.registry import find_adapter
from telemetry.schema import CALLS, Rows

__all__ = ["ROWS_PER_FILE", "Loaded", "spread", "stored", "stream"]

#: pos = source_rank * ROWS_PER_FILE + source_row; 8 M files of 10^12 rows fit 63 bits.
ROWS_PER_FILE = 1 << 40

_ROWS_AT_ONCE = 1 << 17
_LOOKS = 8
#: What was wrong with the calls of a piece, the names that they number, and what they sum up to.
_Seen = tuple[str, Names, Tally]
_POS = f"cast(source_rank as bigint) * {ROWS_PER_FILE} + source_row as pos"


def stored(rows: Rows) -> list[str]:
    """The columns of `raw` beside `pos`."""
    return [name for name in numbered_schema(rows.schema).names if name not in ("source_rank", "source_row")]


def _raw_schema(rows: Rows) -> pa.Schema:
    numbered = numbered_schema(rows.schema)
    return pa.schema([pa.field("pos", pa.int64()), *(numbered.field(name) for name in stored(rows))])


@dataclass(frozen=True)
class Loaded:
    """What loading found beside the rows.

    Attributes
    ----------
    names : Names
    tally : Tally
    in_order : bool
        Known to be ordered by time as a whole.
    sessions : str or None
        A relation that holds every session id of a sound row, some more than once; None where nobody has looked.
    """

    names: Names
    tally: Tally
    in_order: bool = False
    sessions: str | None = None


def stream(engine: Engine, batches: Iterable[pa.RecordBatch], rows: Rows = CALLS) -> Loaded:
    """Make `raw` of batches of such rows that this process reads.

    Raises
    ------
    InputError
        Whatever the batches raise, and more names than can be numbered.
    """
    names, tally, order = Names(), Tally(id=rows.id), _Order()
    numbered = tally.watched(names.numbered(order.watched(batches)))
    engine.load("raw", numbered_schema(rows.schema), numbered, f"{_POS}, {', '.join(stored(rows))}")
    return Loaded(names, tally, order.kept)


def spread(engine: SpreadingEngine, adapter: Adapter, sources: Sequence[Source], options: ReadOptions,
           log: DefectLog) -> Loaded:
    """Make `raw` of files that the engine's workers read, each file or piece of one in a task of its own.

    Raises
    ------
    InputError
        As the adapter, and for more names than can be numbered.
    """
    if adapter.pieces is None:
        raise ValueError(f"files of the format {adapter.name} depend on each other")
    pieces, unfit = _pieces(adapter, sources, options)
    if unfit is not None and not pieces:
        raise unfit
    names, tally = _first_names(adapter, pieces, options), Tally(id=adapter.rows.id)
    schema = _raw_schema(adapter.rows)
    read = partial(_read, format_name=adapter.name, options=options, strict=log.strict, expected=names)
    results = engine.spread({"raw": schema, "session_ids": SESSION_SCHEMA}, pieces, read)
    failed = next((part for part in results if isinstance(part, KvcensusError)), unfit)
    if failed is not None:
        raise failed
    found = [part for part in results if not isinstance(part, KvcensusError)]
    work, right = [], True
    for file, (collected, local, seen) in zip(engine.files("raw"), found, strict=True):
        log.absorb(collected)
        numbers = names.adopt(local)
        tally.absorb(seen, numbers)
        work.append((file, numbers))
        right = right and all((column == np.arange(len(column))).all() for column in numbers.values())
    adapter.check(sources, options, log)
    if not right:
        engine.spread({"raw": schema}, work, partial(_renumber, schema=schema))
    return Loaded(names, tally, sessions="session_ids")


def _pieces(adapter: Adapter, sources: Sequence[Source],
            options: ReadOptions) -> tuple[list[Source], InputError | None]:
    """The pieces of the files up to the first that cannot be read, and its error: a file before it may have one, too,
    which is the one to be told."""
    assert adapter.pieces is not None
    found: list[Source] = []
    try:
        for some in adapter.pieces([source.anywhere() for source in sources], options):
            found += some
    except InputError as error:
        return found, error
    return found, None


def _first_names(adapter: Adapter, pieces: Sequence[Source], options: ReadOptions) -> Names:
    """Names at the beginning of some pieces: where no others come, the pieces agree on their numbers."""
    names = Names()
    for piece in pieces[::max(len(pieces) // _LOOKS, 1)]:
        with suppress(InputError):  # it will be met again, in its turn
            for _ in names.numbered(itertools.islice(adapter.read([piece], options, DefectLog()), 1)):
                pass
    return names


def _read(source: Source, sinks: Mapping[str, Sink], *, format_name: str, options: ReadOptions, strict: bool,
          expected: Names) -> _Seen | KvcensusError:
    """Give the calls of one piece, and their session ids, to sinks; returns what was seen, or why it cannot be read.

    Runs on a worker. An error is no failure of it: of all pieces' errors that of the first is told, whenever it came.
    """
    try:
        return _read_piece(source, sinks, format_name, options, strict, expected)
    except KvcensusError as error:
        return error


def _read_piece(source: Source, sinks: Mapping[str, Sink], format_name: str, options: ReadOptions, strict: bool,
                expected: Names) -> _Seen:
    if isinstance(source.path, Path) and not source.path.exists():
        raise InputError(f"{source.name} is not there for every worker. Name the input by a path that the driver and "
                         "all executors see alike, or by the URI of a store.")
    adapter, log, names = find_adapter(format_name), DefectLog(strict=strict), Names()
    tally, sessions = Tally(id=adapter.rows.id), SessionIds(sinks["session_ids"])
    schema = _raw_schema(adapter.rows)
    names.adopt(expected)
    for batch in tally.watched(names.numbered(adapter.read([source], options, log))):
        sessions.add(batch)
        pos = pc.add(pc.multiply(batch["source_rank"].cast(pa.int64()), ROWS_PER_FILE), batch["source_row"])
        sinks["raw"](pa.RecordBatch.from_arrays([pos, *(batch[name] for name in schema.names[1:])], schema=schema))
    sessions.flush()
    return log.as_json(), names, tally


def _renumber(part: tuple[str, Mapping[str, Numbers]], sinks: Mapping[str, Sink], *, schema: pa.Schema) -> None:
    """Rows with the numbers of one piece get the numbers of the input. Runs on a worker."""
    uri, numbers = part
    system, path = locate(uri)
    coded = [item.name for item in schema if pa.types.is_dictionary(item.type)]
    with pq.ParquetFile(path, filesystem=system, read_dictionary=coded) as file:
        for batch in file.iter_batches(_ROWS_AT_ONCE):
            columns = {name: batch[name] for name in schema.names}
            for name, column in NUMBERED.items():
                if column in columns:
                    columns[column] = pa.array(numbers[name]).take(batch[column])
            sinks["raw"](pa.RecordBatch.from_arrays([*columns.values()], schema=schema))


@dataclass
class _Order:
    """Whether batches that pass by are ordered by time, row after row as in the input."""

    kept: bool = True
    _last: tuple[int, int] = field(default=(-1, -(1 << 63)))

    def watched(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The batches, unchanged."""
        for batch in batches:
            self.kept = self.kept and self._goes_on(batch)
            yield batch

    def _goes_on(self, batch: pa.RecordBatch) -> bool:
        """Neither place nor time goes back among rows without a defect, nor behind the last batch."""
        sound = batch if batch["defect"].null_count == len(batch) else batch.filter(batch["defect"].is_null())
        if not len(sound):
            return True
        places = sound["source_rank"].to_numpy().astype(np.int64) * ROWS_PER_FILE + sound["source_row"].to_numpy()
        times = sound["t_us"].to_numpy()
        before, self._last = self._last, (int(places[-1]), int(times[-1]))
        return bool(before[0] < places[0] and before[1] <= times[0]
                    and (places[1:] > places[:-1]).all() and (times[1:] >= times[:-1]).all())
