"""Workloads: what their sources print, sessions of a log, and hints."""

from __future__ import annotations

from statistics import mean, median

import pytest

from replay.tier.hints import GAPS, LASTS, HintPlan, hints_of
from replay.tier.workload import Call, Turn, drawn, from_calls, poisson, pressure, reference
from telemetry.errors import InputError, UsageError

BYTES = 131_072


def test_swe_has_what_tenure_prints() -> None:
    swe = reference("swe", 1)
    turns = [turn for session in swe.sessions for turn in session.turns]
    assert (len(swe.sessions), swe.turns, swe.rate) == (100, 1790, 0.5)  # 5,371 turns in three seeds
    assert median(turn.prompt_tokens for turn in turns) == pytest.approx(6_945, rel=0.05)
    assert {turn.output_tokens for turn in turns} == {30}
    lasts = [session.turns[-1].prompt_tokens for session in swe.sessions]
    assert (round(min(lasts) * BYTES / 1e9, 1), round(max(lasts) * BYTES / 1e9, 1)) == (1.3, 1.7)
    factors = [sum(t.prompt_tokens for t in s.turns) / s.turns[-1].prompt_tokens for s in swe.sessions]
    assert sum(t.prompt_tokens for t in turns) / sum(lasts) == pytest.approx(11.3, rel=0.02)
    assert max(factors) == pytest.approx(18.6, rel=0.02)
    gaps = sorted(turn.gap_us / 1e6 for session in swe.sessions for turn in session.turns[:-1])
    assert median(gaps) == pytest.approx(6.0, rel=0.05)
    assert gaps[int(0.99 * len(gaps))] == pytest.approx(15.8, rel=0.1)
    assert all(after.prompt_tokens >= before.prompt_tokens + before.output_tokens  # append-only
               for s in swe.sessions for before, after in zip(s.turns, s.turns[1:], strict=False))


def test_swe_is_one_corpus_under_every_seed() -> None:
    one, two = (reference("swe", seed) for seed in (1, 2))
    contexts = [sorted(tuple(t.prompt_tokens for t in s.turns) for s in w.sessions) for w in (one, two)]
    assert contexts[0] == contexts[1]
    assert one.sessions != two.sessions
    assert one == reference("swe", 1)


def test_continuum_d_has_what_its_page_prints() -> None:
    jobs = reference("continuum-d", 3)
    assert (len(jobs.sessions), jobs.turns, jobs.rate) == (24, 144, 2.0)
    assert {s.turns[-1].prompt_tokens for s in jobs.sessions} == {10_200}
    assert mean(t.gap_us / 1e6 for s in jobs.sessions for t in s.turns[:-1]) == pytest.approx(5.0, rel=0.15)
    assert sum(s.turns[-1].prompt_tokens for s in jobs.sessions) * BYTES == pytest.approx(31e9, rel=0.05)


def test_arrivals_have_their_rate() -> None:
    times = poisson(1, 2.0, 4000)
    assert times[0] == 0
    assert times == sorted(times)
    assert times[-1] / 1e6 / 3999 == pytest.approx(0.5, rel=0.05)


def test_an_unknown_workload_names_the_known() -> None:
    with pytest.raises(UsageError, match=r"unknown workload 'chat'\. Known: swe, continuum-d"):
        reference("chat", 1)


def test_pressure_by_hand() -> None:
    # Live 0 to 100 with 11 tokens, then to 200 with 31; the other 50 to 60 with 6. p95 of 200 is beyond 190.
    calls = [[Call(0, 10, 1, 0), Call(100, 30, 1, 0), Call(200, 31, 1, 0)], [Call(0, 5, 1, 0), Call(10, 5, 1, 0)]]
    load = from_calls("log", calls, 1, 1.0)
    turns = {len(s.turns): s.turns for s in load.sessions}
    assert turns == {3: (Turn(10, 1, 100), Turn(30, 1, 100), Turn(31, 1, 0)), 2: (Turn(5, 1, 10), Turn(5, 1, 0))}
    alone = from_calls("log", calls[:1], 1, 1.0)
    assert tuple(pressure(alone)) == (1, 31)


def test_sessions_of_a_log() -> None:
    # Starts 0, 100, 150; the first lasts until 180, so the third begins while it runs; the last has no duration.
    calls = [[Call(0, 10, 2, 180), Call(100, 0, 5, 10), Call(100, 20, None, 20), Call(150, 30, 3, None),
              Call(400, 40, 0, 7)], [Call(0, 0, 1, 1)]]
    load = from_calls("log", calls, 1, 1.0)
    assert [s.turns for s in load.sessions] == [
        (Turn(10, 2, 0), Turn(20, 1, 0), Turn(30, 3, 220), Turn(40, 1, 0))]
    assert load.notes == {"calls_without_context": 2, "outputs_filled_in": 1, "gaps_start_to_start": 1,
                          "gaps_floored": 2}
    with pytest.raises(InputError, match="nothing to simulate"):
        from_calls("log", calls[1:], 1, 1.0)


def test_sessions_are_drawn_whole_and_once() -> None:
    one, two = (drawn(range(20), seed, 8) for seed in (1, 2))
    assert (len(set(one)), len(set(two))) == (8, 8)
    assert one != two
    assert one == drawn(range(20), 1, 8)
    assert sorted(drawn(range(20), 1, 99)) == list(range(20))


SWE = reference("swe", 1)
EXACT = hints_of(SWE, HintPlan(), 1)


@pytest.mark.parametrize("kind", GAPS)
def test_gap_hints(kind: str) -> None:
    found = hints_of(SWE, HintPlan(gap=kind), 1)
    exact = [turn.gap_us for session in SWE.sessions for turn in session.turns[:-1]]
    shown = [hint.expected_gap_us for each in found for hint in each[:-1]]
    assert all(each[-1].expected_gap_us is None for each in found)
    known = [(a, b) for a, b in zip(exact, shown, strict=True) if b is not None]
    share, off = len(known) / len(exact), max((abs(b / a - 1) for a, b in known), default=0)
    assert {"none": share == 0, "half": 0.45 < share < 0.55 and off == 0, "exact": share == 1 and off == 0,
            "noise25": share == 1 and 0.24 < off <= 0.26, "noise50": share == 1 and 0.49 < off <= 0.51,
            "random": share == 1 and off > 1 and min(exact) <= min(shown) <= max(shown) <= max(exact)}[kind]


@pytest.mark.parametrize("kind", LASTS)
def test_end_bits(kind: str) -> None:
    found = hints_of(SWE, HintPlan(last=kind), 1)
    right = sum(each[-1].last_turn for each in found)
    early = [sum(hint.last_turn for hint in each[:-1]) for each in found]
    assert {"exact": right == 100, "blinded": right == 0, "half": 35 < right < 65, "spurious": right == 100}[kind]
    assert set(early) == ({1} if kind == "spurious" else {0})
    assert [hint.session_id for hint in found[7]] == ["7"] * len(found[7])


def test_an_unknown_kind_of_hint_names_the_known() -> None:
    with pytest.raises(UsageError, match="Known: exact, blinded, half, spurious"):
        HintPlan(last="late")
