"""Files of a store: found and read as files of this machine are, and no credential is ever shown."""

from __future__ import annotations

import gzip
import io
import os
import pickle
from hashlib import sha256
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from memory_store import MemoryStore, store

from telemetry.adapter import Arrivals, DefectLog, ReadOptions
from telemetry.adapters.calls import ADAPTER
from telemetry.errors import InputError
from telemetry.places import StorePath, locate, parse_place
from telemetry.registry import find_adapter
from telemetry.sources import content_hash, expand

__all__ = ["store"]

SUFFIXES = (".csv", ".jsonl")
CSV = b"timestamp,context_tokens\n2026-03-03T10:00:00Z,5\n2026-03-03T10:00:01Z,7\n"
JSONL = b'{"timestamp": "2026-03-03T10:00:00Z", "context_tokens": 5}\n{"timestamp": "2026-03-03T10:00:01Z", ' \
        b'"context_tokens": 7}\n'
SECRET = "s3://AKIAKEY:se%2Fcret@b/in?endpoint_override=hidden.example&region=mars"


def put(store: MemoryStore, *keys: str) -> None:
    store.objects.update({f"b/{key}": key.encode() for key in keys})


def names(*inputs: str) -> list[str]:
    sources = expand(inputs, SUFFIXES)
    assert [source.rank for source in sources] == list(range(len(sources)))
    return [source.name for source in sources]


TREE = ("d/b.csv", "d/a/z.csv", "d/a.csv", "d/a-b/c.jsonl", "d/B.CSV", "d/note.txt", "d/.hidden.csv",
        "d/_metadata.csv", "d/.git/x.csv", "d/_temporary/x.csv", "d/out/.kvcensus", "d/out/all/t.csv")


@pytest.mark.parametrize("key", ["d", "d/", "*", "d*", "[c-e]", "d/*", "**/*.csv", "**", "d/**", "d/a*",
                                 "d/*/", "*/a/z.csv", "**/z.csv", "d/_*", "d/.h*", "d/[!a]*"])
def test_the_same_files_as_on_a_disk(store: MemoryStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: str
                                     ) -> None:
    put(store, *TREE)
    for name in TREE:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    monkeypatch.chdir(tmp_path)
    assert names(f"s3://b/{key}") == [f"s3://b/{name}" for name in names(key)]


def test_a_file_of_any_suffix_and_a_name_with_glob_characters(store: MemoryStore) -> None:
    put(store, "a.log", "a[1].csv", "a1.csv", "x y%20z.csv")
    assert names("s3://b/a.log") == ["s3://b/a.log"]
    assert names("s3://b/a[1].csv") == ["s3://b/a[1].csv"]
    assert names("s3://b/x y%20z.csv") == ["s3://b/x y%20z.csv"]
    assert names("s3a://b/x*", "gs://b/x*", "abfs://c@b/x*") == [
        "abfs://c@b/x y%20z.csv", "gs://b/x y%20z.csv", "s3a://b/x y%20z.csv"]


def test_only_folders_that_can_match_are_listed(store: MemoryStore) -> None:
    put(store, "logs/2026-01/a.csv", "logs/2025-12/a.csv", "other/a.csv")
    assert names("s3://b/logs/2026-*/") == ["s3://b/logs/2026-01/a.csv"]
    assert [path for what, path in store.calls if what == "list"] == ["b/logs", "b/logs/2026-01"]


def test_partitions_sizes_repeats_and_hash(store: MemoryStore) -> None:
    put(store, "t/region=eu%20west/1.csv", "t/2.csv")
    store.objects["b/t/3.csv"] = b"t/2.csv"
    sources = expand(["s3://b/t"], SUFFIXES)
    assert [dict(source.partition) for source in sources] == [{}, {}, {"region": "eu west"}]
    assert [source.repeats for source in sources] == [None, "s3://b/t/2.csv", None]
    assert [source.size for source in sources] == [7, 7, 24]
    parts = [sha256(key).digest() for key in (b"t/2.csv", b"t/2.csv", b"t/region=eu%20west/1.csv")]
    assert content_hash(sources) == sha256(b"".join(parts)).hexdigest()


def test_a_file_reached_twice_counts_once_and_options_tell_stores_apart(store: MemoryStore) -> None:
    put(store, "d/a.csv")
    assert names("s3://b/d", "s3://b/d/a.csv", "s3://b/**") == ["s3://b/d/a.csv"]
    with pytest.raises(InputError, match=r"s3://b/d/a\.csv: given with two sets of credentials or options"):
        expand(["s3://b/d", "s3://b/d?endpoint_override=elsewhere"], SUFFIXES)


def table(**how: Any) -> bytes:
    sink = io.BytesIO()
    pq.write_table(pa.table({"timestamp": ["2026-03-03T10:00:00Z", "2026-03-03T10:00:01Z"],
                             "context_tokens": [5, 7]}), sink, **how)
    return sink.getvalue()


@pytest.mark.parametrize(("name", "content"), [
    ("a.csv", CSV), ("a.csv", b"\xef\xbb\xbf" + CSV), ("a.csv.gz", gzip.compress(CSV, mtime=0)),
    ("a.tsv", CSV.replace(b",", b"\t")), ("a.jsonl", JSONL), ("a.jsonl.gz", gzip.compress(JSONL, mtime=0)),
    ("a.parquet", table()), ("a.parquet", table(row_group_size=1))])
def test_every_reader_reads_a_store(store: MemoryStore, name: str, content: bytes) -> None:
    store.objects[f"b/{name}"] = content
    sources = pickle.loads(pickle.dumps(expand([f"s3://b/{name}"], ADAPTER.suffixes)))
    read = pa.Table.from_batches(ADAPTER.batches(sources, ReadOptions(), DefectLog()))
    assert read["context_tokens"].to_pylist() == [5, 7]
    assert read["t_us"].to_pylist() == [1772532000000000, 1772532001000000]


@pytest.mark.parametrize("name", ["claude-code", "weka", "copilot"])
def test_the_other_formats_open_a_store_too(store: MemoryStore, name: str) -> None:
    """What they find in it is the business of their own tests: here it is no call."""
    adapter = find_adapter(name)
    suffix = adapter.suffixes[0]
    store.objects[f"b/a{suffix}"] = b"[]"
    sources = expand(["s3://b/a*"], adapter.suffixes)
    with pytest.raises(InputError, match=f"s3://b/a{suffix}: "):
        list(adapter.batches(sources, ReadOptions(arrivals=Arrivals(1.0, 0)), DefectLog()))
    assert ("get", f"b/a{suffix}") in store.calls


@pytest.mark.parametrize(("given", "message"), [
    ("s3://b/none.csv", r"s3://b/none\.csv: no such file or folder\. Check the URI"),
    ("s3://b/d", r"s3://b/d: the folder holds no matching file.*\.csv, \.jsonl.*Check the folder"),
    ("s3://b/*.txt", r"s3://b/\*\.txt: the pattern matches no file \(1 other names\).*quote it"),
    ("s3://b/out", r"s3://b/out: the folder holds results of kvcensus"),
    ("s3://b/e.csv", r"s3://b/e\.csv: the file is empty"),
    ("foo://x/y", r"foo://\.\.\.: a URI of a kind that is not known.*Known kinds: file, abfs, .*s3"),
    ("s3:///x", r"s3://\.\.\.: the URI names no bucket"),
    ("s3://b/\udcff", r"s3://b/\\udcff: the name is not UTF-8"),
])
def test_nothing_found(store: MemoryStore, given: str, message: str) -> None:
    put(store, "d/a.txt", "x.txt", "out/.kvcensus")
    store.objects["b/e.csv"] = b""
    with pytest.raises(InputError, match=message):
        expand([given], SUFFIXES)


BROKEN = OSError("AWS Error ACCESS_DENIED: key AKIAKEY, secret se/cret or se%2Fcret at hidden.example in mars\nmore")


@pytest.mark.parametrize("kind", ["look", "list", "get"])
def test_an_error_of_the_store_is_one_line_without_secrets(store: MemoryStore, kind: str) -> None:
    store.objects["b/in/a.csv"] = store.objects["b/in/b.csv"] = CSV  # of one size: read, to be told apart
    store.broken[kind] = BROKEN
    with pytest.raises(InputError) as caught:
        expand([SECRET], SUFFIXES)
    said = str(caught.value)
    assert said.startswith(f"s3://b/in{'/a.csv' if kind == 'get' else ''}: the store refuses or does not answer (AWS "
                           "Error ACCESS_DENIED: key ..., secret ... or ... at ... in ...). Check the name")
    assert "\n" not in said


def test_an_error_while_reading_is_not_taken_for_damaged_data(store: MemoryStore) -> None:
    contents = {"a.csv": CSV, "b.csv.gz": gzip.compress(CSV), "c.jsonl": JSONL, "d.parquet": table(),
                "e.jsonl.gz": gzip.compress(JSONL)}
    store.objects |= {f"b/{name}": content for name, content in contents.items()}
    for source in expand(["s3://b"], ADAPTER.suffixes):
        store.broken.clear()
        batches = ADAPTER.batches([source], ReadOptions(), DefectLog())
        store.broken["get"] = OSError("network down")
        with pytest.raises(InputError, match=r"the store refuses or does not answer \(network down\)"):
            list(batches)

    class Dropped(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            raise OSError("connection lost")

    store.broken.clear()
    store.open_input_file = lambda path: pa.PythonFile(Dropped(store.objects[path]), mode="r")  # type: ignore[method-assign]
    for source in expand(["s3://b"], ADAPTER.suffixes):
        with pytest.raises(InputError, match=r"the store refuses or does not answer \(connection lost\)"):
            list(ADAPTER.batches([source], ReadOptions(), DefectLog()))


@pytest.mark.parametrize("uri", ["s3://AKIAKEY:pa/ss@b/x", "s3://AKIAKEY:12/ss@b/x", "s3://AKIAKEY:pa?ss@b/x",
                                 "hdfs://AKIAKEY:pa/ss@b/x"])
def test_credentials_that_are_not_escaped_are_refused_and_not_shown(uri: str) -> None:
    with pytest.raises(InputError, match="%2F") as caught:
        parse_place(uri)
    assert not any(part in str(caught.value) for part in ("AKIAKEY", "pa/", "pa?", "12", "ss@"))


@pytest.mark.parametrize("uri", ["s3://AKIAKEY:secret@b/x?nonsense=hidden", "s3://AKIAKEY:secret@b/x?hidden.csv"])
def test_options_that_arrow_refuses_are_not_shown(uri: str) -> None:
    with pytest.raises(InputError, match=r"^s3://b/x: the URI or an option behind its \? cannot be used\.") as caught:
        expand([uri], SUFFIXES)
    assert "hidden" not in str(caught.value)
    assert caught.value.__suppress_context__


def test_what_a_place_shows() -> None:
    place = parse_place(SECRET)
    assert isinstance(place, StorePath)
    assert place.shown == "s3://b/in"
    for text in (repr(place), str(place)):
        assert "cret" not in text
        assert "hidden" not in text
    azure = parse_place("abfss://logs:password@account.dfs.core.windows.net/x")
    assert isinstance(azure, StorePath)
    assert azure.shown == "abfss://logs@account.dfs.core.windows.net/x"


@pytest.mark.parametrize(("uri", "path"), [
    ("abfs://c@account.dfs.core.windows.net/p/x*", "c/p/x*"), ("abfss://account.dfs.core.windows.net/c/p/", "c/p"),
    ("gs://b/c d/%20", "b/c d/%20"), ("s3a://b/a?region=us-east-1", "b/a"), ("s3://b?region=us-east-1", "b")])
def test_paths_are_what_arrow_calls_them(uri: str, path: str) -> None:
    place = parse_place(uri)
    assert isinstance(place, StorePath)
    assert place.located()[1] == path


def test_file_uris_are_paths(tmp_path: Path) -> None:
    place = tmp_path / "a b%.csv"
    place.write_text("x")
    uri = place.as_uri()
    assert uri.startswith("file:///")
    for given in (uri, uri.replace("file://", "file:"), uri.replace("file://", "FILE://localhost")):
        assert parse_place(given) == place
        assert names(given) == [str(place)]
    assert names(f"file://{tmp_path}/*") == names(str(tmp_path), uri) == [str(place)]
    system, path = locate(uri)
    assert system.get_file_info(path).size == 1
    with pytest.raises(InputError, match=r"^file://\.\.\.: a URI of a kind"):
        parse_place("file://host/x")
    assert os.fspath(Path("a:b")) == os.fspath(parse_place("a:b"))  # type: ignore[arg-type]
