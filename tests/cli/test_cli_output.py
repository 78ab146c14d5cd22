"""The output folder: ours and whole, or untouched."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest


def test_out_that_is_a_file(cli: Any) -> None:
    place = cli.folder / "report"
    place.write_text("mine")
    cli.fails(2, cli.file(), out=place, says=[str(place), "is a file", "new, empty, or an earlier --out"])
    assert place.read_text() == "mine"


def test_out_with_files_of_others_is_not_touched(cli: Any, tools: Any) -> None:
    place = cli.folder / "report"
    place.mkdir()
    (place / "thesis.txt").write_text("mine")
    (place / "all").mkdir()
    (place / "all" / "numbers.json").write_text("{}")
    before, mode = tools.contents(place), place.stat().st_mtime_ns
    cli.fails(2, cli.file(), out=place, says=[str(place), "did not write"])
    assert tools.contents(place) == before
    assert place.stat().st_mtime_ns == mode


def test_input_folder_as_out_is_refused(cli: Any, tools: Any) -> None:
    data = cli.file()
    cli.fails(2, data.parent, out=data.parent, says=["did not write"])
    assert list(tools.contents(data.parent)) == ["calls.csv"]


def test_out_may_be_new_empty_deep_or_a_link(cli: Any) -> None:
    empty, deep, link = cli.folder / "empty", cli.folder / "a" / "b c" / "d", cli.folder / "link"
    empty.mkdir()
    (cli.folder / "target").mkdir()
    link.symlink_to(cli.folder / "target")
    for place in (empty, deep, link):
        cli.ok(cli.file(), out=place, light=True)


def test_out_below_a_file_cannot_be_written(cli: Any) -> None:
    data = cli.file()
    cli.fails(3, data, out=data / "sub", says=["cannot write", str(data)])


def test_rerun_replaces_and_clears_what_a_killed_run_left(cli: Any) -> None:
    first = cli.ok(cli.file(), light=True)
    for name in (".partial-all", ".old-all", ".partial-2026-03-03"):
        (first.out / name / "tables").mkdir(parents=True)
        (first.out / name / "manifest.json").write_text("{}")
    (first.out / "all" / "stale.txt").write_text("x")
    second = cli.ok(cli.file("timestamp,context_tokens\n2026-03-03T00:00:00Z,1\n"), out=first.out, light=True)
    assert second.json("audit")["rows_read"] == 1
    assert not (first.out / "all" / "stale.txt").exists()


@pytest.mark.parametrize("words", [["--window", "2030-01-01/2030-01-02"], ["--strict"]])
def test_an_earlier_result_survives_a_failing_run(cli: Any, tools: Any, words: list[str]) -> None:
    good = cli.ok(cli.file(), light=True)
    before = tools.contents(good.out)
    cli.fails(3, cli.csv("bad"), *words, out=good.out, light=True)
    cli.fails(3, cli.file("nothing\n", "nothing.csv"), out=good.out)
    assert tools.contents(good.out) == before


@pytest.mark.parametrize("size", ["4k", "48k", "100k", "160k"])
def test_out_on_a_full_disk(cli: Any, disk: Any, size: str) -> None:
    place = disk(size)
    ran = cli.fails(3, cli.file(), "--split", "7d", out=place / "out", page=size == "160k",
                    says=["cannot write", str(place / "out"), "No space left on device"])
    assert not ran.manifests()
    assert [path.name for path in (place / "out").iterdir()] in ([".kvcensus"], [])


def test_an_earlier_result_survives_a_full_disk(cli: Any, disk: Any, tools: Any) -> None:
    place = disk("500k")
    good = cli.ok(cli.file(), out=place / "out", light=True)
    before = tools.contents(good.out)
    free = os.statvfs(place)
    (place / "ballast").write_bytes(bytes(free.f_bavail * free.f_frsize - 8192))
    cli.fails(3, cli.file(), out=good.out, says=["No space left on device"])
    assert tools.contents(good.out) == before


def long_log(cli: Any) -> Path:
    rows = [f"s{i % 50},2026-03-03T10:{i // 60 % 60:02d}:{i % 60:02d}Z,{i}" for i in range(1500)]
    return cli.file("\n".join(["session_id,timestamp,context_tokens", *rows]) + "\n", "long.csv")


def test_work_on_a_full_disk(cli: Any, disk: Any) -> None:
    place = disk("16k")
    ran = cli.fails(3, long_log(cli), "--work", place / "work", light=True, says=["No space left on device"])
    assert not ran.manifests()


@pytest.mark.parametrize("own", [True, False])
def test_a_full_work_folder_is_named(cli: Any, disk: Any, monkeypatch: pytest.MonkeyPatch, own: bool) -> None:
    place = disk("16k")
    monkeypatch.setattr("tempfile.tempdir", str(place))
    cli.fails(3, long_log(cli), *(["--work", place / "work"] if own else []), light=True, says=[str(place)])


def test_out_and_work_without_rights(cli: Any, tools: Any) -> None:
    data = cli.file()
    cli.ok(data, light=True)  # loads what is loaded late
    with tools.nobody() as folder:
        (folder / "calls.csv").write_text(cli.base)
        os.seteuid(65534)
        cli.fails(3, folder / "calls.csv", "--work", folder / "work", out=Path("/proc/nobody/out"),
                  says=["cannot write", str(folder / "work"), "Permission denied"])


@pytest.mark.parametrize("below", ["out", "."])
def test_out_in_a_folder_that_may_not_be_entered(cli: Any, tools: Any, below: str) -> None:
    cli.fails(2, format="none")
    with tools.nobody() as folder:
        (folder / "closed").mkdir(mode=0o700)
        (folder / "calls.csv").write_text(cli.base)
        os.seteuid(65534)
        ran = cli(folder / "calls.csv", out=folder / "closed" / below)
        assert ran.rc in (2, 3)


def test_out_name_that_is_too_long(cli: Any) -> None:
    ran = cli(cli.file(), out=cli.folder / ("o" * 300))
    assert ran.rc in (2, 3)


def test_what_is_left_of_a_killed_index_is_cleared(cli: Any) -> None:
    good = cli.ok(cli.file(), "--split", "7d", light=True)
    (good.out / ".partial-index.html").write_text("<!doctype")
    cli.ok(cli.file(), "--split", "7d", out=good.out, light=True)


def test_index_on_a_full_disk_leaves_nothing(cli: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = Path.write_text

    def full(self: Path, text: str, *args: Any, **how: Any) -> int:
        if "index.html" in self.name:
            whole(self, text[:100], *args, **how)
            raise OSError(28, "No space left on device")
        return whole(self, text, *args, **how)
    monkeypatch.setattr(Path, "write_text", full)
    cli.fails(3, cli.file(), "--split", "7d", light=True)


def test_an_earlier_result_survives_a_rename_that_fails(cli: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    good = cli.ok(cli.file(), light=True)
    rename = Path.rename

    def broken(self: Path, target: Any) -> Path:
        if self.name == ".partial-all":
            raise OSError(5, "Input/output error")
        return rename(self, target)
    monkeypatch.setattr(Path, "rename", broken)
    cli(cli.file(), out=good.out, light=True)
    assert good.manifests() == ["all"]
    assert (good.out / "all").is_dir()


def test_out_below_the_input_folder_can_be_run_twice_or_is_refused(cli: Any) -> None:
    data = cli.file()
    first = cli(data.parent, out=data.parent / "report", light=True)
    if first.rc == 0:
        cli.ok(data.parent, out=data.parent / "report", light=True)
    else:
        assert first.rc == 2


def test_results_of_two_runs_are_not_mixed(cli: Any) -> None:
    split = cli.ok(cli.file(), "--split", "1d", light=True)
    later = cli.ok(cli.file(), out=split.out, light=True)
    assert later.manifests() == ["all"]
    assert not (later.out / "index.html").exists()
