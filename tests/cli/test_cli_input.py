"""Inputs that cannot be used: exit 3, one clear message, nothing written. Bad rows: set aside, or an error."""

from __future__ import annotations

import gzip
import io
import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest


def parquet(**columns: Any) -> bytes:
    sink = io.BytesIO()
    pq.write_table(pa.table(columns), sink)
    return sink.getvalue()


def calls(count: int = 20, **columns: Any) -> bytes:
    """A Parquet file of calls in which some columns are as given."""
    start = 1_772_532_000_000_000
    plain = {"session_id": [f"s{i % 3}" for i in range(count)], "context_tokens": list(range(100, 100 + count)),
             "timestamp": pa.array([start + 60_000_000 * i for i in range(count)], pa.timestamp("us", "UTC"))}
    return parquet(**{**plain, **columns})


GOOD = calls()
BROKEN = {
    "empty": ("a.csv", b"", ["0 bytes"]),
    "one line feed": ("a.csv", b"\n", ["header"]),
    "byte order mark only": ("a.csv", b"\xef\xbb\xbf", ["header"]),
    "header only": ("a.csv", b"session_id,timestamp,context_tokens\n", ["nothing was recognised"]),
    "header without line end": ("a.csv", b"session_id,timestamp,context_tokens", ["nothing was recognised"]),
    "other header": ("a.csv", b"session_id,time_stamp,context_tokens\na,b,1\n",
                     ["a.csv", "timestamp", "time_stamp", "[columns]"]),
    "semicolons": ("a.csv", b"session_id;timestamp;context_tokens\na;b;1\n", ["session_id;timestamp", "[columns]"]),
    "column twice": ("a.csv", b"timestamp,context_tokens,context_tokens\nx,1,1\n", ["context_tokens", "Rename"]),
    "binary": ("a.csv", bytes(range(256)) * 20, ["a.csv", "timestamp"]),
    "zeros": ("a.csv", bytes(5000), ["a.csv", "timestamp"]),
    "UTF-16": ("a.csv", "timestamp,context_tokens\n2026-03-03,1\n".encode("utf-16"), ["timestamp"]),
    "all rows bad": ("a.csv", b"timestamp,context_tokens\nx,1\ny,2\n", ["2 read: 2 bad_timestamp"]),
    "quote that never closes": ("a.csv", b'timestamp,context_tokens\n"2026-03-03T00:00:00Z,1\n' + b"x,1\n" * 50,
                                ["row 1", "quote"]),
    "gzip cut short": ("a.csv.gz", gzip.compress(b"timestamp,context_tokens\n" + os.urandom(9999).hex().encode())[:-50],
                       ["a.csv.gz", "truncated"]),
    "gzip of 5 bytes": ("a.csv.gz", gzip.compress(b"x")[:5], ["truncated"]),
    "no gzip": ("a.csv.gz", b"timestamp,context_tokens\n2026-03-03T00:00:00Z,1\n", ["gzip"]),
    "gzip named csv": ("a.csv", gzip.compress(b"timestamp,context_tokens\n"), ["a.csv", "timestamp"]),
    "JSON gzip cut short": ("a.jsonl.gz", gzip.compress(b'{"timestamp": 1}\n' * 99)[:-9], ["truncated"]),
    "JSON array": ("a.jsonl", b'[{"timestamp": "2026-03-03T00:00:00Z", "context_tokens": 1}]', ["1 unreadable"]),
    "JSON without columns": ("a.jsonl", b'{"ts": 1}\n', ["timestamp", "[columns]"]),
    "no Parquet": ("a.parquet", os.urandom(3000), ["a.parquet", "not a Parquet file"]),
    "Parquet cut short": ("a.parquet", GOOD[:-20], ["not a Parquet file, or a truncated one"]),
    "Parquet hole": ("a.parquet", GOOD[:4] + bytes(len(GOOD) // 2) + GOOD[4 + len(GOOD) // 2:], ["a.parquet"]),
    "Parquet without rows": ("a.parquet", calls(0), ["nothing was recognised"]),
    "Parquet without column": ("a.parquet", parquet(timestamp=["x"]), ["context_tokens", "[columns]"]),
    "other suffix": ("a.txt", b"timestamp,context_tokens\n", [".csv", "--format"]),
    "numbers without unit": ("a.csv", b"timestamp,context_tokens\n1772532000,1\n", ["timestamp", "1772532000", "unit"]),
    "integers without unit": ("a.parquet", calls(timestamp=list(range(20))), ["timestamp", "timestamp.unit"]),
    "texts without offset": ("a.csv", b"timestamp,context_tokens\n2026-03-03 10:00:00,1\n",
                             ["2026-03-03 10:00:00", "timestamp.zone"]),
    "times without zone": ("a.parquet", calls(timestamp=pa.array([0] * 20, pa.timestamp("us"))), ["timestamp.zone"]),
}


@pytest.mark.parametrize("case", BROKEN)
def test_input_error(cli: Any, case: str) -> None:
    name, content, says = BROKEN[case]
    ran = cli.fails(3, cli.file(content, name), says=says)
    assert not ran.out.exists()


def test_wrong_unit_is_suspected(cli: Any) -> None:
    data = cli.file("timestamp,context_tokens\n1772532000000,1\n")
    cli.fails(3, data, "--config", cli.toml('[timestamp]\nunit = "s"\n'), says=["looks like ms", "1772532000000"])


def test_mapped_column_that_is_nowhere(cli: Any) -> None:
    cli.fails(3, cli.file(), "--config", cli.toml('[columns]\nmodel = "llm"\n'), says=["model", "'llm'", "[columns]"])


@pytest.mark.parametrize("place", ["missing.csv", "missing/*.csv", "*.csv", ".", "link.csv", "fifo.csv", "", "a\x1bb"])
def test_place_without_input(cli: Any, place: str) -> None:
    folder = cli.folder / "in"
    folder.mkdir()
    (folder / "link.csv").symlink_to(folder / "gone")
    os.mkfifo(folder / "fifo.csv")
    if place in ("*.csv", "."):
        (folder / "link.csv").unlink()
        (folder / "fifo.csv").unlink()
    ran = cli.fails(3, f"{folder}/{place}" if place else folder)
    assert "\x1b" not in ran.stderr
    assert not ran.out.exists()


def test_one_bad_file_among_good_ones_stops_the_run(cli: Any) -> None:
    cli.file()
    bad = cli.file(b"", "empty.csv")
    cli.fails(3, bad.parent, says=["empty.csv", "0 bytes"])
    bad.write_bytes(gzip.compress(b"x" * 999)[:-3])
    bad.rename(bad.with_name("z.csv.gz"))
    cli.fails(3, bad.parent, says=["z.csv.gz"])


DEFECTS = {
    "unreadable": ("zebra-9,too,short", ["row 21", "unreadable", "zebra-9,too,short"]),
    "bad_timestamp": ("zebra-9,2026-02-30T00:00:00Z,1,1,1,,,,,,,,,ok",
                      ["row 21", "column timestamp", "bad_timestamp", "2026-02-30T00:00:00Z"]),
    "bad_tokens": ("zebra-9,2026-03-05T10:00:00Z,-5,1,1,,,,,,,,,ok", ["row 21", "column context_tokens", "-5"]),
    "bad_tokens of another": ("zebra-9,2026-03-05T10:00:00Z,5,1,1.5,,,,,,,,,ok",
                              ["row 21", "column output_tokens", "1.5"]),
    "no tokens": ("zebra-9,2026-03-05T10:00:00Z,,1,1,,,,,,,,,ok", ["row 21", "column context_tokens"]),
    "bad_optional": ("zebra-9,2026-03-05T10:00:00Z,5,1,1,,,maybe,,,,,,ok", ["column user_initiated", "maybe"]),
}


@pytest.mark.parametrize("case", DEFECTS)
def test_bad_row_is_counted_or_strictly_an_error(cli: Any, case: str) -> None:
    row, says = DEFECTS[case]
    data = cli.csv(row)
    cli.fails(3, data, "--strict", says=[str(data), "--strict", *says])
    ran = cli.ok(data, light=True)
    audit, reason = ran.json("audit"), case.split(" ")[0] if case != "no tokens" else "bad_tokens"
    assert (audit["flags"] if reason == "bad_optional" else audit["rows_excluded"])[reason] == 1
    assert any(place.startswith("file 1, row 21 after the header, column ") for place in audit["examples"][reason])
    assert f"set aside or flagged, {reason}" in ran.stderr


def test_good_rows_pass_strict(cli: Any) -> None:
    cli.ok(cli.file(), "--strict", light=True)


@pytest.mark.parametrize("case", ["call id", "file"])
def test_a_duplicate_is_counted_or_strictly_an_error(cli: Any, case: str) -> None:
    again = cli.rows[3].replace(",30,okapi", ",20,okapi"), cli.rows[5]  # the first is the one set aside
    inputs = [cli.csv(*again)] if case == "call id" else [cli.file(name="a.csv"), cli.file(name="b.csv")]
    row, count = ("row 6", 2) if case == "call id" else ("row 1", 20)
    ran = cli.fails(3, *inputs, "--strict", says=[f"{inputs[-1]}, {row} after the header: duplicate", f"({count} such",
                                                  "--strict"])
    assert "ibex" not in ran.stderr
    assert not ran.out.exists()
    assert cli.ok(*inputs, light=True).json("audit")["rows_excluded"]["duplicate"] == count


def test_what_lies_outside_the_window_is_no_bad_row(cli: Any) -> None:
    cli.ok(cli.file(), "--strict", "--window", "2026-03-03/2026-03-04", light=True)


def test_row_numbers_count_records_not_lines(cli: Any) -> None:
    text = cli.header + "\n\n" + cli.rows[0].replace("okapi-large", '"oka\npi"') + "\r\n\n" + "a,never,1" + "," * 11
    cli.fails(3, cli.file(text + "\n"), "--strict", says=["row 2 after the header,", "never"])


def test_files_that_may_not_be_read(cli: Any, tools: Any) -> None:
    cli.fails(2, format="none")  # loads what is loaded late
    with tools.nobody() as folder:
        (folder / "closed").mkdir(mode=0o700)
        (folder / "secret.csv").write_text(cli.base)
        (folder / "secret.csv").chmod(0o600)
        os.seteuid(65534)
        cli.fails(3, folder / "secret.csv", says=["Permission denied"], out=Path("/nonexistent/out"))
        cli.fails(3, folder / "closed", says=["Permission denied"], out=Path("/nonexistent/out"))


def test_file_in_a_folder_that_may_not_be_entered(cli: Any, tools: Any) -> None:
    cli.fails(2, format="none")  # loads what is loaded late
    with tools.nobody() as folder:
        (folder / "closed").mkdir(mode=0o700)
        (folder / "closed" / "a.csv").write_text(cli.base)
        os.seteuid(65534)
        cli.fails(3, folder / "closed" / "a.csv", out=Path("/nonexistent/out"))


def test_input_name_that_is_too_long(cli: Any) -> None:
    cli.fails(3, "x" * 300 + ".csv")


VALUES = {
    "context whose bytes pass 64 bits": {"context_tokens": [*range(19), 2**50]},
    "timestamp in year 140000": {"timestamp": pa.array([1_772_532_000_000_000] * 19 + [2**62],
                                                       pa.timestamp("us", "UTC"))},
    "duration of centuries": {"duration_ms": [9 * 10**15] * 20},
    "duration that passes 64 bits": {"duration_ms": pa.array([2**62] * 20, pa.duration("s"))},
}


@pytest.mark.parametrize("case", VALUES)
def test_a_wild_value_is_a_bad_row_or_an_input_error(cli: Any, case: str) -> None:
    ran = cli(cli.file(calls(**VALUES[case]), "a.parquet"))
    assert ran.rc in (0, 3)
    assert "Traceback" not in ran.stderr


def test_calls_before_1970(cli: Any) -> None:
    ran = cli.ok(cli.csv("zebra-9,1969-06-01T00:30:00Z,10,1,1,,,,,,,,,ok"), light=True)
    assert ran.json("audit")["rows_excluded"]["bad_timestamp"] == 1


def test_calls_in_year_1(cli: Any) -> None:
    ran = cli(cli.csv("zebra-9,0001-01-01T00:00:00Z,1,1,1,,,,,,,,,ok"), "--tz", "America/New_York", limit_s=3)
    assert ran.rc in (0, 3)


def test_one_call_in_year_9999(cli: Any) -> None:
    ran = cli(cli.csv("zebra-9,9999-12-31T23:59:59Z,1,1,1,,,,,,,,,ok"), limit_s=3)
    assert ran.rc in (0, 3)


def test_local_time_beyond_the_calendar_is_a_bad_row(cli: Any) -> None:
    times = pa.array([1_772_532_000_000_000] * 19 + [2**63 - 1], pa.timestamp("us"))
    conf = cli.toml('[timestamp]\nzone = "Europe/Berlin"\n')
    cli.ok(cli.file(calls(timestamp=times), "a.parquet"), "--config", conf, light=True)


def test_deeply_nested_hash_ids(cli: Any) -> None:
    line = '{"timestamp": "2026-03-03T00:00:00Z", "context_tokens": 1, "hash_ids": %s}\n'
    deep = "".join(line % ("[" * depth + "]" * depth) for depth in range(960, 1000))
    cli.ok(cli.file(line % "[1]" + deep, "a.jsonl"), light=True)


def test_parquet_with_a_damaged_column_name(cli: Any) -> None:
    name = b"session_id"
    cli.fails(3, cli.file(GOOD.replace(name, b"sess\xffon_id"), "a.parquet"))


@pytest.mark.parametrize(("rows", "rc"), [
    ('zebra,2026-03-03T10:00:00Z,5,"a\nzebra,2026-03-03T10:00:01Z,5,b\n', 3),
    ('zebra,2026-03-03T10:00:00Z,5,a"b\nzebra,2026-03-03T10:00:01Z,5,b\n', 0),  # within a field a quote is a letter
])
def test_a_quote_that_never_closes_swallows_no_record(cli: Any, rows: str, rc: int) -> None:
    path = cli.file(f"session_id,timestamp,context_tokens,model\n{rows}")
    if rc:
        cli.fails(rc, path, light=True, says=["row 1 after the header: a quote opens and never closes"])
    else:
        assert cli.ok(path, light=True).value("audit.rows_used") == 2
