"""Clients against a server that is not there, breaks, hangs, or answers as it should."""

from __future__ import annotations

import re
import socket
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fake_server import FakeServer, fake_server

from replay.live.client import Clients, Limits, drive
from replay.live.http import parse_address
from replay.live.plan import Scale, plan_sessions
from replay.live.turns import LiveTurn, as_line, read_turns
from replay.tier.hints import HintPlan, hints_of
from replay.tier.workload import Call
from telemetry.errors import InputError, UsageError

S = 1_000_000
MS = 1_000


@pytest.fixture
def server() -> Iterator[FakeServer]:
    with fake_server() as running:
        yield running


def clients(url: str, *sessions: list[Call], **changes: Any) -> Clients:
    plan = plan_sessions("log", sessions or ONE, 1, None, Scale(), range(4, 512))
    return replace(Clients(plan, hints_of(plan.workload, HintPlan(), 1), None, "lru", 1, parse_address(url), "tiny"),
                   **changes)


def run(given: Clients, limits: Limits | None = None,
        lost: Callable[[], str | None] = lambda: None) -> tuple[list[LiveTurn], str | None]:
    lines: list[LiveTurn] = []
    return lines, drive(given, limits or Limits(turn_s=10), lines.append, lost)


#: 20 and 30 tokens, the second 50 ms after the end of the first, which the log has lasting 100 ms.
ONE = [[Call(0, 20, 3, 100 * MS), Call(150 * MS, 30, 2, 0)]]


def test_a_session_by_hand(server: FakeServer) -> None:
    lines, why = run(clients(server.url))
    assert why is None
    assert [(line.session, line.turn, line.prompt_tokens, line.output_tokens, line.cached_tokens, line.error)
            for line in lines] == [(0, 0, 20, 3, None, None), (0, 1, 30, 2, 20, None)]
    first, second = lines
    assert second.planned_us == first.end_us + 50 * MS
    assert second.planned_us <= second.start_us < second.planned_us + 50 * MS
    for line in lines:
        assert line.ttft_us is not None
        assert 0 < line.ttft_us <= line.end_us - line.start_us
    asked = server.asked
    assert asked[1]["prompt"][:20] == asked[0]["prompt"]
    for body, tokens in zip(asked, (3, 2), strict=True):
        assert (body["max_tokens"], body["min_tokens"], body["ignore_eos"]) == (tokens, tokens, True)
    assert [body["kv_transfer_params"] for body in asked] == [
        {"session_id": "0", "turn_idx": 0, "expected_gap_ms": 50.0},
        {"session_id": "0", "turn_idx": 1, "last_turn": True}]
    assert server.names == [line.request for line in lines] == ["kvc-1-0-0", "kvc-1-0-1"]


def test_sessions_wait_for_their_own_turns_alone(server: FakeServer) -> None:
    # B arrives 100 ms after A; C's turns overlap in the log, so that nothing lies between them.
    a = [Call(0, 20, 1, 0), Call(400 * MS, 25, 1, 0)]
    b = [Call(100 * MS, 15, 1, 0)]
    c = [Call(0, 10, 1, 300 * MS), Call(100 * MS, 12, 1, 0)]
    lines, why = run(clients(server.url, a, b, c))
    assert why is None
    at = {(line.sampled, line.turn): line for line in lines}
    assert at[1, 0].planned_us == 100 * MS
    assert at[0, 1].planned_us == at[0, 0].end_us + 400 * MS
    assert at[2, 1].planned_us == at[2, 0].end_us
    assert [(line.sampled, line.turn) for line in lines][-1] == (0, 1)


def test_warm_probes_come_before_their_turn_and_are_marked(server: FakeServer) -> None:
    sessions = [Call(0, 20, 3, 0), Call(500 * MS, 30, 2, 0)]
    lines, why = run(clients(server.url, sessions, warm_lead_us=200 * MS))
    assert why is None
    assert [(line.turn, line.probe, line.output_tokens, line.prompt_tokens) for line in lines] == [
        (0, False, 3, 20), (0, True, 1, 20), (1, False, 2, 30)]
    assert lines[1].planned_us == lines[0].end_us + 300 * MS
    assert lines[2].planned_us == lines[0].end_us + 500 * MS
    assert server.asked[1]["kv_transfer_params"] == {"session_id": "0", "turn_idx": 0, "expected_gap_ms": 200.0}
    assert lines[1].request == "kvc-1-0-0w"


def test_a_probe_that_is_late_is_not_sent(server: FakeServer) -> None:
    # The client believes in 10 s where 100 ms are.
    given = clients(server.url, [Call(0, 20, 1, 0), Call(100 * MS, 30, 1, 0)], warm_lead_us=50 * MS)
    given.hints[0][0] = replace(given.hints[0][0], expected_gap_us=10 * S)
    began = time.monotonic()
    lines, why = run(given)
    assert (why, [line.probe for line in lines]) == (None, [False, False])
    assert time.monotonic() - began < 5


def many(count: int) -> list[list[Call]]:
    return [[Call(i * MS, 20, 2, 0), Call(i * MS + 20 * MS, 24, 2, 0)] for i in range(count)]


def test_one_error_is_a_line_and_the_session_goes_on(server: FakeServer) -> None:
    server.behave = lambda count: {1: "500", 3: "cut", 4: "short"}.get(count, "answer")
    lines, why = run(clients(server.url, *many(3)))
    assert why is None
    assert len(lines) == 6
    errors = sorted(line.error for line in lines if line.error)
    assert re.fullmatch(r"asked for 2 tokens after (2[04]), the server counts '1' after '\1'", errors[0])
    assert re.fullmatch(r"status 500: '.*something broke.*", errors[1])
    assert re.fullmatch(r"the connection broke: .+", errors[2])
    assert all(line.ttft_us is None for line in lines if line.error)


def test_a_server_that_only_answers_500_is_given_up(server: FakeServer) -> None:
    server.behave = lambda count: "500"
    lines, why = run(clients(server.url, *many(30)), Limits(errors=4))
    assert why is not None
    assert why.startswith("the last 4 turns failed, each like this: status 500: ")
    assert len(lines) < 60


def test_a_server_that_never_answers_is_given_up_in_time(server: FakeServer) -> None:
    server.behave = lambda count: "never" if count > 2 else "answer"
    began = time.monotonic()
    lines, why = run(clients(server.url, *many(10)), Limits(turn_s=0.5))
    assert time.monotonic() - began < 5
    assert why is not None
    assert "got no answer within 0.5 s: the server hangs, or is too slow for --turn-timeout" in why
    assert len([line for line in lines if line.error is None]) == 2


def test_a_wrong_port() -> None:
    with socket.socket() as held:  # bound, but nobody listens
        held.bind(("127.0.0.1", 0))
        lines, why = run(clients(f"http://127.0.0.1:{held.getsockname()[1]}", *many(10)))
    assert why is not None
    assert why.startswith("the last 5 turns failed, each like this: no connection: ")
    assert all(line.error for line in lines)


def test_what_watches_the_server_ends_a_run(server: FakeServer) -> None:
    server.behave = lambda count: "never"
    began = time.monotonic()
    _, why = run(clients(server.url), Limits(turn_s=60), lambda: "it died" if time.monotonic() - began > 0.5 else None)
    assert why == "it died"
    assert time.monotonic() - began < 5


def test_a_fault_of_ours_is_not_a_servers(server: FakeServer) -> None:
    def full(turn: LiveTurn) -> None:
        raise OSError("no space")

    with pytest.raises(OSError, match="no space"):
        drive(clients(server.url, *many(3)), Limits(), full, lambda: None)


@pytest.mark.parametrize("url", ["127.0.0.1:8000", "ftp://a", "http://", "http://a:b", "http://a?x=1"])
def test_addresses_that_are_none(url: str) -> None:
    with pytest.raises(UsageError, match="write http://HOST:PORT"):
        parse_address(url)


def test_addresses() -> None:
    assert parse_address("http://[::1]:8000/v/").url == "http://[::1]:8000/v"
    assert (parse_address("https://a").port, parse_address("http://a").port) == (443, 80)


TURN = LiveTurn("gate", 2, 3, 4, 5, False, 10, 20, 21, 7, 40, 100, 8, 64, 32, "kvc-2-3-4", None)


def test_lines_are_read_as_they_were_written(tmp_path: Path) -> None:
    path = tmp_path / "turns.jsonl"
    failed = TURN._replace(turn=5, ttft_us=None, cached_tokens=None, external_tokens=None, error="status 500: 'x\ny'")
    path.write_text(as_line(TURN) + as_line(failed))
    assert read_turns(path) == ([TURN, failed], False)
    path.write_text(as_line(TURN) + as_line(failed)[:-20])
    assert read_turns(path) == ([TURN], True)
    path.write_text("")
    assert read_turns(path) == ([], False)


@pytest.mark.parametrize("line", ["{}", "[]", "nonsense", as_line(TURN).replace('"turn":4', '"turn":"4"').strip(),
                                  as_line(TURN).replace('"seed":2', '"seed":true').strip()])
def test_a_line_that_is_no_turn(line: str, tmp_path: Path) -> None:
    path = tmp_path / "turns.jsonl"
    path.write_text(as_line(TURN) + line + "\n" + as_line(TURN))
    with pytest.raises(InputError, match=r"turns\.jsonl, line 2 is no turn"):
        read_turns(path)
