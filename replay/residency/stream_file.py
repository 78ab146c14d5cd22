"""The replay stream as a file: an Arrow file in the work folder, so that later replays need no ingest.

One row a sessioned call in order of time: `t_us`, `tokens`, `cached` (null = not reported), `model`,
`deployment` (numbers, null = unknown), and for each object key the number of its object and the position
of its next use. Where a sample of the sessions was drawn it has their calls only, and `sample_group`. It
holds no identifier, but the order and size of every call, and so it stays in the work folder.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from metrics.core.clock import HOUR_US, iso
from metrics.core.steps import PLACE
from metrics.core.trace import Trace
from replay.residency.factorize import factorize
from replay.residency.sampling import SAMPLED, Drawn, EmptySampleError, Sample
from replay.residency.stream import Stream, build_stream
from telemetry.errors import InputError, UsageError, shorten

__all__ = ["OBJECT_KEYS", "STREAMS", "StreamFile", "check_keys", "extract_stream"]

STREAMS = ("busiest-hour", "window")

#: Object key -> the column that tells its objects apart within a session.
OBJECT_KEYS: dict[str, str | None] = {
    "session": None,
    "session+model": "model",
    "session+deployment": "deployment",
}

_BUSIEST = """
    select {hour} as hour, count(*) as calls from steps group by 1 order by calls desc, hour limit 1"""
_CALLS = """
    select session, t_us, x as tokens, c as cached, model_no as model, {place} as deployment
    from steps where {inside} order by t_us, pos"""
_SAMPLED_CALLS = f"""
    select session, t_us, x as tokens, c as cached, model_no as model, {{place}} as deployment, sample_group
    from (select steps.*, {SAMPLED}.sample_group from steps join {SAMPLED} on steps.session = {SAMPLED}.session)
        as sampled where {{inside}} order by t_us, pos"""
_WHOLE = "select count(*) as calls, count(distinct session) as sessions from steps where {inside}"


@dataclass(frozen=True)
class StreamFile:
    """An open stream file.

    Attributes
    ----------
    table : Table
        Memory-mapped.
    hour : str or None
        Start of the busiest hour, ISO-8601; None when the stream is the window.
    drawn : Drawn or None
        The sample that the calls are of; None when they are all.
    """

    table: pa.Table
    hour: str | None
    drawn: Drawn | None = None

    @classmethod
    def open(cls, path: Path) -> StreamFile:
        """Open a stream file without reading it into memory."""
        try:
            table = pa.ipc.open_file(pa.memory_map(str(path))).read_all()
        except (OSError, pa.ArrowInvalid) as error:
            raise InputError(f"{path} is no replay stream: {error}. Run characterize with --work again.") from error
        metadata = table.schema.metadata or {}
        return cls(table, metadata[b"hour"].decode() or None, _drawn(metadata[b"sample"]))

    @property
    def calls(self) -> int:
        return int(self.table.num_rows)

    @property
    def span_us(self) -> int:
        """Length of the stream: an hour, or from the first call of the window to the last."""
        if self.hour is not None:
            return HOUR_US
        times = self._array("t_us")
        return int(times[-1] - times[0]) if len(times) else 0

    @property
    def unknown_deployment(self) -> int:
        """Calls whose deployment is unknown."""
        return int(self.table["deployment"].null_count)

    def stream(self, key: str) -> Stream:
        """The stream by one object key."""
        objects, next_use = (self._array(f"{what}_{key}") for what in ("object", "next_use"))
        count = int(objects.max()) + 1 if len(objects) else 0
        return Stream(objects, self._array("tokens"), next_use, count, self._array("t_us"))

    @property
    def sessions(self) -> int:
        """Sessions in the stream."""
        return self.stream("session").object_count

    def group(self, key: str, number: int) -> Stream:
        """The stream by one object key of one group of the sample, alone."""
        inside = self._array("sample_group") == number
        objects, count = factorize(self._array(f"object_{key}")[inside].astype(np.int64))
        return build_stream(objects, self._array("tokens")[inside], count, self._array("t_us")[inside])

    def _array(self, column: str) -> Any:
        chunks = self.table[column].chunks
        # The file has one batch: its array is the mapped file itself, where combine_chunks would copy it.
        return (chunks[0] if len(chunks) == 1 else self.table[column].combine_chunks()).to_numpy()


def check_keys(keys: tuple[str, ...]) -> tuple[str, ...]:
    """The object keys; an unknown one is an error that lists the valid ones."""
    for key in keys:
        if key not in OBJECT_KEYS:
            raise UsageError(f"unknown object key {shorten(key)!r}. Known keys: {', '.join(OBJECT_KEYS)}.")
    return keys


def extract_stream(trace: Trace, which: str, path: Path, sample: Sample | None = None) -> StreamFile:
    """Write the stream of a window, whole or its busiest clock hour, and open it.

    The busiest hour is that of all sessions; a sample is drawn from its calls. `draw_sample` comes before.

    Raises
    ------
    EmptySampleError
        When no session of the stream is in the sample.
    """
    inside, hour = "true", None
    if which == "busiest-hour":
        offset = trace.settings.clock.shift_us(trace.profile.first_us)
        busiest = trace.row(_BUSIEST.format(hour=trace.engine.dialect.div(f"t_us + {offset}", HOUR_US)))
        start = busiest["hour"] * HOUR_US - offset
        inside, hour = f"t_us >= {start} and t_us < {start + HOUR_US}", iso(start, trace.settings.clock.zone)
    query = _CALLS if sample is None else _SAMPLED_CALLS
    calls = trace.fetch(query.format(inside=inside, place=PLACE)).combine_chunks()
    drawn = None if sample is None else Drawn(sample, **trace.row(_WHOLE.format(inside=inside)))
    if drawn is not None and not len(calls):
        raise EmptySampleError(drawn.sample, drawn.sessions, f"the stream {which}")
    table = _with_objects(calls).replace_schema_metadata({"hour": hour or "", "sample": _text(drawn)})
    partial = path.with_suffix(".partial")
    with pa.OSFile(str(partial), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    partial.replace(path)
    return StreamFile.open(path)


def _text(drawn: Drawn | None) -> str:
    return json.dumps(drawn and {"fraction": drawn.sample.label, "seed": drawn.sample.seed,
                                 "sessions": drawn.sessions, "calls": drawn.calls})


def _drawn(text: bytes) -> Drawn | None:
    found = json.loads(text)
    return found and Drawn(Sample(found["fraction"], found["seed"]), found["sessions"], found["calls"])


def _with_objects(calls: pa.Table) -> pa.Table:
    """Number the objects of every key, and find their next uses."""
    sessions, _ = factorize(calls["session"].to_numpy())
    tokens = np.ascontiguousarray(calls["tokens"].to_numpy(), np.int64)
    columns: dict[str, Any] = {name: calls[name] for name in calls.column_names if name != "session"}
    for key, part in OBJECT_KEYS.items():
        objects, count = (sessions, int(sessions.max()) + 1) if part is None else _split(sessions, calls[part])
        columns[f"object_{key}"] = objects
        columns[f"next_use_{key}"] = build_stream(objects, tokens, count).next_use
    return pa.table(columns)


def _split(sessions: Any, part: pa.ChunkedArray) -> tuple[Any, int]:
    """Objects by session and one more number; an unknown one is a number of its own."""
    numbers = np.ascontiguousarray(part.fill_null(-1).to_numpy(), np.int64) + 1
    return factorize(sessions.astype(np.int64) * (int(numbers.max()) + 1) + numbers)
