"""Input and output in a store: the same results as on a disk, and none where an upload did not come to its end."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from memory_store import MemoryStore, store

from pipelines.workdir import work_tables
from telemetry.places import StorePath, locate, parse_place

__all__ = ["store"]


def test_input_of_a_store_gives_the_bytes_that_a_file_gives(cli: Any, tools: Any, store: MemoryStore) -> None:
    path = cli.file()
    store.objects["lake/in/calls.csv"] = path.read_bytes()
    secret = "s3://AKIAKEY:passw0rd@lake/in/*.csv?endpoint_override=hidden.example"
    here, away = cli.ok(path), cli.ok(secret)
    expected, found = (tools.contents(ran.out) for ran in (here, away))
    assert [name for name in expected if found[name] != expected[name]] == ["all/manifest.json"]
    assert found.keys() == expected.keys()
    assert away.json("manifest")["input"] == here.json("manifest")["input"]
    seen = tools.published(away.out) + away.stdout + away.stderr
    assert not any(part in seen for part in ("AKIAKEY", "passw0rd", "hidden.example"))


def test_input_as_a_file_uri(cli: Any) -> None:
    path = cli.file(name="a b%20.csv")
    assert cli.ok(path.as_uri(), light=True).json("audit")["rows_read"] == len(cli.rows)
    cli.fails(3, (cli.folder / "none.csv").as_uri(), says=["none.csv: no such file"])


def test_bad_rows_of_a_store_are_named_without_credentials(cli: Any, store: MemoryStore) -> None:
    store.objects["lake/calls.csv"] = b"timestamp,context_tokens\n2026-03-03T00:00:00Z,1\nnever,1\n"
    ran = cli("s3://AKIAKEY:passw0rd@lake/calls.csv", "--strict", "--verbose", light=True)
    assert ran.rc == 3
    assert "s3://lake/calls.csv, row 2 after the header, column timestamp: bad_timestamp" in ran.message
    assert "passw0rd" not in ran.stderr


OUT = "s3://AKIAKEY:passw0rd@lake/reports/july?endpoint_override=hidden.example"
PLACE = "lake/reports/july"


def written(store: MemoryStore) -> dict[str, bytes]:
    return {key.removeprefix(f"{PLACE}/"): data for key, data in store.objects.items() if key.startswith(f"{PLACE}/")}


def results(store: MemoryStore) -> list[str]:
    return sorted(name for name in written(store) if name.endswith("manifest.json"))


def test_out_holds_the_bytes_of_a_folder(cli: Any, tools: Any, store: MemoryStore) -> None:
    path = cli.file()
    here, away = cli.ok(path), cli(path, out=OUT)
    assert away.rc == 0, away.stderr
    expected = tools.contents(here.out)
    assert written(store).keys() == expected.keys()
    assert sorted(name for name, data in written(store).items() if data != expected[name]) == [
        ".kvcensus", "all/manifest.json"]
    assert away.stdout.endswith("report: s3://lake/reports/july/all/report.html\n")
    assert here.stdout.splitlines()[:-1] == away.stdout.splitlines()[:-1]
    seen = away.stdout + away.stderr + "".join(data.decode("utf-8", "replace") for data in written(store).values())
    assert not any(part in seen for part in ("AKIAKEY", "passw0rd", "hidden.example"))


def test_the_manifests_of_a_split_come_last(cli: Any, store: MemoryStore) -> None:
    ran = cli(cli.file(), "--split", "1d", out=OUT, light=True)
    assert ran.rc == 0, ran.stderr
    puts = [path.removeprefix(f"{PLACE}/") for what, path in store.calls if what == "put"]
    assert puts[-3:] == ["2026-03-03/manifest.json", "2026-03-05/manifest.json", ".kvcensus"]
    assert sum(name.endswith("manifest.json") for name in puts) == 2
    assert ran.stdout.endswith("report: s3://lake/reports/july/index.html\n")
    assert "index.html" in written(store)


def test_a_run_replaces_what_is_ours_manifests_first(cli: Any, store: MemoryStore) -> None:
    cli(cli.file(), "--split", "1d", out=OUT, light=True)
    store.objects[f"{PLACE}/mine/thesis.txt"] = store.objects[f"{PLACE}/2026-03-03/stale.txt"] = b"x"
    store.calls.clear()
    ran = cli(cli.file(), out=OUT, light=True)
    assert ran.rc == 0, ran.stderr
    assert results(store) == ["all/manifest.json"]
    assert {name.partition("/")[0] for name in written(store)} == {".kvcensus", "all", "mine"}
    assert [path.removeprefix(f"{PLACE}/") for what, path in store.calls if what == "delete"] == [
        "2026-03-03/manifest.json", "2026-03-05/manifest.json", "index.html", "2026-03-03", "2026-03-05"]


@pytest.mark.parametrize("killed_at", ["all/audit.json", "all/tables/models.parquet", "all/manifest.json"])
def test_a_stopped_upload_leaves_no_result(cli: Any, store: MemoryStore, killed_at: str) -> None:
    cli(cli.file(), "--split", "1d", out=OUT, light=True)
    store.dies_at = killed_at
    ran = cli(cli.file(), out=OUT)
    assert ran.rc == 130
    assert written(store).keys() == {".kvcensus"}


def test_a_killed_upload_leaves_no_result_and_is_cleared(cli: Any, store: MemoryStore) -> None:
    """Nothing more can be done once the process is killed: here, every later call fails."""
    cli(cli.file(), "--split", "1d", out=OUT, light=True)
    put = store.open_output_stream

    def broken(path: str, metadata: Any) -> Any:
        if path.endswith("numbers.json"):
            store.broken = dict.fromkeys(("look", "list", "put", "delete"), OSError("killed"))
        return put(path, metadata)

    store.open_output_stream = broken  # type: ignore[method-assign]
    assert cli(cli.file(), out=OUT, light=True).rc == 3
    left = written(store)
    assert "all/audit.json" in left
    assert results(store) == []
    store.broken, store.open_output_stream = {}, put  # type: ignore[method-assign]
    assert cli(cli.file(), "--split", "1d", out=OUT, light=True).rc == 0
    assert results(store) == ["2026-03-03/manifest.json", "2026-03-05/manifest.json"]
    assert not any(name.startswith("all/") for name in written(store))


def test_an_earlier_result_survives_a_failing_run(cli: Any, store: MemoryStore) -> None:
    cli(cli.file(), out=OUT, light=True)
    before = written(store)
    cli.fails(3, cli.file(), "--window", "2030-01-01/2030-01-02", out=OUT, light=True)
    assert written(store) == before


def test_out_with_files_of_others_is_refused(cli: Any, store: MemoryStore) -> None:
    store.objects[f"{PLACE}/thesis.txt"] = b"mine"
    cli.fails(2, cli.file(), out=OUT, says=["--out s3://lake/reports/july holds files that kvcensus did not write"])
    cli.fails(2, cli.file(), out="s3://lake/reports/july/thesis.txt", says=["thesis.txt is a file"])
    cli.fails(2, cli.file(), out="s3://lake", says=["--out s3://lake/ is a whole bucket"])
    cli.fails(2, cli.file(), out="foo://lake/x", says=["--out foo://...: a URI of a kind that is not known"])
    assert written(store) == {"thesis.txt": b"mine"}


def test_a_store_that_cannot_be_written_to_is_met_before_the_work(cli: Any, store: MemoryStore) -> None:
    store.broken["put"] = OSError("AWS Error ACCESS_DENIED for AKIAKEY at hidden.example")
    ran = cli.fails(3, cli.file(), out=OUT, light=True, says=[
        "cannot write to s3://lake/reports/july: AWS Error ACCESS_DENIED for ... at .... Check the permissions"])
    assert "metrics ..." not in ran.stderr
    store.broken.clear()
    assert "metrics ..." in cli(cli.file(), out=OUT, light=True).stderr


def test_out_as_a_file_uri(cli: Any) -> None:
    place = cli.folder / "my report%"
    ran = cli(cli.file(), out=place.as_uri(), light=True)
    assert ran.rc == 0, ran.stderr
    assert (place / "all" / "manifest.json").is_file()
    assert ran.stdout.endswith(f"report: {place / 'all' / 'report.html'}\n")


def test_work_in_a_store_is_for_spark(cli: Any, store: MemoryStore) -> None:
    cli.fails(2, cli.file(), "--work", "s3://lake/work", says=["--work s3://lake/work: the engine duckdb"])
    for uri in ("s3://AKIAKEY:passw0rd@lake/work", "s3a://lake/work?region=hidden"):
        ran = cli.fails(2, cli.file(), "--engine", "spark", "--work", uri, says=["credentials or options", "lake/work"])
        assert not any(part in ran.stderr for part in ("AKIAKEY", "passw0rd", "hidden"))
    cli.fails(2, cli.file(), "--engine", "spark", "--work", "s3a://lake", says=["--work s3a://lake/ is a whole bucket"])
    cli.fails(2, cli.file(), "--engine", "spark", "--work", "s3a://lake/reports/july/x", out=OUT, says=["identifiers"])


def test_tables_in_a_store_have_a_folder_of_their_own_that_goes(store: MemoryStore) -> None:
    store.objects["lake/scratch/mine"] = b"x"
    place = parse_place("s3a://lake/scratch/")
    assert isinstance(place, StorePath)
    with work_tables(place) as one, work_tables(place) as two:
        assert one != two
        assert one.startswith("s3a://lake/scratch/kvcensus-")
        system, path = locate(one)
        with system.open_output_stream(f"{path}/tables/raw-0/part") as stream:
            stream.write(b"x")
        assert len(store.objects) == 2
    assert [*store.objects] == ["lake/scratch/mine"]


def test_parts_of_spark_get_their_names_without_a_rename(store: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    spark = pytest.importorskip("metrics.engines.spark")

    def refused(*paths: str) -> None:
        raise NotImplementedError("this store cannot rename")

    def copied(before: str, after: str) -> None:
        store.objects[after] = store.objects[before]

    monkeypatch.setattr(store, "move", refused)
    monkeypatch.setattr(store, "copy_file", copied)
    schema = pa.schema([("a", pa.int64())])
    with spark._writer("s3a://lake/scratch/raw-0", 3, schema) as write:
        write(pa.record_batch([[1, 2]], schema=schema))
    assert [*store.objects] == ["lake/scratch/raw-0/part-000003.parquet"]
    assert pq.read_table(pa.BufferReader(store.objects["lake/scratch/raw-0/part-000003.parquet"])).to_pydict() == {
        "a": [1, 2]}
