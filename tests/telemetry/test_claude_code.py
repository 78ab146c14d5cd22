"""The claude-code adapter: the calls that hand-written logs stand for (TRAPS 1 to 8, 13, 15, 18 to 20)."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from telemetry.adapter import DefectLog, ReadOptions, Source
from telemetry.adapters.claude_code import ADAPTER
from telemetry.errors import InputError
from telemetry.schema import CALL_SCHEMA

FIXTURES = Path(__file__).parent / "fixtures" / "claude_code"
DAY_US = 86_400_000_000
DAY0_US = 1_772_323_200_000_000  # 2026-03-01T00:00:00Z


def at(day: int, clock: str) -> int:
    """Microseconds of a time of day in March 2026."""
    hours, minutes, seconds = clock.split(":")
    whole, _, part = seconds.partition(".")
    of_day = (int(hours) * 60 + int(minutes)) * 60 + int(whole)
    return DAY0_US + (day - 1) * DAY_US + of_day * 1_000_000 + int(part.ljust(6, "0") or 0)


def read(*paths: Path, log: DefectLog | None = None, repeats: dict[str, str] | None = None
         ) -> list[dict[str, Any]]:
    sources = [Source(i, path, path.name, (repeats or {}).get(path.name)) for i, path in enumerate(paths)]
    log = DefectLog() if log is None else log
    rows: list[dict[str, Any]] = []
    for batch in ADAPTER.batches(sources, ReadOptions(), log):
        assert batch.schema.equals(CALL_SCHEMA)
        rows += batch.to_pylist()
    return rows


def fixtures(*names: str) -> list[Path]:
    return [FIXTURES / f"{name}.jsonl" for name in names]


def calls(rows: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    """What is left by the engine's rule: of equal call ids the largest output, then the last."""
    kept: dict[Any, dict[str, Any]] = {}
    for row in rows:
        if row["defect"] is not None:
            continue
        key = row["call_id"] or (row["source_rank"], row["source_row"])
        if key not in kept or (row["output_tokens"] or 0) >= (kept[key]["output_tokens"] or 0):
            kept[key] = row
    ordered = sorted(kept.values(), key=lambda r: (r["t_us"], r["source_rank"], r["source_row"]))
    return [(r["call_id"], r["session_id"], r["parent_session_id"], r["t_us"], r["context_tokens"],
             r["cached_tokens"], r["output_tokens"], r["user_initiated"]) for r in ordered]


def write(path: Path, *records: Any) -> Path:
    path.write_text("".join(f"{json.dumps(record)}\n" for record in records))
    return path


def assistant(**changes: Any) -> dict[str, Any]:
    message = {"id": "m1", "model": "opus", "usage": {"input_tokens": 1, "output_tokens": 1}}
    return {"type": "assistant", "uuid": "a1", "sessionId": "S", "timestamp": "2026-03-01T00:00:00Z",
            "message": message | changes.pop("message", {})} | changes


def test_one_call_per_message_with_its_final_output_and_first_time() -> None:
    rows = read(*fixtures("stream"))
    assert len(rows) == 9
    assert calls(rows) == [
        ("msg_1", "S", None, at(1, "10:00:02"), 16004, 0, 120, True),
        ("msg_2", "S", None, at(1, "10:00:09.25"), 16406, 16000, 30, False),  # no request id
        ("msg_3", "S", None, at(1, "10:30:04"), 16410, 16400, 50, True),  # a command, then its text
        ("msg_4", "S", None, at(1, "10:30:07"), 16430, 16410, 5, False),  # a hook, not a person
        ("msg_5", "S", None, at(1, "10:31:09"), 5003, 0, 7, False),  # after compaction: context shrinks
        ("msg_6", "S", None, at(1, "10:32:02"), 5103, 5000, 4, False),  # a background task ended
    ]


@pytest.mark.parametrize("order", [("resume_a_copy", "resume_b_original"),
                                   ("resume_b_original", "resume_a_copy")])
def test_a_resumed_copy_leaves_the_history_with_its_first_session(order: tuple[str, str]) -> None:
    rows = read(*fixtures(*order))
    assert len(rows) == 5
    assert calls(rows) == [
        ("msg_r1", "OLD", None, at(2, "09:00:02"), 1005, 0, 40, True),
        ("msg_r2", "OLD", None, at(2, "09:01:02"), 1055, 1000, 60, True),
        ("msg_r3", "NEW", None, at(3, "08:00:03"), 1105, 0, 9, True),
    ]


@pytest.mark.parametrize("order", [("fork_a_copy", "fork_b_trunk"), ("fork_b_trunk", "fork_a_copy")])
def test_a_fork_leaves_the_history_with_the_session_it_names(order: tuple[str, str]) -> None:
    assert calls(read(*fixtures(*order))) == [
        ("msg_f1", "TRUNK", None, at(4, "09:00:02"), 1005, 0, 40, True),
        ("msg_f2", "FORK", None, at(4, "09:05:02"), 1065, 1000, 8, True),
        ("msg_f3", "TRUNK", None, at(4, "10:00:02"), 1075, 1000, 9, True),
    ]


def test_a_fork_without_its_trunk_still_names_it() -> None:
    assert [call[:2] for call in calls(read(*fixtures("fork_a_copy")))] == [
        ("msg_f1", "TRUNK"), ("msg_f2", "FORK")]


def test_subagents_are_sessions_of_their_own() -> None:
    assert calls(read(*fixtures("side_agent", "side_main"))) == [
        ("msg_p1", "P", None, at(5, "09:00:02"), 1005, 0, 40, True),
        ("msg_x1", "P/x1", "P", at(5, "09:00:06"), 305, 0, 10, False),
        ("msg_z1", "P/z1", "P", at(5, "09:00:06.5"), 315, 0, 11, False),
        ("msg_x2", "P/x1", "P", at(5, "09:00:08"), 325, 300, 12, False),
        ("msg_g1", "P/ag7", "P", at(5, "09:00:12"), 205, 0, 13, False),
        ("msg_p2", "P", None, at(5, "09:00:24"), 1085, 1000, 41, False),
    ]


def test_history_copied_into_a_subagent_stays_with_the_main_session(tmp_path: Path) -> None:
    main = assistant()
    later = assistant(uuid="a9", timestamp="2026-03-01T09:00:00Z", message={"id": "m9"})
    side = assistant(isSidechain=True, agentId="g")
    paths = write(tmp_path / "a.jsonl", side), write(tmp_path / "b.jsonl", main, later)
    assert [call[:3] for call in calls(read(*paths))] == [("m1", "S", None), ("m9", "S", None)]


def test_what_is_no_call_what_failed_and_what_cannot_be_read() -> None:
    log = DefectLog()
    rows = read(*fixtures("odd"), log=log)
    assert [(r["source_row"], r["defect"]) for r in rows] == [
        (2, "synthetic"), (3, None), (4, None), (5, None), (6, None), (7, "bad_tokens"), (8, "bad_timestamp"),
        (9, "bad_tokens"), (10, None), (12, "unreadable"), (13, "unreadable"), (14, "unreadable")]
    assert [(r["failed"], r["cached_tokens"]) for r in rows if r["defect"] is None] == [
        (False, None), (True, 1), (False, 0), (False, 0), (False, 0)]
    assert calls(rows) == [
        ("msg_o1", "O", None, at(6, "09:00:05"), 9, None, 0, True),  # the turn is opened after the error
        ("msg_o6", None, None, at(6, "09:00:08"), 7, 0, 1, None),
        ("msg_o2", "O", None, at(6, "09:00:09"), 10, 1, 0, False),
        (None, "O", None, at(6, "09:00:10"), 1, 0, 1, None),  # two without an id: never merged
        (None, "O", None, at(6, "09:00:10"), 1, 0, 1, None),
    ]
    assert log.flags == {"clock_reversal": 1}
    assert {reason: len(seen) for reason, seen in log.examples.items()} == {
        "bad_tokens": 2, "bad_timestamp": 1, "unreadable": 3}
    assert log.examples["bad_timestamp"] == [
        "odd.jsonl, row 8, column timestamp: bad_timestamp ('yesterday')"]


def test_strict_stops_at_the_first_bad_record() -> None:
    with pytest.raises(InputError, match=r"odd\.jsonl, row 7, column input_tokens: bad_tokens"):
        read(*fixtures("odd"), log=DefectLog(strict=True))


def test_a_file_that_repeats_another_is_set_aside(tmp_path: Path) -> None:
    copy = tmp_path / "z.jsonl"
    shutil.copy(FIXTURES / "side_agent.jsonl", copy)
    rows = read(*fixtures("side_agent"), copy, repeats={"z.jsonl": "side_agent.jsonl"})
    assert [r["defect"] for r in rows] == [None, "duplicate"]


def test_an_input_without_calls_is_an_error(tmp_path: Path) -> None:
    path = write(tmp_path / "new.jsonl", {"type": "response", "tokens": 5}, {"type": "user", "message": {}})
    with pytest.raises(InputError, match=r"new\.jsonl: no model call was recognised"):
        read(path)


def test_a_missing_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"gone\.jsonl: cannot be read"):
        read(tmp_path / "gone.jsonl")


@pytest.mark.parametrize(("usage", "defect"), [
    ({"input_tokens": True}, "bad_tokens"),
    ({"input_tokens": "7"}, "bad_tokens"),
    ({"input_tokens": 1.5}, "bad_tokens"),
    ({"input_tokens": 2**63}, "bad_tokens"),
    ({"input_tokens": 8_589_934_592}, "bad_tokens"),
    ({"input_tokens": 5, "output_tokens": 8_589_934_592}, "bad_tokens"),
    ({"input_tokens": 2**32, "cache_read_input_tokens": 2**32}, "bad_tokens"),  # their sum is above 2^33 - 1
    ({"input_tokens": 5, "output_tokens": -1}, "bad_tokens"),
    ({"input_tokens": 5, "cache_read_input_tokens": "x"}, "bad_tokens"),
    ({"input_tokens": 0, "output_tokens": 0}, "synthetic"),
    ({"input_tokens": 5.0}, None),
    ({"input_tokens": 0, "cache_read_input_tokens": 5}, None),
])
def test_token_counts(tmp_path: Path, usage: dict[str, Any], defect: str | None) -> None:
    good = assistant(uuid="a0", message={"id": "m0"})
    rows = read(write(tmp_path / "x.jsonl", good, assistant(message={"usage": usage})))
    assert rows[1]["defect"] == defect
    assert rows[1]["context_tokens"] == (5 if defect is None else None)


@pytest.mark.parametrize("label", ["<script>alert(1)</script>", "'; drop table calls; --", "../../etc/passwd",
                                   "a\x00b\x1b[31m", "x" * 10_000])
def test_hostile_labels_are_data(tmp_path: Path, label: str) -> None:
    record = assistant(sessionId=label, message={"id": label, "model": label})
    (row,) = read(write(tmp_path / "x.jsonl", record))
    assert (row["session_id"], row["call_id"], row["model"], row["defect"]) == (label, label, label, None)


def test_hostile_bytes_do_not_get_through(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    good = json.dumps(assistant(message={"id": "\ud800"})).encode()  # a lone surrogate
    path.write_bytes(b"\n".join([b"\xef\xbb\xbf" + good, b"\xff\xfe", b"[" * 100_000, b'{"type": NaN}',
                                 b'{"n": ' + b"9" * 5_000 + b"}", b'{"n": 1e99999999999999999999}']))
    rows = read(path)
    assert [(r["source_row"], r["defect"]) for r in rows] == [
        (1, None), *((row, "unreadable") for row in range(2, 7))]
    assert rows[0]["call_id"] == "\\ud800"


def test_the_largest_context(tmp_path: Path) -> None:
    usage = {"input_tokens": 2**32 - 1, "cache_read_input_tokens": 2**32, "output_tokens": 2**33 - 1}
    (row,) = read(write(tmp_path / "x.jsonl", assistant(message={"usage": usage})))
    assert (row["defect"], row["context_tokens"], row["output_tokens"]) == (None, 8_589_934_591, 8_589_934_591)


def test_times_outside_1970_to_2200(tmp_path: Path) -> None:
    times = ("1969-12-31T23:59:59Z", "1970-01-01T00:00:00Z", "2199-12-31T23:59:59Z", "2200-01-01T00:00:00Z")
    rows = read(write(tmp_path / "x.jsonl", *(
        assistant(uuid=f"u{i}", message={"id": f"m{i}"}, timestamp=time) for i, time in enumerate(times))))
    assert [row["defect"] for row in rows] == ["bad_timestamp", None, None, "bad_timestamp"]
