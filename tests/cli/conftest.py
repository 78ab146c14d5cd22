"""Runs of `characterize` for tests: in this process for speed, in a process of its own where that is the point."""

from __future__ import annotations

import io
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import pipelines.characterize
import pipelines.run
from pipelines.characterize import main

ROOT = Path(__file__).resolve().parents[2]

# A fleet of 20 calls. Every label is a word that occurs nowhere else, so that a leak is found by its bytes.
BASE = """\
session_id,timestamp,context_tokens,cached_tokens,output_tokens,model,turn_id,user_initiated,region,deployment,\
duration_ms,parent_session_id,call_id,status
zebra-0,2026-03-03T10:00:00Z,1000,0,50,okapi-large,tapir-1,true,lemur-east,quagga-a,900.5,,ibex-00,ok
zebra-1,2026-03-03T10:00:10Z,2000,0,60,okapi-large,tapir-1,true,lemur-west,quagga-b,800,,ibex-01,ok
zebra-0,2026-03-03T10:01:00Z,1200,1000,40,okapi-small,tapir-1,false,lemur-east,quagga-a,500,,ibex-02,ok
zebra-0,2026-03-03T10:02:00Z,1500,1100,30,okapi-large,tapir-1,false,lemur-east,quagga-c,700,,ibex-03,ok
zebra-1,2026-03-03T10:03:30Z,2600,2000,70,okapi-large,tapir-1,false,lemur-west,quagga-b,900,,ibex-04,ok
zebra-2,2026-03-03T10:04:00Z,500,0,20,okapi-small,tapir-1,true,lemur-west,quagga-b,300,zebra-1,ibex-05,ok
zebra-2,2026-03-03T10:05:00Z,800,500,25,okapi-small,tapir-1,false,lemur-west,quagga-b,350,zebra-1,ibex-06,error
zebra-0,2026-03-03T10:20:00Z,2500,1500,55,okapi-large,tapir-2,true,lemur-east,quagga-a,950,,ibex-07,ok
zebra-0,2026-03-03T10:21:00Z,900,0,10,okapi-large,tapir-2,false,lemur-east,quagga-a,400,,ibex-08,ok
zebra-3,2026-03-03T11:00:00Z,4000,,80,okapi-large,tapir-1,true,lemur-east,quagga-a,1200,,ibex-09,ok
zebra-3,2026-03-03T11:00:30Z,4200,4000,80,okapi-large,tapir-1,false,lemur-east,quagga-a,1300,,ibex-10,ok
zebra-1,2026-03-03T12:30:00Z,3000,2600,90,okapi-small,tapir-2,true,lemur-west,quagga-b,1000,,ibex-11,ok
,2026-03-03T13:00:00Z,700,0,15,okapi-small,,,lemur-west,quagga-b,200,,ibex-12,ok
zebra-3,2026-03-03T23:59:59.999999Z,5000,4200,85,okapi-large,tapir-2,true,lemur-east,quagga-a,1400,,ibex-13,ok
zebra-3,2026-03-05T00:00:00Z,5200,5000,85,okapi-large,tapir-2,false,lemur-east,quagga-a,1500,,ibex-14,ok
zebra-4,2026-03-05T08:00:00Z,100,0,5,okapi-small,tapir-1,true,lemur-east,quagga-c,100,,ibex-15,ok
zebra-4,2026-03-05T08:00:01Z,150,100,5,okapi-small,tapir-1,false,lemur-east,quagga-c,100,,ibex-16,ok
zebra-4,2026-03-05T08:00:02Z,200,150,5,okapi-large,tapir-1,false,lemur-east,quagga-a,100,,ibex-17,ok
zebra-5,2026-03-05T09:00:00Z,300,0,0,okapi-large,tapir-1,true,lemur-west,quagga-b,100,,ibex-18,ok
zebra-5,2026-03-05T09:00:05Z,350,300,10,okapi-large,tapir-1,false,lemur-west,quagga-b,100,,ibex-19,ok
"""
HEADER, *ROWS = BASE.splitlines()
IDS = ("zebra", "ibex", "tapir")
NAMES = ("okapi", "quagga")
#: What is off unless asked for.
ON = ("--bootstrap", "40", "--hours")
QUICK = {"--policies": "lru", "--budgets": "10%", "--key": "session", "--threads": "2"}


@dataclass(frozen=True)
class Ran:
    """What one run did."""

    rc: int
    stdout: str
    stderr: str
    out: Any  # a folder, or the URI of one

    def json(self, name: str = "numbers", window: str = "all") -> dict[str, Any]:
        content: dict[str, Any] = json.loads((self.out / window / f"{name}.json").read_text(encoding="utf-8"))
        return content

    def value(self, key: str, window: str = "all") -> Any:
        return self.json("numbers", window)[key]["value"]

    def page(self, window: str = "all") -> str:
        return (self.out / window / "report.html").read_text(encoding="utf-8")

    def manifests(self) -> list[str]:
        return sorted(path.parent.name for path in self.out.rglob("manifest.json"))

    def leftovers(self) -> list[str]:
        return [path.name for path in self.out.glob(".*") if path.name != ".kvcensus"]

    @property
    def message(self) -> str:
        """The last line on stderr."""
        return self.stderr.rstrip("\n").rpartition("\n")[2]


class _TooLongError(Exception):
    pass


def _alarm(signum: int, frame: object) -> None:
    raise _TooLongError("the run took too long")


@dataclass
class Cli:
    """`cli(INPUT, OPTION...)` runs the command; the report's figures are drawn only when asked for.

    `light` runs leave the metrics out too, where only the audit, the windows or the folders matter.
    """

    folder: Path
    base: str = BASE
    header: str = HEADER
    rows: tuple[str, ...] = tuple(ROWS)
    ids: tuple[str, ...] = IDS
    on: tuple[str, ...] = ON
    names: tuple[str, ...] = NAMES
    root: Path = ROOT
    shared: Path = ROOT.parent / "shared" / "data"
    runs: int = field(default=0)

    def file(self, content: str | bytes | None = None, name: str = "calls.csv") -> Path:
        """An input file; the base fleet unless told otherwise."""
        path = self.folder / "in" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        content = BASE if content is None else content
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    def csv(self, *rows: str, header: str = HEADER) -> Path:
        """The base fleet and more rows."""
        return self.file("\n".join([header, *ROWS, *rows]) + "\n")

    def toml(self, text: str) -> Path:
        path = self.folder / "config.toml"
        path.write_text(text, encoding="utf-8")
        return path

    def __call__(self, *words: object, format: str = "calls", out: Path | str | None = None, page: bool = False,
                 light: bool = False, quick: bool = True, limit_s: float = 0,
                 stdout: Any = None) -> Ran:
        self.runs += 1
        out = out if out is not None else self.folder / f"out{self.runs}"
        argv = [*map(str, words), "--format", format, "--out", str(out)]
        for option, value in QUICK.items() if quick else ():
            argv += [] if option in argv else [option, value]
        printed, stderr = io.StringIO(), io.StringIO()
        with (pytest.MonkeyPatch.context() as patch, redirect_stdout(stdout or printed),
              redirect_stderr(stderr)):
            if not page:
                patch.setattr(pipelines.run, "render_report", lambda results: "<!doctype html>")
            if light:
                patch.setattr(pipelines.run, "METRICS", ())
                patch.setattr(pipelines.characterize, "_SUMMARY", ())
            if limit_s:
                signal.signal(signal.SIGALRM, _alarm)
                signal.setitimer(signal.ITIMER_REAL, limit_s)
            try:
                rc = main(argv)
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
        return Ran(rc, printed.getvalue(), stderr.getvalue(), out)

    def ok(self, *words: object, **how: Any) -> Ran:
        """A run that must succeed and leave whole results only."""
        ran = self(*words, **how)
        assert ran.rc == 0, ran.stderr[-2000:]
        assert ran.manifests()
        assert not ran.leftovers()
        return ran

    def fails(self, rc: int, *words: object, says: Iterable[str] = (), **how: Any) -> Ran:
        """A run that must fail as promised: its exit code, one clear message, nothing half-written."""
        ran = self(*words, **how)
        assert "Traceback" not in ran.stderr, ran.stderr[-2000:]
        assert ran.rc == rc, ran.stderr[-2000:]
        assert ran.stdout == ""
        assert ran.message.startswith("characterize: ")
        assert ran.message.endswith(".")
        assert sum(line.startswith("characterize: ") for line in ran.stderr.splitlines()) == 1
        for part in says:
            assert part in ran.message
        if isinstance(ran.out, Path) and ran.out.is_dir():
            assert not ran.leftovers()
        return ran

    def process(self, *words: object, script: bool = False, **how: Any) -> subprocess.Popen[bytes]:
        """The command in a process of its own, not waited for."""
        start = [str(ROOT / "pipelines" / "characterize.py")] if script else [
            "-m", "pipelines.cli", "characterize"]
        how.setdefault("stdout", subprocess.PIPE)
        how.setdefault("stderr", subprocess.PIPE)
        how.setdefault("cwd", self.folder)
        return subprocess.Popen([sys.executable, *start, *map(str, words)], **how)


def finish(process: subprocess.Popen[bytes], timeout: float = 60) -> tuple[int, str, str]:
    out, err = process.communicate(timeout=timeout)
    return process.returncode, (out or b"").decode(), (err or b"").decode()


def contents(folder: Path) -> dict[str, bytes]:
    """Every file below a folder."""
    return {path.relative_to(folder).as_posix(): path.read_bytes()
            for path in sorted(folder.rglob("*")) if path.is_file()}


def published(folder: Path) -> str:
    """All that a reader of a result can see: names and bytes of files, and what is inside of tables."""
    shown = [*contents(folder)]
    for name, data in contents(folder).items():
        shown.append(data.decode("utf-8", "backslashreplace"))
        if name.endswith(".parquet"):
            table = pq.read_table(folder / name)
            shown.append(str(table.schema.metadata))
            shown.extend(f"{column} {column.metadata}" for column in table.schema)
            shown.append(repr(table.to_pylist()))
    return "\n".join(shown)


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    return Cli(tmp_path)


@pytest.fixture(scope="session")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    """The sample data, with everything on: once for all tests."""
    return Cli(tmp_path_factory.mktemp("sample")).ok(ROOT / "sample_data" / "calls.csv.gz", *ON, page=True, quick=False)


@pytest.fixture
def tools() -> Any:
    """The helpers above that need no folder."""
    class Tools:
        pass
    for helper in (finish, contents, published, wait_for, nobody):
        setattr(Tools, helper.__name__, staticmethod(helper))
    return Tools


@pytest.fixture(autouse=True)
def _signals_kept() -> Iterator[None]:
    """The command installs a handler; tests must not inherit it."""
    before = {which: signal.getsignal(which) for which in (signal.SIGTERM, signal.SIGINT, signal.SIGALRM)}
    yield
    for which, handler in before.items():
        signal.signal(which, handler)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Any]:
    """A function that gives a tiny disk of its own: `disk("64k")`."""
    place = tmp_path / "disk"
    mounted = []

    def mount(size: str) -> Path:
        place.mkdir(exist_ok=True)
        if os.geteuid() != 0 or shutil.which("mount") is None:
            pytest.skip("a small disk can only be mounted by root")
        command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(place)]
        done = subprocess.run(command, capture_output=True, check=False)
        if done.returncode:
            pytest.skip(f"mounting a small disk is not permitted here: {done.stderr.decode()}")
        mounted.append(place)
        return place
    yield mount
    for each in mounted:
        subprocess.run(["umount", str(each)], check=True)


@contextmanager
def nobody() -> Iterator[Path]:
    """As a user without rights; gives a folder that this user can reach. Skips unless started by root."""
    if os.geteuid() != 0:
        pytest.skip("only root can become another user")
    folder = Path(tempfile.mkdtemp(prefix="kvcensus-test-"))
    folder.chmod(0o755)
    try:
        yield folder
    finally:
        os.seteuid(0)
        shutil.rmtree(folder)


def wait_for(condition: Any, what: str, seconds: float = 40) -> None:
    """Poll until the condition holds."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"waited in vain for {what}"
        time.sleep(0.01)

