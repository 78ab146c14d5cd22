"""The decision log, and its replay."""

from __future__ import annotations

import io
import json

import pytest
from gate_driver import Clock
from test_gate_properties import Traffic, long_traffic

from kvcensus_gate import GateError, Hints, known_policies
from kvcensus_gate.log import make_logged_tier, replay


def logged(policy: str, seed: int = 5) -> list[str]:
    sink = io.StringIO()
    traffic = Traffic(policy, 16, {})
    traffic.tier = make_logged_tier(policy, 16, traffic.clock, sink, block_bytes=4096)
    for step in long_traffic(seed):
        traffic.step(*step)
    traffic.step("clear", 0, 0)
    traffic.tier.prepare_store("stranger", [b"\x00\xff", 7, "text"])
    traffic.tier.log_report()
    return sink.getvalue().splitlines()


@pytest.mark.parametrize("policy", known_policies())
def test_a_replay_reproduces_every_decision(policy: str):
    lines = logged(policy)
    again = replay(lines)
    assert again.difference is None
    assert again.decisions == sum('"call":"prepare_store"' in line for line in lines) > 100
    assert again.tier.report() == json.loads(lines[-1])["report"]


def test_another_decision_is_found():
    lines = logged("gate")
    at = next(number for number, line in enumerate(lines) if '"refused":"admission"' in line)
    lines[at] = lines[at].replace('"refused":"admission"', '"refused":null')
    found = replay(lines)
    assert found.difference is not None
    assert found.difference.startswith(f"line {at + 1}: the log has ")
    other = replay([lines[0].replace('"gate"', '"gate_tags_off"').replace("600.0", "600.0"), *lines[1:]])
    assert other.difference is not None


def test_parameters_and_keys_survive():
    sink = io.StringIO()
    tier = make_logged_tier("gate", 2, Clock(), sink, parameters={"slack_s": 1.5})
    tier.begin("r", Hints("\ud800<b>", malformed=("turn_idx",)))
    tier.prepare_store("r", [b"\x00", "b:00"])
    again = replay(sink.getvalue().splitlines())
    assert again.difference is None
    assert again.tier.policy.parameters.slack_s == 1.5
    assert again.tier.counters.malformed_hints == 1


@pytest.mark.parametrize(("line", "message"), [
    ("{}", "line 2 of the decision log cannot be replayed: KeyError"),
    ("nonsense", "line 2 of the decision log cannot be replayed: JSONDecodeError"),
    ('{"call":"sudo","clock_us":[]}', "line 2 of .* ValueError: unknown call 'sudo'"),
    ('{"call":"finish","clock_us":[1],"requests":"r"}', "line 2 of the decision log cannot be replayed: TypeError")])
def test_a_line_that_is_no_call(line: str, message: str):
    with pytest.raises(GateError, match=message):
        replay([logged("lru")[0], line])


@pytest.mark.parametrize(("lines", "message"), [
    ([], "line 1 of the decision log is no header"), (["{}"], "line 1 of the decision log is no header"),
    (['{"format":2}'], "the decision log has format 2; this version reads 1")])
def test_a_log_without_a_header(lines: list[str], message: str):
    with pytest.raises(GateError, match=message):
        replay(lines)


def test_a_log_that_cannot_be_written_stops_and_says_so():
    class Full(io.StringIO):
        def write(self, text: str) -> int:
            raise OSError("no space left")

    tier = make_logged_tier("lru", 2, Clock(), Full())
    tier.begin("r")
    assert tier.prepare_store("r", ["A"]).store == ("A",)
    assert tier.broken == "no space left"
