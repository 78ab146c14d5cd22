"""The copilot adapter: nested sessions in, calls out (TRAPS 8, 10, 15 to 18, 20)."""

from __future__ import annotations

import gzip
import io
import json
import tarfile
from pathlib import Path
from typing import Any

import pytest

from telemetry.adapter import DefectLog, ReadOptions, Source, TimestampRule
from telemetry.adapters.copilot import ADAPTER
from telemetry.errors import InputError
from telemetry.schema import CALL_SCHEMA

DAY0_US = 1_780_272_000_000_000  # 2026-06-01T00:00:00Z


def call(number: int = 1, **changes: Any) -> dict[str, Any]:
    return {"message_id": f"m{number}", "timestamp": f"2026-06-01T00:00:0{number}.5Z", "duration_ms": 1500.25,
            "initiator_type": "agent", "model": "Model A", "result": "Success", "status_code": "OK",
            "tokens": {"total": 110, "prompt": 100, "completion": 10, "cached": 80, "cached_pct": 0.8},
            "message_metadata": []} | changes


def session(*calls: Any, **changes: Any) -> dict[str, Any]:
    return {"session_id": "S", "date": "2026-06-01",
            "turns": [{"turn_id": "t1", "llm_calls": list(calls), "tool_batches": []}]} | changes


def body(*records: Any) -> bytes:
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


def read(*paths: Path, log: DefectLog | None = None, rule: TimestampRule | None = None,
         repeats: str | None = None) -> list[dict[str, Any]]:
    sources = [Source(i, path, path.name, repeats if i else None) for i, path in enumerate(paths)]
    options = ReadOptions(timestamp=rule or TimestampRule())
    rows: list[dict[str, Any]] = []
    for batch in ADAPTER.batches(sources, options, DefectLog() if log is None else log):
        assert batch.schema.equals(CALL_SCHEMA)
        rows += batch.to_pylist()
    return rows


def read_bytes(folder: Path, content: bytes, name: str = "day.jsonl", **how: Any) -> list[dict[str, Any]]:
    (folder / name).write_bytes(content)
    return read(folder / name, **how)


def test_every_column_of_a_call(tmp_path: Path) -> None:
    rows = read_bytes(tmp_path, body(session(call(1, initiator_type="user"), call(2))))
    assert [{name: value for name, value in row.items() if value is not None} for row in rows] == [
        {"source_rank": 0, "source_row": 1, "session_id": "S", "t_us": DAY0_US + 1_500_000,
         "context_tokens": 100, "cached_tokens": 80, "output_tokens": 10, "model": "Model A", "turn_id": "t1",
         "user_initiated": True, "duration_us": 1_500_250, "call_id": "m1", "failed": False},
        {"source_rank": 0, "source_row": 2, "session_id": "S", "t_us": DAY0_US + 2_500_000,
         "context_tokens": 100, "cached_tokens": 80, "output_tokens": 10, "model": "Model A", "turn_id": "t1",
         "user_initiated": False, "duration_us": 1_500_250, "call_id": "m2", "failed": False},
    ]


@pytest.mark.parametrize(("outcome", "failed"), [
    ({"result": "UserCancel"}, True),
    ({"status_code": "RateLimited"}, True),
    ({"result": "success", "status_code": "ok"}, False),
    ({"result": None}, False),
    ({"result": None, "status_code": None}, None),
])
def test_failed_calls_are_kept(tmp_path: Path, outcome: dict[str, Any], failed: bool | None) -> None:
    (row,) = read_bytes(tmp_path, body(session(call(**outcome))))
    assert (row["failed"], row["defect"]) == (failed, None)


def test_what_cannot_be_used_is_a_row_with_its_defect(tmp_path: Path) -> None:
    log = DefectLog()
    bad = [call(1, tokens=None), call(2, tokens={"prompt": -1}), call(3, tokens={"prompt": 5, "cached": "x"}),
           call(4, timestamp=None), call(5, timestamp="2026-02-30T00:00:00Z"), "no call", call(6)]
    content = body(session(*bad), {"record": {}}, session(turns=["no turn", {"turn_id": 2}])) + b"{cut short"
    rows = read_bytes(tmp_path, content, log=log)
    assert [(r["source_row"], r["defect"]) for r in rows] == [
        (1, "bad_tokens"), (2, "bad_tokens"), (3, "bad_tokens"), (4, "bad_timestamp"), (5, "bad_timestamp"),
        (6, "unreadable"), (7, None), (8, "unreadable"), (9, "unreadable"), (10, "unreadable")]
    assert log.examples["bad_tokens"][1] == "day.jsonl, row 2, column tokens.prompt: bad_tokens ('-1')"
    with pytest.raises(InputError, match=r"day\.jsonl, row 1, column tokens\.prompt"):
        read(tmp_path / "day.jsonl", log=DefectLog(strict=True))


def test_optional_fields_may_be_missing_or_wrong(tmp_path: Path) -> None:
    log = DefectLog()
    bare = {"timestamp": "2026-06-01T00:00:03+02:00", "tokens": {"prompt": 0}}
    content = body(session(bare, call(1, duration_ms=-1)), session(call(2), session_id=None))
    rows = read_bytes(tmp_path, content, log=log)
    assert {name: value for name, value in rows[0].items() if value is not None} == {
        "source_rank": 0, "source_row": 1, "session_id": "S", "t_us": DAY0_US + 3_000_000 - 7_200_000_000,
        "context_tokens": 0, "turn_id": "t1"}
    assert (rows[1]["duration_us"], rows[1]["defect"]) == (None, None)
    assert (rows[2]["session_id"], rows[2]["defect"]) == (None, None)
    assert log.flags == {"bad_optional": 1}


def test_a_step_back_in_time_is_flagged_and_kept(tmp_path: Path) -> None:
    log = DefectLog()
    rows = read_bytes(tmp_path, body(session(call(2), call(1), call(3))), log=log)
    assert [r["defect"] for r in rows] == [None, None, None]
    assert log.flags == {"clock_reversal": 1}


def test_times_without_an_offset_need_a_declared_zone(tmp_path: Path) -> None:
    content = body(session(call(1, timestamp="2026-06-01 02:00:00")))
    with pytest.raises(InputError, match=r"day\.jsonl: timestamps without an offset"):
        read_bytes(tmp_path, content)
    (row,) = read(tmp_path / "day.jsonl", rule=TimestampRule(zone="Europe/Berlin"))
    assert row["t_us"] == DAY0_US


def test_numbers_as_times_need_a_declared_unit(tmp_path: Path) -> None:
    content = body(session(call(1, timestamp=1_780_272_000_123)))
    with pytest.raises(InputError, match=r"day\.jsonl: .*unit is not declared"):
        read_bytes(tmp_path, content)
    (row,) = read(tmp_path / "day.jsonl", rule=TimestampRule(unit="ms"))
    assert row["t_us"] == DAY0_US + 123_000


def tar(members: list[tuple[str, bytes]], *, mode: str = "w:gz") -> bytes:
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode=mode) as archive:
        for name, content in members:
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
        link = tarfile.TarInfo("link.jsonl")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)
    return target.getvalue()


@pytest.mark.parametrize("name", ["day.jsonl.gz", "day.tar.gz", "day.tgz", "day.tar"])
def test_archives_read_as_the_plain_file(tmp_path: Path, name: str) -> None:
    one, two = body(session(call(1))), body(session(call(2), session_id="T"))
    members = [("2026-06-01/README.md", b"not a call"), ("/abs/../../x/one.jsonl", one),
               ("._two.jsonl", b"\x00"), ("two.jsonl.gz", gzip.compress(two))]
    packed = {"day.jsonl.gz": gzip.compress(one + two),
              "day.tar": tar(members, mode="w")}.get(name, tar(members))
    before = sorted(tmp_path.rglob("*"))
    rows = read_bytes(tmp_path, packed, name)
    assert rows == read_bytes(tmp_path, one + two)
    assert [r["source_row"] for r in rows] == [1, 2]
    assert sorted(tmp_path.rglob("*")) == sorted([*before, tmp_path / name, tmp_path / "day.jsonl"])


@pytest.mark.parametrize("name", ["day.jsonl.gz", "day.tar.gz"])
def test_a_cut_archive_is_an_error(tmp_path: Path, name: str) -> None:
    lines = body(*(session(call(1), session_id=f"S{i * 7919 % 10_007}") for i in range(2_000)))
    packed = gzip.compress(lines) if name.endswith("jsonl.gz") else tar([("a.jsonl", lines)])
    with pytest.raises(InputError, match=f"{name}: damaged or cut short"):
        read_bytes(tmp_path, packed[: len(packed) // 2], name)


def test_what_is_no_archive_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"day\.tgz: damaged or cut short"):
        read_bytes(tmp_path, b"plain text", "day.tgz")


@pytest.mark.parametrize("content", [b"", b"{}\n", b"[\n]\n", body(session(turns=[{"calls": [call()]}]))])
def test_an_input_without_calls_is_an_error(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(InputError, match=r"day\.jsonl: no model call was recognised"):
        read_bytes(tmp_path, content)


def test_a_file_that_repeats_another_is_set_aside(tmp_path: Path) -> None:
    for name in ("a.jsonl", "b.jsonl"):
        (tmp_path / name).write_bytes(body(session(call(1))))
    rows = read(tmp_path / "a.jsonl", tmp_path / "b.jsonl", repeats="a.jsonl")
    assert [r["defect"] for r in rows] == [None, "duplicate"]


@pytest.mark.parametrize("label", ["<script>alert(1)</script>", "'; drop table calls; --", "../../etc/passwd",
                                   "a\x00b\x1b[31m", "x" * 10_000])
def test_hostile_labels_are_data(tmp_path: Path, label: str) -> None:
    (row,) = read_bytes(tmp_path, body(session(call(model=label, message_id=label), session_id=label)))
    assert (row["session_id"], row["call_id"], row["model"], row["defect"]) == (label, label, label, None)


def test_the_published_schema_has_the_keys_that_are_read() -> None:
    shared = Path(__file__).resolve().parents[2].parent / "shared"
    path = shared / "data/copilot/GitHubCopilotCodingAgents_schema.json"
    if not path.exists():
        pytest.skip("needs the shared data folder beside the checkout")
    record = json.loads(path.read_text())["record"]
    assert {"session_id", "turns"} <= set(record)
    (turn,) = record["turns"]
    (one,) = turn["llm_calls"]
    assert set(call()) == set(one)
    assert set(call()["tokens"]) == set(one["tokens"])
    with pytest.raises(InputError, match="no model call was recognised"):
        read(path)


def test_what_is_out_of_bounds(tmp_path: Path) -> None:
    log = DefectLog()
    large = [{"prompt": 8_589_934_591, "completion": 8_589_934_591, "cached": 8_589_934_591},
             {"prompt": 8_589_934_592}, {"prompt": 1, "completion": 8_589_934_592}, {"prompt": 1, "cached": 2**33}]
    content = body(session(*(call(1, tokens=tokens) for tokens in large),
                           call(1, duration_ms=31_622_400_000), call(1, duration_ms=31_622_400_001),
                           call(1, timestamp="1969-12-31T23:59:59.999999Z"), call(1, timestamp="2200-01-01T00:00:00Z")))
    rows = read_bytes(tmp_path, content, log=log)
    assert [row["defect"] for row in rows] == [
        None, "bad_tokens", "bad_tokens", "bad_tokens", None, None, "bad_timestamp", "bad_timestamp"]
    assert [row["duration_us"] for row in rows[4:6]] == [31_622_400_000_000, None]
    assert log.flags == {"bad_optional": 1}
