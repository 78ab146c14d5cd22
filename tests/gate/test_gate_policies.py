"""Each policy by hand: who goes first, and what is refused."""

from __future__ import annotations

import pytest
from gate_driver import SECOND, Server

from kvcensus_gate import Hints, StorePlan


def four_classes(policy: str, **parameters: object) -> Server:
    """One block each of a session that is finished (D), overdue (C), far (B, F) and recent (A); all idle."""
    server = Server(policy, 6, parameters)
    server.turn("a", "A")                # no gap hint: awaited until 0 + 20 s
    server.turn("c", "C", gap_s=1)       # awaited until 0 + 1 + 5 s
    server.turn("b", "B", gap_s=300)
    server.turn("f", "F", gap_s=200)
    server.turn("d", "D", last=True)
    server.clock.wait(10)
    return server


@pytest.mark.parametrize("policy", ["gate", "job_aware"])
def test_finished_overdue_far_recent(policy: str):
    # B leaves before F: it has the largest gap left.
    assert four_classes(policy).evict(5) == "DCBFA"


def test_without_tags_the_longest_idle_goes_first():
    server = four_classes("gate_tags_off")
    server.turn("a", "A")
    assert server.evict(5) == "CBFDA"


def test_pins_go_last():
    # D has ended and C's pin ran out at 6 s; D's at 0 s. Untagged U was never pinned; A and B are, A longer ago.
    server = four_classes("continuum_ttl")
    server.turn(None, "U")
    server.turn("b", "B", gap_s=300)
    assert server.evict(6) == "DCUAFB"


def test_mori_goes_by_idleness_and_reads_no_tags():
    server = four_classes("mori")
    server.turn("c", "C")
    assert server.evict(5) == "ABFDC"


def test_of_the_most_overdue_the_earliest_deadline_goes_first():
    server = Server("gate", 4)
    server.turn("late", "L", gap_s=3)    # until 8 s
    server.turn("later", "M", gap_s=1)   # until 6 s
    server.clock.wait(60)
    assert server.evict(2) == "ML"


def test_the_deadline_itself_is_in_time():
    server = Server("gate", 2, {"slack_s": 5})
    server.turn("a", "A", gap_s=1)
    server.clock.wait(6)
    assert server.turn("b", "XY").refused == "admission"
    server.clock.now_us += 1
    assert server.turn("b", "XY").evict == ("A",)
    assert server.tier.counters.evicted == {"overdue": 1}


def test_the_deepest_block_goes_first_and_a_filled_hole_keeps_its_place():
    server = Server("gate", 4)
    server.turn("a", "ABCD", last=True)
    assert server.evict(3) == "DCB"
    server.turn("a", "ABCD", last=True)  # B, C and D come back behind A, which is resident
    assert server.evict(4) == "DCBA"


def test_the_gate_refuses_what_live_sessions_leave_no_room_for():
    server = Server("gate", 4)
    assert server.turn("a", "ABC", gap_s=10).store == ("A", "B", "C")
    assert server.turn("b", "XY") == StorePlan(refused="admission")
    assert server.turn("c", "Z").store == ("Z",)
    assert server.held("ABCXYZ") == "ABCZ"
    assert server.tier.counters.refused == {"admission": 2}
    assert server.tier.counters.stores_refused == 1


def test_a_store_is_whole_or_nothing():
    # Two of three blocks would fit beside the live ones.
    server = Server("gate", 4)
    server.turn("a", "AB", gap_s=10)
    server.turn("d", "D", last=True)
    assert server.turn("b", "XYZ").store == ()
    assert server.held("ABDXYZ") == "ABD"


def test_lru_never_refuses_and_drops_what_was_read_longest_ago():
    server = Server("lru", 4)
    server.turn("a", "AB")
    server.turn("b", "XY")
    server.turn("a", "AB")
    assert server.turn("c", "CDE").evict == ("Y", "X", "B")
    assert server.tier.counters.evicted == {"recent": 3}


def test_lru_reclaim_is_lru_but_for_ended_sessions():
    server = Server("lru_reclaim", 4)
    server.turn("a", "AB")
    server.turn("b", "XY", last=True)
    assert server.turn("c", "CDE").evict == ("Y", "X", "B")
    assert server.tier.counters.evicted == {"finished": 2, "recent": 1}


def test_lru_reclaim_leaves_a_forgotten_session_to_recency():
    server = Server("lru_reclaim", 4, {"forget_s": 60})
    server.turn("a", "AB")
    server.clock.wait(61)
    server.turn("b", "XY")
    assert len(server.tier.sessions) == 1
    server.turn("a", "", last=True)
    assert server.evict(4) == "BAYX"


def test_arc_keeps_what_was_read_again():
    # A and B are read by two requests (T2), C and D by one (T1, whose target is 0): C leaves though A is older.
    server = Server("arc", 4)
    server.turn("a", "AB")
    server.turn("a", "AB")
    server.turn("b", "CD")
    assert server.turn("c", "E").evict == ("D",)
    assert server.tier.counters.evicted == {"once": 1}


def test_arc_learns_from_its_ghosts():
    # D is asked for after it left T1: the target of T1 rises from 0 to 1. T1 then holds C, E and later D: C, E leave.
    server = Server("arc", 4)
    server.turn("a", "AB")
    server.turn("a", "AB")
    server.turn("b", "CD")
    server.turn("c", "E")
    assert server.turn("b", "D").evict == ("C",)
    # T1 = E, D and T2 = A, B. Two requests for C raise the target by 1 each, to 3 > 2: T2 gives way.
    request = server.begin("x")
    server.tier.touch(request, ["C"])
    server.tier.finish(request)
    assert server.turn("b", "C").evict == ("B",)
    assert server.tier.counters.evicted == {"once": 2, "again": 1}


def test_an_access_counts_once_a_request():
    server = Server("arc", 2)
    server.turn("a", "A")
    server.turn("b", "B")
    request = server.begin("c")
    for _ in range(3):
        server.tier.touch(request, ["A"])
    server.tier.finish(request)
    assert server.turn("d", "C").evict == ("B",)


def test_marconi_weighs_recency_against_compute():
    # Utility in seconds: a = 0 + 4 * (1 + 6 / 2) = 16, b = 10 + 4 * (1 + 1 / 2) = 16 s; at 9 s b has 15 s.
    def first(wait_s: float, weight_s: float) -> str:
        server = Server("marconi", 7, {"weight_s": weight_s, "linear_blocks": 1})
        server.turn("a", "ABCDEF")
        server.clock.wait(wait_s)
        server.turn("b", "X")
        return server.evict(1)

    assert first(9, 4) == "X"
    assert first(11, 4) == "F"
    assert first(9, 0) == "F"


def test_job_aware_spares_a_near_wake_up_by_a_switch():
    def order(near_s: float) -> str:
        server = Server("job_aware", 3, {"near_s": near_s})
        server.turn(None, "U")
        server.turn("far", "F", gap_s=60)
        server.turn("near", "N", gap_s=2)
        return server.evict(3)

    assert order(0) == "FNU"
    assert order(5) == "FUN"
    assert order(600) == "UFN"


def test_job_aware_refuses_what_only_awaited_jobs_could_make_room_for():
    server = Server("job_aware", 4)
    server.turn("a", "AB", gap_s=60)
    server.turn(None, "U")
    assert server.turn("b", "XYZ").refused == "admission"
    assert server.turn("b", "XY").store == ("X", "Y")
    forced = Server("job_aware", 4, {"admission_control": False})
    forced.turn("a", "AB", gap_s=60)
    forced.turn(None, "U")
    # The far job goes before the untagged block.
    assert forced.turn("b", "XYZ").evict == ("B", "A")


def test_continuum_ttl_forces_pins_and_its_admission_does_not():
    for policy, refused in (("continuum_ttl", None), ("continuum_ttl_admission", "admission")):
        server = Server(policy, 3)
        server.turn("a", "AB", gap_s=60)
        assert server.turn("b", "XY").refused == refused
        assert server.tier.counters.evicted == ({} if refused else {"pinned": 1})


def test_no_tier_stores_nothing():
    server = Server("none", 4)
    assert server.turn("a", "AB").refused == "no_room"
    assert len(server.tier) == 0
    assert server.tier.counters.offered == 2


def test_a_session_that_ends_while_a_later_request_runs_goes_on():
    server = Server("gate", 4)
    first = server.begin("a", last=True)
    second = server.begin("a", gap_s=5)
    server.tier.finish(first)
    plan = server.tier.prepare_store(second, ["A"])
    server.tier.complete_store(plan.store)
    server.tier.finish(second)
    assert server.tier.sessions.tally.finished == 0
    assert server.turn("b", "WXYZ").refused == "admission"


def test_an_end_takes_effect_when_the_last_running_request_has_finished():
    server = Server("gate", 4)
    other, last = server.begin("a"), server.begin("a", last=True)
    server.tier.complete_store(server.tier.prepare_store(other, ["A"]).store)
    server.tier.finish(last)
    assert server.turn("b", "WXYZ").refused == "admission"
    server.tier.finish(other)
    assert server.turn("b", "WXYZ").evict == ("A",)


def test_an_end_in_mid_session_costs_nothing_if_the_session_returns_in_time():
    server = Server("gate", 4)
    server.turn("a", "AB", last=True)
    server.turn("a", "ABC", gap_s=30)    # a new life takes over what the old one left
    assert server.tier.sessions.tally.finished == 1
    assert server.turn("b", "XY").refused == "admission"
    assert server.held("ABC") == "ABC"


def test_a_long_gap_hint_does_not_hold_the_tier():
    server = Server("gate", 2, {"live_ttl_s": 20, "longest_gap_s": 600})
    server.turn("a", "AB", gap_s=86_400)
    server.clock.wait(21)
    assert server.turn("b", "XY").store == ("X", "Y")


@pytest.mark.parametrize("policy", ["gate", "gate_tags_off", "job_aware", "continuum_ttl", "mori", "marconi"])
def test_blocks_orphaned_by_a_compaction_go_first(policy: str):
    server = Server(policy, 8)
    server.turn("d", "D", last=True)
    server.turn("a", "PABC", gap_s=30)
    server.turn("a", "PXY", gap_s=30)    # P stays, A to C are no prefix of anything any more
    assert server.turn("b", "KLMNO"[:3]).evict == ("C", "B")
    assert server.tier.counters.evicted == {"orphaned": 2}
    assert server.held("DPABCXY") == "DPAXY"


def test_nothing_is_orphaned_while_another_request_of_the_session_runs():
    server = Server("gate", 8)
    server.turn("a", "PAB", gap_s=30)
    main = server.begin("a")
    server.tier.touch(main, list("PAB"), whole=True)
    server.turn("a", "Q")
    server.tier.finish(main)
    assert server.evict(1) == "B"
    assert "orphaned" not in server.tier.policy.evict(1, {}, server.clock())[1]  # type: ignore[index]


def test_hints_of_one_session_do_not_reach_another():
    server = Server("gate", 4)
    server.turn("a", "AB", gap_s=30)
    server.turn("b", "C", gap_s=30)
    # Somebody else ends a: its blocks may go, its next turn brings it back to life.
    server.tier.begin("forged", Hints("a", last_turn=True))
    server.tier.finish("forged")
    assert server.turn("c", "XY").evict == ("B",)
    assert server.tier.counters.evicted == {"finished": 1}
    assert server.held("C") == "C"
    assert server.turn("a", "AB", gap_s=30).refused == "admission"
    server.clock.now_us += 3600 * SECOND
    assert server.turn("a", "AB", gap_s=30).store == ("B",)
