"""The committed live results: whole, without paths, and what METHODOLOGY says of them."""

from __future__ import annotations

import gzip
import importlib.util
import json
import re
import shlex
from pathlib import Path

import pytest

from figures.registry import all_figures
from metrics.core.store import Results
from pipelines.cli import main
from pipelines.live_options import parse_live
from replay.live.analysis import Findings, analyse
from replay.live.cells import COUNTERS, read_json
from replay.live.simulated import Simulated
from replay.live.study import declared_live, live_study
from replay.live.tiny_model import TinyLlama
from replay.live.turns import read_turns

ROOT = Path(__file__).resolve().parents[2]
LIVE = ROOT / "sample_data" / "live"
METHODOLOGY = (ROOT / "METHODOLOGY.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def found() -> Findings:
    return analyse(LIVE, None, 200)


def test_they_are_those_of_the_command_of_make_live(found: Findings) -> None:
    spec = importlib.util.spec_from_file_location("sample_data_live", ROOT / "sample_data" / "live.py")
    assert spec
    assert spec.loader
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    assert parse_live([*shlex.split(script.LADDER), "--out", "OUT"]).command == found.asked.command
    assert found.unfinished == []
    assert {row.errors for row in found.rows.values()} == {0}


def test_no_path_is_in_them() -> None:
    for path in LIVE.rglob("*"):
        if path.is_file():
            content = path.read_bytes()
            text = (gzip.decompress(content) if path.suffix == ".gz" else content).decode()
            assert not re.search(r'(?<![\w/.])/(?!decisions\.jsonl)[a-z]+/', text), path


def test_turns_add_up_to_the_servers_own_counts(found: Findings) -> None:
    for label, seed, folder in found.asked.cells(LIVE):
        turns, torn = read_turns(folder.turns)
        counters = read_json(folder.path / COUNTERS)
        external, cached = (sum(getattr(turn, name) for turn in turns) for name in ("external_tokens", "cached_tokens"))
        assert not torn
        assert (external, cached - external) == (counters["external_hit_tokens"], counters["device_hit_tokens"]), label
        assert sum(turn.prompt_tokens for turn in turns) == counters["device_queried_tokens"], seed
        assert counters["reloaded_bytes"] == external * TinyLlama().kv_bytes_per_token


def test_methodology_says_what_they_say(found: Findings) -> None:
    table = {cells[0]: cells[1:] for cells in (
        [cell.strip() for cell in line.strip("|").split("|")] for line in METHODOLOGY.splitlines()
        if re.match(r"\| (lru|lru_reclaim|gate_tags_off|job_aware|gate) \|", line))}
    assert set(table) == set(found.rows) - {"none"}
    for label, row in found.rows.items():
        if label == "none":
            continue
        assert isinstance(row.simulated, Simulated)
        live, closed, starts = row.summary, row.simulated.summary, row.simulated.at_starts
        assert table[label] == [
            f"{100 * live.tier_hit_rate:.1f} %", f"{100 * closed.tier_hit_rate:.1f}",
            f"{100 * starts.tier_hit_rate:.1f}", f"{sum(live.refused.values()):,}",
            f"{sum(closed.refused.values()):,}", f"{live.stored_bytes / 1e6:.1f}",
            f"{closed.stored_bytes / 1e6:.1f}"]
        # The targets: within three points under concurrency; here it is one.
        assert abs(closed.tier_hit_rate - live.tier_hit_rate) < 0.01
        assert abs(starts.tier_hit_rate - live.tier_hit_rate) < 0.03


def test_everything_declared_is_published(found: Findings) -> None:
    told = live_study(found)
    assert {number.key for number in declared_live(found)} == set(told.numbers)
    best = told.numbers["live.best.tier_hit_rate"]
    assert told.numbers["live.best"].value == "gate"
    assert best.low is not None
    assert best.low < best.value < best.high  # type: ignore[operator]
    assert told.tables["live_conditions"].num_rows == 6
    assert told.tables["live_schedule"].num_rows == 600


@pytest.mark.slow
def test_the_report_shows_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["characterize", str(ROOT / "sample_data" / "calls.csv.gz"), "--format", "calls", "--out",
             str(tmp_path / "out"), "--routing", "none", "--bounds", "none", "--policies", "lru", "--key", "session"]
    assert main([*words, "--live", str(LIVE)]) == 0
    results = Results.open(tmp_path / "out" / "all")
    assert results.numbers["live.best"].value == "gate"
    assert results.numbers["live.of.lru.turns"].value == 2_126
    assert results.numbers["live.best.tier_hit_rate"].command.startswith("kvcensus live --out OUT --workload swe ")
    assert results.numbers["depth.p50"].command.endswith("--live LIVE")
    for spec in [spec for spec in all_figures() if spec.asked_by == "live."]:
        sizes = {key: results.numbers[key].n for key in spec.keys if results.numbers[key].value is not None}
        assert set(sizes.values()) == {sizes[key] for key, _ in spec.counts if key in sizes}, spec.name
    page = (tmp_path / "out" / "all" / "report.html").read_text(encoding="utf-8")
    assert 'id="fig12c"' in page
    assert "kvcensus live --out OUT --workload swe" in page
    assert "what a real server did with sessions that were sent to it" in page
    assert str(tmp_path) not in json.dumps(results.manifest)
    capsys.readouterr()
    assert main([*words, "--live", str(tmp_path)]) == 3
    assert "holds no live results: it has no run.json." in capsys.readouterr().err
