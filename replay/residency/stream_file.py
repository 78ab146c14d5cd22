"""The replay stream as a file: an Arrow file in the work folder, so that later replays need no ingest.

One row a sessioned call in order of time: `t_us`, `tokens`, `cached` (null = not reported), `model`,
`deployment` (numbers, null = unknown), `move` and `gap` (how it follows the session's preceding call, codes of
`replay.residency.comparison`), and for each object key the number of its object and the position of its next use.
Where a sample of the sessions was drawn it has their calls only, and `sample_group`. It holds no identifier, but the
order and size of every call, and so it stays in the work folder.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from metrics.core.bands import gap_band
from metrics.core.clock import HOUR_US, iso
from metrics.core.steps import PLACE
from metrics.core.trace import Trace
from replay.residency.clock_hour import HOUR, hour_start
from replay.residency.comparison import BANDS, BEFORE_STREAM, Logged, ways
from replay.residency.factorize import factorize
from replay.residency.sampling import SAMPLED, Drawn, EmptySampleError, Sample, parse_sample
from replay.residency.stream import Stream, build_stream
from telemetry.errors import InputError, UsageError, shorten

__all__ = ["OBJECT_KEYS", "STREAMS", "STREAM_DOC", "StreamFile", "busiest_hour", "check_keys", "extract_range",
           "extract_stream"]

STREAMS = ("busiest-hour", "window")
#: What a column with the name of a stream says.
STREAM_DOC = ("busiest-hour: the clock hour with most sessioned calls; window: all of them; hour:2026-01-31T13: those "
              "of that clock hour")

#: Grows when a file of before can no longer be read.
_VERSION = b"2"
#: Stream, window, zone and hour: they become keys and names of folders, and a file may come from anywhere.
_WRITTEN = (r"[0-9A-Za-z:-]{1,40}", r"[0-9A-Za-z+-]{1,40}", r"[0-9A-Za-z_+/-]{1,64}", r"[0-9TZ:+-]{0,40}")

#: Object key -> the column that tells its objects apart within a session.
OBJECT_KEYS: dict[str, str | None] = {
    "session": None,
    "session+model": "model",
    "session+deployment": "deployment",
}

_BUSIEST = """
    select {hour} as hour, count(*) as calls from steps group by 1 order by calls desc, hour limit 1"""
_CALLS = """
    select session, t_us, x as tokens, c as cached, model_no as model, {place} as deployment, {follows}
    from steps where {inside} order by t_us, pos"""
_SAMPLED_CALLS = f"""
    select session, t_us, x as tokens, c as cached, model_no as model, {{place}} as deployment, {{follows}},
           sample_group
    from (select steps.*, {SAMPLED}.sample_group from steps join {SAMPLED} on steps.session = {SAMPLED}.session)
        as sampled where {{inside}} order by t_us, pos"""
# A call whose preceding one lies before the stream follows a call that the replay does not see.
_FOLLOWS = f"""cast(case when transition > 0 and t_us - gap_us < {{start}} then {BEFORE_STREAM} else transition end
        as smallint) as move, cast(case when gap_us is null then {len(BANDS) - 1} else {gap_band("gap_us")} end
        as smallint) as gap"""
_WHOLE = "select count(*) as calls, count(distinct session) as sessions from steps where {inside}"

_AGAIN = "Run characterize with --work again, or name the calls."


@dataclass(frozen=True)
class StreamFile:
    """An open stream file.

    Attributes
    ----------
    table : Table
        Memory-mapped.
    hour : str or None
        Start of the clock hour, ISO-8601; None when the stream is the window.
    drawn : Drawn or None
        The sample that the calls are of; None when they are all.
    which : str
        Which stream it is, as in `Plan`.
    window : str
        Name of the window.
    tz : str
        The zone of its hours.
    """

    table: pa.Table
    hour: str | None
    drawn: Drawn | None = None
    which: str = "window"
    window: str = "all"
    tz: str = "UTC"

    @classmethod
    def open(cls, path: Path) -> StreamFile:
        """Open a stream file without reading it into memory.

        Raises
        ------
        InputError
            For a file that is none, that is damaged, or that another version wrote.
        """
        try:
            table = pa.ipc.open_file(pa.memory_map(str(path))).read_all()
            table.validate()
        except (OSError, pa.ArrowInvalid) as error:
            raise InputError(f"{path} is no replay stream: {error}. {_AGAIN}") from error
        about = table.schema.metadata or {}
        if about.get(b"kvcensus_stream") != _VERSION:
            raise InputError(f"{path} is no replay stream of this version of kvcensus. {_AGAIN}")
        try:
            which, window, tz, hour = (about[name].decode() for name in (b"stream", b"window", b"tz", b"hour"))
            if not all(map(re.fullmatch, _WRITTEN, (which, window, tz, hour))):
                raise ValueError("odd names")
            return cls(table, hour or None, _drawn(about[b"sample"]), which, window, tz)
        except (KeyError, ValueError, TypeError, UsageError) as error:
            raise InputError(f"{path} is a damaged replay stream: what it says on itself cannot be read. "
                             f"{_AGAIN}") from error

    def write(self, path: Path) -> None:
        """Write it where `open` finds it, by rename."""
        table = self.table.replace_schema_metadata({
            "kvcensus_stream": _VERSION, "stream": self.which, "window": self.window, "tz": self.tz,
            "hour": self.hour or "", "sample": _text(self.drawn)})
        partial = path.with_suffix(".partial")
        with pa.OSFile(str(partial), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
            writer.write_table(table)
        partial.replace(path)

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
    def reports_cached(self) -> bool:
        """Whether any call reports cached tokens."""
        return int(self._column("cached").null_count) < self.calls

    def logged(self) -> Logged:
        """What the log says of each call."""
        cached, move, gap = (self._column(name).fill_null(-1).to_numpy() for name in ("cached", "move", "gap"))
        return Logged(np.ascontiguousarray(cached, np.int64), ways(move, gap))

    @property
    def sessions(self) -> int:
        """Sessions in the stream."""
        return self.stream("session").object_count

    def group(self, key: str, number: int) -> Stream:
        """The stream by one object key of one group of the sample, alone."""
        inside = self._array("sample_group") == number
        objects, count = factorize(self._array(f"object_{key}")[inside].astype(np.int64))
        return build_stream(objects, self._array("tokens")[inside], count, self._array("t_us")[inside])

    def between(self, key: str, start_us: int, end_us: int) -> Stream:
        """The calls that start in [start_us, end_us), as a stream by one object key of their own."""
        first, last = np.searchsorted(self._array("t_us"), (start_us, end_us))
        calls = StreamFile(self.table.slice(first, last - first), None)
        objects, count = factorize(calls._array(f"object_{key}").astype(np.int64))
        return build_stream(objects, calls._array("tokens"), count, calls._array("t_us"))

    def _array(self, column: str) -> Any:
        values = self._column(column)
        if values.null_count:
            raise InputError(f"a replay stream lacks values in its column {column}: it is damaged. {_AGAIN}")
        # The file has one batch: its array is the mapped file itself, where combine_chunks would copy it.
        return (values.chunk(0) if values.num_chunks == 1 else values.combine_chunks()).to_numpy()

    def _column(self, column: str) -> pa.ChunkedArray:
        if column not in self.table.column_names or not pa.types.is_integer(self.table.schema.field(column).type):
            raise InputError(f"a replay stream has no whole numbers in a column {column}: it is damaged. {_AGAIN}")
        return self.table[column]


def check_keys(keys: tuple[str, ...]) -> tuple[str, ...]:
    """The object keys; an unknown one is an error that lists the valid ones."""
    for key in keys:
        if key not in OBJECT_KEYS:
            raise UsageError(f"unknown object key {shorten(key)!r}. Known keys: {', '.join(OBJECT_KEYS)}.")
    return keys


def extract_stream(trace: Trace, which: str, path: Path, sample: Sample | None = None) -> StreamFile:
    """Write the stream of a window, whole or one clock hour of it, and open it.

    The busiest hour is that of all sessions; a sample is drawn from its calls. `draw_sample` comes before.

    Raises
    ------
    InputError
        When no call lies in an hour that was named.
    EmptySampleError
        When no session of the stream is in the sample.
    """
    if which == "window":
        return _extract(trace, which, None, None, path, sample)
    clock = trace.settings.clock
    start = hour_start(which, clock) if which.startswith(HOUR) else busiest_hour(trace)
    return _extract(trace, which, (start, start + HOUR_US), iso(start, clock.zone), path, sample)


def extract_range(trace: Trace, which: str, start_us: int, end_us: int, path: Path,
                  sample: Sample | None = None) -> StreamFile:
    """The same of the calls that start in [start_us, end_us), called `which` in errors."""
    return _extract(trace, which, (start_us, end_us), None, path, sample)


def busiest_hour(trace: Trace) -> int:
    """Start of the clock hour with most sessioned calls, the earliest on a tie, in microseconds UTC."""
    offset = trace.settings.clock.shift_us(trace.profile.first_us)
    busiest = trace.row(_BUSIEST.format(hour=trace.engine.dialect.div(f"t_us + {offset}", HOUR_US)))
    return int(busiest["hour"]) * HOUR_US - offset


def _extract(trace: Trace, which: str, span: tuple[int, int] | None, hour: str | None, path: Path,
             sample: Sample | None) -> StreamFile:
    """Of the calls that start in [start, end), in microseconds UTC; None: of all."""
    zone, profile = trace.settings.clock.zone, trace.profile
    start, inside = (profile.first_us, "true") if span is None else (
        span[0], f"t_us >= {span[0]} and t_us < {span[1]}")
    query = _CALLS if sample is None else _SAMPLED_CALLS
    calls = trace.fetch(query.format(inside=inside, place=PLACE, follows=_FOLLOWS.format(start=start))).combine_chunks()
    drawn = None if sample is None else Drawn(sample, **trace.row(_WHOLE.format(inside=inside)))
    if which.startswith(HOUR) and not (len(calls) if drawn is None else drawn.calls):
        raise InputError(f"no call with a session id lies in the hour {hour}. The calls of the window start from "
                         f"{iso(profile.first_us, zone)} to {iso(profile.last_us, zone)}.")
    if drawn is not None and not len(calls):
        raise EmptySampleError(drawn.sample, drawn.sessions, f"the stream {which}")
    StreamFile(_with_objects(calls), hour, drawn, which, trace.window.name, zone.key).write(path)
    return StreamFile.open(path)


def _text(drawn: Drawn | None) -> str:
    return json.dumps(drawn and {"fraction": drawn.sample.label, "seed": drawn.sample.seed,
                                 "sessions": drawn.sessions, "calls": drawn.calls})


def _drawn(text: bytes) -> Drawn | None:
    found = json.loads(text)
    if found is None:
        return None
    sample = parse_sample(found["fraction"], str(found["seed"]))
    if sample is None:
        raise ValueError("a sample of everything")
    return Drawn(sample, int(found["sessions"]), int(found["calls"]))


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
