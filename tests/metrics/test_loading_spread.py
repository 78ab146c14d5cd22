"""An input that is read in pieces on workers, as on Spark, gives what one process gives that reads it end to end.

The engine here is Spark's, with its files and its order of work, but its tasks run in this process and it asks nothing
of a JVM.
"""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import telemetry.readers_parquet
from metrics.core.loading import ROWS_PER_FILE, Loaded, spread, stream
from metrics.engines.spark import SparkEngine
from telemetry.adapter import DefectLog, ReadOptions, TimestampRule
from telemetry.errors import InputError, KvcensusError
from telemetry.registry import find_adapter
from telemetry.sources import expand


class Here(SparkEngine):
    def __init__(self, root: Path) -> None:
        super().__init__(MagicMock(), root.as_uri())

    def _tasks(self, parts: Sequence[Any], run: Callable[[int, Any], Any]) -> list[Any]:
        tasks = pickle.loads(pickle.dumps(list(enumerate(parts))))
        # The last one first: which task is quicker is nobody's choice.
        done = {place: pickle.loads(pickle.dumps(run(place, part))) for place, part in reversed(tasks)}
        return [done[place] for place, _ in tasks]

    def _adopt(self, name: str, seen: Any, folder: str) -> None:
        assert Path(folder.removeprefix("file://")).is_dir(), "Spark would find nothing"
        self._folders[name] = folder

    def rows(self, name: str) -> list[dict[str, Any]]:
        found = [row for file in self.files(name) for row in pq.read_table(file.removeprefix("file://")).to_pylist()]
        for row in found:
            if "pos" not in row:  # nobody ran the select list
                row["pos"] = row.pop("source_rank") * ROWS_PER_FILE + row.pop("source_row")
        return sorted(found, key=lambda row: row["pos"])


def outcome(folder: Path, work: Path, options: ReadOptions, *, strict: bool, apart: bool, format: str) -> Any:
    """All that is known after loading, names in place of their numbers; or the error."""
    adapter, log, engine = find_adapter(format), DefectLog(strict=strict), Here(work)
    sources = expand([str(folder)], adapter.suffixes)
    try:
        if apart:
            loaded: Loaded = spread(engine, adapter, sources, options, log)
        else:
            loaded = stream(engine, adapter.batches(sources, options, log), adapter.rows)
    except KvcensusError as error:
        return type(error).__name__, str(error)
    names = {column: ["" , *known] for column, known in loaded.names.numbers.items()}
    rows = [{**row, **{f"{column}_no": names[column][row[f"{column}_no"] or 0] for column in names
                       if f"{column}_no" in row}} for row in engine.rows("raw")]
    return rows, json.loads(log.as_json())


@pytest.fixture
def same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """What both ways find for some files, which must be the same; each row group is a piece."""
    monkeypatch.setattr(telemetry.readers_parquet, "_PIECE_BYTES", 1)

    def check(files: dict[str, Any], options: ReadOptions | None = None, *, strict: bool = False,
              format: str = "calls") -> Any:
        folder = tmp_path / "in"
        folder.mkdir()
        for name, content in files.items():
            if isinstance(content, str | bytes):
                (folder / name).write_bytes(content.encode() if isinstance(content, str) else content)
                continue
            with pq.ParquetWriter(folder / name, content[0].schema) as writer:
                for group in content:
                    writer.write_table(group)
        whole, apart = (outcome(folder, tmp_path / way, options or ReadOptions(), strict=strict, apart=way == "apart",
                                format=format) for way in ("whole", "apart"))
        assert apart == whole
        return whole
    return check


NOON = "2026-01-01T12:00:00Z"


def group(times: list[Any], kind: pa.DataType | None = None, **more: list[Any]) -> pa.Table:
    columns = {"timestamp": pa.array(times, kind or pa.string()), "context_tokens": pa.array([5] * len(times))}
    return pa.table({**columns, **{name: pa.array(values) for name, values in more.items()}})


def told(found: Any) -> str:
    assert found[0] == "InputError", found
    return str(found[1])


def test_an_empty_label_is_none(same: Any) -> None:
    rows, log = same({"a.parquet": [group([NOON] * 3, session_id=["a", "", "a"], turn_id=["", "t", ""]),
                                    group([NOON], session_id=[""], turn_id=["u"])]})
    assert [row["session_id"] for row in rows] == ["a", None, "a", None]
    assert [row["turn_id"] for row in rows] == [None, "t", None, "u"]
    assert log["flags"] == {}


def test_labels_that_are_no_text_are_not_reported(same: Any) -> None:
    rows, log = same({"a.parquet": [group([NOON] * 2, session_id=[{"x": 1}, {"x": 2}], model=[["m"], ["m"]])]})
    assert [(row["session_id"], row["model_no"]) for row in rows] == [(None, "")] * 2
    assert log["flags"] == {"bad_optional": 2}


@pytest.mark.parametrize("first", ["12345", "2026-01-01T00:00:00"])
def test_one_odd_time_before_good_ones_is_set_aside(same: Any, first: str) -> None:
    rows, _ = same({"a.parquet": [group([first]), group([NOON] * 3)]})
    assert [row["defect"] for row in rows] == ["bad_timestamp", None, None, None]


def test_the_declared_unit_is_judged_by_the_file(same: Any) -> None:
    seconds = ReadOptions(timestamp=TimestampRule(unit="s"))
    rows, _ = same({"a.parquet": [group([1_767_225_600_000], pa.int64()), group([1_767_225_600] * 3, pa.int64())]},
                   seconds)
    assert [row["defect"] for row in rows] == ["bad_timestamp", None, None, None]


@pytest.mark.parametrize(("times", "kind", "says"), [
    ([1_767_225_600], pa.int64(), "their unit is not declared"),
    (["2026-01-01T00:00:00"], pa.string(), "timestamps without an offset"),
    ([0], pa.timestamp("us"), "timestamps have no zone"),
])
def test_times_that_come_late_are_looked_at(same: Any, times: list[Any], kind: pa.DataType, says: str) -> None:
    found = same({"a.parquet": [group([None], kind), group(times, kind)], "b.parquet": [group([NOON])]})
    assert says in told(found)
    assert "a.parquet" in told(found)


def test_examples_are_the_first_of_the_input(same: Any) -> None:
    def tokens(*cached: Any) -> pa.Table:
        return group([NOON] * len(cached), cached_tokens=list(cached))

    bad = group([NOON] * 4, cached_tokens=["1", "1", "1", "x"]).set_column(
        1, "context_tokens", pa.array([5, 5, None, 5]))
    good = tokens("1", "x")
    _, log = same({"a.parquet": [good.set_column(1, "context_tokens", pa.array([5, 5])), bad, tokens("y")]})
    assert [place.partition(", column")[0] for place in log["places"]["bad_tokens"]] == [
        "file 1, row 2", "file 1, row 5", "file 1, row 6"]


def test_the_first_bad_row_of_the_input_is_the_error_of_a_strict_run(same: Any) -> None:
    head = "timestamp,context_tokens,cached_tokens\n"
    found = same({"a.csv": f"{head}{NOON},5,1\n{NOON},5,x\n{NOON},y,1\n", "b.csv": f"{head}bad,5,1\n"}, strict=True)
    assert "a.csv, row 2 after the header, column cached_tokens" in told(found)


def test_pieces_of_a_strict_file(same: Any) -> None:
    found = same({"a.parquet": [group([NOON, NOON]), group([NOON, "bad"]), group(["worse"])]}, strict=True)
    assert "row 4, column timestamp" in told(found)


@pytest.mark.parametrize(("files", "says"), [
    ({"a.csv": "x,y\n1,2\n", "b.parquet": b"PAR1 no"}, "a.csv: no column 'timestamp'"),
    ({"a.parquet": b"PAR1 no", "b.csv": "x,y\n1,2\n"}, "a.parquet: not a Parquet file"),
    ({"a.csv": f"timestamp,context_tokens\n{NOON},5\n", "b.parquet": b"PAR1 no"}, "b.parquet: not a Parquet file"),
])
def test_the_first_file_that_cannot_be_read_is_named(same: Any, files: dict[str, Any], says: str) -> None:
    assert says in told(same(files))


def test_a_folder_may_have_any_name(tmp_path: Path) -> None:
    from metrics.engines.spark import _literal, _pattern

    odd = tmp_path / "a b%20c" / "gl*b[x]{a,b}?" / "ü"
    assert _literal(odd.as_uri()) == f"file://{odd}"
    assert _pattern(odd.as_uri()) == f"file://{odd}".translate({ord(c): f"\\{c}" for c in "*[]{}?"})
    assert _literal("s3a://bucket/a%20b") == "s3a://bucket/a%20b"


def loaded_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, gone: bool) -> Loaded:
    """A relative input, read by workers that work in another folder; the file may be gone there."""
    class Elsewhere(Here):
        def _tasks(self, parts: Sequence[Any], run: Callable[[int, Any], Any]) -> list[Any]:
            monkeypatch.chdir("/")
            if gone:
                (tmp_path / "a.csv").unlink()
            return super()._tasks(parts, run)

    (tmp_path / "a.csv").write_text(f"timestamp,context_tokens,model\n{NOON},5,m\n")
    monkeypatch.chdir(tmp_path)
    adapter = find_adapter("calls")
    sources = expand(["a.csv"], adapter.suffixes)
    return spread(Elsewhere(tmp_path / "work"), adapter, sources, ReadOptions(), DefectLog())


def test_a_relative_input_is_found_by_workers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert loaded_elsewhere(tmp_path, monkeypatch, gone=False).names.numbers["model"] == {"m": 1}


def test_an_input_that_workers_do_not_see(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match=r"^a\.csv is not there for every worker\."):
        loaded_elsewhere(tmp_path, monkeypatch, gone=True)


def test_events_in_pieces(same: Any) -> None:
    def piece(kinds: list[Any], models: list[Any], counters: list[Any]) -> pa.Table:
        return pa.table({"timestamp": pa.array([NOON] * len(kinds)), "event": pa.array(kinds, pa.string()),
                         "model": pa.array(models, pa.string()), "session_id": pa.array(["a"] * len(kinds)),
                         "cumulative_context_tokens": pa.array(counters, pa.int64())})

    rows, log = same({
        "a.parquet": [piece(["Tool ", "note"], ["m", None], [5, None]),
                      piece(["tool", None, ""], ["n", "m", "n"], [7, -1, 2])],
        "b.jsonl": '{"timestamp": "2026-01-01T12:00:00Z", "event": "tool", "model": "o", "event_id": "p"}\n{}\nno\n'},
        ReadOptions(), format="events")
    assert [row["tool_event"] for row in rows] == [True, False, True, None, None, True, None, None]
    assert [row["model_no"] for row in rows] == ["m", "", "n", "m", "n", "o", "", ""]
    assert [row["cumulative_context_tokens"] for row in rows] == [5, None, 7, None, 2, None, None, None]
    assert [row["defect"] for row in rows] == [None] * 3 + ["bad_tokens", None, None, "bad_timestamp", "unreadable"]
    assert [row["event_id"] for row in rows] == [None] * 5 + ["p", None, None]
    assert set(log["columns"]) == {"timestamp", "event", "model", "session_id", "cumulative_context_tokens", "event_id"}


def test_words_for_the_execution_of_a_tool(same: Any) -> None:
    table = pa.table({"timestamp": pa.array([NOON] * 3), "event": pa.array(["tool", "PreToolUse", "exec"])})
    rows, _ = same({"a.parquet": [table]}, ReadOptions(tool_events=("pretooluse", "EXEC")), format="events")
    assert [row["tool_event"] for row in rows] == [False, True, True]
