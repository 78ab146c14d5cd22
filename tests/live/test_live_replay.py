"""The command on a real server: prefixes, hits and bytes against the server's own counts, the analysis against one
written out here, and a server that is killed in mid-condition."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from pathlib import Path
from random import Random
from typing import Any

import pytest

from pipelines.cli import main
from replay.live.scrape import parse_metrics
from replay.live.tiny_model import TinyLlama

pytestmark = pytest.mark.slow
SESSIONS, BLOCK = 12, 32
BLOCK_BYTES = BLOCK * TinyLlama().kv_bytes_per_token


def write_calls(path: Path) -> None:
    """Sessions that grow; a third of them shrink once, to a context of which 100 tokens are cached."""
    draw, lines = Random(7), ["session_id,timestamp,context_tokens,cached_tokens,output_tokens,duration_ms"]
    for session in range(SESSIONS):
        at, context = 0, draw.randint(150, 250)
        for turn in range(5):
            shrinks = turn == 3 and session % 3 == 0
            context = draw.randint(120, 180) if shrinks else context + draw.randint(20, 90)
            cached = 100 if shrinks else ""
            lines.append(f"s{session},2026-03-03T00:00:{at / 1000:06.3f}Z,{context},{cached},{draw.randint(2, 8)},100")
            at += 100 + draw.randint(200, 1200)
    path.write_text("\n".join(lines) + "\n")


class Killer(threading.Thread):
    """Kills the server of a condition by its pid, once it has answered some turns."""

    def __init__(self, out: Path, policy: str):
        super().__init__(daemon=True)
        self.out, self.policy = out, policy
        self.killed: int | None = None

    def run(self) -> None:
        while self.killed is None:
            time.sleep(0.02)
            for partial in self.out.glob(f"cells/{self.policy},*/turns.partial.jsonl"):
                if partial.read_text().count("\n") >= 6:
                    self.killed = next(pid for pid, line in children() if str(self.out) in line)
                    os.kill(self.killed, signal.SIGKILL)


def children() -> list[tuple[int, str]]:
    """Our running children, with their command lines."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
                line = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            except OSError:
                continue
            if parent == os.getpid() and "api_server" in line:
                found.append((int(entry.name), line))
    return found


@pytest.fixture(scope="module")
def ran(live_interpreter: Path, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Two conditions, the second with a server that is killed; then the same command again; then its JSON."""
    folder = tmp_path_factory.mktemp("live")
    write_calls(folder / "calls.csv")
    # Everything that was stored stays: a turn finds all that it shares, on the device or in the tier.
    words = ["live", str(folder / "calls.csv"), "--python", str(live_interpreter), "--sessions", str(SESSIONS),
             "--seeds", "1", "--rate", "6", "--conditions", "lru,gate", "--tier", "64MiB", "--out", str(folder / "out")]
    said: list[str] = []
    with pytest.MonkeyPatch.context() as patch:
        for module in ("live_run", "live", "progress"):
            patch.setattr(f"pipelines.{module}.tell", lambda text, *_, **__: said.append(text))
        printed: list[str] = []
        patch.setattr("pipelines.priced.say", printed.append)
        killer = Killer(folder / "out", "gate")
        killer.start()
        first = main([*words, "--json"])
        told = list(said)
        left = children()
        second = main([*words, "--json"])
    return {"out": folder / "out", "killed": killer.killed, "codes": (first, second), "first": told,
            "second": said[len(told):], "left": left, "json": [json.loads(text) for text in printed]}


def lines_of(ran: Any, policy: str) -> list[dict[str, Any]]:
    [path] = ran["out"].glob(f"cells/{policy},*/turns.jsonl")
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_a_killed_server_is_told_and_the_next_run_completes(ran: Any) -> None:
    assert ran["killed"] is not None
    assert ran["codes"] == (3, 0)
    assert any("gate, seed 1, did not finish: the server has died; its log ends with:" in text for text in ran["first"])
    assert ran["left"] == children() == []
    partial, whole = ran["json"]
    assert list(partial["rows"]) == ["lru"]
    assert [(each["label"], each["planned"]) for each in partial["unfinished"]] == [("gate", 60)]
    assert 6 <= partial["unfinished"][0]["seen"] < 60
    assert list(whole["rows"]) == ["lru", "gate"]
    assert whole["unfinished"] == []
    assert "1 of 2 are finished and kept." in ran["second"]
    assert whole["rows"]["lru"]["summary"] == partial["rows"]["lru"]["summary"]


@pytest.mark.parametrize("policy", ["lru", "gate"])
def test_turns_find_what_they_share(ran: Any, policy: str) -> None:
    run = json.loads((ran["out"] / "run.json").read_text())
    turns = {(session, turn): each for session, own in enumerate(run["seeds"][0]["sessions"])
             for turn, each in enumerate(own["turns"])}
    lines = lines_of(ran, policy)
    assert len(lines) == len(turns) == 5 * SESSIONS
    for line in lines:
        prompt, output, _, shared = turns[line["session"], line["turn"]]
        assert (line["prompt_tokens"], line["output_tokens"], line["error"]) == (prompt, output, None)
        # The last token is always computed.
        assert line["cached_tokens"] == min(shared, prompt - 1) // BLOCK * BLOCK
        assert 0 <= line["external_tokens"] <= line["cached_tokens"]
    assert sum(line["external_tokens"] for line in lines) > 0
    assert len({shared for *_, shared in turns.values()}) > SESSIONS


@pytest.mark.parametrize("policy", ["lru", "gate"])
def test_the_servers_own_counts(ran: Any, policy: str) -> None:
    [folder] = ran["out"].glob(f"cells/{policy},*")
    after = parse_metrics((folder / "metrics_after.txt").read_text())
    lines = lines_of(ran, policy)
    cached, external, prompts = (sum(line[name] for line in lines)
                                 for name in ("cached_tokens", "external_tokens", "prompt_tokens"))
    assert after.total("vllm:external_prefix_cache_hits_total") == external
    assert after.total("vllm:external_prefix_cache_queries_total") == prompts - cached + external
    assert after.total("vllm:prefix_cache_hits_total") == cached - external
    summary = ran["json"][1]["rows"][policy]["summary"]
    assert summary["reloaded_bytes"] * BLOCK == external * BLOCK_BYTES
    assert summary["stored_bytes"] % BLOCK_BYTES == 0
    assert not any(summary["refused"].values())
    assert summary["evicted"] == {}


@pytest.mark.parametrize("policy", ["lru", "gate"])
def test_the_analysis_is_one_written_out(ran: Any, policy: str) -> None:
    lines = lines_of(ran, policy)
    row = ran["json"][1]["rows"][policy]
    summary = row["summary"]
    ttft = [line["ttft_us"] / 1e6 for line in lines]
    late = [line["ttft_us"] / 1e6 for line in lines if line["turn"] > 0]
    latency = sorted((line["end_us"] - line["start_us"]) / 1e6 for line in lines)
    jobs = sorted((max(line["end_us"] for line in own) - own[0]["arrival_us"]) / 1e6
                  for own in ([line for line in lines if line["session"] == session] for session in range(SESSIONS)))
    external, cached, prompts = (sum(line[name] for line in lines)
                                 for name in ("external_tokens", "cached_tokens", "prompt_tokens"))
    expected = {
        "turns": 60, "ttft_mean_s": sum(ttft) / 60, "late_ttft_mean_s": sum(late) / 48, "latency_p95_s": latency[56],
        "jct_mean_s": sum(jobs) / SESSIONS, "jct_p90_s": jobs[10],
        "turns_per_s": 60 / max(line["end_us"] for line in lines) * 1e6,
        "tier_hit_rate": external / (prompts - cached + external), "device_hit_share": (cached - external) / prompts}
    assert {name: summary[name] for name in expected} == pytest.approx(expected)
    lateness = sorted((line["start_us"] - line["planned_us"]) / 1e6 for line in lines)
    fidelity = row["fidelity"]
    assert (fidelity["p50_s"], fidelity["p95_s"], fidelity["max_s"]) == (lateness[29], lateness[56], lateness[59])
    assert fidelity["percentiles_s"][::25] == [lateness[0], lateness[15], lateness[30], lateness[45]]
    second = [line["ttft_us"] / 1e6 for line in lines if line["turn"] == 1]
    assert row["first_tokens"][1] == {"turn": 2, "turns": 12, "mean_s": pytest.approx(sum(second) / 12),
                                      "p50_s": sorted(second)[5]}
    low, high = row["hit_interval"]
    assert low < summary["tier_hit_rate"] < high
    for line in lines:
        assert line["planned_us"] <= line["start_us"] <= line["start_us"] + line["ttft_us"] <= line["end_us"]


def test_the_schedule_is_kept(ran: Any) -> None:
    run = json.loads((ran["out"] / "run.json").read_text())
    for policy in ("lru", "gate"):
        by_turn = {(line["session"], line["turn"]): line for line in lines_of(ran, policy)}
        for session, own in enumerate(run["seeds"][0]["sessions"]):
            assert by_turn[session, 0]["planned_us"] == own["arrival_us"]
            for turn, (_, _, gap, _) in enumerate(own["turns"][:-1]):
                assert by_turn[session, turn + 1]["planned_us"] == by_turn[session, turn]["end_us"] + gap


def test_the_simulator_beside(ran: Any) -> None:
    # Nothing is refused or evicted, so what is stored depends on nothing but the prompts.
    rows = ran["json"][1]["rows"]
    for policy in ("lru", "gate"):
        live, simulated = rows[policy]["summary"], rows[policy]["simulated"]["summary"]
        assert simulated["stored_bytes"] == live["stored_bytes"]
        assert rows[policy]["simulated"]["coarse"] == pytest.approx(rows[policy]["coarse"])
