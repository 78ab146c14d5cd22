"""Hints: what a client may send, and what it sends instead."""

from __future__ import annotations

from typing import Any

import pytest
from gate_driver import Server
from hypothesis import given, settings
from hypothesis import strategies as st

from kvcensus_gate import NO_HINTS, Hints, known_policies, parse_hints

NAMES = ("session_id", "job_id", "turn_idx", "expected_gap_ms", "last_turn")
JSON = st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=300),
                    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
                    max_leaves=5)


def test_every_field():
    sent = {"session_id": "a", "turn_idx": 3, "expected_gap_ms": 5200.5, "last_turn": True, "max_load_tokens": 7}
    assert parse_hints(sent) == Hints("a", 3, 5_200_500, True)


def test_a_job_is_a_session_and_the_session_id_wins():
    assert parse_hints({"job_id": "j"}) == Hints("j")
    assert parse_hints({"job_id": "j", "session_id": "s"}) == Hints("s")
    assert parse_hints({"job_id": "j", "session_id": 7}) == Hints("j", malformed=("session_id",))


@pytest.mark.parametrize("nothing", [None, {}, {"session_id": None, "turn_idx": None, "expected_gap_ms": None,
                                                "last_turn": None}, {"last_turn": False}, {"expected_gap": 5}])
def test_nothing_was_said(nothing: object):
    assert parse_hints(nothing) == NO_HINTS


@pytest.mark.parametrize(("field", "value"), [
    ("session_id", 17), ("session_id", ""), ("session_id", "x" * 10_000), ("session_id", ["a"]), ("session_id", b"a"),
    ("job_id", {"a": 1}), ("turn_idx", -1), ("turn_idx", 2.0), ("turn_idx", True), ("turn_idx", 10**30),
    ("expected_gap_ms", "5"), ("expected_gap_ms", -1), ("expected_gap_ms", -0.5), ("expected_gap_ms", True),
    ("expected_gap_ms", float("nan")), ("expected_gap_ms", float("inf")), ("expected_gap_ms", 1e300),
    ("expected_gap_ms", 10**400), ("expected_gap_ms", 366 * 86_400_000 + 1), ("last_turn", "true"), ("last_turn", 1)])
def test_what_cannot_be_used_is_left_out_and_named(field: str, value: object):
    assert parse_hints({field: value}) == Hints(malformed=(field,))


@pytest.mark.parametrize("params", [7, "session_id", ["session_id"], True])
def test_parameters_that_are_no_mapping(params: object):
    assert parse_hints(params) == Hints(malformed=("kv_transfer_params",))


def test_limits_are_allowed():
    assert parse_hints({"expected_gap_ms": 366 * 86_400_000}).expected_gap_us == 366 * 86_400_000_000
    assert parse_hints({"session_id": "x" * 256}).session_id == "x" * 256
    assert parse_hints({"expected_gap_ms": 0}).expected_gap_us == 0


@pytest.mark.parametrize("policy", known_policies())
@given(sent=st.lists(st.one_of(JSON, st.dictionaries(st.sampled_from(NAMES), JSON | st.just("a"), max_size=5)),
                     max_size=8))
@settings(max_examples=30, deadline=None)
def test_no_hint_raises_or_breaks_a_tier(policy: str, sent: list[Any]):
    server = Server(policy, 3)
    malformed = 0
    for number, params in enumerate(sent):
        hints = parse_hints(params)
        malformed += len(hints.malformed)
        request = f"hostile {number}"
        server.tier.begin(request, hints)
        server.tier.touch(request, ["p", number], whole=True)
        server.tier.complete_store(server.tier.prepare_store(request, ["p", number]).store)
        server.tier.finish(request)
        server.clock.wait(1)
        assert len(server.tier) <= server.tier.capacity
    assert server.tier.counters.malformed_hints == malformed
