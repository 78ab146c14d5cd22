"""A real vLLM server with the plugin: what the policies do there is what they were made for."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from live_runs import CHUNK_BYTES, CONDITIONS, HOSTILE, Run, chunks, run_condition

from kvcensus_gate.log import replay
from replay.live.tiny_model import TinyLlama, write_tiny_model

POLICIES = ("gate", "lru", "gate_tags_off", "lru_reclaim")
Runs = dict[str, Run]


@pytest.fixture(scope="module")
def runs(live_interpreter: Path, tmp_path_factory: pytest.TempPathFactory) -> Runs:
    """Every condition, two servers at a time: most of it is their start."""
    folder = tmp_path_factory.mktemp("live")
    model = write_tiny_model(folder / "tiny")
    with ThreadPoolExecutor(2) as pool:
        done = pool.map(lambda name: run_condition(name, live_interpreter, model, folder), CONDITIONS)
        found = {run.name: run for run in done}
    for name, run in found.items():
        assert name == "wrong" or not run.error, run.error
    return found


def test_answers_are_those_of_a_server_without_a_tier(runs: Runs):
    assert sum(len(turns) for turns in runs["off"].answers) == 144
    for policy in POLICIES:
        assert runs[policy].answers == runs["off"].answers, policy


def test_the_gate_finds_three_times_what_lru_finds(runs: Runs):
    assert runs["lru"].hits > 0
    assert runs["gate"].hits >= 3 * runs["lru"].hits


def test_the_gate_stores_a_fifth_for_what_it_reloads(runs: Runs):
    assert 0 < runs["gate"].bytes_per_byte <= runs["lru"].bytes_per_byte / 5


def test_the_end_bit_alone_helps_lru_and_refusal_helps_more(runs: Runs):
    assert runs["lru"].hits < runs["lru_reclaim"].hits < runs["gate"].hits


@pytest.mark.parametrize("policy", POLICIES)
def test_bytes_are_chunks_and_tokens(runs: Runs, policy: str):
    run = runs[policy]
    counted, blocks = run.counted, "vllm:kvcensus_tier_blocks_total"
    assert counted("vllm:num_preemptions_total") == 0
    assert counted("vllm:kv_offload_store_bytes_total") == counted(blocks, event="stored") * CHUNK_BYTES > 0
    assert counted("vllm:kv_offload_load_bytes_total") == counted(blocks, event="reloaded") * CHUNK_BYTES
    assert counted("vllm:kv_offload_load_bytes_total") == run.hits * TinyLlama().kv_bytes_per_token
    assert counted("vllm:kvcensus_tier_resident_blocks") <= chunks()
    assert counted(blocks, event="stored") == counted("vllm:kvcensus_tier_resident_blocks") + run.evicted


def test_only_gates_refuse_and_a_refusal_is_not_a_failure(runs: Runs):
    refused = "vllm:kvcensus_tier_refused_stores_total"
    for policy in POLICIES:
        run = runs[policy]
        assert run.after_sessions is not None
        assert (run.after_sessions.total(refused) > 0) == policy.startswith("gate")
        if "vllm:kv_offload_allocation_failure_total" in run.after_sessions:
            assert run.counted("vllm:kv_offload_allocation_failure_total") == 0
    # Refused chunks are offered again with the next turn, and not at every step.
    assert runs["gate"].counted(refused) <= 144


@pytest.mark.parametrize("policy", POLICIES)
def test_a_decision_log_replays_to_the_same_decisions(runs: Runs, policy: str):
    run = runs[policy]
    again = replay(run.decisions.read_text(encoding="utf-8").splitlines())
    assert again.difference is None
    assert again.decisions >= 144
    read = run.at_end or run.after_sessions
    assert read is not None
    for event in ("offered", "present", "stored", "reloaded"):
        assert read.total("vllm:kvcensus_tier_blocks_total", event=event) == getattr(again.tier.counters, event), event
    for name, count in again.tier.counters.evicted.items():
        assert read.total("vllm:kvcensus_tier_evicted_blocks_total", **{"class": name}) == count
    assert run.decisions.stat().st_mode & 0o777 == 0o600


def test_hostile_hints_are_counted_and_harm_nobody(runs: Runs):
    read, served = runs["gate"].at_end, runs["gate"].served_hostile
    assert read is not None
    kept_away = [HOSTILE[place][0]["expected_gap_ms"] for place in range(len(HOSTILE)) if place not in served]
    assert all(gap != gap or gap == 10**30 for gap in kept_away)
    malformed = sum(HOSTILE[place][1] for place in served)
    assert read.total("vllm:kvcensus_tier_malformed_hints_total") == malformed >= 8
    assert read.total("vllm:request_success_total") == 144 + len(served)


def test_sessions_that_are_over_leave_no_record(runs: Runs):
    for policy in ("gate", "lru", "lru_reclaim"):
        assert runs[policy].counted("vllm:kvcensus_tier_session_records") == 0, policy


@pytest.mark.parametrize("name", ["off", *POLICIES])
def test_no_error_and_a_clean_end(runs: Runs, name: str):
    run = runs[name]
    assert not re.search(r"\bERROR\b|Traceback|Exception", run.log_before_stop)
    assert (run.exit_code, run.killed) == (0, False)


def test_settings_that_cannot_be_used_stop_the_start_and_say_why(runs: Runs):
    run = runs["wrong"]
    assert "before it was ready" in run.error
    assert "GateError: unknown tier policy 'nonsense'. Known policies: arc, " in run.log.read_text(encoding="utf-8")
    assert not run.decisions.exists()
