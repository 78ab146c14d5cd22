"""The command, on servers that answer without a model: what it leaves, resumes and says, and faults."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from fake_server import fake_server

from pipelines.cli import main
from pipelines.replay_live import main as replay_live

pytestmark = pytest.mark.slow
ROOT = Path(__file__).resolve().parents[2]
FAKE = Path(__file__).with_name("fake_server.py")
#: Three sessions of 2, 3 and 1 calls, and a call without a session.
CALLS = """session_id,timestamp,context_tokens,cached_tokens,output_tokens,duration_ms
secret-a,2026-03-03T00:00:00Z,100,0,3,100
secret-a,2026-03-03T00:00:00.2Z,140,96,3,100
secret-b,2026-03-03T00:00:00Z,60,0,2,50
secret-b,2026-03-03T00:00:00.1Z,90,50,2,50
secret-b,2026-03-03T00:00:00.2Z,40,32,2,
secret-c,2026-03-03T00:00:00.1Z,70,0,4,10
,2026-03-03T00:00:00.1Z,70,0,4,10
"""
TURNS = 6
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def python(tmp_path: Path) -> Path:
    """What is taken for the interpreter of an environment with vLLM."""
    script = tmp_path / "python"
    script.write_text(f'#!/bin/sh\n[ "$1" = -I ] && exec {sys.executable} "$@"\nexec {sys.executable} {FAKE} "$@"\n')
    script.chmod(0o755)
    return script


@pytest.fixture
def run(tmp_path: Path, python: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run the command; returns exit code, stdout, stderr."""
    (tmp_path / "calls.csv").write_text(CALLS)

    def command(*words: str, fake: dict[str, Any] | None = None, inputs: bool = True,
                log: str = "calls.csv") -> tuple[int, str, str]:
        monkeypatch.setenv("KVCENSUS_FAKE", json.dumps(fake or {}))
        given = [str(tmp_path / log), "--python", str(python), "--rate", "20", "--seeds", "1"] if inputs else []
        code = main(["live", *given, "--out", str(tmp_path / "out"), "--bootstrap", "20", *words])
        said = capsys.readouterr()
        return code, said.out, said.err

    return command


def cells(tmp_path: Path) -> dict[str, Path]:
    return {path.name.split(",")[0]: path for path in sorted((tmp_path / "out" / "cells").iterdir())}


def test_what_a_run_leaves(run: Run, tmp_path: Path) -> None:
    code, out, err = run("--conditions", "none,lru,gate:gap=noise25:warm=10ms", "--set", "gate.slack_s=3")
    assert code == 0, err
    assert "1 of 7 calls have no session id and are left out." in err
    assert "--sessions 30: the log has 3, and all are sent." in err
    names = [path.name for path in cells(tmp_path).values()]
    assert names == ["gate,tier=4194304,gap=noise25,last=exact,warm=10ms,slack_s=3.0,seed=1",
                     "lru,tier=4194304,gap=exact,last=exact,warm=no,seed=1",
                     "none,tier=4194304,gap=exact,last=exact,warm=no,seed=1"]
    lru = cells(tmp_path)["lru"]
    assert sorted(path.name for path in lru.iterdir()) == [
        "about.json", "counters.json", "decisions.jsonl", "done.json", "metrics_after.txt", "metrics_before.txt",
        "server.log", "turns.jsonl"]
    about = json.loads((lru / "about.json").read_text())
    assert about["label"] == "lru"
    assert about["versions"]["python"].startswith("3.")
    assert about["launch"][:3] == ["python", "-m", "vllm.entrypoints.openai.api_server"]
    assert str(tmp_path) not in (lru / "about.json").read_text()
    lines = [json.loads(line) for line in (lru / "turns.jsonl").read_text().splitlines()]
    assert len(lines) == TURNS
    assert {line["condition"] for line in lines} == {"lru"}
    probes = [json.loads(line)["probe"] for line in (cells(tmp_path)["gate"] / "turns.jsonl").read_text().splitlines()]
    assert probes.count(False) == TURNS
    assert True in probes
    everything = "".join(path.read_text() for path in (tmp_path / "out").rglob("*") if path.is_file())
    assert "secret" not in everything
    assert "secret" not in out + err
    assert "counted over the seeds: gaps start to start 0" not in out
    assert "prefix appended 2, prefix by cached 1" in out
    assert "late starts, ms" in out


def test_the_same_command_keeps_what_is_finished(run: Run, tmp_path: Path) -> None:
    first = run("--conditions", "lru,gate")
    assert first[0] == 0, first[2]
    before = (cells(tmp_path)["lru"] / "turns.jsonl").read_bytes()
    code, out, err = run("--conditions", "lru,gate")
    assert (code, out) == (0, first[1])
    assert "2 of 2 are finished and kept." in err
    assert (cells(tmp_path)["lru"] / "turns.jsonl").read_bytes() == before
    code, out, err = run("--conditions", "lru,job_aware")
    assert code == 0
    assert "1 of 2 are finished and kept." in err
    assert all(name in out for name in ("lru", "gate", "job_aware"))
    code, again, _ = run(inputs=False)
    assert (code, again) == (0, out)


def test_a_server_that_dies_costs_its_condition_alone(run: Run, tmp_path: Path) -> None:
    code, out, err = run("--conditions", "lru,gate,mori", fake={"gate": {"4": "exit"}})
    assert code == 3
    assert "gate, seed 1, did not finish: the server has died; its log ends with:" in err
    assert "the fake breaks down" in err
    assert "1 did not finish: gate, seed 1. The same command tries them again." in err
    assert "not finished: gate, seed 1, " in out
    assert f" of {TURNS} turns: the server has died" in out
    table = [line.split()[0] for line in out.splitlines() if line.startswith("  ") and line.strip()]
    assert "lru" in table
    assert "mori" in table
    assert "gate" not in table
    whole = json.loads(run("--json", inputs=False)[1])
    assert list(whole["rows"]) == ["lru", "mori"]
    assert [(each["label"], each["planned"]) for each in whole["unfinished"]] == [("gate", TURNS)]
    assert 0 <= whole["unfinished"][0]["seen"] < TURNS
    code, out, err = run("--conditions", "lru,gate,mori")
    assert code == 0
    assert "2 of 3 are finished and kept." in err
    assert "not finished" not in out


def test_a_server_that_does_not_start(run: Run) -> None:
    code, out, err = run("--conditions", "lru,gate", fake={"gate": {"start": 9}})
    assert code == 3
    assert "gate, seed 1, did not finish: the server ended with exit code 9 before it was ready" in err
    assert "the fake serves gate" in err
    assert "not finished: gate, seed 1, 0 of 6 turns: the server ended with exit code 9" in out


def test_a_server_that_answers_500(run: Run) -> None:
    code, out, err = run("--conditions", "gate,lru", fake={"gate": {"all": "500"}})
    assert code == 3
    assert "did not finish: the last 5 turns failed, each like this: status 500: " in err
    assert "The server's log ends with:\nthe fake serves gate" in err
    assert "not finished: gate, seed 1, 0 of 6 turns" in out


def test_errors_are_counted_and_in_no_other_number(run: Run) -> None:
    code, out, _ = run("--conditions", "none,lru", "--json", fake={"lru": {"2": "500", "5": "cut"}})
    assert code == 0
    rows = json.loads(out)["rows"]
    assert (rows["none"]["errors"], rows["none"]["summary"]["turns"]) == (0, TURNS)
    assert (rows["lru"]["errors"], rows["lru"]["summary"]["turns"]) == (2, TURNS - 2)
    assert rows["none"]["paired"]["turns"] == TURNS - 2


def test_a_server_that_never_answers(run: Run) -> None:
    code, out, err = run("--conditions", "lru,gate", "--turn-timeout", "0.5", fake={"lru": {"3": "never"}})
    assert code == 3
    assert "got no answer within 0.5 s: the server hangs, or is too slow for --turn-timeout" in err
    assert "not finished: lru, seed 1, " in out


def test_a_result_that_was_cut_in_a_line_is_run_again(run: Run, tmp_path: Path) -> None:
    assert run("--conditions", "lru,gate")[0] == 0
    turns = cells(tmp_path)["gate"] / "turns.jsonl"
    turns.write_bytes(turns.read_bytes()[:-30])
    code, out, _ = run(inputs=False)
    assert code == 0
    assert "not finished: gate, seed 1, 0 of 6 turns: " in out
    assert "turns.jsonl is not what was written there: it was cut off or changed." in out
    code, out, err = run("--conditions", "lru,gate")
    assert code == 0
    assert "gate, seed 1, is run again: " in err
    assert "1 of 2 are finished and kept." in err
    assert "not finished" not in out


def test_a_half_done_condition_is_told_and_repeated(run: Run, tmp_path: Path) -> None:
    assert run("--conditions", "lru,gate")[0] == 0
    gate = cells(tmp_path)["gate"]
    (gate / "done.json").unlink()
    lines = (gate / "turns.jsonl").read_bytes()
    (gate / "turns.jsonl").unlink()
    (gate / "turns.partial.jsonl").write_bytes(lines[:-30])
    code, out, _ = run(inputs=False)
    assert code == 0
    assert "not finished: gate, seed 1, 5 of 6 turns: not finished; the last line of its turns is torn" in out
    code, out, err = run("--conditions", "lru,gate")
    assert (code, "not finished" in out, "1 of 2 are finished and kept." in err) == (0, False, True)


def test_block_hashes_of_a_log(run: Run, tmp_path: Path) -> None:
    rows = [("a", 0, 50, [1, 2, 3, 4]), ("a", 1, 70, [1, 2, 33, 44, 5]), ("b", 0, 40, [1, 22, 55]),
            ("c", 0, 20, [9, 8])]
    (tmp_path / "blocks.jsonl").write_text("".join(json.dumps({
        "session_id": session, "timestamp": f"2026-03-03T00:00:0{second}Z", "context_tokens": tokens,
        "output_tokens": 1, "hash_ids": blocks, "block_size": 16}) + "\n" for session, second, tokens, blocks in rows))
    code, out, err = run("--conditions", "lru", "--time-scale", "0.01", log="blocks.jsonl")
    assert code == 0, err
    assert "prefix by blocks 4, sessions sharing blocks 2" in out
    [seed] = json.loads((tmp_path / "out" / "run.json").read_text())["seeds"]
    assert sorted([turn[3] for turn in session["turns"]] for session in seed["sessions"]) == [[0], [0], [0, 32]]


def test_a_sample_has_the_sessions_whose_hashed_ids_come_first(run: Run, tmp_path: Path) -> None:
    for seed in ("1", "5"):
        order = sorted("abc", key=lambda name: hashlib.md5(f"{seed}:secret-{name}".encode()).hexdigest())
        assert run("--conditions", "none", "--sessions", "2", "--seed", seed)[0] == 0
        [plan] = json.loads((tmp_path / "out" / "run.json").read_text())["seeds"]
        turns = {"a": 2, "b": 3, "c": 1}
        assert {each["sampled"]: len(each["turns"]) for each in plan["sessions"]} == {
            place: turns[name] for place, name in enumerate(order[:2])}
        shutil.rmtree(tmp_path / "out")


def test_another_plan_does_not_mix_with_what_is_there(run: Run) -> None:
    assert run("--conditions", "lru")[0] == 0
    for words in (["--token-scale", "0.5"], ["--rate", "19"], ["--device-blocks", "32"], ["--sessions", "2"]):
        code, _, err = run("--conditions", "lru", *words)
        assert code == 2
        assert "holds results of other sessions, arrivals, sizes or scales" in err
    code, _, err = run("--conditions", "lru", "--tier", "8MiB")
    assert code == 2
    assert "holds another condition called 'lru'" in err


def test_a_server_that_runs_already(run: Run, tmp_path: Path) -> None:
    with fake_server() as server:
        code, out, err = run("--conditions", "lru,lru:last=blinded", "--server-url", server.url, "--model", "m")
        assert code == 0, err
        assert "The server is somebody else's" in out
        assert {body["model"] for body in server.asked} == {"m"}
        salts = {body["cache_salt"] for body in server.asked}
        assert len(salts) == 2
        about = json.loads((next((tmp_path / "out" / "cells").iterdir()) / "about.json").read_text())
        assert about["launch"] is None
        shutil.rmtree(tmp_path / "out")
        code, _, err = run("--conditions", "lru", "--server-url", server.url)
        assert code == 3
        assert "/v1/models gave no answer that can be read" in err


def test_a_server_that_does_not_say_what_it_found(run: Run) -> None:
    with fake_server() as server:
        server.behave = lambda count: "silent"
        code, out, err = run("--conditions", "lru", "--server-url", server.url, "--model", "m")
    assert code == 3
    assert "no answer of the server says how many tokens of its prompt were found" in err
    assert "--enable-prompt-tokens-details" in err
    assert "found by any cache" not in out


@pytest.mark.parametrize(("url", "code", "says"), [
    ("http://127.0.0.1:abc", 2, "is no address of a server"),
    ("127.0.0.1:8000", 2, "is no address of a server"),
    ("http://a b/", 3, "gave no answer that can be read"),
    ("{ssh}", 3, "gave no answer that can be read"),
])
def test_an_address_of_no_server(run: Run, url: str, code: int, says: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        thread = threading.Thread(target=_greet, args=(other,), daemon=True)
        thread.start()
        got, out, err = run("--conditions", "lru", "--model", "m", "--server-url",
                            url.format(ssh=f"http://127.0.0.1:{other.getsockname()[1]}"))
    assert (got, out) == (code, "")
    assert says in err
    assert "Traceback" not in err


def _greet(other: socket.socket) -> None:
    """Answer as a server of another kind does."""
    with suppress(OSError):
        client, _ = other.accept()
        with client:
            client.sendall(b"SSH-2.0-OpenSSH_9.2\r\n")


@pytest.mark.parametrize(("name", "content"), [
    ("counters.json", "{}"), ("counters.json", '{"preemptions": "x"}'),
    ("run.json", '{"rows": []}'), ("run.json", '{"seeds": []}'), ("run.json", '{"scale": null}'),
])
def test_damaged_results(run: Run, tmp_path: Path, name: str, content: str) -> None:
    assert run("--conditions", "lru")[0] == 0
    [path] = (tmp_path / "out").rglob(name)
    path.write_text(json.dumps(json.loads(path.read_text()) | json.loads(content)) if name == "run.json" else content)
    code, out, err = run(inputs=False)
    assert (code, out) == (3, "")
    assert f"{name} is damaged" in err
    assert "Traceback" not in err


def test_a_wrong_port(run: Run, tmp_path: Path) -> None:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{held.getsockname()[1]}"
        code, _, err = run("--conditions", "lru", "--server-url", url, "--model", "m")
    assert code == 3
    assert f"{url}/version gave no answer that can be read" in err
    assert "Is a vLLM server running there?" in err


@pytest.mark.parametrize("way", [signal.SIGINT, signal.SIGKILL])
def test_a_run_that_is_stopped_leaves_no_server_and_goes_on(run: Run, tmp_path: Path, python: Path,
                                                            way: signal.Signals) -> None:
    assert run("--conditions", "lru")[0] == 0
    command = [sys.executable, "-m", "pipelines.cli", "live", str(tmp_path / "calls.csv"), "--python", str(python),
               "--rate", "20", "--seeds", "1", "--out", str(tmp_path / "out"), "--conditions", "lru,gate"]
    environment = os.environ | {"KVCENSUS_FAKE": '{"gate": {"4": "never"}}'}
    with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True, cwd=ROOT) as process:
        assert process.stderr is not None
        try:
            wait_for(lambda: any(path.stat().st_size for path in (tmp_path / "out" / "cells").glob(
                "gate,*/turns.partial.jsonl")))
            process.send_signal(way)
            code, err = process.wait(30), process.stderr.read()
        finally:
            process.kill()
    if way == signal.SIGINT:
        assert code == 130
        assert "stopped; finished conditions are kept, and the same command goes on from there." in err
    wait_for(lambda: not [line for line in processes() if str(tmp_path) in line])
    code, out, err = run("--conditions", "lru,gate")
    assert (code, "1 of 2 are finished and kept." in err, "not finished" in out) == (0, True, False)


def wait_for(what: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not what():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def processes() -> list[str]:
    """Command lines of all processes."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            found.append(path.read_bytes().replace(b"\0", b" ").decode(errors="replace"))
    return found


@pytest.mark.parametrize(("words", "says"), [
    (["--conditions", "fifo"], "unknown tier policy 'fifo'"),
    (["--conditions", "lru,lru"], "'lru' is there twice"),
    (["--conditions", "gate,gate:gap=exact"], "'gate:gap=exact' is there twice"),
    (["--conditions", "gate:gap=loud"], "unknown kind of gap hints: 'loud'. Known: exact, "),
    (["--conditions", "gate:warm=1h"], "'warm=1h' is none of gap=KIND, last=KIND and warm=TIME"),
    (["--conditions", "lru", "--set", "gate.slack_s=1"], "write POLICY.NAME=VALUE for one of --conditions"),
    (["--conditions", "gate", "--set", "gate.sluck=1"], "policy gate has no parameter 'sluck'"),
    (["--conditions", "gate", "--control", "lru"], "--control 'lru' is none of --conditions: gate."),
    (["--token-scale", "0"], "--token-scale '0': write a factor above 0"),
    (["--rate", "often"], "--rate 'often': write sessions a second above 0, such as 0.5, or log."),
    (["--tier", "10%"], "--tier '10%': write a size such as 8GB."),
    (["--sessions", "0"], "--sessions '0': write a whole number from 1 to 10,000."),
    (["--turn-timeout", "0"], "--turn-timeout '0': write seconds above 0."),
    (["--serve", "some/model"], "--serve 'some/model' needs the --geometry of its KV cache."),
    (["--server-url", "http://h:1", "--serve", "m", "--geometry", "1"], "--server-url and --serve exclude each other"),
    (["--server-url", "http://h:1", "--conditions", "lru,gate"], "--server-url has one tier"),
    (["--server-args", "'"], "--server-args ''': No closing quotation."),
    (["--device-blocks", "4"], "the longest turn has 143 tokens, to scale, and 4 blocks of 32 hold 96."),
    (["--python", "/nowhere/python"], "no interpreter of an environment with vLLM at /nowhere/python (as given)"),
])
def test_usage(words: list[str], says: str, run: Run) -> None:
    code, out, err = run(*words)
    assert (code, out) == (2, "")
    assert says in err


def test_a_reference_workload(run: Run, python: Path) -> None:
    words = ["--workload", "continuum-d", "--sessions", "2", "--seeds", "2", "--rate", "20", "--token-scale", "0.01",
             "--time-scale", "0.01", "--python", str(python), "--conditions", "none"]
    code, out, err = run(*words, inputs=False)
    assert code == 0, err
    assert out.startswith("kvcensus live --out OUT --workload continuum-d --sessions 2 --seeds 2 --rate 20 ")
    assert "2 sessions a seed; turns: 12 of seed 1, 12 of seed 2; tokens times 0.01, gaps times 0.01; 20 session" in out
    for more, says in ((["--workload", "chat"], "--workload 'chat' is not known. Known: swe, continuum-d."),
                       (["--rate", "log"], "a reference workload has no arrivals of its own"),
                       (["calls.csv"], "--workload and INPUT exclude each other")):
        code, _, err = run(*words, *more, inputs=False)
        assert code == 2
        assert says in err


def test_the_recipe_for_a_gpu(tmp_path: Path, python: Path, capsys: pytest.CaptureFixture[str]) -> None:
    # Its words parse, and make a launch line of Tenure's sizes; what follows them wins.
    more = ["--sessions", "2", "--token-scale", "0.01", "--time-scale", "0.001", "--rate", "100", "--conditions", "lru"]
    code = replay_live(["--python", str(python), "--out", str(tmp_path / "gpu"), "--bootstrap", "0", *more])
    assert code == 2  # --set names gate, which is no condition any more
    assert "write POLICY.NAME=VALUE for one of --conditions" in capsys.readouterr().err
    more[-1] = "gate"
    assert replay_live(["--python", str(python), "--out", str(tmp_path / "gpu"), "--bootstrap", "0", *more]) == 0
    [cell] = (tmp_path / "gpu" / "cells").iterdir()
    assert cell.name == "gate,tier=8000000000,gap=exact,last=exact,warm=no,live_ttl_s=10.0,slack_s=2.5,seed=1"
    line = json.loads((cell / "about.json").read_text())["launch"]
    assert line[line.index("--num-gpu-blocks-override") + 1] == "2861"
    assert line[-6:] == ["--load-format", "dummy", "--dtype", "bfloat16", "--gpu-memory-utilization", "0.9"]
    assert json.loads((tmp_path / "gpu" / "run.json").read_text())["server"]["kv_bytes_per_token"] == 131_072


def test_nothing_there(run: Run, tmp_path: Path) -> None:
    code, _, err = run(inputs=False)
    assert code == 3
    assert "out holds no live results: it has no run.json." in err
    assert run("--conditions", "lru")[0] == 0
    code, _, err = run("--control", "gate", inputs=False)
    assert code == 2
    assert "--control 'gate' is no condition of these results. Conditions: lru." in err
    (tmp_path / "out" / "run.json").write_text('{"format": 1}')
    code, _, err = run(inputs=False)
    assert code == 3
    assert "run.json is damaged: KeyError: 'rows'." in err
