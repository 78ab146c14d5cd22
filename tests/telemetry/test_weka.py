"""The weka adapter: sessions of kv-cache-tester placed in time (TRAPS 6, 9, 12 to 14, 18 to 20)."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest

from telemetry.adapter import Arrivals, DefectLog, ReadOptions, Source
from telemetry.adapters.weka import ADAPTER, START_US
from telemetry.errors import InputError, UsageError
from telemetry.schema import CALL_SCHEMA

SHARED = Path(__file__).resolve().parents[2].parent / "shared/data/weka"
ARRIVALS = Arrivals(rate=0.5, seed=3)


def request(t: Any, blocks: list[int], **changes: Any) -> dict[str, Any]:
    return {"t": t, "type": "n", "model": "opus", "in": 4 * len(blocks) + 1, "out": 7, "hash_ids": blocks,
            "input_types": ["tool_result"], "api_time": 2.5} | changes


def subagent(t: Any, *requests: Any, **changes: Any) -> dict[str, Any]:
    return {"t": t, "type": "subagent", "agent_id": "agent_001", "requests": list(requests)} | changes


def session(*requests: Any, **changes: Any) -> dict[str, Any]:
    return {"id": "A", "models": ["opus"], "block_size": 4, "hash_id_scope": "local",
            "requests": list(requests)} | changes


def sources(folder: Path, *files: Any, repeats: int | None = None) -> list[Source]:
    made = []
    for rank, content in enumerate(files):
        path = folder / f"{rank}.json"
        path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
        made.append(Source(rank, path, path.name, "0.json" if rank == repeats else None))
    return made


def read(inputs: list[Source], log: DefectLog | None = None, arrivals: Arrivals | None = ARRIVALS
         ) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for batch in ADAPTER.batches(inputs, ReadOptions(arrivals=arrivals), DefectLog() if log is None else log):
        assert batch.schema.equals(CALL_SCHEMA)
        rows += batch.to_pylist()
    return rows


def columns(rows: list[dict[str, Any]], *names: str) -> list[tuple[Any, ...]]:
    return [tuple(row[name] for name in names) for row in rows]


def test_every_column_of_a_call(tmp_path: Path) -> None:
    (row,) = read(sources(tmp_path, session(request(0.0, [1, 2]))))
    keys, start = row.pop("prefix_keys"), row.pop("t_us")
    assert len(keys) == 2
    assert start > START_US
    assert {name: value for name, value in row.items() if value is not None} == {
        "source_rank": 0, "source_row": 1, "session_id": "A", "context_tokens": 9, "cached_tokens": 0,
        "output_tokens": 7, "model": "opus", "user_initiated": True, "duration_us": 2_500_000,
        "block_size": 4}


def test_seconds_become_microseconds_exactly(tmp_path: Path) -> None:
    # 79.224 * 1e6 and 0.1 + 0.2 are the classics that floats get wrong.
    texts = ["0", "0.000001", "79.224", "1180.553", "0.30000000000000004", "53056.0", "2.5e-6"]
    content = json.dumps(session(*(request(0, [1]) for _ in texts)))
    for text in texts:
        content = content.replace('"t": 0,', f'"t":{text},', 1)
    rows = read(sources(tmp_path, content.encode()))
    assert [row["t_us"] - rows[0]["t_us"] for row in rows] == [
        0, 1, 79_224_000, 1_180_553_000, 300_000, 53_056_000_000, 2]


def test_subagents_are_sessions_of_their_own_and_share_the_cache(tmp_path: Path) -> None:
    rows = read(sources(tmp_path, session(
        request(0, [1, 2]),
        subagent(10, request(0, [1, 9], input_types=["text"]), request(5, [1, 9, 10])),
        subagent(10, request(1, [1, 9], model="haiku"), agent_id="agent_001"),
        request(14, [1, 9, 10, 11]),
        request(16, [1, 9, 10, 11])), session(request(0, [5]), id="A/agent_001")))
    start = rows[0]["t_us"]
    assert [(r["session_id"], r["parent_session_id"], r["t_us"] - start, r["cached_tokens"],
             r["user_initiated"]) for r in rows[:-1]] == [
        ("A", None, 0, 0, True),
        ("A/agent_001", "A", 10_000_000, 4, False),  # block 1
        ("A/agent_001", "A", 15_000_000, 12, False),  # all three: the parent's call at 14 s came before it
        ("A/agent_001#2", "A", 11_000_000, 0, False),  # another model's cache
        ("A", None, 14_000_000, 8, False),
        ("A", None, 16_000_000, 16, False),
    ]
    assert rows[-1]["session_id"] == "A/agent_001#3"  # a file that bears the same name


def test_cached_tokens_never_exceed_the_context(tmp_path: Path) -> None:
    # Three blocks of 4 are listed for 9 tokens: the last one is partial.
    partial = request(0, [1, 2, 3], **{"in": 9})
    rows = read(sources(tmp_path, session(partial, partial)))
    assert columns(rows, "context_tokens", "cached_tokens") == [(9, 0), (9, 9)]


def test_calls_without_block_ids_have_unknown_cached_tokens(tmp_path: Path) -> None:
    log = DefectLog()
    rows = read(sources(tmp_path, session(request(0, [1]), request(1, [1], hash_ids=None),
                                          request(2, [1], hash_ids=["x"]),
                                          request(3, [1], api_time=-1))), log)
    assert columns(rows, "cached_tokens", "duration_us", "defect") == [
        (0, 2_500_000, None), (None, 2_500_000, None), (None, 2_500_000, None), (4, None, None)]
    assert log.flags == {"bad_optional": 2}


@pytest.mark.parametrize(("kinds", "opens"), [
    (["text"], True), (["tool_result"], False), (["text", "tool_result", "tool_use"], None), ([], False),
    (None, None),
])
def test_what_opens_a_turn(tmp_path: Path, kinds: list[str] | None, opens: bool | None) -> None:
    rows = read(sources(tmp_path, session(*(request(t, [1], input_types=kinds) for t in (0, 1)))))
    assert [row["user_initiated"] for row in rows] == [True, opens]  # the first one always does


def test_ids_local_to_a_file_never_meet_and_global_ones_do(tmp_path: Path) -> None:
    one, two = session(request(0, [1, 2])), session(request(0, [1, 2]), request(1, [1]), id="B")
    first, second, _ = read(sources(tmp_path, one, two))
    assert not set(first["prefix_keys"]) & set(second["prefix_keys"])
    shared = {"hash_id_scope": "global"}
    first, second, _ = read(sources(tmp_path, one | shared, two | shared))
    assert first["prefix_keys"] == second["prefix_keys"]


def test_bad_requests_are_rows_with_their_defect(tmp_path: Path) -> None:
    log = DefectLog()
    inputs = sources(tmp_path, session(
        request(0, [1]), "no request", request(-1, [1]), request(None, [1]), request(1e300, [1]),
        request(1, [1], **{"in": -5}), request(1, [1], **{"in": None}), request(1, [1], out=-5),
        request(1, [1], out=None), subagent(None, request(0, [1])), subagent(2, requests={}),
        request(3, [1])))
    assert columns(read(inputs, log), "source_row", "session_id", "defect") == [
        (1, "A", None), (2, "A", "unreadable"), (3, "A", "bad_timestamp"), (4, "A", "bad_timestamp"),
        (5, "A", "bad_timestamp"), (6, "A", "bad_tokens"), (7, "A", "bad_tokens"), (8, "A", "bad_tokens"),
        (9, "A", None), (10, "A/agent_001", "bad_timestamp"), (11, "A", "unreadable"), (12, "A", None)]
    assert log.examples["bad_tokens"][0] == "0.json, row 6, column in: bad_tokens ('-5')"
    with pytest.raises(InputError, match=r"0\.json, row 2"):
        read(inputs, DefectLog(strict=True))


@pytest.mark.parametrize(("content", "message"), [
    (b"", "not JSON"),
    (b'{"id": "A", "requests": [', "not JSON"),
    (b"\xff\xfe", "not JSON"),
    (b'{"id": NaN}', "not JSON"),
    (b"[" * 100_000, "not JSON"),
    (b"[]", "a list at the top"),
    (session() | {"id": None}, "key 'id' is 'None' "),
    (session() | {"block_size": 0}, "key 'block_size' is '0' "),
    (session() | {"block_size": -64}, "key 'block_size' is '-64' "),
    (session() | {"hash_id_scope": "cluster"}, "key 'hash_id_scope' is 'cluster' "),
    (session() | {"requests": {}}, "key 'requests' is '{}' "),
    ({"id": "A", "block_size": 64, "hash_id_scope": "local"}, "key 'requests' is missing "),
])
def test_a_file_that_is_no_session_is_an_error(tmp_path: Path, content: Any, message: str) -> None:
    with pytest.raises(InputError) as caught:
        read(sources(tmp_path, session(), content))
    assert str(caught.value).startswith("1.json: ")
    assert message in str(caught.value)


def test_a_missing_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"gone\.json: cannot be read"):
        read([Source(0, tmp_path / "gone.json", "gone.json")])


def test_arrivals_must_be_declared(tmp_path: Path) -> None:
    assert ADAPTER.needs_arrivals
    with pytest.raises(UsageError, match="--arrivals poisson:RATE"):
        read(sources(tmp_path, session()), arrivals=None)
    for arrivals in (Arrivals(0.0, 1), Arrivals(float("nan"), 1), Arrivals(float("inf"), 1),
                     Arrivals(1.0, -1), Arrivals(5e-324, 1)):
        with pytest.raises(UsageError, match="rate"):
            read(sources(tmp_path, session()), arrivals=arrivals)


def test_arrivals_are_poisson_and_pinned(tmp_path: Path) -> None:
    inputs = sources(tmp_path, *(session(request(0, [i]), id=f"s{i}") for i in range(2_000)))
    starts = [row["t_us"] for row in read(inputs)]
    # Philox(3).random_raw() through -ln(1 - u) / 0.5 in 40-digit decimals: alike on every machine.
    assert [start - START_US for start in starts[:3]] == [92_702, 365_393, 836_521]
    gaps = [after - before for before, after in zip([START_US, *starts], starts, strict=False)]
    mean = sum(gaps) / len(gaps) / 1e6
    assert abs(mean - 2.0) < 4 * 2.0 / 2_000**0.5  # four standard errors
    assert abs(sum(gap > 2e6 for gap in gaps) / len(gaps) - 0.3679) < 0.05  # P(gap > mean) = 1/e
    faster = read(inputs[:1], arrivals=Arrivals(5.0, 3))[0]["t_us"] - START_US
    assert abs(faster * 10 - (starts[0] - START_US)) <= 10
    assert read(inputs[:1], arrivals=Arrivals(0.5, 4))[0]["t_us"] != starts[0]


def test_a_session_recorded_twice_is_set_aside_and_moves_no_other(tmp_path: Path) -> None:
    one, two = session(request(0, [1])), session(request(0, [2]), id="B")
    again = json.dumps(one | {"id": "C"}, indent=3).encode()  # another id, another layout
    rows = read(sources(tmp_path, one, again, two))
    assert columns(rows, "session_id", "defect") == [("A", None), ("C", "duplicate"), ("B", None)]
    assert rows[1]["t_us"] == rows[0]["t_us"]
    assert rows[2]["t_us"] == read(sources(tmp_path, one, two))[1]["t_us"]
    rows = read(sources(tmp_path, one, one, repeats=1))
    assert columns(rows, "session_id", "defect") == [("A", None), ("A#2", "duplicate")]


@pytest.mark.parametrize("label", ["<script>alert(1)</script>", "'; drop table calls; --", "../../etc/passwd",
                                   "a\x00b\x1b[31m", "x" * 10_000])
def test_hostile_labels_are_data(tmp_path: Path, label: str) -> None:
    (row,) = read(sources(tmp_path, session(request(0, [1], model=label), id=label)))
    assert (row["session_id"], row["model"], row["defect"]) == (label, label, None)


def plain_cached(requests: list[dict[str, Any]], size: int) -> list[int]:
    """Cached tokens of a file's calls in the order of the file, compared block by block."""
    flat: list[tuple[Any, int, dict[str, Any]]] = []
    for entry in requests:
        inner = entry["requests"] if entry["type"] == "subagent" else [{**entry, "t": 0}]
        flat += [(entry["t"] + one["t"], len(flat) + i, one) for i, one in enumerate(inner)]
    cached = [0] * len(flat)
    ordered = sorted(flat, key=lambda item: item[:2])
    for now, (_, place, call) in enumerate(ordered):
        for _, _, earlier in ordered[:now]:
            if earlier["model"] == call["model"]:
                pairs = zip(earlier["hash_ids"], call["hash_ids"], strict=False)
                same = next((i for i, (a, b) in enumerate(pairs) if a != b),
                            min(len(earlier["hash_ids"]), len(call["hash_ids"])))
                cached[place] = max(cached[place], min(same * size, call["in"]))
    return cached


def test_the_recorded_sessions() -> None:
    paths = sorted(SHARED.glob("trace_*.json"))
    if not paths:
        pytest.skip("needs the shared data folder beside the checkout")
    log = DefectLog(strict=True)
    rows = read([Source(i, path, path.name) for i, path in enumerate(paths)], log)
    assert len(rows) == 728 + 171 + 56
    assert Counter(row["defect"] for row in rows) == {None: 929, "duplicate": 26}
    assert {row["session_id"] for row in rows if row["defect"]} == {"trace_0432"}
    assert log.flags == {}
    assert Counter(row["user_initiated"] for row in rows) == {False: 779, True: 170, None: 6}
    by_file: dict[int, list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        by_file[row["source_rank"]].append(row)
    for rank, path in enumerate(paths):
        recorded, mine = json.loads(path.read_text()), by_file[rank]
        for part, inside in (("parent_tokens", False), ("subagent_tokens", True)):
            chosen = [row for row in mine if (row["parent_session_id"] is not None) == inside]
            assert {"input": sum(row["context_tokens"] for row in chosen),
                    "output": sum(row["output_tokens"] for row in chosen)} == recorded["totals"][part]
        assert len({row["session_id"] for row in mine}) == 1 + recorded["totals"]["subagent_count"]
        assert [row["cached_tokens"] for row in mine] == plain_cached(recorded["requests"], 64)


def test_what_is_out_of_bounds(tmp_path: Path) -> None:
    log = DefectLog()
    rows = read(sources(tmp_path, session(
        request(0, [2**63 - 1], **{"in": 8_589_934_591}), request(1, [], **{"in": 8_589_934_592}),
        request(2, [], out=8_589_934_592), request(3, [2**63], api_time=31_622_400),
        request(4, [], api_time=31_622_401))), log)
    assert columns(rows, "context_tokens", "duration_us", "defect") == [
        (8_589_934_591, 2_500_000, None), (None, None, "bad_tokens"), (None, None, "bad_tokens"),
        (5, 31_622_400_000_000, None), (1, None, None)]
    assert [row["prefix_keys"] is None for row in rows] == [False, True, True, True, False]
    assert log.flags == {"bad_optional": 2}  # block ids are any int64; the duration of 366 days and a second


def test_the_year_2200_is_not_reached(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("telemetry.adapters.weka.START_US", 7_258_118_399_000_000)  # a second before it
    inputs = sources(tmp_path, session(request(0, [1]), request(1, [1])))
    rows = read(inputs, arrivals=Arrivals(rate=1e6, seed=1))
    assert columns(rows, "defect") == [(None,), ("bad_timestamp",)]
    with pytest.raises(UsageError, match=r"go on after the year 2199\. Give a higher one"):
        read(inputs, arrivals=Arrivals(rate=1e-6, seed=1))
