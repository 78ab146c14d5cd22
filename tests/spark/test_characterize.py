"""`spark-submit pipelines/characterize.py` from outside of a real cluster: the bytes that DuckDB gives."""

from __future__ import annotations

import gzip
import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from cluster import Cluster

from pipelines import dist
from pipelines.characterize import main

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "pipelines" / "characterize.py"
FEW = ("--policies", "lru,fnu", "--budgets", "10%", "--key", "session,session+deployment",
       "--bootstrap", "2", "--hours")


@pytest.fixture(scope="module")
def calls(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sample's first calls in two files, some of them twice."""
    folder = tmp_path_factory.mktemp("calls")
    header, *rows = gzip.decompress((ROOT / "sample_data" / "calls.csv.gz").read_bytes()).splitlines(keepends=True)
    (folder / "a.csv").write_bytes(header + b"".join(rows[:900]))
    (folder / "b.csv").write_bytes(header + b"".join(rows[800:1500]))
    return folder


@pytest.fixture(scope="module")
def expected(calls: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    out = tmp_path_factory.mktemp("duckdb") / "out"
    assert main([str(calls), "--format", "calls", "--out", str(out), *FEW]) == 0
    return published(out)


def published(out: Path) -> dict[str, bytes]:
    """Every number and table; the manifest tells the time, and the report shows it."""
    files = [path for path in (out / "all").rglob("*") if path.suffix in (".json", ".parquet")]
    return {str(path.relative_to(out)): path.read_bytes() for path in files if path.name != "manifest.json"}


def submitted(cluster: Cluster, inputs: Path, out: Path, form: str = "calls") -> list[str]:
    code = dist.write_code(out.parent / dist.CODE)
    return cluster.command(SCRIPT, inputs, "--format", form, "--out", out, *FEW, options=("--py-files", str(code)))


def test_the_same_bytes_while_an_executor_is_killed(cluster: Cluster, calls: Path, expected: dict[str, bytes],
                                                    tmp_path: Path) -> None:
    command = submitted(cluster, calls, tmp_path / "out")
    with subprocess.Popen(command, env=cluster.environment(), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          text=True) as running:
        try:
            killed = _kill_one_in(cluster, running, "metrics ...")
            said, _ = running.communicate(timeout=400)
        finally:
            running.kill()
    assert killed
    assert running.returncode == 0, said
    found = published(tmp_path / "out")
    assert found.keys() == expected.keys()
    assert [name for name, content in expected.items() if found[name] != content] == []


def _kill_one_in(cluster: Cluster, running: subprocess.Popen[str], stage: str) -> int:
    """Wait for a stage, and end an executor in it."""
    assert running.stdout is not None
    for line in running.stdout:
        if line.startswith(stage):
            time.sleep(2)
            victim = cluster.executors()[0]
            os.kill(victim, signal.SIGKILL)
            return victim
    return 0


def test_the_same_bytes_of_nested_sessions(cluster: Cluster, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    for day in (1, 2, 3):
        (tmp_path / "in" / f"day{day}.jsonl").write_text("".join(copilot_session(day, number) for number in range(8)))
    assert main([str(tmp_path / "in"), "--format", "copilot", "--out", str(tmp_path / "duckdb"), *FEW]) == 0
    said = subprocess.run(submitted(cluster, tmp_path / "in", tmp_path / "spark", "copilot"), timeout=400,
                          env=cluster.environment(), capture_output=True, text=True, check=False)
    assert said.returncode == 0, said.stdout
    assert published(tmp_path / "spark") == published(tmp_path / "duckdb")
    [numbers] = [json.loads(content) for name, content in published(tmp_path / "spark").items() if "numbers" in name]
    assert numbers["trace.calls"]["value"] == 3 * 8 * 5


def copilot_session(day: int, number: int) -> str:
    """A session of five calls of two models in two turns, as one line."""
    turns = [{"turn_id": f"t{turn}", "tool_batches": [], "llm_calls": [
        {"message_id": f"{day}-{number}-{i}", "timestamp": f"2026-06-0{day}T00:0{number}:{11 * i:02}.5Z",
         "duration_ms": 1500.25, "initiator_type": "agent" if i > turn else "user", "model": f"model {i % 2}",
         "result": "Success", "status_code": "OK", "tokens": {"prompt": 1000 + 100 * i + number, "completion": 10,
                                                              "cached": 900 * min(i, 1)}}
        for i in range(3 * turn, 3 + 2 * turn)]} for turn in range(2)]
    return json.dumps({"session_id": f"s{day}-{number}", "date": f"2026-06-0{day}", "turns": turns}) + "\n"


def test_bad_input_gives_the_same_message(cluster: Cluster, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.csv").write_text("when,context_tokens\n2026-01-01T00:00:00Z,5\n")
    said = subprocess.run(submitted(cluster, tmp_path / "in", tmp_path / "out"), env=cluster.environment(),
                          capture_output=True, text=True, timeout=180, check=False)
    assert said.returncode == 3
    assert "characterize: " in said.stdout
    assert "no column 'timestamp' for timestamp" in said.stdout
    assert "Traceback" not in said.stdout
    assert not (tmp_path / "out").exists()
