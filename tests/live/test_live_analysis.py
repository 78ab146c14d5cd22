"""What is made of raw turns, counters and logs, on literal ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from replay.live.analysis import Findings, analyse
from replay.live.cells import ABOUT, COUNTERS, TURNS, CellFolder, cell_name, write_json
from replay.live.counted import counted
from replay.live.decisions import read_decisions
from replay.live.outcomes import outcome_of
from replay.live.packing import pack
from replay.live.results import Asked, ServerFacts, open_asked, write_asked
from replay.live.scrape import parse_metrics
from replay.live.simulated import measured_step_us, residency
from replay.live.turns import LiveTurn, as_line
from replay.tier.condition import Condition
from replay.tier.hints import HintPlan
from replay.tier.record import TurnRecord
from replay.tier.workload import Session, Turn, Workload
from telemetry.errors import InputError

S = 1_000_000
FACTS = ServerFacts("cpu-tiny", 1024, 32, 64, 8, 2048, 512)
NO_COUNTERS = counted(parse_metrics(""), parse_metrics(""))


def turn(session: int, number: int, start: int, end: int, *, ttft: int | None = S, prompt: int = 100, cached: int = 0,
         external: int | None = 0, probe: bool = False, error: str | None = None, late: int = 0) -> LiveTurn:
    return LiveTurn("gate", 1, session, number, session, probe, start, start - late, start,
                    None if error else ttft, end, prompt, 4, cached, external, "r", error)


#: Two sessions of two turns.
LOAD = Workload("by hand", 1.0, (Session(0, (Turn(100, 4, S, 0), Turn(150, 4, 0, 100))),
                                 Session(S, (Turn(200, 4, S, 0), Turn(220, 4, 0, 200)))), {"gaps_floored": 1})
ASKED = Asked("kvcensus live", {"lru": Condition("lru", 10**6), "gate": Condition("gate", 10**6)}, {1: LOAD},
              {1: (0, 1)}, None, {"tokens": "1", "time": "1"})


def folder(out: Path, label: str, turns: list[LiveTurn], counters: dict[str, object] | None = None) -> None:
    cell = CellFolder.of(out, ASKED.rows[label], 1)
    cell.clear()
    (cell.path / TURNS).write_text("".join(map(as_line, turns)))
    write_json(cell.path / COUNTERS, NO_COUNTERS | (counters or {}))
    cell.finish()


def found(out: Path, lru: list[LiveTurn], gate: list[LiveTurn], counters: dict[str, object] | None = None) -> Findings:
    write_asked(out, ASKED)
    folder(out, "lru", lru)
    folder(out, "gate", gate, counters)
    return analyse(out, None, 50)


def plain(factor: int = 1) -> list[LiveTurn]:
    return [turn(0, 0, 0, 2 * factor * S), turn(0, 1, 4 * S, (4 + factor) * S), turn(1, 0, S, (1 + factor) * S),
            turn(1, 1, 6 * S, (6 + 3 * factor) * S)]


def test_probes_and_errors_are_in_no_rate(tmp_path: Path) -> None:
    gate = [turn(0, 0, 0, 2 * S), turn(0, 0, 3 * S, 4 * S, cached=96, external=96, probe=True),
            turn(0, 1, 4 * S, 6 * S, prompt=150, cached=96, external=32), turn(1, 0, S, 2 * S, error="status 500"),
            turn(1, 1, 6 * S, 9 * S, ttft=2 * S, prompt=220, late=5000)]
    row = found(tmp_path, plain(), gate, {"stored_bytes": 40, "reloaded_bytes": 10}).rows["gate"]
    assert (row.summary.turns, row.summary.probes, row.errors) == (3, 1, 1)
    assert row.summary.tier_hit_rate == 32 / (100 + 150 + 220 - 64)
    assert row.summary.device_hit_share == 64 / 470
    assert row.summary.ttft_mean_s == pytest.approx(4 / 3)
    assert row.summary.late_ttft_mean_s == 1.5
    assert row.summary.turns_per_s == 3 / 9
    assert row.summary.stored_per_reloaded == 4.0
    assert row.fidelity.max_s == 0.005
    assert row.coarse.found_nothing == 2 / 3
    assert row.paired is not None
    assert row.paired.turns == 3


def test_conditions_are_paired_turn_by_turn(tmp_path: Path) -> None:
    findings = found(tmp_path, plain(), plain(2))
    assert findings.control == "lru"
    assert findings.notes == {"gaps_floored": 1}
    paired = findings.rows["gate"].paired
    assert paired is not None
    assert paired.p95_gain == 1 - 6 / 3
    assert paired.gains["all"].improved == 0.0
    # Completion times of 5 and 8 s, now 6 and 11; the median of two is the lower.
    assert paired.gains["all"].median == pytest.approx(1 - 11 / 8)
    assert paired.spread is not None
    assert paired.spread.delta_s == 3.0
    own = findings.rows["lru"].paired
    assert own is not None
    assert own.spread is not None
    assert (own.spread.delta_by_session.lo, own.spread.delta_by_session.hi) == (0.0, 0.0)


def test_a_control_that_is_missing_leaves_the_rest(tmp_path: Path) -> None:
    write_asked(tmp_path, ASKED)
    folder(tmp_path, "gate", plain())
    findings = analyse(tmp_path, None, 10)
    assert findings.rows["gate"].paired is None
    assert [(cell.label, cell.problem) for cell in findings.unfinished] == [("lru", "not finished")]


def test_hits_of_a_server_whose_log_is_not_ours_are_its_own(tmp_path: Path) -> None:
    turns = [each._replace(external_tokens=None, cached_tokens=64) for each in plain()]
    counters = {"external_hit_tokens": 30, "external_queried_tokens": 120, "device_hit_tokens": 80,
                "device_queried_tokens": 200}
    summary = found(tmp_path, plain(), turns, counters).rows["gate"].summary
    assert (summary.tier_hit_rate, summary.device_hit_share) == (0.25, 0.4)


def test_every_turn_failed(tmp_path: Path) -> None:
    failed = [each._replace(error="status 500", ttft_us=None) for each in plain()]
    findings = found(tmp_path, plain(), failed)
    assert list(findings.rows) == ["lru"]
    assert [(cell.label, cell.problem, cell.errors) for cell in findings.unfinished] == [("gate", None, 4)]


def test_a_turn_as_the_simulator_has_it() -> None:
    outcome = outcome_of([turn(1, 2, 10, 90, ttft=30, prompt=100, cached=64, external=32)], NO_COUNTERS)
    assert outcome.records == [TurnRecord(1, 2, 10, 10, 40, 90, 100, 4, 32, 32, 36)]
    assert (outcome.end_us, measured_step_us([outcome])) == (90, 50 // 3)
    assert measured_step_us([]) is None


def test_residency_by_hand() -> None:
    # 800 tokens fit: B's 600 push A's 300 out; 96 of A's 100 shared tokens are whole blocks, then nothing is shared.
    load = Workload("by hand", 1.0, (
        Session(0, (Turn(300, 1, 10, 0), Turn(310, 1, 20, 100), Turn(320, 1, 0, 20))),
        Session(20, (Turn(600, 1, 0, 0),))), {})
    coarse = residency([load], 800 * 1024, FACTS)
    assert coarse.found_share == 96 / (300 + 310 + 320 + 600)
    assert coarse.found_nothing == 3 / 4


METRICS = """# TYPE vllm:kv_offload_store_bytes_total counter
vllm:kv_offload_store_bytes_total{engine="0"} %d
vllm:kv_offload_load_bytes_total{engine="0"} %d
vllm:kvcensus_tier_evicted_blocks_total{class="far",engine="0"} %d
vllm:kvcensus_tier_refused_blocks_total{engine="0",reason="admission"} %d
vllm:external_prefix_cache_hits_total{engine="0"} %d
"""


def test_counters_are_differences() -> None:
    found = counted(parse_metrics(METRICS % (100, 10, 1, 2, 3)), parse_metrics(METRICS % (150, 10, 4, 9, 8)))
    assert (found["stored_bytes"], found["reloaded_bytes"], found["external_hit_tokens"]) == (50, 0, 5)
    assert (found["evicted"], found["refused"], found["stores_refused"]) == ({"far": 3}, {"admission": 7}, 0)
    fresh = counted(parse_metrics(""), parse_metrics(METRICS % (150, 10, 4, 9, 8)))
    assert (fresh["stored_bytes"], fresh["evicted"]) == (150, {"far": 4})
    still = parse_metrics(METRICS % (150, 10, 4, 9, 8))
    assert (counted(still, still)["evicted"], counted(still, still)["refused"]) == ({}, {})
    old = parse_metrics('vllm:kv_offload_total_bytes_total{transfer_type="CPU_to_GPU"} 5\n'
                        'vllm:kv_offload_total_bytes_total{transfer_type="GPU_to_CPU"} 7\n')
    before = counted(parse_metrics(""), old)
    assert (before["stored_bytes"], before["reloaded_bytes"]) == (7, 5)


def test_a_decision_log(tmp_path: Path) -> None:
    path = tmp_path / "decisions.jsonl"
    load = '{"call":"prepare_load","request":"%s","keys":["a","b"]}\n'
    path.write_text('{"format":1,"block_bytes":64}\n' + load % "cmpl-kvc-1-2-3-0-ab12" + load % "kvc-1-2-3w"
                    + load % "cmpl-kvc-1-2-3-0-ab12" + load % "another" + '{"call":"report","report":{"stored":5}}\n'
                    + '{"call":"prepare_load","request":"kvc-1-2-4","ke')
    found = read_decisions(path)
    assert found.loaded == {"kvc-1-2-3": 2, "kvc-1-2-3w": 2}  # the second time after a preemption
    path.write_text('{"format":1,"block_bytes":64}\nnonsense\n')
    with pytest.raises(InputError, match="line 2 is no line of a decision log"):
        read_decisions(path)
    path.write_text("{}\n")
    with pytest.raises(InputError, match="its first line names no block_bytes"):
        read_decisions(path)


def test_what_was_asked_is_read_as_it_was_written(tmp_path: Path) -> None:
    asked = Asked("kvcensus live", {"a": Condition("gate", 5, HintPlan("half", "spurious"), {"slack_s": 1.5}, 7)},
                  {2: LOAD}, {2: (1, 0)}, FACTS, {"tokens": "0.5", "time": "1"})
    write_asked(tmp_path, asked)
    assert open_asked(tmp_path) == asked
    more = Asked("kvcensus live b", {"b": Condition("lru", 5)}, {3: LOAD}, {3: (0, 1)}, FACTS, asked.scale)
    both = write_asked(tmp_path, more)
    assert list(both.rows) == ["a", "b"]
    assert list(both.workloads) == [2, 3]
    assert open_asked(tmp_path) == both
    assert both.command == "kvcensus live\nkvcensus live b"
    assert write_asked(tmp_path, asked).command == both.command
    assert cell_name(asked.rows["a"], 2) == "gate,tier=5,gap=half,last=spurious,warm=0.007ms,slack_s=1.5,seed=2"


def test_packed_results_give_the_same_numbers(tmp_path: Path) -> None:
    findings = found(tmp_path / "out", plain(), plain(2))
    (CellFolder.of(tmp_path / "out", ASKED.rows["lru"], 1).path / "server.log").write_text("x")
    for _, _, cell in open_asked(tmp_path / "out").cells(tmp_path / "out"):
        write_json(cell.path / ABOUT, {})
    packed = pack(tmp_path / "out", tmp_path / "small")
    assert analyse(tmp_path / "small", None, 50) == findings
    assert sorted(path.name for path in packed[0].path.iterdir()) == [
        "about.json", "counters.json", "done.json", "turns.jsonl.gz"]
    before = packed[0].turns.read_bytes()
    assert pack(tmp_path / "out", tmp_path / "small")[0].turns.read_bytes() == before
    packed[0].turns.write_bytes(before[:-9])
    assert "is not what was written there" in str(packed[0].damage)
    with pytest.raises(InputError, match="lru, seed 1, is not finished"):
        pack(tmp_path / "small", tmp_path / "again")
