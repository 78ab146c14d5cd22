"""The results store: the same bytes on every run, and no result before its manifest."""

from __future__ import annotations

import json
import random
import shutil
from pathlib import Path

import pyarrow as pa
import pytest
from metrics_rows import Census, Row, call

from metrics import depth
from metrics.catalogue import METRICS
from metrics.core.metric import Column, Finding, Findings, Number, TableSpec, measure
from metrics.core.store import Results, StoreWriter
from metrics.engines.duckdb import DuckEngine
from telemetry.errors import InputError


def fleet(seed: int, calls: int) -> list[Row]:
    rng = random.Random(seed)
    rows = []
    for _ in range(calls):
        context = rng.randrange(5000)
        rows.append(call(
            f"s{rng.randrange(calls // 8)}", rng.randrange(200_000), context, cached=rng.randrange(context + 1),
            output=rng.randrange(99), model=rng.choice(["opus", "mini", "reason", None]), turn=str(rng.randrange(5)),
            region=rng.choice("rs"), deployment=rng.choice("123"), seconds=rng.random() * 100,
            keys=[rng.randrange(9)], block=16))
    return rows


def write(folder: Path, rows: list[Row], scratch: Path, threads: int) -> StoreWriter:
    scratch.mkdir()
    engine = DuckEngine(scratch, threads=threads)
    trace = Census(engine).trace(rows)
    store = StoreWriter(folder, "kvcensus characterize INPUT")
    for metric in METRICS:
        store.add(metric.numbers, measure(metric, trace), metric.population)
    store.write_numbers()
    store.write_audit({"rows_read": len(rows)})
    engine.close()
    return store


def test_two_runs_write_the_same_bytes(tmp_path: Path) -> None:
    rows = fleet(1, 4000)
    one = write(tmp_path / "one", rows, tmp_path / "s1", threads=1).folder
    two = write(tmp_path / "two", rows, tmp_path / "s2", threads=4).folder
    files = sorted(path.relative_to(one) for path in one.rglob("*") if path.is_file())
    assert len(files) == 2 + sum(len(metric.tables) for metric in METRICS)
    for file in files:
        assert (one / file).read_bytes() == (two / file).read_bytes(), file


def test_a_folder_without_a_manifest_is_no_result(tmp_path: Path) -> None:
    store = write(tmp_path / "run", [call("a", 0)], tmp_path / "s", threads=1)
    with pytest.raises(InputError, match=r"holds no result: it has no manifest\.json"):
        Results.open(store.folder)
    store.write_manifest({"name": "x"})
    assert Results.open(store.folder).manifest == {"format_version": 1, "name": "x"}


def test_numbers_carry_their_meaning(tmp_path: Path) -> None:
    folder = write(tmp_path / "run", [call("a", 0), call("a", 5)], tmp_path / "s", threads=1).folder
    results = Results.preview(folder, {})
    number = results.numbers["depth.max"]
    assert (number.value, number.n, number.unit, number.why) == (2, 1, "calls", None)
    assert (number.population, number.method) == ("sessions: calls with a session id", "calls of the deepest session")
    assert results.numbers["gap.max_s"].value == 5
    assert set(results.numbers) == {number.key for metric in METRICS for number in metric.numbers}
    text = (folder / "numbers.json").read_text(encoding="utf-8")
    assert list(json.loads(text)) == sorted(results.numbers)
    for key, number in results.numbers.items():
        assert (number.value is None) == (number.why is not None), key


def test_tables_document_their_columns(tmp_path: Path) -> None:
    folder = write(tmp_path / "run", [call("a", 0)], tmp_path / "s", threads=1).folder
    results = Results.preview(folder, {})
    table = results.table("depth_ccdf")
    assert table.to_pylist() == [{"calls": 1, "sessions": 1, "ccdf": 0.0}]
    assert table.schema.field("ccdf").metadata[b"doc"] == b"P(depth > x): share of sessions with more than x calls"
    assert not results.has_table("reuse_histogram")
    with pytest.raises(KeyError, match="reuse_histogram"):
        results.table("reuse_histogram")


def test_nothing_is_published_twice_or_without_being_declared(tmp_path: Path) -> None:
    findings = Findings({number.key: Finding(1, 1) for number in depth.METRIC.numbers})
    writer = StoreWriter(tmp_path / "run", "")
    writer.add(depth.METRIC.numbers, findings, "p")
    with pytest.raises(RuntimeError, match=r"depth\.p50 is published twice"):
        writer.add(depth.METRIC.numbers, findings, "p")
    with pytest.raises(KeyError):
        writer.add(METRICS[0].numbers, Findings(), "p")
    with pytest.raises(RuntimeError, match=r"depth\.p50 is set twice"):
        findings.set("depth.p50", 1, 1)
    twice = Findings(tables={"t": pa.table({"a": [1]})})
    writer.add((), twice, "p")
    with pytest.raises(RuntimeError, match="table t is published twice"):
        writer.add((), twice, "p")


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_what_json_cannot_hold_is_refused(tmp_path: Path, value: float) -> None:
    writer = StoreWriter(tmp_path / "run", "")
    writer.add(depth.METRIC.numbers, Findings({n.key: Finding(value, 1) for n in depth.METRIC.numbers}), "p")
    with pytest.raises(ValueError, match="not JSON compliant"):
        writer.write_numbers()


def test_a_broken_store_says_so(tmp_path: Path) -> None:
    folder = write(tmp_path / "run", [call("a", 0)], tmp_path / "s", threads=1).folder
    (folder / "manifest.json").write_text("{", encoding="utf-8")
    with pytest.raises(InputError, match=r"manifest\.json cannot be read"):
        Results.open(folder)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A result with one number and one table."""
    found = Findings()
    found.set("a.b", 1, 1)
    found.table(TableSpec("few", "one", (Column("x", pa.int64(), "a number"),)), [{"x": 1}])
    store = StoreWriter(tmp_path_factory.mktemp("whole") / "all", "kvcensus characterize INPUT")
    store.add([Number("a.b", "", "a number")], found, "all")
    store.write_numbers()
    store.write_audit({})
    store.write_manifest({"name": "whole"})
    return store.folder


def test_a_store_of_another_version_is_refused(whole: Path, tmp_path: Path) -> None:
    assert Results.open(whole).manifest == {"format_version": 1, "name": "whole"}
    shutil.copytree(whole, tmp_path / "other")
    for manifest, shown in (({"format_version": 99}, "99"), ({}, "None")):
        (tmp_path / "other" / "manifest.json").write_text(json.dumps(manifest))
        with pytest.raises(InputError, match=f"another version of kvcensus .format {shown}, not 1.. Run characterize"):
            Results.open(tmp_path / "other")


@pytest.mark.parametrize(("file", "content", "says"), [
    ("numbers.json", b"[]", r"numbers\.json cannot be read: it holds no JSON object"),
    ("tables/few.parquet", b"", r"few\.parquet cannot be read"),
    ("tables/few.parquet", b"PAR1 and no more", r"few\.parquet cannot be read"),
])
def test_a_damaged_file_of_a_store_is_named(whole: Path, tmp_path: Path, file: str, content: bytes, says: str) -> None:
    shutil.copytree(whole, tmp_path / "cut")
    (tmp_path / "cut" / file).write_bytes(content)
    with pytest.raises(InputError, match=says):
        Results.open(tmp_path / "cut").table("few")
