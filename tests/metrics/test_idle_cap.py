"""Reclaiming KV after an idle cap."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from metrics_rows import BETA, DAY, HOUR, MINUTE, Census, Row, call

from metrics import ceiling
from metrics.core.metric import measure
from metrics.idle_cap import METRIC

CAPS = ("1m", "5m", "15m", "1h", "6h", "1d", "inf")
TINY = 0.000001


def at(found: Any, theta: str, *columns: str) -> tuple[Any, ...]:
    row, = found.rows("idle_cap", *columns, theta=theta)
    return row


def keys(found: Any, what: str) -> list[Any]:
    return [found[f"idle_cap.{theta}.{what}"] for theta in CAPS]


def test_a_gap_as_long_as_the_cap_is_not_reclaimed(census: Census) -> None:
    # Gaps of exactly each cap, and of a microsecond more: a cap cuts the longer gap and those of longer caps.
    caps = (MINUTE, 5 * MINUTE, 15 * MINUTE, HOUR, 6 * HOUR, DAY)
    exact, more = ([call("a", 0, 10), call("a", 0, 10)], [call("a", 0, 10), call("a", 0, 10)])
    for cap in caps:
        exact.append(call("a", 0, 10) | {"t_us": exact[-1]["t_us"] + cap * 1_000_000})
        more.append(call("a", 0, 10) | {"t_us": more[-1]["t_us"] + cap * 1_000_000 + 1})
    # 8 calls; of the 6 gaps the 1m cap cuts 5 (6 with a microsecond more), the 5m cap 4 (5), ... the infinite one none.
    assert keys(census(METRIC, exact), "reconstruction") == [runs / 8 for runs in (6, 5, 4, 3, 2, 1, 1)]
    assert keys(census(METRIC, more), "reconstruction") == [runs / 8 for runs in (7, 6, 5, 4, 3, 2, 1)]


@pytest.mark.both_engines
def test_a_run_ends_a_cap_after_its_last_call(census: Census) -> None:
    # a: runs [0, 60 + 60] and [200, 200] under 1m. b at 120 still meets the first run, a microsecond later it does not.
    a = [call("a", 0, 10), call("a", 60, 4), call("a", 200, 1)]
    meets, late = census(METRIC, [*a, call("b", 120, 5)]), census(METRIC, [*a, call("b", 120 + TINY, 5)])
    assert meets["idle_cap.1m.ceiling_bytes"] == 15 * BETA
    assert late["idle_cap.1m.ceiling_bytes"] == 10 * BETA
    assert keys(late, "ceiling_bytes") == [10 * BETA, *[15 * BETA] * 6]
    assert keys(late, "reduction") == [1.5, *[1] * 6]
    # 3 runs (two of a, one of b) of 4 calls; without a cap 2 of 4: one more reconstruction in 4 calls.
    assert keys(late, "reconstruction") == [3 / 4, *[2 / 4] * 6]
    assert at(late, "1m", "theta_s", "runs", "added_points") == (60.0, 3, 25.0)
    assert at(late, "inf", "theta_s", "runs", "added_points") == (None, 2, 0.0)


def test_a_gap_as_long_as_the_cap_holds_its_kv(census: Census) -> None:
    # Gap of exactly 5m: a is one run under 5m and still there when b comes; a microsecond more
    # makes two runs, and the first one stays until b has come.
    rows = [call("a", 0, 10), call("a", 300, 10), call("a", 310, 10), call("b", 305, 5)]
    assert at(census(METRIC, rows), "5m", "runs", "ceiling_bytes") == (2, 15 * BETA)
    rows[1]["t_us"] += 1
    assert at(census(METRIC, rows), "5m", "runs", "ceiling_bytes") == (3, 15 * BETA)


def test_every_run_holds_the_sessions_peak(census: Census) -> None:
    # The peak of 10 is in the first run; the second, from 1,000 on, holds it as well and meets b.
    rows = [call("a", 0, 10), call("a", 1000, 1), call("b", 1000, 5)]
    assert keys(census(METRIC, rows), "ceiling_bytes") == [15 * BETA] * 7


def test_the_trailing_variant_keeps_the_last_run_for_a_cap(census: Census) -> None:
    # Last calls at 0 and 60: apart without trailing. Under 1m a stays until 60 and meets b; at 60 + 1 us it has gone.
    columns = ("ceiling_bytes", "trailing_ceiling_bytes")
    assert at(census(METRIC, [call("a", 0, 10), call("b", 60, 5)]), "1m", *columns) == (10 * BETA, 15 * BETA)
    late = census(METRIC, [call("a", 0, 10), call("b", 60 + TINY, 5)])
    assert at(late, "1m", *columns) == (10 * BETA, 10 * BETA)
    assert at(late, "5m", *columns) == (10 * BETA, 15 * BETA)
    assert at(late, "inf", *columns) == (10 * BETA, None)


def test_added_points_within_and_between_turns(census: Census) -> None:
    # 8 calls. Reclaimed under 1m: 70 s within a turn, 400 s and 500 s between turns, 600 s unclassified.
    rows = [call("a", 0, user=True), call("a", 70, user=False), call("a", 470, user=True), call("a", 970, user=True),
            call("a", 1570), call("a", 1580, user=False), call("b", 0), call("b", 1)]
    columns = ("runs", "added_points", "added_intra_points", "added_inter_points", "inter_share_of_reclaimed")
    found = census(METRIC, rows)
    assert at(found, "1m", *columns) == (6, 100 * 4 / 8, 100 / 8, 200 / 8, 2 / 3)
    assert at(found, "5m", *columns) == (5, 100 * 3 / 8, 0.0, 200 / 8, 1.0)
    assert at(found, "15m", *columns) == (2, 0.0, 0.0, 0.0, None)


def test_no_turns(census: Census) -> None:
    found = census(METRIC, [call("a", 0), call("a", 100)])
    assert at(found, "1m", "runs", "added_intra_points", "added_inter_points", "inter_share_of_reclaimed") == (
        2, None, None, None)


def test_duty_cycle(census: Census) -> None:
    # a: 10 s of work in 100 s; under 1m resident for 60 s. b: 80 of 100 s, of which 60 s fall into its 60 s.
    # c reports nothing and is left out. Together 90 / 200 without a cap, 70 / 120 under 1m.
    found = census(METRIC, [call("a", 0, seconds=10), call("a", 100, seconds=3), call("b", 0, seconds=80),
                            call("b", 100, seconds=0), call("c", 0), call("c", 500)])
    assert at(found, "1m", "duty_cycle") == (70 / 120,)
    assert {at(found, theta, "duty_cycle") for theta in CAPS[1:]} == {(90 / 200,)}
    silent = census(METRIC, [call("a", 0), call("a", 100)])
    assert {at(silent, theta, "duty_cycle") for theta in CAPS} == {(None,)}


def test_duty_cycle_with_work_from_before_the_preceding_call(census: Census) -> None:
    # The first call runs to 90; the second starts at 30 and ends at 31; the third comes at 130. Gap 100 s, of which
    # 60 s are busy: all of the 60 s that the run stays. Resident 30 + 60; busy 30 + 60.
    found = census(METRIC, [call("a", 0, seconds=90), call("a", 30, seconds=1), call("a", 130, seconds=0)])
    assert at(found, "1m", "duty_cycle") == (1.0,)
    assert at(found, "inf", "duty_cycle") == (90 / 130,)


def test_infinity_is_hold_all_live(census: Census) -> None:
    rows = [call(name, start + step, peak) for name, start, peak in (("a", 0, 7), ("b", 50, 3), ("c", 4000, 9))
            for step in (0, 10, 2000)]
    trace = census.trace(rows)
    hold = measure(ceiling.METRIC, trace).numbers["ceiling.hold_all_live_bytes"].value
    found = measure(METRIC, trace).numbers
    assert found["idle_cap.inf.ceiling_bytes"].value == hold == 10 * BETA
    # 2,000 s is longer than 15m and shorter than 1h.
    assert found["idle_cap.1h.ceiling_bytes"].value == hold
    assert found["idle_cap.15m.reconstruction"].value == float(Fraction(6, 9))


def test_n_counts_what_the_population_says(census: Census) -> None:
    # 3 calls of 2 sessions.
    found = census(METRIC, [call("a", 0), call("a", 1), call("b", 2)])
    populations = {number.key: number.population or METRIC.population for number in METRIC.numbers}
    of = {"calls with a session id": 3, "sessions: calls with a session id": 2}
    assert {key: of[whose] for key, whose in populations.items()} == {key: found.n(key) for key in populations}
    assert set(populations.values()) == set(of)


def test_empty_contexts(census: Census) -> None:
    found = census(METRIC, [call("a", 0, 0), call("a", 100, 0)])
    assert keys(found, "ceiling_bytes") == [0] * 7
    assert set(found.whys().values()) == {"every context is empty"}
    assert len(found.whys()) == 7


def test_no_session(census: Census) -> None:
    rows: list[Row] = [call(None, 0)]
    found = census(METRIC, rows)
    assert set(found.whys().values()) == {"no call of the trace has a session id"}
    assert len(found.whys()) == 21
    assert "idle_cap" not in found
