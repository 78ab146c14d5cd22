"""Arrivals, depths, turns, gaps and classes: their parameters are what comes out, for any seed.

Tolerances are at least 4.5 standard errors of the samples drawn.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sim_profiles import FLEET, START_US, offsets_of

from tracesim.arrivals import CHUNK, Starts, cumulated_rate
from tracesim.classes import draw_models
from tracesim.depth import draw_depths
from tracesim.durations import draw_durations
from tracesim.gaps import LEAST_US, draw_gaps
from tracesim.philox import Numbers
from tracesim.profile import Arrivals, Classes, Depth, Durations, Gaps, Model, Part, Turns, Window
from tracesim.turns import draw_turns

HOUR_US = 3_600_000_000
SEEDS = st.integers(0, 2**64 - 1)
MANY = 20_000
LONG = offsets_of(*[20] * 1_000)
ONE_BAND = np.zeros(1_000, np.int64)


def share(condition: object) -> float:
    return float(np.mean(condition))  # type: ignore[arg-type]


@settings(max_examples=10, deadline=None)
@given(SEEDS)
def test_sessions_start_in_order_and_by_the_hour(seed: int) -> None:
    # Hour 3 of each day has half of the arrivals, Tuesday has three quarters of them.
    hours = tuple(0.5 if hour == 3 else 0.5 / 23 for hour in range(24))
    arrivals = Arrivals(hours, (1.0, 3.0, 0.0, 0.0, 0.0, 0.0, 0.0))
    starts = Starts(Numbers(seed), Window(START_US, 7.0, MANY), arrivals, MANY).of(0, MANY)
    assert (np.diff(starts) >= 0).all()
    assert START_US <= starts[0] <= starts[-1] < START_US + 2 * 24 * HOUR_US
    hour = (starts - START_US) // HOUR_US
    assert share(hour % 24 == 3) == pytest.approx(0.5, abs=0.02)
    assert share(hour >= 24) == pytest.approx(0.75, abs=0.02)


def test_starts_do_not_depend_on_where_one_begins_to_ask() -> None:
    count = 2 * CHUNK + 100
    starts = Starts(Numbers(3), FLEET.window, FLEET.arrivals, count)
    whole = starts.of(0, count)
    for first, size in [(0, 1), (CHUNK - 5, 10), (2 * CHUNK + 50, 50), (17, CHUNK)]:
        assert (starts.of(first, size) == whole[first:first + size]).all()


def test_a_window_that_begins_and_ends_within_an_hour() -> None:
    edges, shares = cumulated_rate(Window(START_US + HOUR_US // 4, 1.0 / 24, 1), FLEET.arrivals)
    assert edges.tolist() == [0, 0.75 * HOUR_US, HOUR_US]
    assert shares.tolist() == [0, 0.75, 1]


@settings(max_examples=10, deadline=None)
@given(SEEDS)
def test_depths_have_the_quantiles_of_their_mixture(seed: int) -> None:
    depth = draw_depths(Numbers(seed), 5, np.ones(MANY), Depth((Part(0.3, 2.0, 0.0), Part(0.7, 40.0, 1.0)), 300))
    assert share(depth == 2) == pytest.approx(0.3, abs=0.02)  # 0.3 + 0.7 * P(1.5 < X < 2.5), which is 0.001
    assert share(depth <= 40) == pytest.approx(0.65 + 0.0025, abs=0.02)
    assert depth.min() >= 1
    assert depth.max() == 300  # P(X > 300) is 2.2 % of the second part


def test_a_depth_is_at_least_one() -> None:
    assert set(draw_depths(Numbers(1), 0, np.ones(50), Depth((Part(1.0, 0.01, 0.5),), 10)).tolist()) == {1}


def test_sessions_are_deeper_when_the_fleet_is_busy() -> None:
    depth = Depth((Part(1.0, 10.0, 0.0),), 1000, deepens=0.5)
    assert draw_depths(Numbers(1), 0, np.array([1.0, 4.0, 0.25]), depth).tolist() == [10, 20, 5]


def test_the_load_is_the_rate_relative_to_its_mean() -> None:
    # Three quarters of the arrivals come in the first of two hours: 1.5 times the mean rate.
    arrivals = Arrivals((3.0, 1.0, *(0.0,) * 22), (1.0,) * 7)
    starts = Starts(Numbers(1), Window(START_US, 2.0 / 24, 10), arrivals, 10)
    at = np.array([0, HOUR_US - 1, HOUR_US, 2 * HOUR_US - 1]) + START_US
    assert starts.load(at).tolist() == pytest.approx([1.5, 1.5, 0.5, 0.5])


@settings(max_examples=10, deadline=None)
@given(SEEDS)
def test_turns_open_with_their_probability(seed: int) -> None:
    opens, turn = draw_turns(Numbers(seed), 0, LONG, ONE_BAND, Turns((0.1,)))
    first = np.zeros(len(opens), np.bool_)
    first[LONG[:-1]] = True
    assert opens[first].all()
    assert share(opens[~first]) == pytest.approx(0.1, abs=0.01)
    assert (turn[first] == 1).all()
    assert (np.diff(turn)[~first[1:]] == opens[1:][~first[1:]]).all()


@settings(max_examples=10, deadline=None)
@given(SEEDS)
def test_gaps_have_the_quantiles_of_their_two_laws(seed: int) -> None:
    gaps = Gaps((Part(1.0, 8.0, 1.2),), ((0.0, 10.0), (0.5, 100.0), (0.9, 1_000.0), (1.0, 10_000.0)))
    opens, _ = draw_turns(Numbers(seed), 0, LONG, ONE_BAND, Turns((0.3,)))
    gap_us, loop_us = draw_gaps(Numbers(seed), 0, LONG, opens, gaps)
    first = np.zeros(len(opens), np.bool_)
    first[LONG[:-1]] = True
    assert (gap_us[first] == 0).all()
    assert gap_us[~first].min() >= LEAST_US
    intra, inter = gap_us[~first & ~opens] / 1e6, gap_us[~first & opens] / 1e6
    assert np.median(intra) == pytest.approx(8.0, rel=0.06)
    assert np.log(intra).std() == pytest.approx(1.2, rel=0.05)
    assert share(inter <= 100) == pytest.approx(0.5, abs=0.04)
    # Half-way in the logarithm between 100 and 1,000 s lie 316 s: share 0.5 + 0.4 / 2.
    assert share(inter <= 316.23) == pytest.approx(0.7, abs=0.035)
    assert 10 <= inter.min() <= inter.max() <= 10_000
    # Where the turn goes on, the loop gap of a call is the gap before the next.
    goes_on = ~opens[1:] & ~first[1:]
    assert (loop_us[:-1][goes_on] == gap_us[1:][goes_on]).all()


@settings(max_examples=10, deadline=None)
@given(SEEDS)
def test_engine_time_is_a_share_of_the_gap_in_the_turn(seed: int) -> None:
    opens, _ = draw_turns(Numbers(seed), 0, LONG, ONE_BAND, Turns((0.1,)))
    _, loop_us = draw_gaps(Numbers(seed), 0, LONG, opens, FLEET.gaps)
    duration_us, output = draw_durations(Numbers(seed), 0, LONG, loop_us, Durations((0.4, 0.8), 1e6, 50.0, 0.3))
    busy = duration_us / loop_us
    assert 0.399 <= busy.min() <= busy.max() <= 0.8
    assert busy.mean() == pytest.approx(0.6, abs=0.01)
    capped, _ = draw_durations(Numbers(seed), 0, LONG, loop_us, Durations((0.4, 0.8), 5.0, 50.0, 0.3))
    assert (capped == np.minimum(duration_us, 5_000_000)).all()
    speed = (output / (duration_us / 1e6))[output > 50]
    assert np.median(speed) == pytest.approx(50, rel=0.05)


CLASSES = Classes((0.2, 0.8), ((0.9, 0.1), (0.25, 0.75)),
                  (Model("a", "spine", "spine", 1.0), Model("b", "mid", "spine", 3.0), Model("c", "mid", "mid", 1.0)))


@settings(max_examples=10, deadline=None)
@given(SEEDS)
def test_classes_follow_their_transitions(seed: int) -> None:
    kind, model = draw_models(Numbers(seed), 0, LONG, CLASSES)
    by_session = kind.reshape(-1, 20)
    assert share(by_session[:, 0] == 1) == pytest.approx(0.8, abs=0.06)
    before, after = by_session[:, :-1], by_session[:, 1:]
    assert share(after[before == 0] == 1) == pytest.approx(0.1, abs=0.02)
    assert share(after[before == 1] == 0) == pytest.approx(0.25, abs=0.03)
    models = model.reshape(-1, 20)
    assert (models[by_session == 0] == 0).all()
    # One model a class and session: three quarters of the sessions use b, none both.
    uses = np.stack([(models == place).any(axis=1) for place in (1, 2)])
    assert not uses.all(axis=0).any()
    assert share(uses[0][uses.any(axis=0)]) == pytest.approx(0.75, abs=0.07)


def test_a_class_that_nothing_leads_to_is_never_entered() -> None:
    classes = Classes((0.0, 1.0), ((1.0, 0.0), (0.0, 1.0)), CLASSES.models)
    kind, _ = draw_models(Numbers(1), 0, LONG, classes)
    assert set(kind.tolist()) == {1}
