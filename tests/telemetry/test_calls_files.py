"""Call logs in every container: the same call from each, every record counted, damage named."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest
from calls_reading import HEAD, T0, Read, rows

from telemetry.adapter import TimestampRule
from telemetry.errors import InputError


@pytest.fixture
def read(tmp_path: Path) -> Read:
    return Read(tmp_path)


FULL = {
    "session_id": "s",
    "timestamp": "2026-01-01T00:00:01.5Z",
    "context_tokens": 100,
    "cached_tokens": 40,
    "output_tokens": 7,
    "model": "m",
    "turn_id": "3",
    "user_initiated": True,
    "region": "eu",
    "deployment": "d",
    "duration_ms": 12.3456,
    "parent_session_id": "p",
    "call_id": "c",
    "status": "error",
    "hash_ids": [1, 2],
    "block_size": 16,
}
CANONICAL = {
    "source_rank": 0,
    "source_row": 1,
    "session_id": "s",
    "t_us": T0 + 1_500_000,
    "context_tokens": 100,
    "cached_tokens": 40,
    "output_tokens": 7,
    "model": "m",
    "turn_id": "3",
    "user_initiated": True,
    "region": "eu",
    "deployment": "d",
    "duration_us": 12_346,
    "parent_session_id": "p",
    "call_id": "c",
    "failed": True,
    "block_size": 16,
    "defect": None,
}


def full_csv() -> str:
    values = [f'"{value}"' for value in ({**FULL, "hash_ids": "[1,2]"}).values()]
    return ",".join(FULL) + "\n" + ",".join(values) + "\n"


def full_parquet() -> pa.Table:
    stamp = datetime(2026, 1, 1, 0, 0, 1, 500_000, UTC)
    return pa.table({name: [value] for name, value in {**FULL, "timestamp": stamp}.items()})


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv", full_csv()),
        ("a.csv.gz", full_csv()),
        ("a.tsv", full_csv().replace('","', '"\t"').replace(",", "\t").replace("[1\t2]", "[1,2]")),
        ("A.JSONL", [FULL]),
        ("a.ndjson", [FULL]),
        ("a.jsonl.gz", [FULL]),
        ("a.ndjson.gz", [FULL]),
        ("a.parquet", full_parquet()),
    ],
)
def test_every_container_gives_the_same_call(read: Read, name: str, content: object) -> None:
    call = read(read.write(name, content)).to_pylist()[0]
    keys = call.pop("prefix_keys")
    assert call == CANONICAL
    assert keys == read(read.write("b.jsonl", [FULL])).to_pylist()[0]["prefix_keys"]
    assert len(keys) == 2
    assert (read.log.examples, read.log.flags) == ({}, {})


def test_missing_optional_columns_are_not_reported(read: Read) -> None:
    call = read(read.write("a.csv", "timestamp,context_tokens\n2026-01-01T00:00:00Z,5\n")).to_pylist()[0]
    assert {name for name, value in call.items() if value is not None} == {
        "source_rank",
        "source_row",
        "t_us",
        "context_tokens",
    }


def test_csv_counts_every_record(read: Read) -> None:
    path = read.write(
        "a.csv",
        b"\xef\xbb\xbf"
        + (
            HEAD
            + (
                "s1,2026-01-01T00:00:00Z,10,\n"
                "s2,2026-01-01T00:00:01Z\n"
                "\n"
                '"s,""3""\nx",2026-01-01T00:00:02Z,30,0\n'
                "s4,2026-01-01T00:00:03Z,40,1,9\n"
                "s5,2026-01-01T00:00:04Z,50,5"
            )
        )
        .replace("\n", "\r\n")
        .encode(),
    )
    table = read(path)
    assert rows(table, "source_row", "session_id", "context_tokens", "cached_tokens", "defect") == [
        (1, "s1", 10, None, None),
        (2, None, None, None, "unreadable"),
        (3, 's,"3"\r\nx', 30, 0, None),
        (4, None, None, None, "unreadable"),
        (5, "s5", 50, 5, None),
    ]
    (first, *_) = read.log.examples["unreadable"]
    assert first.endswith("row 2 after the header, column (record): unreadable ('s2,2026-01-01T00:00:01Z')")


def test_csv_with_bytes_that_are_no_utf8(read: Read) -> None:
    body = b"\xff\xfe,2026-01-01T00:00:00Z,10,\n\xff,2026\n"
    body += "Zürich 😀,2026-01-01T00:00:00Z,".encode() + b"\xff,\n"
    table = read(read.write("a.csv", HEAD.encode() + body))
    assert rows(table, "source_row", "session_id", "defect") == [
        (1, None, None),
        (2, None, "unreadable"),
        (3, "Zürich 😀", "bad_tokens"),
    ]
    assert read.log.flags == {"bad_optional": 1}


def test_csv_bad_records_over_many_blocks(read: Read, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("telemetry.readers_csv._BLOCK", 4096)
    lines = ["x" if i % 7 == 0 else f's{i},2026-01-01T00:00:00Z,{i},"é\n"' for i in range(1, 3001)]
    lines[-1] = "last"
    table = read(read.write("a.csv", HEAD.replace("cached_tokens", "model") + "\n".join(lines)))
    assert table["source_row"].to_pylist() == list(range(1, 3001))
    assert [i for i, reason in rows(table, "source_row", "defect") if reason] == [*range(7, 3001, 7), 3000]
    assert all(session in (None, f"s{i}") for i, session in rows(table, "source_row", "session_id"))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            HEAD + 's,2026-01-01T00:00:00Z,"1,2\ns,2026-01-01T00:00:00Z,1,2\n',
            r"a\.csv, row 1 after the header: a quote opens",
        ),
        ("", r"a\.csv: the file is empty"),
        ("\n\n", r"a\.csv: no header"),
        ("timestamp,timestamp,context_tokens\n1,2,3\n", r"a\.csv: two columns are called 'timestamp'"),
        (
            "time stamp,Context Tokens\n1,2\n",
            r"a\.csv: no column 'timestamp'.*has: time stamp, Context Tokens\. "
            r'Close to it: time stamp.*\[columns\]: timestamp = "time stamp"',
        ),
        ("timestamp,ContextTokens\n1,2\n", r'context_tokens = "ContextTokens"'),
        ("timestamp,<b>\n1,2\n", r'no column \'context_tokens\'.*has: timestamp, <b>.*= "NameInYourExport"'),
        (f"timestamp,{','.join(f'c{i}' for i in range(50))}\n1\n", "and 31 more"),
    ],
)
def test_csv_that_cannot_be_used(read: Read, content: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read(read.write("a.csv", content))


def test_csv_record_longer_than_a_block(read: Read, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("telemetry.readers_csv._BLOCK", 1 << 16)
    with pytest.raises(InputError, match=r"a\.csv: a record after row 0 \(the header is not counted\) is longer"):
        read(read.write("a.csv", HEAD + '"' + "x\n" * 200_000))


@pytest.mark.parametrize("name", ["a.csv.gz", "a.jsonl.gz"])
@pytest.mark.parametrize("keep", [0.5, 0.99])
def test_truncated_gzip(read: Read, name: str, keep: float) -> None:
    content = HEAD + "s,2026-01-01T00:00:00Z,1,2\n" * 9 if "csv" in name else json.dumps(FULL) + "\n"
    path = Path(read.write(name, content))
    path.write_bytes(path.read_bytes()[: int(path.stat().st_size * keep)])
    with pytest.raises(InputError, match=rf"{name}: .*truncated or damaged.*again"):
        read(str(path))


def test_what_is_no_gzip(read: Read) -> None:
    for name in ("a.csv.gz", "a.jsonl.gz"):
        (read.folder / name).write_text(HEAD)
        with pytest.raises(InputError, match=f"{name}: "):
            read(str(read.folder / name))


def parquet(**columns: object) -> pa.Table:
    stamps = pa.array([T0, T0 + 1, None], pa.timestamp("us", "UTC"))
    return pa.table({"timestamp": stamps, "context_tokens": [5, None, 6], **columns})


def test_parquet_types(read: Read) -> None:
    table = read(
        read.write(
            "a.parquet",
            parquet(
                session_id=pa.array(["a", "", "b"]).dictionary_encode(),
                cached_tokens=pa.array([1, 2, None], pa.int8()),
                output_tokens=[1.0, float("nan"), None],
                turn_id=pa.array([1, None, 3]),
                duration_ms=pa.array([1.5, -1, None]),
                unneeded=[{"x": 1}] * 3,
            ),
        )
    )
    assert rows(
        table,
        "source_row",
        "t_us",
        "session_id",
        "context_tokens",
        "cached_tokens",
        "output_tokens",
        "turn_id",
        "duration_us",
        "defect",
    ) == [
        (1, T0, "a", 5, 1, 1, "1", 1500, None),
        (2, T0 + 1, None, None, 2, None, None, None, "bad_tokens"),
        (3, None, "b", 6, None, None, "3", None, "bad_timestamp"),
    ]


def test_parquet_over_many_batches(read: Read, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("telemetry.readers_parquet._ROWS", 10)
    path = read.write(
        "a.parquet", pa.table({"timestamp": list(range(95)), "context_tokens": list(range(95))})
    )
    table = read(path, timestamp=TimestampRule(unit="us", epoch_us=T0))
    assert rows(table, "source_row", "t_us", "context_tokens") == [(i + 1, T0 + i, i) for i in range(95)]


def test_parquet_that_cannot_be_used(read: Read) -> None:
    path = Path(read.write("a.parquet", parquet()))
    whole = path.read_bytes()
    for content in (whole[:-10], b"PAR1 no", HEAD.encode()):
        path.write_bytes(content)
        with pytest.raises(InputError, match=r"a\.parquet: not a Parquet file, or a truncated one"):
            read(str(path))
    path.write_bytes(whole[:4] + b"\xff" * 60 + whole[64:])
    with pytest.raises(InputError, match=r"a\.parquet: damaged Parquet data after row 0"):
        read(str(path))
    with pytest.raises(InputError, match=r"b\.parquet: no column 'context_tokens'"):
        read(read.write("b.parquet", pa.table({"timestamp": [1]})))


def test_parquet_with_a_name_that_is_not_utf8(read: Read) -> None:
    path = read.folder / read.write("a.parquet", pa.table({"timestamp": ["x"], "context_tokens": [1], "abcdef": [1]}))
    path.write_bytes(path.read_bytes().replace(b"abcdef", b"abc\xffef"))
    with pytest.raises(InputError, match=r"a\.parquet: (not a|damaged) Parquet"):
        read(str(path))
