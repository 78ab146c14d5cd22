"""Shared prefixes and the records of sessions."""

from __future__ import annotations

import pytest
from gate_driver import Server

from kvcensus_gate import known_policies

RANKED = ["gate", "gate_tags_off", "job_aware", "continuum_ttl", "mori", "marconi"]


def test_a_shared_block_is_as_safe_as_its_safest_owner():
    server = Server("gate", 6)
    server.turn("a", "PQA", gap_s=10)
    server.turn("b", "PQB", gap_s=300)
    server.turn("a", "PQA", last=True)
    assert server.evict(1) == "A"        # finished; P and Q are also b's
    assert server.evict(3) == "BQP"      # b's own block first, then the deepest of the prefix


def test_two_sessions_with_one_context():
    server = Server("gate", 3)
    server.turn("a", "ABC", gap_s=30)
    server.turn("b", "ABC", last=True)
    assert server.turn("c", "X").refused == "admission"
    server.turn("a", "ABC", last=True)
    assert server.turn("c", "X").evict == ("C",)


def test_a_compaction_leaves_what_another_session_still_holds():
    server = Server("gate", 8)
    server.turn("a", "PAB", gap_s=30)
    server.turn("b", "PAC", gap_s=30)
    server.turn("a", "PX", gap_s=30)     # B is orphaned; A is b's still
    assert server.evict(1) == "B"
    server.turn("b", "PAC", last=True)
    assert server.evict(2) == "CA"


def test_what_a_session_stores_is_its_own_even_if_another_has_taken_over_what_it_stored_before():
    server = Server("gate", 6)
    server.turn("z", "Z", gap_s=30)
    server.turn("a", "ZQ", gap_s=1)      # owns Z with z, and Q alone
    server.turn("z", "Z", last=True)     # now Z alone, too
    reader = server.begin("b", gap_s=300)
    server.tier.touch(reader, ["Q"])     # Q is b's, too
    server.tier.finish(reader)
    server.turn("d", "D", last=True)
    server.clock.wait(60)
    assert server.evict(1) == "D"        # a is overdue, and gives Q up to b
    server.turn("a", "ZN", gap_s=300)
    server.turn("b", "Q", last=True)
    assert server.evict(3) == "QNZ"


def test_untagged_requests_take_over_from_one_another():
    server = Server("gate", 4)
    for _ in range(1000):
        server.turn(None, "AB")
        server.clock.wait(1)
    assert len(server.tier.sessions) == 1
    assert server.turn("b", "XYZ").refused == "admission"
    server.clock.wait(20)
    assert server.turn("b", "XYZ").evict == ("B",)


@pytest.mark.parametrize("policy", known_policies())
def test_a_thousand_sessions_that_come_and_go_leave_no_record(policy: str):
    server = Server(policy, 40)
    for number in range(1000):
        prompt = ["system", "tools"]
        own = [f"{number}.{at}" for at in range(3)]
        server.turn(f"s{number}", prompt + own[:2], gap_s=2)
        server.clock.wait(1)
        server.turn(f"s{number}", prompt + own, last=True)
        assert len(server.tier.sessions) <= len(server.tier)
    server.tier.clear()
    assert len(server.tier.sessions) == 0
    assert server.tier.sessions.tally.created == server.tier.sessions.tally.collected
    if policy not in ("none", "lru", "arc", "mori", "marconi", "gate_tags_off"):
        assert server.tier.sessions.tally.finished == 1000


@pytest.mark.parametrize("policy", RANKED)
def test_sessions_that_never_say_goodbye_leave_no_record_either(policy: str):
    # All begin with one prompt that never leaves the tier; each is forgotten once its own block has gone.
    server = Server(policy, 12)
    for number in range(600):
        server.turn(f"s{number}", ["system", "tools", str(number)], gap_s=2)
        server.clock.wait(10)
    assert server.prefix(["system", "tools"]) == ["system", "tools"]
    assert len(server.tier.sessions) <= 14


def test_records_are_created_woken_finished_and_collected():
    server = Server("gate", 8)
    server.turn("a", "AB", gap_s=5)
    server.turn("a", "ABC", gap_s=5)
    server.turn("a", "ABC", last=True)
    server.turn("a", "ABC", gap_s=5)     # the id again: another life
    tally = server.tier.sessions.tally
    assert (tally.created, tally.woken, tally.finished, tally.collected) == (2, 2, 1, 1)
    assert len(server.tier.sessions) == 1


def test_the_record_of_a_session_goes_with_its_last_block():
    server = Server("gate", 2)
    server.turn("a", "AB", gap_s=1)
    server.clock.wait(60)
    server.turn("b", "XY", gap_s=1)
    assert len(server.tier.sessions) == 1
    assert server.tier.sessions.tally.collected == 1


def test_a_request_without_blocks_leaves_no_record():
    server = Server("gate", 2)
    server.turn("a", "", gap_s=30)
    server.turn("b", "ABC")              # larger than the tier
    assert len(server.tier.sessions) == 0


def test_records_of_a_tier_in_which_everything_fits_do_not_pile_up():
    # Nothing is ever decided here; still, sessions that own nothing alone are given up.
    server = Server("gate", 10)
    for number in range(5000):
        server.turn(f"s{number}", ["system", "tools"], gap_s=1)
        server.clock.wait(1)
    assert len(server.tier.sessions) < 2500
