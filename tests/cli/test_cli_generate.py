"""`kvcensus generate`: what it writes, what it refuses, and what its check says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import tracesim.writer
from pipelines.cli import main
from pipelines.config import load_config
from pipelines.trace_numbers import trace_numbers

SMALL = ["generate", "--profile", "research", "--sessions", "200", "--seed", "7", "--threads", "1"]


def generate(out: Path, *words: str) -> int:
    return main([*SMALL, *words, "--out", str(out)])


def test_a_trace_and_what_belongs_to_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert generate(tmp_path / "trace") == 0
    printed = capsys.readouterr()
    assert printed.out == f"trace: {tmp_path / 'trace'}\n"
    assert sorted(path.name for path in (tmp_path / "trace").iterdir()) == [
        "calls.parquet", "classes.toml", "trace.json"]
    table = pq.read_table(tmp_path / "trace" / "calls.parquet")
    assert f"{len(table):,} calls" in printed.err
    assert len(set(table["session_id"].to_pylist())) == 200
    rules = load_config(tmp_path / "trace" / "classes.toml").rules
    assert [(rule.conservative, rule.broad) for rule in rules] == [
        ("spine", "spine"), ("mid", "spine"), ("mid", "mid"), ("scoped", "scoped"), ("fanout", "fanout")]
    about = json.loads((tmp_path / "trace" / "trace.json").read_text(encoding="utf-8"))
    assert about["command"] == "kvcensus generate --profile research --seed 7 --sessions 200 --out OUT"
    assert not list(tmp_path.glob(".*"))


def test_the_check_measures_what_characterize_measures(cli: Any, tmp_path: Path) -> None:
    assert generate(tmp_path / "trace") == 0
    classes = tmp_path / "trace" / "classes.toml"
    ran = cli.ok(tmp_path / "trace", "--config", classes, quick=False)
    calls = tmp_path / "trace" / "calls.parquet"
    numbers = trace_numbers([calls], load_config(classes).rules, "busiest-hour", tmp_path)
    published = {key: number["value"] for key, number in ran.json().items()}
    # Which budget a target needs is told between the budgets that were replayed, and these are others.
    same = {key for key in numbers.keys() & published.keys() if ".size." not in key and "order_differs" not in key}
    assert {key: numbers[key] for key in same} == {key: published[key] for key in same}
    assert {"reuse.aggregate", "excursion.reuse_3plus", "replay.busiest-hour.session.mrr.b10"} <= same
    assert numbers["idle_cap.1h.ceiling_ratio"] == pytest.approx(1 / published["idle_cap.1h.reduction"])


def test_threads_change_no_byte(tmp_path: Path) -> None:
    assert generate(tmp_path / "a") == generate(tmp_path / "b", "--threads", "3") == 0
    for name in ("calls.parquet", "classes.toml", "trace.json"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


def test_knobs_reach_the_calls(tmp_path: Path) -> None:
    assert generate(tmp_path / "t", "--classes", "1", "--stickiness", "1", "--cache-effectiveness", "0",
                    "--days", "1") == 0
    table = pq.read_table(tmp_path / "t" / "calls.parquet")
    assert set(table["model"].to_pylist()) == {"deep-research-1"}
    assert set(table["cached_tokens"].to_pylist()) == {0}
    seats: dict[str, set[Any]] = {}
    for row in table.select(["session_id", "region", "deployment"]).to_pylist():
        seats.setdefault(row["session_id"], set()).add((row["region"], row["deployment"]))
    assert {len(each) for each in seats.values()} == {1}
    times = table["timestamp"].to_pylist()
    assert (times[-1] - times[0]).days == 0


def test_an_empty_folder_is_used(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    assert generate(tmp_path / "out") == 0


REFUSED = {
    "unknown profile": (["--profile", "reserch"], "Known profiles: "),
    "sessions and rate": (["--rate", "1"], "--sessions and --rate exclude each other"),
    "no sessions": (["--sessions", "0"], "no whole number from 1"),
    "negative rate": (["--rate", "-1"], "no number from 1e-06"),
    "rate that is none": (["--rate", "nan"], "no number"),
    "too effective": (["--cache-effectiveness", "1.5"], "no number from 0 to 1"),
    "too many classes": (["--classes", "5"], "no whole number from 1 to 4"),
    "seed too large": (["--seed", str(2**64)], "no whole number from 0"),
    "unknown option": (["--sesions", "5"], "unrecognized arguments: --sesions"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_used_is_a_usage_error(case: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words, message = REFUSED[case]
    assert generate(tmp_path / "out", *words) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_an_output_in_a_store_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str],
                                         monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert main([*SMALL, "--out", "s3://bucket/trace"]) == 2
    assert "--out s3://bucket/trace: a trace is written to a folder of this machine" in capsys.readouterr().err
    assert not [*tmp_path.iterdir()]


def test_an_output_that_is_there_is_not_touched(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine").write_text("mine")
    assert generate(tmp_path / "out") == 2
    assert "is no empty folder" in capsys.readouterr().err
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["mine"]


def test_a_check_needs_published_numbers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert generate(tmp_path / "out", "--profile", "mine.toml", "--check") == 2
    error = capsys.readouterr().err
    assert "--check without a call log needs a profile whose numbers are published: assist, chat" in error


def test_a_disk_that_fills_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                              capsys: pytest.CaptureFixture[str]) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(tracesim.writer.TraceWriter, "_write", full)
    assert generate(tmp_path / "out") == 3
    assert "No space left on device. Free space or choose another folder." in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_a_check_that_does_not_hold_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    # A cache that finds nothing cannot have the published reuse.
    assert generate(tmp_path / "out", "--cache-effectiveness", "0", "--check") == 1
    printed = capsys.readouterr()
    assert "the check does not hold: " in printed.err
    assert "reuse.aggregate" in printed.err
    [line] = [line for line in printed.out.splitlines() if "`reuse.aggregate`" in line]
    assert [cell.strip() for cell in line.strip("|").split("|")] == [
        "1", "`reuse.aggregate`", "0.803", "0", "-80.30 points", "2 points", "FAILS", "Table 2"]
