"""`kvcensus replay`: the tables of `characterize`, cells that are kept, and what it refuses."""

from __future__ import annotations

import io
import json
import os
import shutil
import signal
import time
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import pipelines.characterize
import pipelines.run
from figures.units import format_value
from metrics.core.store import Results
from pipelines.replaying import main
from replay.residency.journal import FileJournal
from replay.residency.stream_file import StreamFile

PLAN = ("--policies", "lru,fnu,mrr", "--budgets", "20%,50%,40MB", "--key", "session,session+deployment")
CELLS = 18
TABLES = ("residency_replay", "replay_agreement", "replay_agreement_by")


class Ran(NamedTuple):
    rc: int
    stdout: str
    stderr: str


def run(*words: object, command: Any = main) -> Ran:
    printed, stderr = io.StringIO(), io.StringIO()
    with redirect_stdout(printed), redirect_stderr(stderr):
        rc = command([*map(str, words)])
    return Ran(rc, printed.getvalue(), stderr.getvalue())


def done(*words: object) -> str:
    """A run that must succeed; what it said of its cells."""
    ran = run(*words)
    assert ran.rc == 0, ran.stderr[-2000:]
    return next(line for line in ran.stderr.splitlines() if "replayed," in line)


def told(replayed: int, known: int) -> str:
    return f"{replayed + known} cells: {replayed} replayed, {known} known before."


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`calls.csv`, and what characterize made of it: `report` and the work folder `work`."""
    folder = tmp_path_factory.mktemp("replay")
    rows = [f"zebra-{n * n % 7},2026-03-03T10:{n:02d}:00Z,{100 + n * 37 % 50},{'' if n % 5 == 0 else n % 3},"
            f"okapi-{n % 3},quagga-{n % 2}" for n in range(50)]
    (folder / "calls.csv").write_text("\n".join(
        ["session_id,timestamp,context_tokens,cached_tokens,model,deployment", *rows, ""]))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pipelines.run, "render_report", lambda results: "<!doctype html>")
        patch.setattr(pipelines.run, "METRICS", ())
        patch.setattr(pipelines.characterize, "_SUMMARY", ())
        ran = run(folder / "calls.csv", "--format", "calls", "--out", folder / "report", "--work", folder / "work",
                  *PLAN, "--bounds", "none", "--routing", "none", command=pipelines.characterize.main)
    assert ran.rc == 0, ran.stderr
    return folder


@pytest.fixture(scope="module")
def cells(made: Path) -> Path:
    """The output folder of a whole run over the work folder."""
    assert done(made / "work", "--out", made / "cells", *PLAN) == told(CELLS, 0)
    return made / "cells"


@pytest.fixture
def copy(cells: Path, tmp_path: Path) -> Path:
    shutil.copytree(cells, tmp_path / "cells")
    return tmp_path / "cells"


def tables(out: Path) -> dict[str, bytes]:
    return {name: (out / "all" / "tables" / f"{name}.parquet").read_bytes() for name in TABLES}


def test_the_tables_of_characterize(made: Path, cells: Path, tmp_path: Path) -> None:
    assert done(made / "calls.csv", "--format", "calls", "--out", tmp_path / "out", *PLAN) == told(CELLS, 0)
    assert tables(cells) == tables(tmp_path / "out") == tables(made / "report")
    published = Results.open(made / "report" / "all").numbers
    for out in (cells, tmp_path / "out"):
        results = Results.open(out / "all")
        assert {number.command.split()[1] for number in results.numbers.values()} == {"replay"}
        found = {key: vars(number) | {"command": ""} for key, number in results.numbers.items()}
        assert found == {key: vars(number) | {"command": ""} for key, number in published.items()
                         if key.startswith("replay.")}
    audit = (tmp_path / "out/all/audit.json").read_bytes()
    assert json.loads(audit)["rows_used"] == 50
    assert audit == (made / "report/all/audit.json").read_bytes()
    assert not (cells / "all" / "audit.json").exists()
    assert sorted(path.name for path in cells.iterdir()) == [".cells", ".kvcensus", "all"]
    shown = b"".join(path.read_bytes() for path in (tmp_path / "out").rglob("*") if path.is_file())
    assert b"zebra" not in shown
    assert b"okapi" not in shown
    assert b"quagga" not in shown


def test_only_what_is_new_is_replayed(made: Path, copy: Path, tmp_path: Path) -> None:
    assert done(made / "work", "--out", copy, *PLAN) == told(0, CELLS)
    more = ("--policies", "mrr,lru,ttl_5m,fnu", "--budgets", "50%,40MB,20%,70%", "--key",
            "session+deployment,session+model,session")
    assert done(made / "work", "--out", copy, *more) == told(48 - CELLS, CELLS)
    done(made / "work", "--out", tmp_path / "fresh", *more)
    assert tables(copy) == tables(tmp_path / "fresh")
    assert done(made / "work", "--out", copy, *PLAN) == told(0, CELLS)


def test_a_journal_that_was_cut(made: Path, cells: Path, copy: Path) -> None:
    content = (copy / ".cells").read_bytes()
    (copy / ".cells").write_bytes(content[:-30])
    ran = run(made / "work", "--out", copy, *PLAN)
    assert ran.rc == 0
    assert told(1, CELLS - 1) in ran.stderr
    assert f"1 line of {copy / '.cells'} could not be read and was taken out" in ran.stderr
    assert tables(copy) == tables(cells)
    assert done(made / "work", "--out", copy, *PLAN) == told(0, CELLS)


@pytest.mark.parametrize("which", [signal.SIGTERM, signal.SIGINT])
def test_a_run_that_is_stopped_goes_on(made: Path, cells: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                       which: signal.Signals) -> None:
    keep, out = FileJournal.keep, tmp_path / "out"

    def stopped(self: FileJournal, *args: Any) -> None:
        keep(self, *args)
        if self.added == 4:
            os.kill(os.getpid(), which)
            time.sleep(5)
    with monkeypatch.context() as patch:
        patch.setattr(FileJournal, "keep", stopped)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        ran = run(made / "work", "--out", out, *PLAN)
    assert ran.rc == 130
    assert ran.stdout == ""
    assert ran.stderr.splitlines()[-1] == (
        f"replay: stopped; 4 finished cells of this run and those of earlier ones are kept in {out}, and the same "
        "command goes on from there.")
    assert sorted(path.name for path in out.iterdir()) == [".cells", ".kvcensus"]
    assert done(made / "work", "--out", out, *PLAN) == told(CELLS - 4, 4)
    assert tables(out) == tables(cells)


def test_what_is_printed(made: Path, copy: Path) -> None:
    words = (made / "work", "--out", copy, "--policies", "lru", "--budgets", "50%,100%", "--key", "session")
    ran = run(*words)
    rows = pq.read_table(copy / "all" / "tables" / "residency_replay.parquet").to_pylist()
    first, second, head, line, last = ran.stdout.splitlines()
    assert first == "all, busiest-hour from 2026-03-03T10:00:00Z: 50 calls; misses / calls"
    assert second.startswith("  session: 4 objects, K* ")
    assert head.split() == ["policy", "50%", "100%"]
    assert line.split() == ["lru", *(format_value(row["reconstruction_rate"], "share") for row in rows)]
    assert last == f"results: {copy}"
    shown = json.loads(run(*words, "--json").stdout)
    assert shown["cells"] == {"replayed": 0, "known": 2, "damaged_lines": 0}
    assert shown["windows"][0]["residency_replay"] == rows


def test_an_hour_and_a_choice_of_streams(made: Path, cells: Path, tmp_path: Path) -> None:
    work, hour = tmp_path / "work", "hour:2026-03-03T10"
    shutil.copytree(made / "work", work)
    done(made / "calls.csv", "--format", "calls", "--out", tmp_path / "hour", "--stream", hour, "--work", work, *PLAN)
    named, busiest = (pq.read_table(out / "all/tables/residency_replay.parquet").to_pylist()
                      for out in (tmp_path / "hour", cells))
    assert [row | {"stream": "busiest-hour"} for row in named] == busiest
    assert {row["stream"] for row in named} == {hour}
    ran = run(work, "--out", tmp_path / "b", *PLAN)
    assert ran.rc == 2
    assert f"several kinds; there is: busiest-hour, {hour}. Choose one with --stream" in ran.stderr
    # The calls are the same ones, so the cells are known.
    assert done(work, "--out", tmp_path / "hour", "--stream", "busiest-hour", *PLAN) == told(0, CELLS)
    assert "there is: busiest-hour, hour" in run(work, "--out", tmp_path / "b", "--stream", "window").stderr


def test_a_sample_goes_on_too(made: Path, tmp_path: Path) -> None:
    words = ("--policies", "lru", "--budgets", "50%", "--key", "session", "--out", tmp_path / "out")
    calls = (made / "calls.csv", "--format", "calls", "--sample-sessions", "0.7", "--sample-seed", "2", "--work",
             tmp_path / "work")
    assert "17 cells" in done(*calls, *words)
    assert done(*calls, *words) == told(0, 17)
    assert done(tmp_path / "work", *words) == told(0, 17)


def test_a_clean_stop_of_errors(made: Path, cells: Path, copy: Path) -> None:
    before = tables(copy)
    assert run(made / "work", "--out", copy, "--stream", "window").rc == 2
    assert run(made / "nothing", "--out", copy).rc == 3
    assert tables(copy) == before


REFUSED = {
    "unknown policy": (2, ["WORK", "--policies", "lfu"], "unknown policy 'lfu'. Known policies: fnu, lru"),
    "budget 0": (2, ["WORK", "--budgets", "0%"], "budget '0%' is not understood"),
    "budget below 0": (2, ["WORK", "--budgets=-5%"], "budget '-5%' is not understood"),
    "budget nan": (2, ["WORK", "--budgets", "nan%"], "budget 'nan%' is not understood"),
    "key": (2, ["WORK", "--key", "user"], "unknown object key 'user'. Known keys: session, "),
    "stream": (2, ["WORK", "--stream", "day"], "known streams are busiest-hour, window, and clock hours such as hour:"),
    "hour": (2, ["WORK", "--stream", "hour:3"], "write a clock hour as hour:2026-01-31T13"),
    "no such hour": (3, ["CALLS", "--format", "calls", "--stream", "hour:2026-03-03T11"],
                     "no call with a session id lies in the hour 2026-03-03T11:00:00Z. The calls of the window start"),
    "window": (2, ["WORK", "--window", "2026-01-01/2026-01-02"], "--window is about how calls are read"),
    "zone": (2, ["WORK", "--tz", "Europe/Berlin"], "--tz is about how calls are read"),
    "no format": (2, ["CALLS"], "is no work folder and no stream file (.arrow). If it holds calls, name their "),
    "nothing there": (3, ["NOTHING"], "no such file or folder"),
    "no stream there": (2, ["FOLDER"], "holds no replay stream"),
    "store": (2, ["WORK", "--out", "s3://bucket/cells"], "needs a folder of this machine"),
    "no calls": (3, ["EMPTY"], "holds no call: there is nothing to replay"),
    "no sessions": (3, ["ALONE", "--format", "calls"], "nothing to replay: no call of the trace has a session id"),
    "format": (2, ["CALLS", "--format", "xml"], "unknown format"),
    "zero bytes": (3, ["a\0b"], "a\\x00b: no such file or folder"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused(made: Path, tmp_path: Path, case: str) -> None:
    rc, words, says = REFUSED[case]
    [path] = (made / "work").glob("*.arrow")
    StreamFile(StreamFile.open(path).table.slice(0, 0), None).write(tmp_path / "e.arrow")
    (tmp_path / "alone.csv").write_text("timestamp,context_tokens\n2026-03-03T10:00:00Z,5\n")
    places = {"WORK": made / "work", "CALLS": made / "calls.csv", "NOTHING": tmp_path / "nothing", "FOLDER": tmp_path,
              "EMPTY": tmp_path / "e.arrow", "ALONE": tmp_path / "alone.csv"}
    ran = run("--out", tmp_path / "out", *(places.get(word, word) for word in words))
    assert ran.rc == rc, ran.stderr
    assert ran.stdout == ""
    assert says in ran.stderr
    assert "Traceback" not in ran.stderr
    assert not (tmp_path / "out").exists()


def test_a_report_is_not_replaced(made: Path, tmp_path: Path) -> None:
    page = tmp_path / "rep" / "all" / "report.html"
    page.parent.mkdir(parents=True)
    page.write_text("the report")
    (tmp_path / "rep" / ".kvcensus").write_text("ours")
    ran = run(made / "work", "--out", tmp_path / "rep")
    assert ran.rc == 2
    assert "holds a report of characterize (all), which would go: name another folder." in ran.stderr
    assert page.read_text() == "the report"


def test_rows_that_are_set_aside_are_told(made: Path, tmp_path: Path) -> None:
    calls = (made / "calls.csv").read_text() + "zebra-1,never,5,,,\nzebra-1,2026-03-03T10:00:00Z,-1,,,\n"
    (tmp_path / "calls.csv").write_text(calls)
    words = (tmp_path / "calls.csv", "--format", "calls", "--out", tmp_path / "out", *PLAN)
    ran = run(*words)
    assert ran.rc == 0
    assert "rows: 52 read, 50 used, 1 bad_timestamp, 1 bad_tokens set aside." in ran.stderr
    assert run(*words, "--strict").rc == 3


def test_a_log_without_cached_tokens_has_no_agreement(tmp_path: Path) -> None:
    (tmp_path / "calls.csv").write_text("session_id,timestamp,context_tokens\na,2026-03-03T10:00:00Z,5\n")
    done(tmp_path / "calls.csv", "--format", "calls", "--out", tmp_path / "out", "--policies", "lru,fnu", "--budgets",
         "10%", "--key", "session")
    results = Results.open(tmp_path / "out" / "all")
    assert not results.has_table("replay_agreement")
    number = results.numbers["replay.busiest-hour.session.agreement.lru.b10"]
    assert (number.value, number.why) == (None, "no call of the stream reports cached tokens and has a context above 0")


@pytest.mark.parametrize(("column", "value"), [
    ("tokens", -1), ("tokens", None), ("tokens", "5"), ("next_use_session", 51), ("next_use_session", 0), ("move", 8),
    ("gap", None), ("t_us", 2**62), ("object_session", -1)])
def test_a_stream_with_a_wrong_value_is_an_error(made: Path, tmp_path: Path, column: str, value: Any) -> None:
    [path] = (made / "work").glob("*.arrow")
    file = StreamFile.open(path)
    values, kind = file.table[column].to_pylist(), file.table.schema.field(column).type
    changed = pa.array([value] * len(values)) if isinstance(value, str) else pa.array([value, *values[1:]], kind)
    place = file.table.column_names.index(column)
    replace(file, table=file.table.set_column(place, column, changed)).write(tmp_path / "s.arrow")
    ran = run(tmp_path / "s.arrow", "--out", tmp_path / "out", "--policies", "lru", "--key", "session")
    assert ran.rc == 3, ran.stderr
    assert "replay stream" in ran.stderr
    assert not (tmp_path / "out" / "all").exists()
