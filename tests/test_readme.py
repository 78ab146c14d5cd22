"""The README's examples work as they stand."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from kvcensus_gate import Hints, parse_hints
from kvcensus_gate.vllm import SPEC_NAME
from kvcensus_gate.vllm.settings import Settings, read_settings
from metrics.core.store import Results
from pipelines.cli import main as cli
from pipelines.live_options import parse_live
from pipelines.options import parse
from pipelines.replay_options import parse_replay

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(kind: str) -> list[str]:
    return re.findall(rf"```{kind}\n(.*?)```", README, re.DOTALL)


COMMANDS = [line[2:] for block in blocks("console") for line in block.replace("\\\n", " ").splitlines()
            if line.startswith("$ ")]
PRICED = ("cost", "size")
PARSERS = {"characterize": parse, "pipelines/characterize.py": parse, "replay": parse_replay,
           "live": parse_live}


def test_there_are_examples() -> None:
    assert len(COMMANDS) == 14
    assert len(blocks("toml")) == 1
    assert len(blocks("python")) == 1


@pytest.mark.parametrize("command", [command for command in COMMANDS if not command.startswith("make ")
                                     and shlex.split(command)[1] not in PRICED])
def test_commands_parse(command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "export.toml").write_text(blocks("toml")[0], encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    words = shlex.split(command)
    name = next(word for word in words if word in PARSERS)
    arguments = words[words.index(name) + 1:]
    options = PARSERS[name](arguments)
    if name == "live":
        assert options.out == Path("live")
        return
    assert options.inputs
    if "--config" in arguments:
        assert options.config.columns == {"session_id": "conversation", "context_tokens": "prompt_tokens"}
        assert options.config.timestamp.unit == "ms"


@pytest.mark.slow
def test_commands_and_the_python_example_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                             capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copytree(ROOT / "sample_data", tmp_path / "sample_data")
    command = [sys.executable, "-m", "pipelines.cli", *shlex.split(COMMANDS[0])[1:]]
    done = subprocess.run(command, cwd=tmp_path, check=True, text=True, capture_output=True, timeout=300)
    assert done.stdout.splitlines()[-1] == f"report: {Path('report/all/report.html')}"
    code = subprocess.run([sys.executable, "-c", blocks("python")[0]], cwd=tmp_path, check=True, text=True,
                          capture_output=True, timeout=120)
    number = Results.open(tmp_path / "report/all").numbers["depth.p50"]
    assert code.stdout.splitlines()[0] == f"{number.value} {number.method}"
    monkeypatch.chdir(tmp_path)
    priced = [shlex.split(command)[1:] for command in COMMANDS if shlex.split(command)[1] in PRICED]
    assert len(priced) == 3
    for words in priced:
        assert cli(words) == 0
        printed = capsys.readouterr()
        assert printed.err == ""
        assert "price_per_gpu_hour" in printed.out
    for name in ("report.html", "numbers.json", "audit.json", "manifest.json"):
        assert (tmp_path / "report/all" / name).is_file()


@pytest.mark.slow
def test_the_replay_example_runs(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "sample_data", tmp_path / "sample_data")
    [example] = [command for command in COMMANDS if command.startswith("kvcensus replay")]
    command = [sys.executable, "-m", "pipelines.cli", *shlex.split(example)[1:]]
    done = subprocess.run(command, cwd=tmp_path, check=True, text=True, capture_output=True, timeout=300)
    assert done.stdout.splitlines()[-1] == "results: cells"
    assert len(Results.open(tmp_path / "cells/all").table("residency_replay")) == 18


@pytest.mark.slow
def test_the_event_log_example_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    [made] = re.findall(r"`kvcensus (generate --profile code [^`]*)`", README)
    [example] = [command for command in COMMANDS if "--format events" in command]
    monkeypatch.chdir(tmp_path)
    assert cli(shlex.split(made)) == 0
    assert cli(shlex.split(example)[1:]) == 0
    numbers = Results.open(tmp_path / "code/all").numbers
    assert numbers["events.sessions"].value == 500
    assert numbers["depth.p50"].why == "the input is an event log: its rows are events of sessions, not model calls"


@pytest.mark.parametrize("target", ["report", "test", *(command.removeprefix("make ") for command in COMMANDS
                                                        if command.startswith("make "))])
def test_the_two_make_targets_exist(target: str) -> None:
    assert f"make {target}" in README
    assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)


def test_files_that_the_readme_names_exist() -> None:
    for name in re.findall(r"\]\(([^):]+)\)", README):
        assert (ROOT / name).exists(), name


def test_the_launch_line_of_the_plugin_is_one() -> None:
    [block] = [block for block in blocks("sh") if "kv-transfer-config" in block]
    words = shlex.split(block)
    transfer = json.loads(words[words.index("--kv-transfer-config") + 1])
    assert (transfer["kv_connector"], transfer["kv_role"]) == ("OffloadingConnector", "kv_both")
    extra = transfer["kv_connector_extra_config"]
    assert extra["spec_name"] == SPEC_NAME
    assert read_settings(extra) == Settings("gate", {"slack_s": 5, "live_ttl_s": 20})


def test_hints_of_the_plugin_can_be_used() -> None:
    [block] = [block for block in blocks("json") if "kv_transfer_params" in block]
    sent = json.loads(block)["kv_transfer_params"]
    assert parse_hints(sent) == Hints("a71f", 3, 5_200_000, False)
    told = re.findall(r"^\| (`\w+`.*?) \| ", README, re.MULTILINE)
    assert set(sent) <= {name for cell in told for name in re.findall(r"`(\w+)`", cell)}
