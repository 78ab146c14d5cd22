"""Runs beside and after each other: locks, moves that died half-way, folders of killed runs."""

from __future__ import annotations

import io
import os
import stat
from pathlib import Path
from typing import Any

import pytest

from pipelines.locks import lock
from pipelines.moves import Moves
from pipelines.outdir import OutputFolder
from pipelines.progress import Progress
from pipelines.windows import MOST_WINDOWS
from pipelines.workdir import work_folder
from telemetry.errors import UsageError


class _DiedError(BaseException):
    """As a kill: nothing clears up."""


class Dying:
    """Renames of which one kills the run."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.left, rename = 0, Path.rename

        def counted(path: Path, target: Any) -> Path:
            self.left -= 1
            if self.left == 0:
                raise _DiedError
            return rename(path, target)
        monkeypatch.setattr(Path, "rename", counted)

    def runs(self, at: int, job: Any) -> bool:
        """Run and die at a rename; whether it came to its end."""
        self.left = at
        try:
            job()
        except _DiedError:
            return False
        finally:
            self.left = 0
        return True


@pytest.mark.parametrize("at", range(1, 10))
@pytest.mark.parametrize("again", range(1, 8))
def test_a_run_that_dies_while_it_moves_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tools: Any,
                                                        at: int, again: int) -> None:
    for name in ("a", "b", "stale"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "manifest.json").write_text(f"old {name}")
    before, moves, dying = tools.contents(tmp_path), Moves(tmp_path), Dying(monkeypatch)
    for name in ("a", "b", "new"):
        moves.partial(name).mkdir()
        (moves.partial(name) / "manifest.json").write_text(f"new {name}")
    done = dying.runs(at, lambda: moves.make(["a", "b", "new"], ["stale"]))
    assert done == (at == 9)
    dying.runs(again, Moves(tmp_path).clear)
    Moves(tmp_path).clear()
    after = {f"{name}/manifest.json": f"new {name}".encode() for name in ("a", "b", "new")} if done else before
    assert tools.contents(tmp_path) == after
    assert len(list(tmp_path.iterdir())) == 3


def test_old_without_successor_comes_back(cli: Any, tools: Any) -> None:
    good = cli.ok(cli.file(), light=True)
    before = tools.contents(good.out)
    (good.out / "all").rename(good.out / ".old-all")
    cli.fails(3, cli.file(), "--window", "2030-01-01/2030-01-02", out=good.out, light=True)
    assert tools.contents(good.out) == before


def test_a_failing_split_changes_nothing(cli: Any, tools: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    good = cli.ok(cli.file(), "--split", "1d", light=True)
    before = tools.contents(good.out)
    import pipelines.run
    one, done = pipelines.run._one, []

    def failing(*args: Any) -> None:
        if done:
            raise OSError(28, "No space left on device")
        done.append(one(*args))
    monkeypatch.setattr(pipelines.run, "_one", failing)
    cli.fails(3, cli.file(), "--split", "1d", out=good.out, light=True, says=[str(good.out)])
    assert tools.contents(good.out) == before


def test_two_runs_into_one_out(cli: Any, tools: Any) -> None:
    good = cli.ok(cli.file(), light=True)
    before = tools.contents(good.out)
    with OutputFolder(good.out).claimed():
        cli.fails(2, cli.file(), out=good.out, light=True, says=["another run is writing", str(good.out)])
        assert tools.contents(good.out) == before
    cli.ok(cli.file(), out=good.out, light=True)


def test_two_runs_into_one_new_out(tmp_path: Path) -> None:
    first, second = OutputFolder(tmp_path / "o"), OutputFolder(tmp_path / "o")
    with first.claimed(), first.replaced() as results:
        results.window("all")
        with pytest.raises(UsageError, match="another run"), second.claimed(), second.replaced():
            pass
        assert results.partial("all").is_dir()


def test_scratch_of_live_runs_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    other = tmp_path / "kvcensus-notes"
    other.mkdir()
    dead = tmp_path / "kvcensus-dead"
    dead.mkdir()
    (dead / ".kvcensus-scratch").touch()
    with work_folder(None, tmp_path / "o") as one, work_folder(None, tmp_path / "o") as two:
        assert one.is_dir()
        assert two.is_dir()
        assert not dead.exists()
    assert [path.name for path in tmp_path.iterdir()] == ["kvcensus-notes"]


def test_work_of_others_gets_a_private_folder(cli: Any) -> None:
    mine = cli.folder / "mine"
    mine.mkdir(mode=0o755)
    ran = cli.ok(cli.file(), "--work", mine, light=True)
    below = mine / "kvcensus-work"
    assert str(below) in ran.stderr
    assert stat.S_IMODE(below.stat().st_mode) == 0o700
    cli.ok(cli.file(), "--work", mine, light=True)
    below.chmod(0o755)
    cli.fails(2, cli.file(), "--work", mine, light=True, says=[str(below)])
    cli.fails(2, cli.file(), "--work", cli.file(), says=["is no folder"])


def test_two_runs_with_one_work(cli: Any) -> None:
    with work_folder(cli.folder / "w", cli.folder / "o"):
        cli.fails(2, cli.file(), "--work", cli.folder / "w", says=["another run uses --work"])
    cli.ok(cli.file(), "--work", cli.folder / "w", light=True)


def test_split_has_a_bound(cli: Any) -> None:
    cli.fails(2, cli.file(), "--split", "1s", says=["169,206 windows", f"{MOST_WINDOWS:,}"])


def test_split_asks_only_where_calls_are(cli: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    import pipelines.run
    asked = []

    class Asked(pipelines.run.Trace):
        def __init__(self, *args: Any) -> None:
            super().__init__(*args)
            asked.append(self.window.name)

    monkeypatch.setattr(pipelines.run, "Trace", Asked)
    ran = cli.ok(cli.file(), "--split", "1h", light=True)
    assert len(ran.manifests()) == 8
    assert asked == ran.manifests()
    assert "and 30 more" in ran.stderr


def test_the_bar_ends_full() -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True
    stream = Terminal()
    progress = Progress(stream=stream)
    with progress.stage("reading"):
        pass
    progress.expect(3)
    for _ in range(2):
        with progress.stage("metrics"):
            pass
    assert "[####################] metrics" in stream.getvalue()


def test_names_stand_on_the_page_when_asked_for(cli: Any) -> None:
    assert "okapi-large" in cli.ok(cli.file(), "--names", page=True).page()
    assert "okapi-large" not in cli.ok(cli.file(), page=True).page()


def test_lock_is_released(tmp_path: Path) -> None:
    one, two = (os.open(tmp_path / "f", os.O_RDWR | os.O_CREAT) for _ in range(2))
    assert lock(one)
    assert not lock(two)
    os.close(one)
    assert lock(two)
    os.close(two)
