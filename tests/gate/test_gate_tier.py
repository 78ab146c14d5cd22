"""The protocol of a tier: flight, protection, orders of calls, refusals, errors."""

from __future__ import annotations

import json

import pytest
from gate_driver import Server, adds_up

from kvcensus_gate import GateError, Lookup, StorePlan, find_policy, known_policies, make_tier

STORING = sorted(known_policies().keys() - {"none"})


@pytest.mark.parametrize("policy", STORING)
def test_a_block_on_its_way_is_pending_and_no_victim(policy: str):
    server = Server(policy, 2)
    request = server.begin("a", last=True)
    plan = server.tier.prepare_store(request, ["A", "B"])
    server.tier.finish(request)          # may come before the copy has ended
    server.clock.wait(10_000)
    assert server.tier.lookup("A") is Lookup.PENDING
    refused = server.turn("b", "X")
    assert (refused.store, refused.evict, refused.refused) == ((), (), "no_room")
    server.tier.complete_store(plan.store)
    assert server.tier.lookup("A") is Lookup.HIT
    assert server.turn("b", "X").evict == ("B",)
    assert adds_up(server.tier)


@pytest.mark.parametrize("policy", STORING)
def test_a_block_that_is_loaded_is_no_victim_until_every_load_has_ended(policy: str):
    server = Server(policy, 2)
    server.turn("a", "AB", last=True)
    server.clock.wait(10_000)
    first, second = server.begin(None), server.begin(None)
    server.tier.prepare_load(first, ["A", "B"])
    server.tier.prepare_load(second, ["A", "B"])
    server.tier.complete_load(["A", "B"])
    server.tier.finish(first)
    server.tier.finish(second)
    server.clock.wait(10_000)
    assert server.turn("b", "X").refused == "no_room"
    server.tier.complete_load(["A", "B"])
    assert server.turn("b", "X").store == ("X",)
    assert server.tier.counters.reloaded == 4


@pytest.mark.parametrize("policy", STORING)
def test_blocks_of_the_offer_are_protected(policy: str):
    # A is the oldest, and offered again: B and C must make room for D and E.
    server = Server(policy, 3)
    server.turn(None, "A")
    server.turn(None, "BC")
    server.clock.wait(10_000)
    request = server.begin(None)
    plan = server.tier.prepare_store(request, ["A", "D", "E"])
    assert plan.store == ("D", "E")
    assert sorted(map(str, plan.evict)) == ["B", "C"]


@pytest.mark.parametrize("policy", STORING)
def test_eviction_is_whole_or_nothing(policy: str):
    server = Server(policy, 3)
    server.turn("a", "A", last=True)
    request = server.begin(None)
    server.tier.prepare_store(request, ["B", "C"])  # in flight
    server.clock.wait(10_000)
    assert server.turn("x", "XY").store == ()       # one idle block where two are needed
    assert server.tier.lookup("A") is Lookup.HIT
    assert server.tier.counters.evicted == {}


def test_a_failed_store_leaves_nothing():
    server = Server("gate", 4)
    request = server.begin("a")
    plan = server.tier.prepare_store(request, ["A", "B"])
    server.tier.complete_store(plan.store, success=False)
    assert server.tier.lookup("A") is Lookup.MISS
    assert (len(server.tier), server.tier.counters.failed) == (0, 2)
    server.tier.finish(request)
    assert len(server.tier.sessions) == 0


def test_a_refusal_is_an_empty_plan_each_time():
    server = Server("gate", 2)
    server.turn("a", "AB", gap_s=30)
    request = server.begin("b")
    for _ in range(3):
        assert server.tier.prepare_store(request, ["X"]) == StorePlan((), (), "admission")
    assert server.tier.counters.stores_refused == 3


def test_an_offer_of_what_is_there_is_no_refusal():
    server = Server("gate", 2)
    server.turn("a", "AB")
    request = server.begin("a")
    assert server.tier.prepare_store(request, ["A", "B"]) == StorePlan()
    assert server.tier.counters.present == 2


def test_a_key_offered_twice_is_stored_once():
    server = Server("lru", 4)
    request = server.begin("a")
    assert server.tier.prepare_store(request, ["A", "B", "A"]).store == ("A", "B")
    assert adds_up(server.tier)


@pytest.mark.parametrize("policy", known_policies())
def test_a_request_that_never_began_is_untagged(policy: str):
    server = Server(policy, 2)
    plan = server.tier.prepare_store("stranger", ["A"])
    server.tier.complete_store(plan.store)
    server.tier.touch("stranger", ["A", "B"], whole=True)
    server.tier.finish("stranger")
    assert server.tier.running == 0
    assert len(server.tier.sessions) <= len(server.tier)


def test_a_request_that_begins_again_goes_on():
    server = Server("gate", 2)
    request = server.begin("a")
    server.tier.begin(request)
    server.tier.finish(request)
    server.tier.finish(request)
    assert server.tier.sessions.tally.created == 1
    assert server.tier.running == 0


@pytest.mark.parametrize("policy", known_policies())
def test_completions_that_a_clear_has_overtaken_are_counted_and_ignored(policy: str):
    server = Server(policy, 4)
    request = server.begin("a")
    plan = server.tier.prepare_store(request, ["A", "B"])
    server.tier.clear()
    server.tier.complete_store(plan.store)
    server.tier.complete_load(["A"])
    assert server.tier.counters.stray == len(plan.store) + 1
    assert len(server.tier) == 0
    server.tier.complete_store(server.tier.prepare_store(request, ["A"]).store)
    server.tier.finish(request)
    assert adds_up(server.tier)


def test_a_load_of_what_is_not_there_is_an_error_and_holds_nothing():
    server = Server("lru", 2)
    server.turn("a", "A")
    with pytest.raises(GateError, match="block B cannot be loaded: it is miss"):
        server.tier.prepare_load("x", ["A", "B"])
    assert server.turn("b", "XY").evict == ("A",)


def test_a_clock_that_runs_backwards_stands_still():
    server = Server("gate", 2)
    server.clock.wait(100)
    server.turn("a", "AB", gap_s=1)
    server.clock.now_us = 0
    assert server.turn("b", "XY").refused == "admission"


def test_the_report_is_json():
    server = Server("gate", 2)
    server.turn("a", "ABC")
    server.turn("b", "AB", last=True)
    report = json.loads(json.dumps(server.tier.report()))
    assert report["policy"] == "gate"
    assert report["refused"] == {"admission": 3}
    assert report["stored"] == report["stored_bytes"] == 2
    assert report["parameters"]["live_ttl_s"] == 20.0
    assert report["sessions"] == {"created": 2, "woken": 0, "finished": 1, "collected": 2, "recorded": 0}


def test_names_and_parameters():
    with pytest.raises(GateError, match=r"unknown tier policy 'lfu'. Known policies: arc, continuum_ttl, .*, none"):
        make_tier("lfu", 4, lambda: 0)
    with pytest.raises(GateError, match=r"policy gate has no parameter 'slack'. It has: slack_s, live_ttl_s, longest"):
        make_tier("gate", 4, lambda: 0, parameters={"slack": 1})
    with pytest.raises(GateError, match=r"policy lru has no parameter 'slack_s'. It has: none"):
        make_tier("lru", 4, lambda: 0, parameters={"slack_s": 1})
    for value in (-1, "5", None, float("nan"), float("inf"), True):
        with pytest.raises(GateError, match="parameter slack_s of policy gate is a number from 0 to"):
            make_tier("gate", 4, lambda: 0, parameters={"slack_s": value})
    with pytest.raises(GateError, match="parameter identity of policy gate_tags_off is true or false, not 1"):
        make_tier("gate_tags_off", 4, lambda: 0, parameters={"identity": 1})
    for capacity in (0, -1, 2.0, True):
        with pytest.raises(GateError, match="capacity of a tier is a whole number from 1"):
            make_tier("lru", capacity, lambda: 0)  # type: ignore[arg-type]
    assert all(find_policy(name).name == name for name in known_policies())
