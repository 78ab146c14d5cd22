"""The simulator against times worked out by hand, and what must hold in any run."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tier_servers import PLAIN, server, workload

import replay.tier.simulate as simulation
from kvcensus_gate import known_policies
from replay.tier.condition import Condition
from replay.tier.device import DevicePool
from replay.tier.hints import HintPlan
from replay.tier.offload import Offload
from replay.tier.record import Outcome, TurnRecord, as_lines
from replay.tier.simulate import simulate
from replay.tier.workload import Session, Turn, Workload
from telemetry.errors import InputError

#: A speaks twice, a thousand microseconds apart; meanwhile C fills the device.
THREE = workload((0, [(20, 3, 1000), (40, 1, 0)]), (5, [(30, 1, 0)]), (100, [(90, 1, 0)]))


def turns(outcome: Outcome) -> list[tuple[int, ...]]:
    """(session, turn, arrival, admitted, first token, end, device hits, tier hits, prefilled)."""
    return [(*record[:6], *record[8:]) for record in outcome.records]


#: Up to here no policy matters. A prefills 20 tokens in 20; B comes at 5, waits for the step's end, and prefills 30
#: beside A's second token: 31. A's third token is a step of the floor, 10. C prefills 90.
START = [(1, 0, 5, 20, 51, 51, 0, 0, 30), (0, 0, 0, 0, 20, 61, 0, 0, 20), (2, 0, 100, 100, 190, 190, 0, 0, 90)]


@pytest.mark.parametrize(("policy", "tier_blocks", "last"), [
    # 2 + 3 + 9 blocks fit: A's two come back in 20 bytes / 2 = 10, then 20 tokens are prefilled.
    ("lru", 14, (0, 1, 1061, 1061, 1091, 1091, 0, 20, 20)),
    # C's nine blocks push A's two and two of B's out: all of A's 40 tokens are prefilled.
    ("lru", 10, (0, 1, 1061, 1061, 1101, 1101, 0, 0, 40)),
    # A is live with two blocks, and C's nine would make eleven: refused, A's stay.
    ("gate", 10, (0, 1, 1061, 1061, 1091, 1091, 0, 20, 20)),
    ("none", 10, (0, 1, 1061, 1061, 1101, 1101, 0, 0, 40)),
])
def test_three_sessions_by_hand(policy: str, tier_blocks: int, last: tuple[int, ...]) -> None:
    outcome = simulate(THREE, PLAIN, Condition(policy, tier_blocks * 10), 0)
    assert turns(outcome) == [*START, last]
    assert outcome.end_us == last[5]


def test_without_pressure_the_device_has_the_prefix() -> None:
    # The 22 tokens of the first turn that were computed make two whole blocks.
    outcome = simulate(workload((0, [(20, 3, 1000), (40, 1, 0)])), PLAIN, Condition("lru", 100), 0)
    assert turns(outcome)[1] == (0, 1, 1040, 1040, 1060, 1060, 20, 0, 20)


def test_a_step_takes_no_more_than_its_tokens() -> None:
    # 30 tokens at a time: 80 take three steps of 30, 30, 20; the second session follows in the last, 10 of its 20.
    two = workload((0, [(80, 1, 0)]), (1, [(20, 1, 0)]))
    outcome = simulate(two, server(max_batched_tokens=30, device_kv_bytes=200), Condition("none", 10), 0)
    assert turns(outcome) == [(0, 0, 0, 0, 90, 90, 0, 0, 80), (1, 0, 1, 60, 100, 100, 0, 0, 20)]


def test_who_finds_no_room_waits_for_it() -> None:
    # The device holds 10 blocks; 8 are taken until 80 + 2 * 10.
    two = workload((0, [(75, 3, 0)]), (1, [(30, 1, 0)]))
    outcome = simulate(two, PLAIN, Condition("none", 10), 0)
    assert turns(outcome) == [(0, 0, 0, 0, 75, 95, 0, 0, 75), (1, 0, 1, 95, 125, 125, 0, 0, 30)]


def test_no_more_requests_than_allowed() -> None:
    two = workload((0, [(20, 3, 0)]), (1, [(20, 1, 0)]))
    outcome = simulate(two, server(max_seqs=1), Condition("none", 10), 0)
    assert turns(outcome) == [(0, 0, 0, 0, 20, 40, 0, 0, 20), (1, 0, 1, 40, 60, 60, 0, 0, 20)]


def test_attention_makes_later_tokens_dearer() -> None:
    # 50 tokens of cost 1 + p / 50: 50 + 25; then 50 from position 50 on: 50 + 75.
    one = workload((0, [(100, 1, 0)]))
    outcome = simulate(one, server(attention_tokens=50, max_batched_tokens=50, device_kv_bytes=200),
                       Condition("none", 10), 0)
    assert outcome.records[0].first_token_us == 75 + 125


def test_decoding_reads_every_context() -> None:
    # A step of 10, and a microsecond a token of context: 21 and 22 tokens.
    one = workload((0, [(20, 3, 0)]))
    outcome = simulate(one, server(decode_kv_bytes_per_s=1_000_000), Condition("none", 10), 0)
    assert outcome.records[0].end_us == 20 + (10 + 21) + (10 + 22)


def test_warm_promotion_moves_the_load_before_the_turn() -> None:
    # As the gate above, but A's client asks 100 before its wake-up at 1061: two blocks are loaded in 10 and the three
    # last tokens of 23 prefilled in a step of 10; at 1061 the device has two blocks.
    outcome = simulate(THREE, PLAIN, Condition("gate", 100, warm_lead_us=100), 0)
    assert turns(outcome) == [*START, (0, 1, 1061, 1061, 1081, 1081, 20, 0, 20)]
    assert [record[:6] + record[8:] for record in outcome.probes] == [(0, 0, 961, 961, 981, 981, 0, 20, 3)]


def test_a_probe_that_comes_too_late_is_not_sent() -> None:
    # No pause, no lead: the turn and its probe are due at the same time, and the turn comes first.
    outcome = simulate(workload((0, [(20, 1, 0), (40, 1, 0)])), PLAIN, Condition("lru", 100, warm_lead_us=0), 0)
    assert outcome.probes == []
    assert len(outcome.records) == 2


def test_a_context_that_shrank_keeps_its_first_tokens() -> None:
    # 40 tokens, then 20 of them, then 40 again: of the last, only 20 were there before with the same content.
    one = workload((0, [(40, 1, 100), (20, 1, 100), (40, 1, 0)]))
    outcome = simulate(one, PLAIN, Condition("lru", 100), 0)
    assert [record.device_hit_tokens for record in outcome.records] == [0, 10, 20]
    assert [record.tier_hit_tokens for record in outcome.records] == [0, 0, 0]


def test_what_a_prompt_shares_may_be_said() -> None:
    # 40 tokens and 11 of output: the next prompt has 25 in common with the 40, two whole blocks, and not the output.
    for shared, found in ((25, 20), (40, 40), (0, 0), (None, 50)):
        outcome = simulate(workload((0, [(40, 12, 100), (70, 1, 0, shared)])), PLAIN, Condition("none", 10), 0)
        assert [record.device_hit_tokens for record in outcome.records] == [0, found]


def test_a_probe_asks_for_what_the_next_turn_may_find() -> None:
    for shared, prompt in ((20, 20), (None, 32)):
        one = workload((0, [(20, 12, 1000), (40, 1, 0, shared)]))
        outcome = simulate(one, PLAIN, Condition("lru", 100, warm_lead_us=100), 0)
        assert [probe.prompt_tokens for probe in outcome.probes] == [prompt]


def test_what_does_not_fit_the_device_is_refused() -> None:
    with pytest.raises(InputError, match=r"turn 2 of session 1 of the draw has 101 tokens, and the device holds 100"):
        simulate(workload((0, [(10, 1, 0), (100, 1, 0)])), PLAIN, Condition("none", 10), 0)


def test_lines_are_json() -> None:
    record = TurnRecord(0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 5)
    assert list(as_lines([record], {"policy": "lru"})) == [
        '{"policy":"lru","session":0,"turn":1,"arrival_us":2,"admitted_us":3,"first_token_us":4,"end_us":5,'
        '"prompt_tokens":6,"output_tokens":7,"device_hit_tokens":0,"tier_hit_tokens":1,"prefilled_tokens":5}']


DRAWN = st.tuples(st.builds(Turn, st.integers(1, 60), st.integers(1, 20), st.integers(0, 400), st.none()),
                  st.none() | st.integers(0, 60))


def _possible(drawn: list[tuple[Turn, int | None]]) -> list[Turn]:
    """Turns that share no more than they and the ones before them have."""
    turns: list[Turn] = []
    for turn, shared in drawn:
        most = min(turn.prompt_tokens, turns[-1].prompt_tokens if turns else 0)
        turns.append(turn._replace(shared_tokens=None if shared is None else min(shared, most)))
    return turns


TURNS = st.lists(DRAWN, min_size=1, max_size=6).map(_possible)
SESSIONS = st.lists(st.builds(Session, st.integers(0, 500), TURNS.map(tuple)), min_size=1, max_size=6)
CONDITIONS = st.builds(Condition, st.sampled_from(sorted(known_policies())), st.integers(10, 300),
                       st.builds(HintPlan, st.sampled_from(["exact", "noise50", "none"]),
                                 st.sampled_from(["exact", "half", "spurious"])),
                       warm_lead_us=st.sampled_from([None, 30]))


class _Watched(Offload):
    def offer(self, name: str, keys: object, first: int) -> None:
        super().offer(name, keys, first)  # type: ignore[arg-type]
        assert len(self.tier) <= self.tier.capacity


class _WatchedPool(DevicePool):
    def reserve(self, session: int, new: int) -> bool:
        done = super().reserve(session, new)
        assert 0 <= self.used <= self.capacity
        return done


@pytest.fixture(scope="module")
def watched() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(simulation, "Offload", _Watched)
        patch.setattr(simulation, "DevicePool", _WatchedPool)
        yield


@settings(max_examples=100, deadline=None)
@given(SESSIONS, CONDITIONS)
def test_what_holds_in_any_run(watched: None, sessions: list[Session], condition: Condition) -> None:
    given = Workload("drawn", 1.0, tuple(sessions), {})
    outcome = simulate(given, PLAIN, condition, 1)
    assert outcome == simulate(given, PLAIN, condition, 1)
    assert sorted((r.session, r.turn) for r in outcome.records) == [
        (s, t) for s, session in enumerate(sessions) for t in range(len(session.turns))]
    ends = {(r.session, r.turn): r.end_us for r in outcome.records}
    for r in outcome.records:
        turn = sessions[r.session].turns[r.turn]
        assert r.prompt_tokens == r.device_hit_tokens + r.tier_hit_tokens + r.prefilled_tokens == turn.prompt_tokens
        assert r.prefilled_tokens > 0 <= r.tier_hit_tokens
        assert r.arrival_us <= r.admitted_us < r.first_token_us <= r.end_us
        # A step of at least 10 for the prefill and for each further token.
        assert r.end_us - r.admitted_us >= 10 * r.output_tokens
        if r.turn:
            before = sessions[r.session].turns[r.turn - 1]
            assert r.arrival_us == ends[r.session, r.turn - 1] + before.gap_us
            most = before.prompt_tokens + before.output_tokens if turn.shared_tokens is None else turn.shared_tokens
            assert r.device_hit_tokens + r.tier_hit_tokens <= most
        else:
            assert r.arrival_us == sessions[r.session].arrival_us
            assert r.device_hit_tokens == r.tier_hit_tokens == 0
    tier = outcome.tier
    hits = sum(r.tier_hit_tokens for r in outcome.records + outcome.probes)
    assert tier["reloaded_bytes"] == hits
    assert tier["offered"] == tier["present"] + sum(tier["refused"].values()) + tier["stored"]  # type: ignore
    assert tier["stored"] == tier["resident"] + sum(tier["evicted"].values())  # type: ignore
    assert tier["in_flight"] == 0


@settings(max_examples=60, deadline=None)
@given(SESSIONS, CONDITIONS)
def test_steps_taken_together_are_steps_taken_one_by_one(sessions: list[Session], condition: Condition) -> None:
    # A step lasts a microsecond longer for every token that it reads: steps of one length would hide a wrong count.
    given, slow = Workload("drawn", 1.0, tuple(sessions), {}), server(decode_kv_bytes_per_s=1_000_000)
    together = simulate(given, slow, condition, 1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(simulation._Simulation, "_steps_ahead", lambda self: 1)
        assert simulate(given, slow, condition, 1) == together


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 600), st.integers(1, 60)), min_size=1, max_size=12))
def test_a_single_server_is_lindleys_queue(arrivals: list[tuple[int, int]]) -> None:
    # One request at a time and one token of output: each starts when it has come and the one before it has ended.
    arrivals = sorted(arrivals)
    outcome = simulate(workload(*((at, [(prompt, 1, 0)]) for at, prompt in arrivals)), server(max_seqs=1),
                       Condition("none", 10), 1)
    free, expected = 0, []
    for at, prompt in arrivals:
        begin = max(at, free)
        free = begin + max(10, prompt)
        expected.append((at, begin, free))
    assert [(r.arrival_us, r.admitted_us, r.end_us) for r in outcome.records] == expected


@settings(max_examples=60, deadline=None)
@given(SESSIONS)
def test_no_turn_finds_more_than_the_tier_holds(sessions: list[Session]) -> None:
    given = Workload("drawn", 1.0, tuple(sessions), {})
    with_none = simulate(given, PLAIN, Condition("none", 10), 1)
    assert all(r.tier_hit_tokens == 0 for r in with_none.records)
    with_one = simulate(given, PLAIN, Condition("lru", 10), 1)
    assert all(r.tier_hit_tokens <= 10 for r in with_one.records)
