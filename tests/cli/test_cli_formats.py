"""Every source format from end to end, on fixtures and on shared public traces."""

from __future__ import annotations

import io
import json
import tarfile
from pathlib import Path
from typing import Any

import pytest

FIXTURES = Path(__file__).resolve().parents[1] / "telemetry" / "fixtures"


def shared(cli: Any, name: str) -> Path:
    place = cli.shared / name
    if not place.exists():
        pytest.skip(f"shared/data/{name} is not here")
    return place


def copilot_line(number: int) -> bytes:
    calls = [{"message_id": f"ibex-{number}-{i}", "timestamp": f"2026-06-01T0{number}:00:0{i}.5Z",
              "duration_ms": 1500.25, "initiator_type": "agent" if i else "user", "model": "okapi", "result": "Success",
              "status_code": "OK", "tokens": {"prompt": 100 + 10 * i, "completion": 10, "cached": 80}}
             for i in range(4)]
    return json.dumps({"session_id": f"zebra-{number}", "date": "2026-06-01", "turns": [
        {"turn_id": "t1", "llm_calls": calls, "tool_batches": []}]}).encode() + b"\n"


def archive(*members: tuple[str, bytes]) -> bytes:
    sink = io.BytesIO()
    with tarfile.open(fileobj=sink, mode="w:gz") as tar:
        for name, content in members:
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return sink.getvalue()


def test_copilot_archive(cli: Any, tools: Any) -> None:
    data = archive(("../../evil.jsonl", copilot_line(0)), ("/abs.jsonl", copilot_line(1) + b"no json\n"))
    ran = cli.ok(cli.file(data, "day.tar.gz"), format="copilot")
    assert ran.value("trace.calls") == 8
    assert ran.value("trace.sessions") == 2
    assert ran.json("audit")["rows_excluded"]["unreadable"] == 1
    text = tools.published(ran.out)
    assert not any(word in text for word in ("zebra", "ibex", "okapi", "evil"))
    assert any("not verified on the data" in note for note in ran.json("manifest")["notes"])
    assert not list(cli.folder.rglob("evil*"))


def test_copilot_damage(cli: Any) -> None:
    data = archive(("a.jsonl", copilot_line(0) * 50))
    for content in (data[:len(data) // 2], data[:20], b"\x1f\x8b" + bytes(99), b"", b"\xfd7zXZ\x00" + bytes(99)):
        cli.fails(3, cli.file(content, "day.tar.gz"), format="copilot", says=["day.tar.gz"])
    cli.fails(3, cli.file(archive(("a.txt", b"x")), "day.tgz"), "--strict", format="copilot", says=["recognised"])
    cli.fails(3, cli.file(b"{}\n", "a.jsonl"), format="copilot", says=["recognised"])
    cli.fails(3, cli.file(copilot_line(0) + b"{}\n", "a.jsonl"), "--strict", format="copilot", says=["row 5", "turns"])


def test_claude_code(cli: Any, tools: Any) -> None:
    folder = FIXTURES / "claude_code"
    if not folder.is_dir():
        pytest.skip("the fixtures of tests/telemetry are not here")
    ran = cli.ok(folder, format="claude-code")
    audit = ran.json("audit")
    assert audit["rows_used"] + sum(audit["rows_excluded"].values()) == audit["rows_read"]
    assert audit["rows_excluded"]["duplicate"] > 0
    assert str(folder) not in tools.published(ran.out)
    # The format repeats calls by design, so that is nothing to object to.
    assert cli.ok(folder / "stream.jsonl", "--strict", format="claude-code").json("audit")["rows_excluded"]["duplicate"]
    cli.fails(3, cli.file(b'{"type": "summary"}\n', "a.jsonl"), format="claude-code", says=["recognised"])
    cli.fails(3, cli.file(b"\xff\xfe\x00\n" * 9, "b.jsonl"), format="claude-code", says=["recognised"])


def test_weka(cli: Any) -> None:
    data = sorted(shared(cli, "weka").glob("*.json"))[:3]
    ran = cli.ok(*data, data[0], "--arrivals", "poisson:0.01:1", format="weka", light=True)
    again = cli.ok(*reversed(data), "--arrivals", "poisson:0.01:1", format="weka", light=True)
    other = cli.ok(*data, "--arrivals", "poisson:0.01:2", format="weka", light=True)
    replays = [{key: n for key, n in run.json().items() if key.startswith("replay.")} for run in (ran, again, other)]
    assert ran.json("audit")["rows_used"] == again.json("audit")["rows_used"] > 0
    assert ran.json("audit")["rows_excluded"]["duplicate"] == 0  # the file was named twice, not copied
    assert [n["value"] for n in replays[0].values()] == [n["value"] for n in replays[1].values()]
    starts = [run.json("manifest")["window"]["start"] for run in (ran, again, other)]
    assert starts[0] == starts[1] != starts[2]
    assert any("synthetic" in note for note in ran.json("manifest")["notes"])


@pytest.mark.parametrize("content", [
    b"{}", b"[]", b"\xff", b"null", b'{"id": "a"', b"[" * 100_000, b'{"id": 1, "block_size": "x", "requests": {}}',
    b'{"id": "a", "block_size": 0, "hash_id_scope": "local", "requests": []}',
    b'{"id": "a", "block_size": 64, "hash_id_scope": "local", "requests": [1, null, {"type": "subagent"}]}'])
def test_weka_damage(cli: Any, content: bytes) -> None:
    cli.fails(3, cli.file(content, "a.json"), "--arrivals", "poisson:1", format="weka")


def lacks(ran: Any, *prefixes: str) -> None:
    for prefix in prefixes:
        found = {key: number for key, number in ran.json().items() if key.startswith(prefix)}
        assert found, prefix
        for key, number in found.items():
            assert number["value"] is None, key
            assert number["why"], key


def test_azure_has_no_sessions(cli: Any) -> None:
    data = shared(cli, "azure/AzureLLMInferenceTrace_code.csv")
    conf = cli.toml('[columns]\ntimestamp = "TIMESTAMP"\ncontext_tokens = "ContextTokens"\n'
                    'output_tokens = "GeneratedTokens"\n[timestamp]\nzone = "UTC"\n')
    cli.fails(3, data, says=["no column 'timestamp'", "TIMESTAMP"])
    ran = cli.ok(data, "--config", conf, page=True)
    assert ran.value("trace.calls") == 8819
    lacks(ran, "depth.", "reuse.", "working_set.", "ceiling.", "replay.", "gap.")
    assert "no call of the trace has a session id" in ran.page()
    assert "not known: no call of the trace has a session id" in ran.stdout
    assert ran.json("audit")["flags"]["unsessioned"] == 8819


def test_mooncake_has_no_sessions_and_counts_from_zero(cli: Any) -> None:
    data = shared(cli, "mooncake/conversation_trace.jsonl")
    columns = '[columns]\ncontext_tokens = "input_length"\noutput_tokens = "output_length"\n[timestamp]\nunit = "ms"\n'
    cli.fails(3, data, "--config", cli.toml(columns), says=["timestamp.epoch"])
    ran = cli.ok(data, "--config", cli.toml(columns + "epoch = 2026-01-01T00:00:00Z\n"), page=True)
    assert ran.value("trace.calls") == 12031
    lacks(ran, "depth.", "reuse.", "ceiling.", "replay.")
    assert ran.json("manifest")["window"]["start"] == "2026-01-01T00:00:00Z"
