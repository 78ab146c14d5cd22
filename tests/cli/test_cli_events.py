"""Event logs: what a user sees of one, and what is said where calls are needed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from metrics.catalogue import EVENT_METRICS
from metrics.core.event_log import NO_CALLS
from pipelines.cli import main
from pipelines.trace_numbers import event_numbers

COLUMNS = ("session_id", "timestamp", "event", "tool", "model", "cumulative_context_tokens",
           "cumulative_cached_tokens", "cumulative_output_tokens")
# Two sessions; the third event of the first is logged twice.
ROWS: list[tuple[Any, ...]] = [
    ("zebra-0", "2026-03-03T10:00:00Z", "start", None, "okapi-large", None, None, None),
    ("zebra-0", "2026-03-03T10:00:04Z", "tool", "gnu-shell", "okapi-large", 1000, 0, 10),
    ("zebra-0", "2026-03-03T10:00:10Z", "tool", "gnu-shell", "okapi-large", 3000, 1500, 30),
    ("zebra-0", "2026-03-03T10:00:10Z", "tool", "gnu-shell", "okapi-large", 3000, 1500, 30),
    ("zebra-1", "2026-03-03T11:00:00Z", "tool", "gnu-read", "okapi-small", 500, 100, 5),
    ("zebra-1", "2026-03-03T11:00:20Z", "tool", "gnu-read", "okapi-small", 1000, 500, 10),
]
FOUND = {
    "events.count": 5, "events.sessions": 2, "events.span_s": 3620.0, "events.depth_p50": 2, "events.depth_max": 3,
    "events.tool_share": 0.8, "events.tool_calls_per_session_p50": 2, "events.tool_cadence_p50_s": 6.0,
    "events.reuse": 0.5, "events.context_to_output": 100.0, "events.counter_falls": 0,
}


def lines(rows: list[tuple[Any, ...]] = ROWS, **renamed: str) -> str:
    return "".join(json.dumps({renamed.get(name, name): value for name, value in zip(COLUMNS, row, strict=True)
                               if value is not None}) + "\n" for row in rows)


def csv(rows: list[tuple[Any, ...]] = ROWS) -> str:
    return "\n".join([",".join(COLUMNS), *(",".join("" if v is None else str(v) for v in row) for row in rows)]) + "\n"


def parquet(path: Path) -> Path:
    pq.write_table(pa.table({name: [row[place] for row in ROWS] for place, name in enumerate(COLUMNS)}), path)
    return path


def test_the_three_kinds_of_file_say_the_same(cli: Any) -> None:
    files = [cli.file(lines(), "events.jsonl"), cli.file(csv(), "events.csv"), parquet(cli.folder / "events.parquet")]
    stores = []
    for file in files:
        ran = cli.ok(file, format="events")
        numbers = ran.json()
        assert {key: numbers[key]["value"] for key in FOUND} == FOUND
        assert ran.json("audit")["rows_excluded"]["duplicate"] == 1
        assert "  median tool cadence:         6.00 s\n" in ran.stdout
        assert "6 read, 5 used, 1 set aside" in ran.stdout
        stores.append({key: number["value"] for key, number in numbers.items()})
    assert stores[0] == stores[1] == stores[2]


def test_what_is_defined_over_calls_is_null_with_the_reason(cli: Any) -> None:
    numbers = cli.ok(cli.file(lines(), "events.jsonl"), format="events", quick=False).json()
    own = {number.key for metric in EVENT_METRICS for number in metric.numbers}
    others = {key for key in numbers if key not in own and not key.startswith("audit.")}
    assert {"trace.calls", "depth.p50", "gap.p50_s", "working_set.p50_gib", "replay.busiest-hour.session.lru.b10",
            "idle_cap.1h.ceiling_bytes", "placement.sr_share"} <= others
    assert {(numbers[key]["value"], numbers[key]["why"]) for key in others} == {(None, NO_CALLS)}


def test_the_report_is_of_events(cli: Any) -> None:
    ran = cli.ok(cli.file(lines(), "events.jsonl"), format="events", page=True)
    page = ran.page()
    for words in ("report of an event log", "How many events does a session log?", "How often does a session execute a",
                  "of the context", "This is an event log: its rows are tool executions", 'id="n-events.reuse"'):
        assert words in page, words
    for words in ("working sets are", 'id="n-depth.p50"', 'id="fig08"', "Replays are counterfactual", "zebra", "okapi",
                  "gnu-"):
        assert words not in page, words
    for name in ("numbers", "audit", "manifest"):
        assert "zebra" not in json.dumps(ran.json(name))
    assert ran.json("manifest")["input"]["rows"] == "events"
    assert sorted(path.stem for path in (ran.out / "all/tables").iterdir()) == ["event_depth_ccdf", "tool_cadence_cdf"]


def test_a_split_has_an_index_of_events(cli: Any) -> None:
    ran = cli.ok(cli.file(lines(), "events.jsonl"), "--split", "1h", format="events", page=True)
    assert len(ran.manifests()) == 2
    index = (ran.out / "index.html").read_text(encoding="utf-8")
    assert "Tool cadence, median" in index
    assert "Hold all live" not in index


def test_words_and_names_of_another_log(cli: Any) -> None:
    rows = [(*row[:2], "Tool_Use" if row[2] == "tool" else row[2], *row[3:]) for row in ROWS]
    file = cli.file(lines(rows, session_id="conversation", cumulative_cached_tokens="cache_read"), "events.jsonl")
    config = cli.toml('[columns]\nsession_id = "conversation"\ncumulative_cached_tokens = "cache_read"\n'
                      '[source]\ntool_events = ["tool_use"]\ncontext_excludes_cached = true\n')
    ran = cli.ok(file, "--config", config, format="events")
    assert ran.value("events.tool_share") == 0.8
    assert ran.value("events.reuse") == 2000 / 6000  # 1,500 of 3,000 and as many more; 500 of 1,000 and as many more
    assert ran.json("manifest")["configuration"]["tool_events"] == 1
    named = cli.ok(file, "--config", config, "--names", format="events")
    assert named.json("manifest")["configuration"]["tool_events"] == ["tool_use"]
    # Without the word no event is a tool execution, and that is no share of 0.
    plain = cli.toml('[columns]\nsession_id = "conversation"\n')
    number = cli.ok(file, "--config", plain, format="events").json()["events.tool_share"]
    assert number["value"] is None
    assert "tool_events" in number["why"]


BAD = [
    ("zebra-0", "2026-03-03T10:00:00Z", "tool", None, None, -5, None, None),
    ("zebra-0", None, "tool", None, None, 5, None, None),
    ("zebra-0", "2026-03-03T25:00:00Z", "tool", None, None, 5, None, None),
    ("zebra-0", "2026-03-03T10:00:01Z", "tool", None, None, 2**40, None, None),
    ("zebra-0", "2026-03-03T10:00:02Z", "tool", None, None, "many", None, None),
    ("zebra-0", "2026-03-03T10:00:03Z", "tool", None, None, 2**40 - 1, None, None),
]


def test_rows_that_cannot_be_used_are_set_aside(cli: Any) -> None:
    ran = cli.ok(cli.file(lines(BAD) + "no object\n", "events.jsonl"), format="events")
    assert ran.json("audit")["rows_excluded"] == {
        "unreadable": 1, "bad_timestamp": 2, "bad_tokens": 3, "duplicate": 0, "outside_window": 0}
    assert "row 1, column cumulative_context_tokens: bad_tokens ('-5')" in ran.stderr
    cli.fails(3, cli.file(lines(BAD), "bad.jsonl"), "--strict", format="events",
              says=["row 1, column cumulative_context_tokens: bad_tokens"])
    # An event that is logged again is none.
    cli.ok(cli.file(lines(), "events.jsonl"), "--strict", format="events")


def test_what_is_no_event_log(cli: Any) -> None:
    cli.fails(3, cli.file(), format="events", says=["no column 'event' for event"])
    cli.fails(3, cli.file(lines(), "events.jsonl"), format="calls",
              says=["no column 'context_tokens'", "--format events reads event logs"])
    config = cli.toml('[columns]\ncontext_tokens = "cumulative_context_tokens"\n')
    cli.fails(2, cli.file(lines(), "events.jsonl"), "--config", config, format="events",
              says=["maps 'context_tokens', which is no column of an event", "Known columns: session_id, timestamp"])
    config = cli.toml('[columns]\ntool = "which"\n')
    cli.fails(3, cli.file(lines(), "events.jsonl"), "--config", config, format="events",
              says=["maps tool to 'which', which is in no file"])
    cli.fails(2, cli.file(lines(), "events.jsonl"), "--config", cli.toml("[source]\ntool_events = []\n"),
              format="events", says=["source.tool_events = '[]'; expected a list of texts in quotes"])
    cli.fails(3, cli.file(lines(), "events.jsonl"), "--window", "2020-01-01/2020-01-02", format="events",
              says=["no event lies in the window; the input's events start from 2026-03-03T10:00:00Z"])


@pytest.mark.parametrize("words", [("--bootstrap", "20"), ("--hours",), ("--sample-sessions", "0.5"),
                                   ("--routing", "sticky"), ("--bounds", "lower")])
def test_replays_are_not_asked_of_events(cli: Any, words: tuple[str, ...]) -> None:
    cli.fails(2, cli.file(lines(), "events.jsonl"), *words, format="events",
              says=[f"{words[0]}: calls are replayed, and the format events holds none"])


def test_commands_that_need_calls_say_so(cli: Any, capsys: pytest.CaptureFixture[str]) -> None:
    log = str(cli.file(lines(), "events.jsonl"))
    out = str(cli.folder / "made")
    for words in (["replay", log, "--out", out], ["fit", log, "--out", f"{out}.toml"], ["ladder", log, "--rate", "1"],
                  ["generate", "--profile", "research", "--sessions", "5", "--out", out, "--check", log]):
        assert main([*words, "--format", "events"]) == 2, words
        message = capsys.readouterr().err
        assert "the format events holds events, and calls are needed here. Formats that hold calls: calls" in message
        assert not Path(out).exists()
    store = cli.ok(log, format="events").out / "all"
    for words in (["cost", str(store)], ["size", str(store), "--target-miss", "10%"]):
        assert main(words) == 3
        assert "holds no replay: the input is an event log" in capsys.readouterr().err


def test_two_event_logs_are_compared(cli: Any, capsys: pytest.CaptureFixture[str]) -> None:
    stores = [cli.ok(cli.file(lines(rows), "events.jsonl"), format="events").out for rows in (ROWS, ROWS[:4])]
    page = cli.folder / "side.html"
    assert main(["compare", *map(str, stores), "--out", str(page), "--json"]) == 0
    ranked = json.loads(capsys.readouterr().out)
    text = json.dumps(ranked)
    assert "events.tool_share" in text
    assert "events.count" not in text


SMALL = ["generate", "--profile", "code", "--sessions", "300", "--days", "5", "--seed", "7"]


def test_a_generated_log(cli: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*SMALL, "--threads", "1", "--out", str(tmp_path / "a")]) == 0
    assert main([*SMALL, "--threads", "3", "--out", str(tmp_path / "b")]) == 0
    assert sorted(path.name for path in (tmp_path / "a").iterdir()) == ["events.parquet", "trace.json"]
    for name in ("events.parquet", "trace.json"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
    table = pq.read_table(tmp_path / "a" / "events.parquet")
    times = table["timestamp"].to_pylist()
    assert times == sorted(times)
    ran = cli.ok(tmp_path / "a", format="events")
    measured = event_numbers([tmp_path / "a" / "events.parquet"], tmp_path)
    published = ran.json()
    assert measured == {key: published[key]["value"] for key in measured}
    assert ran.json("audit")["rows_excluded"]["duplicate"] == len(table) - published["events.count"]["value"] > 0
    assert ran.json("audit")["flags"] == dict.fromkeys(ran.json("audit")["flags"], 0)


@pytest.mark.parametrize(("words", "says"), [
    (["--independent"], "--independent: the profile code is of an event log"),
    (["--stickiness", "0.5"], "places no calls"), (["--classes", "1"], "has no model classes"),
    (["--check", "calls.csv"], "--check CALLS: the profile code is of an event log"),
])
def test_knobs_of_calls_are_refused(words: list[str], says: str, tmp_path: Path,
                                    capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*SMALL, *words, "--out", str(tmp_path / "a")]) == 2
    assert says in capsys.readouterr().err
    assert not (tmp_path / "a").exists()


def test_the_check_of_a_generated_log(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["generate", "--profile", "code", "--seed", "3", "--check"]
    assert main([*words, "--out", str(tmp_path / "a")]) == 0
    assert "FAILS" not in capsys.readouterr().out
    # A cache that finds nothing cannot have the published reuse.
    assert main([*words, "--cache-effectiveness", "0", "--out", str(tmp_path / "b")]) == 1
    assert "the check does not hold: events.reuse." in capsys.readouterr().err
