"""Processes of their own: exit codes, streams, and runs that are killed or stopped."""

from __future__ import annotations

import contextlib
import os
import signal
import stat
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from metrics.core.trace import Trace

QUICK = ("--policies", "lru", "--budgets", "10%", "--key", "session", "--threads", "2")


@pytest.fixture
def tmp(cli: Any) -> Path:
    place = cli.folder / "tmp"
    place.mkdir()
    return place


def environment(tmp: Path) -> dict[str, str]:
    return {**os.environ, "TMPDIR": str(tmp)}


def test_script_from_another_folder(cli: Any, tools: Any, tmp: Path) -> None:
    code, out, err = tools.finish(cli.process(cli.file(), "--format", "calls", "--out", "report", *QUICK, script=True,
                                              env=environment(tmp)))
    assert code == 0, err
    assert out.startswith("calls trace, 2026-03-03 10:00 to 2026-03-05 09:00:05 (UTC)\n")
    assert out.endswith("report: report/all/report.html\n")
    assert err == "reading 1 file ...\nordering calls ...\nmetrics ...\nreplays ...\nreport ...\n"
    assert (cli.folder / "report" / "all" / "manifest.json").is_file()
    assert not list(tmp.iterdir())


@pytest.mark.parametrize(("words", "code"), [(["x", "--format", "calls"], 2),
                                             (["nothing.csv", "--format", "calls", "--out", "o"], 3)])
def test_exit_codes(cli: Any, tools: Any, words: list[str], code: int) -> None:
    found, out, err = tools.finish(cli.process(*words))
    assert found == code
    assert out == ""
    assert err.startswith("kvcensus characterize: ")
    assert err.count("\n") == 1


class Killed:
    """The folder of a run that was killed while it wrote, over an earlier result."""

    def __init__(self, cli: Any, tools: Any, tmp: Path) -> None:
        self.out, self.tmp = cli.folder / "out", tmp
        cli.ok(cli.file(), out=self.out, light=True)
        self.before = tools.contents(self.out)
        log = cli.folder / "stderr.txt"
        with log.open("wb") as stream:
            process = cli.process(cli.root / "sample_data" / "calls.csv.gz", "--format", "calls", "--out", self.out,
                                  *QUICK, stderr=stream, env=environment(tmp))
        tools.wait_for(lambda: "report ..." in log.read_text() or process.poll() is not None, "the report")
        assert process.poll() is None, log.read_text()
        assert (self.out / ".partial-all").is_dir()
        process.kill()
        tools.finish(process)


@pytest.fixture
def killed(cli: Any, tools: Any, tmp: Path) -> Killed:
    return Killed(cli, tools, tmp)


def test_killed_run_leaves_nothing_that_looks_like_a_result(cli: Any, tools: Any, killed: Killed,
                                                            monkeypatch: pytest.MonkeyPatch) -> None:
    after = tools.contents(killed.out)
    assert {name: data for name, data in after.items() if not name.startswith(".partial-")} == killed.before
    assert [name for name in after if name.endswith("manifest.json")] == ["all/manifest.json"]
    scratch = list(killed.tmp.iterdir())
    assert all(stat.S_IMODE(left.stat().st_mode) == 0o700 for left in scratch)
    monkeypatch.setattr("tempfile.tempdir", str(killed.tmp))
    cli.ok(cli.file(), out=killed.out, light=True)  # and clears what was left
    assert scratch
    assert not any(left.exists() for left in scratch)  # it holds identifiers


def test_interrupted_run_cleans_up(cli: Any, tools: Any, tmp: Path) -> None:
    out = cli.folder / "out"
    process = cli.process(cli.root / "sample_data" / "calls.csv.gz", "--format", "calls", "--out", out, *QUICK,
                          env=environment(tmp))
    tools.wait_for(lambda: (out / ".partial-all" / "numbers.json").exists() or process.poll() is not None, "numbers")
    process.send_signal(signal.SIGINT)
    code, printed, err = tools.finish(process)
    assert code == 130
    assert printed == ""
    assert err.endswith("kvcensus characterize: stopped; nothing half-written was left.\n")
    assert "Traceback" not in err
    assert [path.name for path in out.iterdir()] == [".kvcensus"]
    assert not list(tmp.iterdir())


@pytest.mark.parametrize("which", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("where", ["pipelines.run.study", "pipelines.reading.ingest", "pipelines.run.Results.preview"])
def test_stopped_anywhere(cli: Any, tmp: Path, monkeypatch: pytest.MonkeyPatch, where: str,
                          which: signal.Signals) -> None:
    def stopped(*args: Any, **how: Any) -> None:
        os.kill(os.getpid(), which)
        time.sleep(5)
    monkeypatch.setattr("tempfile.tempdir", str(tmp))
    monkeypatch.setattr(where, stopped)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    ran = cli(cli.file(), light=True)
    assert ran.rc == 130
    assert ran.message == "characterize: stopped; nothing half-written was left."
    assert "Traceback" not in ran.stderr
    assert not ran.manifests()
    assert not ran.leftovers()
    assert not list(tmp.iterdir())


@pytest.mark.parametrize("how", ["create", "fetch"])
def test_stopped_inside_a_query(cli: Any, monkeypatch: pytest.MonkeyPatch, how: str) -> None:
    def long_query(trace: Trace) -> None:
        threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGTERM)).start()
        query = "select sum(a.i * b.i % 7) as s from range(6000) a(i), range(6000) b(i)"
        trace.engine.create("long", query) if how == "create" else trace.engine.fetch(query)
    monkeypatch.setattr(Trace, "derive", long_query)
    ran = cli(cli.file(), light=True)
    assert ran.rc == 130
    assert "Traceback" not in ran.stderr


def test_stopped_while_loading(cli: Any, tools: Any) -> None:
    process = cli.process(cli.file(), "--format", "calls", "--out", "o")
    maps = Path(f"/proc/{process.pid}/maps")
    if not maps.exists():
        process.kill()
        pytest.skip("no /proc")
    tools.wait_for(lambda: "libarrow" in maps.read_text() or process.poll() is not None, "the libraries")
    process.send_signal(signal.SIGINT)
    code, _, err = tools.finish(process)
    assert code == 130
    assert "Traceback" not in err


@pytest.mark.parametrize("case", ["ascii", "pipe", "full"])
def test_stdout_that_cannot_take_the_summary(cli: Any, case: str) -> None:
    reading, writing = os.pipe()
    if case != "ascii":
        os.close(reading)  # as in: characterize ... | true
    place = os.open("/dev/full", os.O_WRONLY) if case == "full" else writing
    stdout = open(place, "w", encoding="ascii" if case == "ascii" else "utf-8", buffering=1)  # noqa: SIM115
    ran = cli(cli.file(), "--name", "flotte é" if case == "ascii" else "fleet", light=True, stdout=stdout)
    with contextlib.suppress(OSError):
        stdout.close()
    assert ran.rc != 1
    assert "Traceback" not in ran.stderr


def test_input_path_that_is_no_utf8(cli: Any) -> None:
    cli.fails(3, cli.file(name=os.fsdecode(b"calls-\xff.csv")), says=["calls-\\udcff.csv", "not UTF-8"])
