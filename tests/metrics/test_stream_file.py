"""The stream that is replayed: which calls, how each follows the one before, and the file that keeps it."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from metrics_rows import HOUR, MINUTE, Census, call

from metrics.core.clock import Clock, find_zone
from replay.residency.clock_hour import check_hour, hour_start
from replay.residency.comparison import BANDS, BEFORE_STREAM
from replay.residency.stream_file import StreamFile, extract_stream
from telemetry.errors import InputError, UsageError

NONE = BANDS.index(None)
ROWS = [
    call("a", 0, 10, model="m", region="r", deployment="d", cached=0),
    call("b", HOUR - 2, 20, model="m", region="r", deployment="d"),
    # From here on: the busiest hour.
    call("b", HOUR, 21, model="m", region="r", deployment="d", cached=20),                 # after 2 s, before the hour
    call("a", HOUR + 1, 11, model="m", region="r", deployment="d"),                        # after an hour and more
    call("c", HOUR + 2, 30, model="m", region="r", deployment="d"),                        # first of its session
    call("b", HOUR + MINUTE, 22, model="m", region="r", deployment="e", cached=9),         # another deployment, 1 min
    call("b", HOUR + MINUTE, 23, model="m", region="s", deployment="e", cached=9),         # another region, at once
    call("c", HOUR + 30 * MINUTE, 31, model="n", region="r", deployment="d", cached=30),   # another model
]


def follows(stream: StreamFile) -> list[tuple[int, int]]:
    return list(zip(stream.table["move"].to_pylist(), stream.table["gap"].to_pylist(), strict=True))


def test_how_calls_follow(census: Census, tmp_path: Path) -> None:
    trace = census.trace(ROWS)
    hour = [(BEFORE_STREAM, 0), (BEFORE_STREAM, 4), (0, NONE), (4, 2), (5, 0), (2, 3)]
    busiest = extract_stream(trace, "busiest-hour", tmp_path / "h.arrow")
    assert follows(busiest) == hour
    window = extract_stream(trace, "window", tmp_path / "w.arrow")
    assert follows(window) == [(0, NONE), (0, NONE), (3, 0), (3, 4), (0, NONE), (4, 2), (5, 0), (2, 3)]
    assert window.logged().cached.tolist() == [0, -1, 20, -1, -1, 9, 9, 30]


def test_an_hour_that_is_named(census: Census, tmp_path: Path) -> None:
    trace = census.trace(ROWS, clock=Clock(find_zone("Asia/Kolkata")))  # hours start at half past
    stream = extract_stream(trace, "hour:2026-01-01T06", tmp_path / "a.arrow")
    assert (stream.which, stream.hour, stream.tz) == ("hour:2026-01-01T06", "2026-01-01T06:00:00+05:30", "Asia/Kolkata")
    assert stream.table["tokens"].to_pylist() == [20, 21, 11, 30, 22, 23]
    with pytest.raises(InputError, match=r"no call with a session id lies in the hour 2026-01-01T09:00:00\+05:30"):
        extract_stream(trace, "hour:2026-01-01T09", tmp_path / "b.arrow")


@pytest.mark.parametrize(("text", "zone", "start"), [
    ("hour:1970-01-01T00", "UTC", 0),
    ("hour:2026-10-25T02", "Europe/Berlin", 1_792_886_400_000_000),  # comes twice: 00:00 and 01:00 UTC
])
def test_when_an_hour_starts(text: str, zone: str, start: int) -> None:
    clock = Clock(find_zone(zone))
    assert check_hour(text, clock) == text
    assert hour_start(text, clock) == start


@pytest.mark.parametrize(("text", "says"), [
    ("hour:2026-03-29T02", "skip that hour"), ("hour:2026-02-30T01", "no hour of 1970 to 2200"),
    ("hour:2026-01-01T24", "no hour"), ("hour:1969-12-31T23", "no hour"), ("hour:2026-1-1T1", "write a clock hour"),
    ("hour:", "write a clock hour"), ("hour:2026-01-01T01:00", "write a clock hour")])
def test_hours_that_are_none(text: str, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        check_hour(text, Clock(find_zone("Europe/Berlin")))


def test_a_file_keeps_all_of_it(census: Census, tmp_path: Path) -> None:
    stream = extract_stream(census.trace(ROWS), "window", tmp_path / "s.arrow")
    again = StreamFile.open(tmp_path / "s.arrow")
    assert (again.which, again.window, again.tz, again.hour, again.drawn) == ("window", "all", "UTC", None, None)
    assert again.table == stream.table


@pytest.mark.parametrize("broken", ["cut", "text", "other", "version", "window", "stream", "sample", "hour"])
def test_files_that_are_no_streams(census: Census, tmp_path: Path, broken: str) -> None:
    path = tmp_path / "s.arrow"
    about = {"kvcensus_stream": "2", "stream": "window", "window": "all", "tz": "UTC", "hour": "", "sample": "null"}
    about |= {"version": {"kvcensus_stream": "1"}, "window": {"window": "../up"}, "stream": {"stream": "a.b"},
              "sample": {"sample": '{"fraction": "2"}'}, "hour": {"hour": "<b>"}}.get(broken, {})
    table = pa.table({"tokens": [1]}).replace_schema_metadata({} if broken == "other" else about)
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    if broken == "cut":
        path.write_bytes(path.read_bytes()[:-9])
    if broken == "text":
        path.write_text("session_id,timestamp\n")
    with pytest.raises(InputError, match=r"s\.arrow is (no|a damaged) replay stream"):
        StreamFile.open(path)
