"""Metrics, intervals, fairness and orderings on literal turns; the command on the reference workloads."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.cli import main
from replay.tier.fairness import fairness
from replay.tier.metrics import nearest_rank, summarize
from replay.tier.published import printed
from replay.tier.record import Outcome, TurnRecord
from replay.tier.uncertainty import hit_interval, spreads


def record(session: int, turn: int, arrival: int, first: int, end: int, prompt: int = 10, device: int = 0,
           tier: int = 0) -> TurnRecord:
    return TurnRecord(session, turn, arrival, arrival, first, end, prompt, 1, device, tier, prompt - device - tier)


def outcome(*records: TurnRecord, **tier: Any) -> Outcome:
    counters: dict[str, Any] = {"stored_bytes": 0, "reloaded_bytes": 0, "stores_refused": 0, "refused": {},
                                "evicted": {}}
    return Outcome(list(records), [], max(each.end_us for each in records), counters | tier)


S = 1_000_000


def test_metrics_by_hand() -> None:
    # Two seeds of 10 s and 30 s. Latencies 2, 4, 6, 30 s; TTFT 1, 2, 3, 20 s, of which turns 2 and on: 2 s.
    one = outcome(record(0, 0, 0, S, 2 * S), record(0, 1, 6 * S, 8 * S, 10 * S, 20, 5, 6),
                  stored_bytes=300, reloaded_bytes=60, evicted={"far": 2})
    two = outcome(record(0, 0, 0, 20 * S, 30 * S, 10), record(1, 0, S, 4 * S, 7 * S, 10),
                  refused={"admission": 4}, stores_refused=1, evicted={"far": 1, "finished": 5})
    found = summarize([one, two])
    assert (found.turns, found.probes) == (4, 0)
    assert (found.ttft_mean_s, found.ttft_p50_s, found.ttft_p95_s, found.late_ttft_mean_s) == (6.5, 2.0, 20.0, 2.0)
    assert (found.latency_mean_s, found.latency_p95_s) == (10.5, 30.0)
    assert (found.jct_mean_s, found.jct_p90_s) == (pytest.approx(46 / 3), 30.0)  # 10, 30 and 6 s
    assert found.turns_per_s == 4 / 40
    assert found.device_hit_share == 5 / 50
    assert found.tier_hit_rate == 6 / 45
    assert (found.stored_bytes, found.reloaded_bytes, found.stored_per_reloaded) == (300, 60, 5.0)
    assert (found.stores_refused, found.refused, found.evicted) == (1, {"admission": 4}, {"far": 3, "finished": 5})


@given(st.lists(st.integers(0, 50), min_size=1, max_size=60), st.integers(1, 100))
def test_nearest_rank_is_numpys_inverted_cdf(values: list[int], percent: int) -> None:
    ordered = sorted(values)
    assert nearest_rank(ordered, percent) == ordered[(len(ordered) * percent + 99) // 100 - 1]
    assert sum(value <= nearest_rank(ordered, percent) for value in ordered) * 100 >= percent * len(ordered)


def run_of(latencies: list[list[int]]) -> Outcome:
    return outcome(*(record(session, turn, 0, 1, latency) for session, each in enumerate(latencies)
                     for turn, latency in enumerate(each)))


@settings(deadline=None, max_examples=30)
@given(st.lists(st.lists(st.integers(1, 10**6), min_size=1, max_size=5), min_size=1, max_size=8),
       st.integers(0, 1000))
def test_a_constant_delay_has_a_sure_difference(latencies: list[list[int]], delay: int) -> None:
    later = [[latency + delay for latency in each] for each in latencies]
    found = spreads({"a": [run_of(latencies)], "b": [run_of(later)]}, "a", 50)
    for delta in (found["b"].delta_by_turn, found["b"].delta_by_session):
        assert (delta.lo, delta.hi) == (pytest.approx(delay / 1e6), pytest.approx(delay / 1e6))
    assert found["b"].delta_s == pytest.approx(delay / 1e6)
    lowest, highest = min(map(min, latencies)) / 1e6, max(map(max, latencies)) / 1e6
    assert lowest <= found["a"].by_turn.lo <= found["a"].by_turn.hi <= highest


def test_sessions_are_drawn_whole() -> None:
    # Every turn of a session is alike: over turns the p95 is hardly ever 1 s, over four sessions it is in 1 of 256.
    alike = [[S] * 50, [2 * S] * 50, [3 * S] * 50, [4 * S] * 50]
    found = spreads({"a": [run_of(alike)]}, "a", 400)["a"]
    assert (found.by_turn.lo, found.by_turn.hi) == (4.0, 4.0)
    assert found.by_session.lo < 4.0 == found.by_session.hi


def test_intervals_match_a_bootstrap_written_out() -> None:
    rng = np.random.default_rng(5)
    latencies = [rng.integers(1, 10**6, 6).tolist() for _ in range(40)]
    mine = spreads({"a": [run_of(latencies)]}, "a", 2000)["a"].by_session
    values = []
    for _ in range(2000):
        drawn = sorted(v for i in rng.integers(0, 40, 40) for v in latencies[i])
        values.append(nearest_rank(drawn, 95))
    values.sort()
    assert mine.lo == pytest.approx(values[50] / 1e6, rel=0.05)
    assert mine.hi == pytest.approx(values[1949] / 1e6, rel=0.05)


def test_intervals_of_hit_rates_draw_whole_sessions() -> None:
    # Two sessions: 8 of 10 tokens asked for were found, and 0 of 30. Drawn twice: 0, 0.2 or 0.8.
    run = outcome(record(0, 0, 0, 1, 2, 20, 10, 8), record(1, 0, 0, 1, 2, 20), record(1, 1, 0, 1, 2, 10))
    assert hit_interval([run], 400) == (0.0, 0.8)
    alike = outcome(*(record(i, 0, 0, 1, 2, 10 * (i + 1), 0, 5 * (i + 1)) for i in range(6)))
    assert hit_interval([alike, alike], 50) == (0.5, 0.5)
    nothing = outcome(record(0, 0, 0, 1, 2, 20, 20))
    assert hit_interval([nothing], 10) is None


def test_fairness_by_hand() -> None:
    # Sessions of 10, 20, ..., 60 tokens took 10 s each; now 9, 8, 10, 10, 12 and 5 s.
    before = outcome(*(record(i, 0, 0, S, 10 * S, 10 * (i + 1)) for i in range(6)))
    now = outcome(*(record(i, 0, 0, S, time * S, 10 * (i + 1)) for i, time in enumerate((9, 8, 10, 10, 12, 5))))
    found = fairness([now], [before])
    assert list(found) == ["all", "small", "medium", "large"]
    assert found["all"].improved == 0.5
    assert (found["all"].median, found["all"].worst_decile) == (0.0, pytest.approx(-0.2))
    assert [found[name].improved for name in ("small", "medium", "large")] == [1.0, 0.0, 0.5]
    assert found["small"].sessions == 2
    assert found["large"].worst_decile == pytest.approx(-0.2)


def test_sessions_of_one_size_are_parted_by_their_number_whatever_they_gained() -> None:
    # Of three sessions of 10 tokens the first two are small, wherever the loser is, and in whichever order they end.
    before = outcome(*(record(i, 0, 0, S, 10 * S) for i in range(3)))
    for loser in range(3):
        times = [12 if i == loser else 5 for i in range(3)]
        now = outcome(*(record(i, 0, 0, S, times[i] * S) for i in (2, 0, 1)))
        assert [fairness([now], [before])[name].improved for name in ("small", "medium", "large")] == [
            float(i != loser) for i in range(3)]


@pytest.mark.parametrize("path", ["/", ".", "there.jsonl", "link.jsonl", "pipe"])
def test_turns_take_nothings_place(path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                   capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    Path("there.jsonl").write_text("mine")
    Path("link.jsonl").symlink_to("nowhere")
    os.mkfifo("pipe")
    assert main(["ladder", "--workload", "continuum-d", "--platform", "h200-continuum-d", "--turns", path]) == 2
    assert "is no new file" in capsys.readouterr().err
    assert Path("there.jsonl").read_text() == "mine"


def test_a_pool_from_which_nothing_is_evicted_is_full_residency(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["ladder", "--workload", "continuum-d", "--platform", "h200-continuum-d", "--policies", "none,lru,gate",
             "--seeds", "1", "--bootstrap", "0", "--dram", "40GB", "--json"]
    assert main(words) == 0
    [cell] = json.loads(capsys.readouterr().out)["cells"]
    assert cell["rows"]["lru"]["summary"]["evicted"] == {}
    assert [each["source"] for each in cell["orderings"]] == ["Tenure 6.3"]


def test_what_is_printed_stands_beside_its_cell_alone() -> None:
    cell = printed("swe", "h100-tenure", 8 * 10**9, 0.5)
    assert (cell["gate", "latency_p95_s"].low, cell["gate", "latency_p95_s"].kind) == (11.42, "published")
    assert cell["lru", "latency_p95_s"].low - cell["gate", "latency_p95_s"].low == pytest.approx(2.71)
    assert 1 - 11.42 / cell["lru", "latency_p95_s"].low == pytest.approx(cell["gate", "p95_gain"].low, abs=0.001)
    other = printed("swe", "h200-continuum-d", 9 * 10**9, 0.5)
    assert {key: value.low for key, value in other.items()} == {
        ("workload", "live_sessions"): 53, ("workload", "live_gb"): 41.9}
    assert printed("swe", "h100-tenure", 8 * 10**9, 0.6) == {}
    assert printed("somebody's", "h100-tenure", 8 * 10**9, 0.5) == {}


@pytest.fixture(scope="module")
def cells(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The rows behind Tenure's claims on swe, one seed, a tight tier and one in which everything fits."""
    folder = tmp_path_factory.mktemp("ladder")
    with pytest.MonkeyPatch.context() as patch:
        said: list[str] = []
        patch.setattr("pipelines.priced.say", lambda text: said.append(text))
        assert main(["ladder", "--workload", "swe", "--dram", "8GB,64GB", "--seeds", "1", "--policies",
                     "none,lru,mori,gate", "--bootstrap", "200", "--turns", str(folder / "turns.jsonl"),
                     "--json"]) == 0
    return json.loads(said[0]), (folder / "turns.jsonl").read_text().splitlines()


def test_tenures_orderings(cells: Any) -> None:
    tight, ample = cells[0]["cells"]
    assert {each["claim"].split(",")[0]: each["holds"] for each in tight["orderings"]} == {
        "no eviction-only policy is more than 5 % of p95 from no tier": True, "gate beats lru on p95": True}
    assert [(each["claim"], each["holds"]) for each in ample["orderings"]] == [
        ("at full residency no row is more than 5 % faster than lru", True)]
    assert tight["rows"]["gate"]["gains"]["all"]["improved"] == 1.0
    assert tight["rows"]["lru"]["summary"]["stored_per_reloaded"] > 50
    assert tight["rows"]["gate"]["summary"]["stored_per_reloaded"] < 1


def test_a_line_for_every_turn(cells: Any) -> None:
    content, lines = cells
    assert len(lines) == 2 * 4 * 1790
    turns = [json.loads(line) for line in lines]
    gate = [turn for turn in turns if turn["row"] == "gate" and turn["tier_bytes"] == 8 * 10**9]
    summary = content["cells"][0]["rows"]["gate"]["summary"]
    latency = sorted(turn["end_us"] - turn["arrival_us"] for turn in gate)
    assert latency[-(-1790 * 95 // 100) - 1] / 1e6 == summary["latency_p95_s"]
    assert sum(turn["tier_hit_tokens"] for turn in gate) * 131_072 == summary["reloaded_bytes"]
    assert {(turn["workload"], turn["platform"], turn["rate"], turn["seed"], turn["probe"]) for turn in turns} == {
        ("swe", "h100-tenure", 0.5, 1, False)}


def tables(lines: list[str], title: str) -> list[dict[str, list[str]]]:
    """Row -> cells of every table of that title."""
    starts = [i for i, line in enumerate(lines) if line.strip().startswith(title)]
    width = 2 + max(len(title), len("job_aware warm"))
    return [{line[2:width].strip(): line[width:].split() for line in lines[i + 1:lines.index("", i)]} for i in starts]


def test_continuum_ds_table(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["ladder", "--workload", "continuum-d", "--platform", "h200-continuum-d", "--dram", "8GB,40GB", "--study",
             "warm", "--bootstrap", "0"]
    assert main(words) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == ("kvcensus ladder --workload continuum-d --platform h200-continuum-d --dram 8GB,40GB --rate 2 "
                        "--seeds 3 --study warm --control lru --bootstrap 0")
    tight, ample = tables(lines, "tier and service")
    assert tight["lru"][:2] == ["0.0%", "0.0%"] != tight["job_aware"][:2]  # Continuum-D 2.3
    assert ample["lru"] == ample["job_aware"]  # 7.2: nothing is evicted, nothing decided
    times, _ = tables(lines, "time to first token, s")
    assert [times[name][-1] for name in ("none", "lru", "job_aware", "job_aware warm")] == [
        "0.0953", "0.0965", "0.0802", "0.0718"]
    assert any(line.startswith("holds: late turns start sooner under job_aware") for line in lines)


@pytest.mark.parametrize(("words", "says"), [
    (["--workload", "chat"], "--workload 'chat' is not known. Known: swe, continuum-d."),
    (["--workload", "swe", "--dram", "10%"], "--dram '10%': write a size such as 8GB"),
    (["--workload", "swe", "--rate", "0"], "--rate '0': write sessions a second above 0"),
    (["--workload", "swe", "--seeds", "0"], "--seeds '0': write a whole number from 1 to 100."),
    (["--workload", "swe", "--policies", "lru,fifo"], "unknown tier policy 'fifo'. Known policies: arc, "),
    (["--workload", "swe", "--study", "all"], "unknown study 'all'. Known: ladder, "),
    (["--workload", "swe", "--policies", "gate"], "--control 'lru' is no row of this ladder. Rows: gate."),
    (["--workload", "swe", "--policies", "lru", "--study", "hints"], "exclude each other"),
    (["--workload", "swe", "--policies", "lru,gate", "--set", "gate.sluck=1"], "policy gate has no parameter 'sluck'"),
    (["--workload", "swe", "--policies", "lru,gate", "--set", "mori.slack_s=1"], "write POLICY.NAME=VALUE"),
    (["--workload", "swe", "--set", "gate.slack_s=1"], "--set is for --policies"),
])
def test_usage(words: list[str], says: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ladder", *words]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert says in printed.err


def test_without_the_policies_the_message_says_how_to_get_them(monkeypatch: pytest.MonkeyPatch,
                                                               capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("pipelines.ladder.find_spec", lambda name: None)
    assert main(["ladder", "--workload", "swe"]) == 2
    assert "pip install ./replay/gate" in capsys.readouterr().err


@pytest.mark.slow
def test_tenures_attribution_and_hints_with_three_seeds(capsys: pytest.CaptureFixture[str]) -> None:
    # What does not hold has its reason in METHODOLOGY: a session without hints is live for 20 s, and then overdue.
    assert main(["ladder", "--workload", "swe", "--study", "attribution,hints", "--bootstrap", "0", "--json"]) == 0
    [cell] = json.loads(capsys.readouterr().out)["cells"]
    assert [(each["claim"], each["holds"]) for each in cell["orderings"]] == [
        ("gate and end bit together gain more than their sum", True),
        ("noise in gap hints moves p95 by at most 5 %", True),
        ("blinding the end bit costs at least a fifth of the win", False),
        ("gate last=half costs less than a fifth of the win", True),
        ("gate last=spurious costs less than a fifth of the win", True)]
    assert cell["rows"]["gate"]["summary"]["turns"] == 5370


def test_lines_that_cannot_be_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["ladder", "--workload", "continuum-d", "--platform", "h200-continuum-d", "--policies", "lru"]
    assert main([*words, "--turns", str(tmp_path / "nowhere" / "turns.jsonl")]) == 3
    assert "turns.jsonl cannot be written: No such file or directory." in capsys.readouterr().err
    assert main([*words, "--platform", "h100-tenure", "--turns", str(tmp_path / "t.jsonl"), "--dram", "1GB"]) == 0
    assert [path.name for path in tmp_path.iterdir()] == ["t.jsonl"]


def test_sessions_of_a_call_log(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    # A session of two calls, one of one call without output, and a call without session. 100 and 260 tokens, 4 s apart,
    # of which a second is the first call's: a gap of 3 s. At 3 a second nothing waits: 256 tokens are on the device.
    (tmp_path / "calls.csv").write_text(
        "session_id,timestamp,context_tokens,output_tokens,duration_ms\n"
        "a,2026-03-03T00:00:00Z,260,1,1000\na,2026-03-03T00:00:04Z,1000,2,\nb,2026-03-03T00:00:00Z,50,,10\n"
        ",2026-03-03T00:00:01Z,70,1,10\n")
    words = [str(tmp_path / "calls.csv"), "--format", "calls", "--rate", "3", "--seeds", "2", "--policies", "none,lru",
             "--bootstrap", "0", "--json"]
    assert main(["ladder", *words, "--turns", str(tmp_path / "turns.jsonl")]) == 0
    said = capsys.readouterr()
    assert "1 of 4 calls have no session id and are left out." in said.err
    cell = json.loads(said.out)["cells"][0]
    assert cell["notes"] == {"calls_without_context": 0, "outputs_filled_in": 2, "gaps_start_to_start": 0,
                             "gaps_floored": 0}
    turns = [json.loads(line) for line in (tmp_path / "turns.jsonl").read_text().splitlines()]
    assert len(turns) == 2 * 2 * 3
    second = [turn for turn in turns if turn["turn"] == 1]
    first = {(turn["row"], turn["seed"], turn["session"]): turn for turn in turns if turn["turn"] == 0}
    assert len(second) == 4
    for turn in second:
        assert turn["arrival_us"] - first[turn["row"], turn["seed"], turn["session"]]["end_us"] == 3_000_000
        assert (turn["prompt_tokens"], turn["output_tokens"], turn["device_hit_tokens"]) == (1000, 2, 256)


@pytest.mark.parametrize(("words", "says"), [
    ([], "Name either a --workload or INPUT with calls."),
    (["x.csv", "--workload", "swe"], "Name either a --workload or INPUT with calls."),
    (["x.csv", "--format", "calls"], "the --rate at which its sessions arrive"),
    (["--workload", "swe", "--sessions", "5"], "--sessions is about calls"),
    (["--workload", "swe", "--device", "1MB"], "--device '1MB': write a size such as 8GB, of at least a block"),
])
def test_usage_of_calls(words: list[str], says: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ladder", *words]) == 2
    assert says in capsys.readouterr().err
