"""What `kvcensus fit` makes of contexts: who has the peak, what others reach, that contexts come out as they are."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.fitting.contexts import _thread, fit_contexts
from pipelines.fitting.largest import _edges, fit_largest
from pipelines.fitting.levels import rising
from pipelines.fitting.pace import fit_depth
from pipelines.fitting.rows import Rows
from pipelines.fitting.scores import log_slope
from pipelines.fitting.support import Support
from pipelines.fitting.tokens import fit_durations
from pipelines.matching.statistics import equal_clusters, ks_critical, ks_distance
from tracesim.compiled import Longs
from tracesim.depth_table import bands_of
from tracesim.philox import Numbers
from tracesim.profile import Window
from tracesim.threads import draw_threads

SEEDS = st.integers(0, 2**32)
WHOLE = Window(0, 1.0, 1, cuts=False)


def log_of(sessions: list[list[tuple[int, int]]]) -> Rows:
    """Sessions of calls: (class, tokens), one second apart."""
    depths = np.array([len(calls) for calls in sessions])
    offsets = np.append(0, np.cumsum(depths))
    session = np.repeat(np.arange(len(sessions)), depths)
    index = np.arange(offsets[-1]) - offsets[:-1][session]
    kind, tokens = np.array([call for calls in sessions for call in calls], np.int64).T
    none, gap = np.full(len(session), -1), np.where(index > 0, 1_000_000, 0)
    return Rows(offsets, session, index, 1_000_000 * index, gap, tokens.copy(), none, none, none, kind.copy(), none,
                none, none, {0: ("spine", "spine"), 1: ("mid", "mid")})


def drawn_again(log: Rows, seed: int) -> Longs:
    """Contexts of the fitted threads, where the log has calls."""
    support = Support(10)
    depth = fit_depth(log, WHOLE, support)
    law = fit_contexts(log, log.kind, depth, support)
    band = bands_of(log.depths, depth.bands)
    return draw_threads(Numbers(seed), 0, log.offsets, band, np.zeros(log.sessions), log.kind.astype(np.int8),
                        depth.bands, law)


def test_an_extract_is_back_at_once() -> None:
    # Down to 20 and back to 100: an extract. Down to 40, and back by and by: a compaction.
    tokens = np.array([100, 20, 100, 40, 60, 80, 100])
    before, extracts = _thread(tokens, np.zeros(7, np.int64), np.arange(7))
    assert before.tolist() == [0, 100, 100, 100, 40, 60, 80]
    assert extracts.tolist() == [False, True, False, False, False, False, False]
    # A dip of a tenth is no extract, however soon it is over: a compaction and a growth say the same of it.
    assert not _thread(np.array([100, 90, 100]), np.zeros(3, np.int64), np.arange(3))[1].any()


def test_weights_of_calls_by_class() -> None:
    # Of 40 sessions with a call to each class Spine has the largest context in 30: three times the weight.
    log = log_of([[(0, 900), (1, 300)]] * 30 + [[(0, 100), (1, 200)]] * 10)
    support = Support(10)
    law = fit_largest(log, log.kind, log.tokens, fit_depth(log, WHOLE, support), support)
    assert law.holds == ((1.0,), (0.333,), (0.0,), (0.0,))
    assert (law.peak[0], law.peak[1]) == ((((0, 900), (1, 900)),), (((0, 200), (1, 200)),))
    # Beside 900 Mid reaches a third, beside 200 Spine a half.
    assert {law.share[1][-1], law.share[0][0]} == {((0, 0.333), (1, 0.333)), ((0, 0.5), (1, 0.5))}


def test_a_class_that_few_sessions_have_is_weighed_as_everywhere() -> None:
    # Of sessions of two calls five have Mid, fewer than ten; of those of three all have.
    log = log_of([[(0, 900), (1, 300)]] * 5 + [[(0, 900), (0, 900)]] * 15 + [[(0, 900), (0, 100), (1, 1000)]] * 12
                 + [[(0, 900), (0, 100), (1, 300)]] * 12)
    support = Support(10)
    depth = fit_depth(log, WHOLE, support)
    assert depth.bands == (1, 3)
    law = fit_largest(log, log.kind, log.tokens, depth, support)
    # Two calls to Spine and one to Mid have it in half of the sessions each: weights 1 and 2. Of all 29 sessions Spine
    # has it in 17 = 5 / (1 + w) + 24 * 2 / (2 + w), with w = 1.25 for Mid.
    assert (law.holds[0][1], law.holds[1][1]) == (0.5, 1)
    assert (law.holds[0][0], law.holds[1][0]) == (pytest.approx(0.8, abs=0.002), 1)
    assert any(line.startswith("the largest context in mid, depth from 1 to 2 (5 sessions)") for line in support.pooled)


def test_edges_of_peaks_leave_k_sessions_between_them() -> None:
    assert _edges(np.arange(1, 41), 10) == (10.8, 20.5, 30.2)
    assert _edges(np.arange(1, 41), 11) == (20.5,)  # ten below 10.8, and ten above 30.2
    assert _edges(np.arange(1, 20), 10) == ()
    # A context window: what lies above it is nothing.
    assert _edges(np.array([5] * 20 + [9] * 20), 10) == (5,)


def test_the_power_of_a_peak() -> None:
    peak = np.array([1e4, 1e5, 1e6])
    assert log_slope(peak, 0.3 * peak, 2) == 1
    assert log_slope(peak, np.full(3, 2e3), 2) == 0
    assert log_slope(peak, np.sqrt(peak), 2) == 0.5
    assert log_slope(peak, peak**3, 2) == 2
    assert log_slope(np.full(3, 5), peak, 2) == 1
    assert log_slope(np.array([1, 10, 10]), np.array([1, 10, 100]), 2, np.array([1.0, 1, 0])) == 1


def test_quantiles_beside_quantiles() -> None:
    # Half of what is drawn lies below 0.5, half of what is measured below 0.2.
    assert rising(((0, 0.1), (0.5, 0.5), (1, 0.8)), ((0, 0.1), (0.5, 0.2), (1, 0.9))) == (
        (0, 0), (0.1, 0.1), (0.5, 0.2), (0.8, 0.9), (1, 1))
    # One value drawn stands for the middle of those measured.
    assert rising(((0, 0.5), (1, 0.5)), ((0, 0.2), (1, 0.6))) == ((0, 0), (0.5, 0.4), (1, 1))


def test_bands_of_few_sessions_are_taken_together() -> None:
    support, sessions = Support(10), np.arange(40)
    band = np.array([0] * 3 + [1] * 12 + [2] * 20 + [3] * 5)
    names = ["a", "b", "c", "d"]
    assert support.joined("x", sessions, band, names).tolist() == [0, 0, 1, 1]
    assert support.pooled == ["x, a (3 sessions): with b", "x, d (5 sessions): with c"]
    laws = support.by_band("x", band + 1.0, sessions, band, names, ((0, 9), (1, 9)), "all")
    assert laws[0] == laws[1] != laws[2] == laws[3]
    assert support.by_band("y", band[:9] + 1.0, sessions[:9], band[:9], names, ((0, 9), (1, 9)), "all") == (
        ((0, 9), (1, 9)),) * 4


def sawtooth(rng: np.random.Generator, count: int) -> Rows:
    """Threads that grow by a tenth a call and are cut to 0.4 above 180,000, as agents with a context window are."""
    sessions = []
    for _ in range(count):
        context, calls = float(rng.lognormal(9, 1)), []
        for _ in range(int(rng.lognormal(2.5, 1)) + 1):
            calls.append((0, int(context) + 1) if rng.random() < 0.8 else (1, int(context / 5) + 1))
            context *= rng.uniform(1, 1.2) * (0.4 if context > 180_000 else 1)
        sessions.append(calls)
    return log_of(sessions)


@settings(max_examples=5, deadline=None)
@given(SEEDS)
def test_contexts_come_out_as_they_are(seed: int) -> None:
    log = sawtooth(np.random.default_rng(seed), 600)
    drawn = drawn_again(log, seed)
    assert ks_distance(log.tokens, drawn) < 0.1
    for place in (0, 1):
        mine = log.kind == place
        sessions = equal_clusters(np.bincount(log.session[mine]))
        assert ks_distance(log.tokens[mine], drawn[mine]) < ks_critical(sessions, sessions)


@settings(max_examples=5, deadline=None)
@given(SEEDS)
def test_a_small_class_of_its_own_size_keeps_it(seed: int) -> None:
    # Mid has some 2,000 tokens whatever the session has.
    rng = np.random.default_rng(seed)
    log = log_of([[(0, int(peak * each)) for each in (0.4, 0.7, 1)] + [(1, int(rng.uniform(1_500, 2_500)))]
                  for peak in rng.lognormal(11, 1, 300)])
    drawn = drawn_again(log, seed)[log.kind == 1]
    assert np.quantile(drawn, [0.05, 0.5, 0.95]) == pytest.approx([1_550, 2_000, 2_450], rel=0.15)


def test_engine_time_by_band_of_the_gap() -> None:
    # After 2 s half of the gap; after 100 s and after 1,000 s 20 s, and nothing is known of other gaps.
    gaps, lasted = np.array([0, 2, 100, 1_000]), np.array([1, 20, 20, 5])
    log = log_of([[(0, 10)] * 4] * 12)
    log = replace(log, gap_us=np.tile(gaps, 12) * 1_000_000, duration_us=np.tile(lasted, 12) * 1_000_000)
    support = Support(10)
    law = fit_durations(log, log.kind, support)
    assert law is not None
    assert law.output is None
    assert law.busy is not None
    # A gap that is always the same tells no power: it is a share.
    assert [(each.busy_s[0][1], each.power) for each in law.busy] == [(0.5, 1), (0.5, 1), (0.2, 1), (0.2, 1), (0.2, 1),
                                                                     (0.02, 1)]
    mixed = replace(log, gap_us=np.where(np.arange(48) % 8 == 2, 80_000_000, log.gap_us))
    law = fit_durations(mixed, log.kind, support)
    assert law is not None
    assert law.busy is not None
    assert (law.busy[4].busy_s[0][1], law.busy[4].power) == (20, 0)
    assert fit_durations(log, log.kind, Support(13)) is None
