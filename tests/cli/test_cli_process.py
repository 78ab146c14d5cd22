"""Processes of their own: exit codes, streams, and runs that are killed or stopped."""

from __future__ import annotations

import os
import signal
import stat
import threading
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
    assert out.startswith("calls trace, window all\n")
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


def start(cli: Any, tmp: Path, stage: str, out: Path, tools: Any) -> Any:
    """A run over the sample that has reached a stage."""
    log = cli.folder / "stderr.txt"
    with log.open("wb") as stream:
        process = cli.process(cli.root / "sample_data", "--format", "calls", "--out", out, *QUICK,
                              stderr=stream, env=environment(tmp))
    tools.wait_for(lambda: stage in log.read_text() or process.poll() is not None, stage)
    assert process.poll() is None, log.read_text()
    return process


@pytest.mark.parametrize("stage", ["reading", "report"])
def test_killed_run_leaves_nothing_that_looks_like_a_result(cli: Any, tools: Any, tmp: Path, stage: str) -> None:
    out = cli.folder / "out"
    cli.ok(cli.file(), out=out, light=True)
    before = tools.contents(out)
    process = start(cli, tmp, stage, out, tools)
    if stage == "report":
        assert (out / ".partial-all").is_dir()
    process.kill()
    tools.finish(process)
    after = {name: data for name, data in tools.contents(out).items() if not name.startswith(".partial-")}
    assert after == before  # the earlier result is whole
    assert not list(out.glob(".partial-*/manifest.json"))
    assert all(stat.S_IMODE(left.stat().st_mode) == 0o700 for left in tmp.iterdir())
    cli.ok(cli.file(), out=out, light=True)


@pytest.mark.xfail(strict=True, reason="the scratch folder of a killed run, which holds identifiers, stays for ever")
def test_a_later_run_clears_the_scratch_of_a_killed_one(cli: Any, tools: Any, tmp: Path,
                                                        monkeypatch: pytest.MonkeyPatch) -> None:
    process = start(cli, tmp, "metrics", cli.folder / "out", tools)
    process.kill()
    tools.finish(process)
    assert list(tmp.iterdir())
    monkeypatch.setattr("tempfile.tempdir", str(tmp))
    cli.ok(cli.file(), light=True)
    assert not list(tmp.iterdir())


@pytest.mark.parametrize("which", [signal.SIGTERM, signal.SIGINT])
def test_stopped_run_cleans_up(cli: Any, tools: Any, tmp: Path, which: signal.Signals) -> None:
    out = cli.folder / "out"
    process = start(cli, tmp, "report ...", out, tools)
    process.send_signal(which)
    code, printed, _ = tools.finish(process)
    err = (cli.folder / "stderr.txt").read_text()
    assert code == 130
    assert printed == ""
    assert err.endswith("kvcensus characterize: stopped; nothing half-written was left.\n")
    assert "Traceback" not in err
    assert [path.name for path in out.iterdir()] == [".kvcensus"]
    assert not list(tmp.iterdir())


@pytest.mark.xfail(strict=True, reason="DuckDB raises RuntimeError('Query interrupted'): traceback, exit 1")
def test_stopped_inside_a_query(cli: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def long_query(trace: Trace) -> None:
        threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGTERM)).start()
        trace.engine.fetch("select sum(a.i * b.i % 7) as s from range(200000) a(i), range(200000) b(i)")
    monkeypatch.setattr(Trace, "derive", long_query)
    ran = cli(cli.file(), light=True)
    assert ran.rc == 130
    assert "Traceback" not in ran.stderr


@pytest.mark.xfail(strict=True, reason="a stop while modules are loaded (over a second): traceback, not 130")
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


@pytest.mark.xfail(strict=True, reason="exit 1 and a traceback")
@pytest.mark.parametrize("case", ["ascii", "pipe", "full"])
def test_stdout_that_cannot_take_the_summary(cli: Any, tools: Any, case: str) -> None:
    how: dict[str, Any] = {}
    if case == "ascii":
        how["env"] = {**os.environ, "PYTHONIOENCODING": "ascii"}
    elif case == "pipe":  # characterize ... | true
        reading, how["stdout"] = os.pipe()
        os.close(reading)
    else:
        how["stdout"] = os.open("/dev/full", os.O_WRONLY)
    process = cli.process(cli.file("timestamp,context_tokens\n2026-03-03T00:00:00Z,1\n" if case != "ascii" else None),
                          "--format", "calls", "--out", "o", *QUICK, **how)
    code, _, err = tools.finish(process)
    assert code != 1
    assert "Traceback" not in err


@pytest.mark.xfail(strict=True, reason="pyarrow takes no path that is no UTF-8: traceback, exit 1")
def test_input_path_that_is_no_utf8(cli: Any) -> None:
    name = os.fsdecode(b"calls-\xff.csv")
    cli.ok(cli.file(name=name), light=True)
