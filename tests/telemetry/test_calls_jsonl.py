"""JSON lines: records of every kind, in any mixture."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from calls_reading import T0, Read, rows

from telemetry.adapter import TimestampRule
from telemetry.errors import InputError


@pytest.fixture
def read(tmp_path: Path) -> Read:
    return Read(tmp_path)


def test_json_lines_of_every_kind(read: Read) -> None:
    good = {"timestamp": "2026-01-01T00:00:00Z", "context_tokens": 1}
    lines = [
        json.dumps(good),
        "{broken",
        "",
        "[1]",
        "null",
        json.dumps({**good, "context_tokens": "2"}),
        "\xa0",
        json.dumps({**good, "context_tokens": 3.0, "session_id": 7, "turn_id": {"a": 1}}),
        json.dumps({**good, "context_tokens": {"n": 4}}),
        json.dumps({**good, "context_tokens": 5, "cached_tokens": []}),
        json.dumps({"timestamp": [1], "context_tokens": 6}),
        json.dumps({"context_tokens": 7}),
        "[" * 100_000,
        json.dumps({**good, "context_tokens": 2**70}),
        '{"timestamp": "2026-01-01T00:00:00Z", "context_tokens": NaN}',
        "1" * 5000,
        json.dumps({**good, "session_id": "\u2028 \ud800"}),
        json.dumps({**good, "session_id": "\u2028é"}),
        json.dumps({**good, "context_tokens": True}),
    ]
    raw = "\n".join(lines).encode() + b'\n{"timestamp": "\xff"}\r\n' + json.dumps(good).encode() + b"\r\n"
    table = read(read.write("a.jsonl", raw))
    assert rows(table, "source_row", "context_tokens", "session_id", "defect") == [
        (1, 1, None, None),
        (2, None, None, "unreadable"),
        (4, None, None, "unreadable"),
        (5, None, None, "unreadable"),
        (6, 2, None, None),
        (7, None, None, "unreadable"),
        (8, 3, "7", None),
        (9, None, None, "bad_tokens"),
        (10, 5, None, "bad_tokens"),
        (11, 6, None, "bad_timestamp"),
        (12, 7, None, "bad_timestamp"),
        (13, None, None, "unreadable"),
        (14, None, None, "bad_tokens"),
        (15, None, None, "bad_tokens"),
        (16, None, None, "unreadable"),
        (17, 1, None, None),
        (18, 1, "\u2028é", None),
        (19, None, None, "bad_tokens"),
        (20, None, None, "unreadable"),
        (21, 1, None, None),
    ]
    assert read.log.flags == {"bad_optional": 2}  # lines 8 and 17
    assert "a.jsonl, row 9, column context_tokens: bad_tokens" in read.log.examples["bad_tokens"][0]
    assert '{"n": 4}' in read.log.examples["bad_tokens"][0]


def test_json_numbers_lose_no_digit(read: Read) -> None:
    path = read.write(
        "a.jsonl",
        '{"timestamp": 1767225600.123456, "context_tokens": 5}\n'
        '{"timestamp": 1767225601, "context_tokens": 5}\n',
    )
    assert read(path, timestamp=TimestampRule(unit="s"))["t_us"].to_pylist() == [T0 + 123_456, T0 + 1_000_000]


def test_json_that_cannot_be_used(read: Read, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match=r"a\.jsonl: no column 'context_tokens'.*timestamp, Context-Tokens"):
        read(read.write("a.jsonl", [{"timestamp": 1, "Context-Tokens": 2}]))
    monkeypatch.setattr("telemetry.readers_jsonl._LONGEST", 1 << 16)
    monkeypatch.setattr("telemetry.readers_jsonl._BLOCK", 1 << 12)
    with pytest.raises(InputError, match=r"a\.jsonl: a line is longer than"):
        read(read.write("a.jsonl", "[" + "1," * 100_000))


def test_json_lines_over_many_blocks(read: Read, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("telemetry.readers_jsonl._BLOCK", 100)
    lines: list[object] = [
        {"timestamp": "2026-01-01T00:00:00Z", "context_tokens": i, "session_id": "x" * (i % 300)}
        for i in range(1, 500)
    ]
    assert rows(read(read.write("a.jsonl", lines)), "source_row", "context_tokens") == [
        (i, i) for i in range(1, 500)
    ]


def test_block_hashes_nested_too_deep(read: Read) -> None:
    line = '{"timestamp": "2026-01-01T00:00:00Z", "context_tokens": 1, "hash_ids": %s, "model": %s}\n'
    deep = ["[" * depth + "]" * depth for depth in range(900, 1000)]
    table = read(read.write("a.jsonl", line % ("[1]", '"m"') + "".join(line % (nest, nest) for nest in deep)))
    unreadable = table["defect"].to_pylist().count("unreadable")
    assert table.num_rows == 101
    assert read.log.flags == {"bad_optional": 100 - unreadable}
    assert table["prefix_keys"].null_count == table["model"].null_count == 100
