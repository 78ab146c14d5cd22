"""Whatever the bytes: done or a clear error, never a traceback, and every row accounted for."""

from __future__ import annotations

import csv
import io
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

COLUMNS = ("session_id", "timestamp", "context_tokens", "cached_tokens", "output_tokens", "model", "turn_id",
           "user_initiated", "region", "deployment", "duration_ms", "parent_session_id", "call_id", "status",
           "hash_ids", "block_size")
SLOW = settings(deadline=None, database=None, derandomize=True,
                suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])

text = st.text(st.characters(codec="utf-8"), max_size=12)
numbers = st.one_of(st.integers(-3, 300_000).map(str), st.sampled_from(
    ["", "1e3", "12.0", "NaN", "-0", "+5", " 7 ", "0x10", "1_000", "9" * 30, "1e999", "٣", "true", "[1, 2]"]))
times = st.one_of(
    st.datetimes(min_value=__import__("datetime").datetime(1971, 1, 1),
                 max_value=__import__("datetime").datetime(1971, 1, 9)).map(lambda t: t.isoformat() + "Z"),
    st.sampled_from(["", "2026-02-30T00:00:00Z", "1971-01-01T24:00:00Z", "1971-01-01T00:00:60Z", "1971-01-01",
                     "1971-01-01 10:00:00+02:00", "1971-01-01T10:00:00.1234567Z", "0", "x", "1971-W01-1T00:00Z"]))
KINDS = {"timestamp": times, "session_id": st.sampled_from(["a", "b", "", "a ", "A", "'--", "\x00"]),
         "hash_ids": st.sampled_from(["", "[1,2]", "[1,", "1 2", "[]", "[-1]", "[[1]]", "{}"])}


@st.composite
def tables(draw: st.DrawFn) -> bytes:
    """A CSV of calls in which anything may be wrong."""
    extra = draw(st.lists(st.sampled_from(COLUMNS), unique=True, max_size=6))
    header = list(dict.fromkeys(["timestamp", "context_tokens", *extra]))
    sink = io.StringIO()
    writer = csv.writer(sink, lineterminator=draw(st.sampled_from(["\n", "\r\n"])))
    writer.writerow(header)
    for _ in range(draw(st.integers(1, 8))):
        writer.writerow([draw(KINDS.get(name, numbers if name.endswith(("tokens", "ms", "size")) else text))
                         for name in header])
    return sink.getvalue().encode()


def check(cli: Any, content: bytes, name: str, **how: Any) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        data, out = Path(folder) / name, Path(folder) / "out"
        data.write_bytes(content)
        ran = cli(data, *how.pop("words", ()), out=out, **how)
        assert ran.rc in (0, 3), ran.stderr[-3000:]
        assert "Traceback" not in ran.stderr
        if ran.rc == 3:
            assert not out.exists()
            assert ran.message.endswith(".")
            assert len(ran.message) < 3000
            return ran
        audit = ran.json("audit")
        assert audit["rows_used"] + sum(audit["rows_excluded"].values()) == audit["rows_read"]
        return ran


@settings(SLOW, max_examples=8)
@given(content=tables())
def test_tables(cli: Any, content: bytes) -> None:
    check(cli, content, "calls.csv")


@settings(SLOW, max_examples=15)
@given(content=tables())
def test_tables_without_metrics(cli: Any, content: bytes) -> None:
    check(cli, content, "calls.csv", light=True)


@settings(SLOW, max_examples=15)
@given(edits=st.lists(st.tuples(st.integers(0, 1900), st.binary(max_size=3)), min_size=1, max_size=6))
def test_damaged_bytes(cli: Any, edits: list[tuple[int, bytes]]) -> None:
    content = cli.base.encode()
    for place, new in edits:
        content = content[:place] + new + content[place + 1:]
    check(cli, content, "calls.csv", light=True)


@settings(SLOW, max_examples=30)
@given(content=st.one_of(st.binary(min_size=1, max_size=300), text.map(str.encode).filter(bool)),
       name=st.sampled_from(["a.csv", "a.csv.gz", "a.jsonl", "a.jsonl.gz", "a.parquet", "a.tsv"]))
def test_any_bytes(cli: Any, content: bytes, name: str) -> None:
    assert check(cli, content, name).rc == 3


json_values = st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | text,
                           lambda inner: st.lists(inner, max_size=3) | st.dictionaries(text, inner, max_size=3),
                           max_leaves=6)


@settings(SLOW, max_examples=15)
@given(lines=st.lists(st.fixed_dictionaries({}, optional=dict.fromkeys(COLUMNS, json_values)), min_size=1, max_size=8),
       good=st.booleans())
def test_json_lines(cli: Any, lines: list[dict[str, Any]], good: bool) -> None:
    import json

    if good:
        lines = [{"timestamp": "2026-03-03T00:00:00Z", "context_tokens": 5, "session_id": "a"}, *lines]
    check(cli, "".join(json.dumps(line) + "\n" for line in lines).encode(), "calls.jsonl", light=True)


@settings(SLOW, max_examples=25)
@given(value=json_values, form=st.sampled_from(["weka", "copilot", "claude-code"]))
def test_nested_formats(cli: Any, value: Any, form: str) -> None:
    import json

    line = json.dumps(value).encode() + b"\n"
    words = ["--arrivals", "poisson:1"] if form == "weka" else []
    assert check(cli, line, "a.json" if form == "weka" else "a.jsonl", format=form, words=words).rc == 3


@pytest.mark.parametrize("seed", range(4))
def test_damaged_parquet(cli: Any, seed: int) -> None:
    import random

    import pyarrow as pa
    import pyarrow.parquet as pq

    sink = io.BytesIO()
    pq.write_table(pa.table({"timestamp": ["2026-03-03T00:00:00Z"] * 9, "context_tokens": range(9)}), sink)
    content, dice = bytearray(sink.getvalue()), random.Random(seed)
    for _ in range(3):
        content[dice.randrange(len(content))] = dice.randrange(256)
    check(cli, bytes(content), "calls.parquet", light=True)
