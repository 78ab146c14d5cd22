"""What the `calls` adapter makes of records: literal records in, literal calls out."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from calls_reading import ADAPTER, HEAD, T0, Read, rows

from telemetry.adapter import DefectLog, ReadOptions, TimestampRule
from telemetry.errors import InputError, UsageError
from telemetry.sources import expand

DATA = Path(__file__).resolve().parents[2].parent / "shared" / "data"
needs_data = pytest.mark.skipif(not DATA.is_dir(), reason="the public traces lie beside the checkout")


@pytest.fixture
def read(tmp_path: Path) -> Read:
    return Read(tmp_path)


def test_names_are_mapped(read: Read) -> None:
    path = read.write("a.csv", "When,N,hit\n2026-01-01 00:00:00,5,-1\n")
    table = read(
        path,
        columns={"timestamp": "When", "context_tokens": "N", "cached_tokens": "hit"},
        timestamp=TimestampRule(zone="UTC"),
    )
    assert rows(table, "t_us", "context_tokens", "defect") == [(T0, 5, "bad_tokens")]
    assert read.log.examples["bad_tokens"] == [f"{path}, row 1 after the header, column hit: bad_tokens ('-1')"]


def test_a_mapped_name_that_no_file_has(read: Read) -> None:
    path = read.write("a.csv", HEAD + "s,2026-01-01T00:00:00Z,5,1\n")
    with pytest.raises(InputError, match=r"\[columns\].*output_tokens to 'Otuput'.*Correct"):
        read(path, columns={"output_tokens": "Otuput"})
    with pytest.raises(UsageError, match=r"'contxt'.*Known columns: session_id"):
        read(path, columns={"contxt": "a"})


def test_context_without_the_cached_part(read: Read) -> None:
    path = read.write(
        "a.csv",
        HEAD + "".join(f"s,2026-01-01T00:00:00Z,{pair}\n" for pair in ("60,40", "60,", ",40", "60,x")),
    )
    table = read(path, context_excludes_cached=True)
    assert rows(table, "context_tokens", "cached_tokens", "defect") == [
        (100, 40, None),
        (60, None, None),
        (None, 40, "bad_tokens"),
        (60, None, "bad_tokens"),
    ]


def test_precedence_and_rows_keep_what_parsed(read: Read) -> None:
    path = read.write("a.csv", HEAD + "s,x,-5,1\ns,2026-01-01T00:00:00Z,-5,1\n")
    assert rows(read(path), "session_id", "t_us", "context_tokens", "cached_tokens", "defect") == [
        ("s", None, None, 1, "bad_timestamp"),
        ("s", T0, None, 1, "bad_tokens"),
    ]


def test_a_file_twice_under_two_names(read: Read) -> None:
    content = HEAD + "s,2026-01-01T00:00:01Z,5,1\ns,x,5,1\ns,2026-01-01T00:00:00Z,5,1\nbroken\n"
    read.write("d/a.csv", content)
    read.write("d/b.csv", content)
    table = read(str(read.folder / "d"))
    assert rows(table, "source_rank", "source_row", "defect") == [
        (0, 1, None),
        (0, 2, "bad_timestamp"),
        (0, 3, None),
        (0, 4, "unreadable"),
        (1, 1, "duplicate"),
        (1, 2, "bad_timestamp"),
        (1, 3, "duplicate"),
        (1, 4, "unreadable"),
    ]
    assert read.log.flags == {"clock_reversal": 1}  # of usable rows only


def test_clock_reversals_of_a_file(read: Read, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("telemetry.readers_jsonl._BLOCK", 60)
    seconds = [5, 3, "x", 4, 4, 2, 9]
    read.write("d/a.jsonl", [{"timestamp": f"2026-01-01T00:00:0{s}Z", "context_tokens": 1} for s in seconds])
    read.write("d/b.jsonl", [{"timestamp": "2026-01-01T00:00:01Z", "context_tokens": 1}])
    table = read(str(read.folder / "d"))
    assert read.log.flags == {"clock_reversal": 2}  # 5 > 3, 4 > 2; another file is another clock
    assert table["source_row"].to_pylist() == [1, 2, 3, 4, 5, 6, 7, 1]  # input order is kept


def test_bad_optional_values_are_not_reported(read: Read) -> None:
    path = read.write(
        "a.csv",
        "timestamp,context_tokens,duration_ms,user_initiated,block_size\n"
        "2026-01-01T00:00:00Z,5,-1,maybe,0\n2026-01-01T00:00:00Z,x,-1,maybe,0\n",
    )
    assert rows(read(path), "duration_us", "user_initiated", "block_size", "defect") == [
        (None, None, None, None),
        (None, None, None, "bad_tokens"),
    ]
    assert read.log.flags == {"bad_optional": 1}  # records that are kept
    found = f"{path}, row 1 after the header, column duration_ms: bad_optional ('-1')"
    assert found in read.log.examples["bad_optional"]


def test_strict_stops_at_the_first_bad_record(read: Read) -> None:
    path = read.write("a.csv", HEAD + "s,2026-01-01T00:00:00Z,5,1\ns,2026-01-01T00:00:00Z,-7,1\n")
    with pytest.raises(InputError, match=r"a\.csv, row 2 after the header, column context_tokens: bad_tokens \('-7'\)"):
        read(path, strict=True)


def test_hostile_labels_are_data(read: Read) -> None:
    labels = ["<script>", "'; drop table calls; --", "../../x", "a\u0000\u001b[31m", "m" * 10_000, "=cmd()"]
    for name, content in (
        (
            "a.jsonl",
            [{"timestamp": "2026-01-01T00:00:00Z", "context_tokens": 1, "model": label} for label in labels],
        ),
        (
            "a.parquet",
            pa.table(
                {
                    "timestamp": pa.array([T0] * 6, pa.timestamp("us", "UTC")),
                    "context_tokens": [1] * 6,
                    "model": labels,
                }
            ),
        ),
        (
            "a.csv",
            "timestamp,context_tokens,model\n"
            + "".join(f'2026-01-01T00:00:00Z,1,"{label}"\n' for label in labels),
        ),
    ):
        assert read(read.write(name, content))["model"].to_pylist() == labels


def test_partitions_stand_in_for_columns(read: Read) -> None:
    for day in ("a", "b"):
        read.write(
            f"t/region=r%20{day}/block_size=16/x.jsonl",
            [{"timestamp": "2026-01-01T00:00:00Z", "context_tokens": 1, "deployment": day}, 5],
        )
    read.write("t/region=ignored/y.csv", "timestamp,context_tokens,region\n2026-01-01T00:00:00Z,1,own\n")
    assert rows(read(str(read.folder / "t")), "region", "block_size", "deployment", "defect") == [
        ("own", None, None, None),
        ("r a", 16, "a", None),
        (None, None, None, "unreadable"),
        ("r b", 16, "b", None),
        (None, None, None, "unreadable"),
    ]


def test_a_folder_of_mixed_kinds(read: Read) -> None:
    read.write("d/a.csv", HEAD + "s,2026-01-01T00:00:00Z,5,1\n")
    read.write("d/b.jsonl", [{"timestamp": "2026-01-01T00:00:00Z", "context_tokens": 100}])
    read.write(
        "d/c.parquet",
        pa.table({"timestamp": pa.array([T0], pa.timestamp("us", "UTC")), "context_tokens": [100]}),
    )
    assert rows(read(str(read.folder / "d")), "source_rank", "source_row", "context_tokens") == [
        (0, 1, 5),
        (1, 1, 100),
        (2, 1, 100),
    ]


def test_a_file_of_another_suffix(read: Read) -> None:
    with pytest.raises(
        InputError, match=r"a\.xlsx: the format 'calls' reads files that end with \.csv, .*\.parquet"
    ):
        read(read.write("a.xlsx", "x"))


def test_wrong_declarations_are_named_with_the_file(read: Read) -> None:
    path = read.write("a.jsonl", [{"timestamp": 1767225600000, "context_tokens": 1}])
    with pytest.raises(InputError, match=r"a\.jsonl, column timestamp: .*timestamp\.unit"):
        read(path)
    with pytest.raises(InputError, match=r"a\.jsonl, column timestamp: read as s .*looks like ms"):
        read(path, timestamp=TimestampRule(unit="s"))


def test_a_stray_number_far_into_a_file_is_a_bad_record(
    read: Read, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("telemetry.readers_jsonl._BLOCK", 60)
    stamps = ["2026-01-01T00:00:00Z", "2026-01-01T00:00:01Z", 5, "7"]
    path = read.write("a.jsonl", [{"timestamp": stamp, "context_tokens": 1} for stamp in stamps])
    assert read(path)["defect"].to_pylist() == [None, None, "bad_timestamp", "bad_timestamp"]


def test_names_with_dots(read: Read) -> None:
    columns = {"timestamp": "at", "context_tokens": "gen_ai.usage.input_tokens"}
    table = pa.table({"at": pa.array([T0], pa.timestamp("us", "UTC")), "gen_ai.usage.input_tokens": [5]})
    calls = read(read.write("a.parquet", table), columns=columns)
    assert rows(calls, "t_us", "context_tokens") == [(T0, 5)]


def test_stopping_early_closes_the_file(read: Read) -> None:
    read.write("d/a.csv", HEAD + "s,2026-01-01T00:00:00Z,5,1\n")
    read.write("d/b.csv", HEAD + "s,2026-01-01T00:00:00Z,5,2\n")
    batches = ADAPTER.batches(expand([str(read.folder)], ADAPTER.suffixes), ReadOptions(), DefectLog())
    next(batches)
    batches.close()


@needs_data
def test_azure_trace(read: Read) -> None:
    table = read(
        str(DATA / "azure"),
        timestamp=TimestampRule(zone="UTC"),
        columns={
            "timestamp": "TIMESTAMP",
            "context_tokens": "ContextTokens",
            "output_tokens": "GeneratedTokens",
        },
    )
    assert table.num_rows == 8819
    assert table["defect"].null_count == 8819
    assert rows(table.slice(0, 1), "t_us", "context_tokens", "output_tokens") == [
        (1_700_158_623_979_960, 4808, 10)
    ]


@needs_data
def test_mooncake_trace(read: Read) -> None:
    table = read(
        str(DATA / "mooncake"),
        timestamp=TimestampRule(unit="ms", epoch_us=T0),
        columns={"context_tokens": "input_length", "output_tokens": "output_length"},
    )
    assert table.num_rows == 12_031
    assert table["defect"].null_count == 12_031
    assert rows(table.slice(0, 1), "t_us", "context_tokens", "block_size") == [(T0, 6758, None)]
    keys = table["prefix_keys"].to_pylist()
    assert len(keys[0]) == 14
    assert keys[0][0] == keys[1][0] != keys[1][1]
    with pytest.raises(InputError, match=r"read as ms the first value 0 .*timestamp\.epoch"):
        read(
            str(DATA / "mooncake"),
            timestamp=TimestampRule(unit="ms"),
            columns={"context_tokens": "input_length"},
        )


def test_a_context_above_the_largest_only_with_its_cached_part(read: Read) -> None:
    path = read.write("a.csv", HEAD + "".join(
        f"s,2026-01-01T00:00:00Z,{context},{cached}\n"
        for context, cached in ((8_589_934_591, 0), (8_589_934_590, 1), (8_589_934_590, 2), (8_589_934_591, ""))))
    assert rows(read(path, context_excludes_cached=True), "context_tokens", "defect") == [
        (8_589_934_591, None), (8_589_934_591, None), (None, "bad_tokens"), (8_589_934_591, None)]
    assert read.log.places == {"bad_tokens": ["file 1, row 3 after the header, column context_tokens"]}
