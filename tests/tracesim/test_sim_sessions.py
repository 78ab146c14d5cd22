"""Placement, context and reuse: what depends on the calls before.

Tolerances of seed sweeps are at least 4.5 standard errors of the samples drawn.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sim_profiles import COLD, FLEET, MOST, PART, WARM, having, offsets_of

from tracesim.context import draw_context
from tracesim.philox import Numbers
from tracesim.placement import draw_places
from tracesim.profile import Context, Reuse
from tracesim.reuse import draw_cached

SEEDS = st.integers(0, 2**64 - 1)
LONG = offsets_of(*[20] * 1_000)
CALLS = int(LONG[-1])


def small(*values: int) -> np.ndarray:
    return np.array(values, np.int8)


# Placement


@settings(max_examples=10, deadline=None)
@given(SEEDS)
def test_moves_have_their_probabilities(seed: int) -> None:
    # One model: every later call is a call to the model of its predecessor.
    placement = having(placement={"move_deployment": 0.1, "move_region": 0.05}).placement
    region, deployment = draw_places(Numbers(seed), 0, LONG, np.zeros(CALLS, np.int8), 1, placement)
    region, deployment = region.reshape(-1, 20), deployment.reshape(-1, 20)
    far = region[:, 1:] != region[:, :-1]
    near = ~far & (deployment[:, 1:] != deployment[:, :-1])
    assert far.mean() == pytest.approx(0.05, abs=0.01)
    assert near.mean() == pytest.approx(0.1, abs=0.01)
    # The first call goes home with 0.8: home is north for half of the sessions, so north has 0.8 * 0.5 and a part of
    # those that leave the south (0.3) and the west (0.2), half of whom go there: 0.2 * 0.5 * 0.5.
    assert (region[:, 0] == 0).mean() == pytest.approx(0.45, abs=0.08)
    assert set(deployment.ravel().tolist()) == set(range(4))


def test_a_return_moves_with_its_own_probability() -> None:
    placement = having(placement={"move_deployment": 0, "move_region": 0, "return_deployment": 1.0,
                                  "return_region": 0}).placement
    model = small(*[0, 1] * 3, 0, 0)
    region, deployment = draw_places(Numbers(5), 0, offsets_of(8), model, 2, placement)
    for each in (0, 1):
        seats = deployment[model == each]
        assert (np.diff(seats)[:2] != 0).all()  # every return goes elsewhere
    assert deployment[6] == deployment[7]  # what follows its like stays
    assert len(set(region[model == 0].tolist())) == 1


def test_no_moves_without_probabilities() -> None:
    placement = FLEET.with_stickiness(1.0).placement
    model = np.arange(CALLS, dtype=np.int8) % 2
    region, deployment = draw_places(Numbers(5), 0, LONG, model, 2, placement)
    for column in (region, deployment):
        by_model = column.reshape(-1, 10, 2)
        assert (by_model == by_model[:, :1]).all()


def test_half_the_stickiness_prevents_half_of_the_moves() -> None:
    assert FLEET.with_stickiness(0.5).placement.return_deployment == 0.1


def test_one_region_and_one_deployment_leave_nowhere_to_go() -> None:
    placement = having(placement={"regions": ("only",), "shares": (1.0,), "deployments": 1, "move_region": 1.0,
                                  "move_deployment": 1.0}).placement
    region, deployment = draw_places(Numbers(5), 0, LONG, np.zeros(CALLS, np.int8), 1, placement)
    assert not region.any()
    assert not deployment.any()


# Context


def grown(context: Context, kind: np.ndarray, offsets: np.ndarray, seed: int = 1) -> tuple[np.ndarray, ...]:
    return draw_context(Numbers(seed), 0, offsets, kind, context)


def test_growth_without_chance_is_what_the_formula_says() -> None:
    # 10,000 first; the goal is 60,000; each call closes a tenth of what is left.
    context = having(context={"spread": 0.0}).context
    tokens, extracted, compacted = grown(context, np.zeros(4, np.int8), offsets_of(4))
    assert tokens.tolist() == [10_000, 15_000, 19_500, 23_550]
    assert not extracted.any()
    assert not compacted.any()


def test_the_goal_depends_on_depth_and_stops_at_the_limit() -> None:
    # Depth 4 to the power of 0.5 doubles the growth: goal 110,000; a limit of 30,000 is the goal.
    deeper = having(context={"spread": 0.0, "deeper": 0.5}).context
    assert grown(deeper, np.zeros(4, np.int8), offsets_of(4))[0].tolist()[:2] == [10_000, 20_000]
    limited = having(context={"spread": 0.0, "limit": 30_000}).context
    assert grown(limited, np.zeros(2, np.int8), offsets_of(2))[0].tolist() == [10_000, 12_000]


def test_roles_extracts_and_bursts_scale_what_a_call_carries() -> None:
    flat = {"spread": 0.0, "growth": 0.0}
    roles = having(context={**flat, "scale": (1.0, 0.25)}).context
    assert grown(roles, small(0, 1, 0), offsets_of(3))[0].tolist() == [10_000, 2_500, 10_000]
    aside = having(context={**flat, "side": (0.0, 1.0)}).context
    tokens, extracted, _ = grown(aside, small(1, 1, 0), offsets_of(3))
    assert tokens.tolist() == [10_000, 2_000, 10_000]  # never the first call
    assert extracted.tolist() == [False, True, False]
    burst = having(context={**flat, "bursts": (1.0, 0.0)}).context
    assert grown(burst, small(0, 0, 1), offsets_of(3))[0].tolist() == [10_000, 20_000, 10_000]


def test_a_compaction_leaves_a_share_of_the_thread_for_good() -> None:
    context = having(context={"spread": 0.0, "growth": 0.0, "compacts": 1.0, "compacted": (0.5, 0.5)}).context
    tokens, _, compacted = grown(context, np.zeros(3, np.int8), offsets_of(3))
    assert tokens.tolist() == [10_000, 5_000, (5_000 + 500) // 2]  # it grows back towards its goal, and is cut again
    assert compacted.tolist() == [False, True, True]


def test_tokens_stay_between_the_least_and_the_window() -> None:
    context = having(context={"spread": 3.0, "least": 5_000, "window": 20_000}).context
    tokens, _, _ = grown(context, np.zeros(CALLS, np.int8), LONG)
    assert tokens.min() == 5_000
    assert tokens.max() == 20_000


@settings(max_examples=10, deadline=None)
@given(SEEDS)
def test_first_calls_are_lognormal(seed: int) -> None:
    tokens, _, _ = grown(FLEET.context, np.zeros(CALLS, np.int8), LONG, seed)
    first = np.log(tokens.reshape(-1, 20)[:, 0])
    assert first.mean() == pytest.approx(np.log(10_000), abs=0.08)
    assert first.std() == pytest.approx(0.5, rel=0.1)


@settings(max_examples=10, deadline=None)
@given(SEEDS)
def test_noise_keeps_the_mean_of_growth(seed: int) -> None:
    context = having(context={"spread": 0.0, "noise": 0.5}).context
    tokens, _, _ = grown(context, np.zeros(CALLS, np.int8), LONG, seed)
    assert tokens.reshape(-1, 20)[:, 1].mean() == pytest.approx(15_000, rel=0.04)


# Reuse


def found(kind: np.ndarray, offsets: np.ndarray, *, tokens: np.ndarray | None = None, region: np.ndarray | None = None,
          deployment: np.ndarray | None = None, gap_us: np.ndarray | None = None, extracted: np.ndarray | None = None,
          compacted: np.ndarray | None = None, seed: int = 1, **changes: object) -> np.ndarray:
    """Cached share of calls, one model a class; contexts of a million unless told otherwise."""
    size = len(kind)
    none, nowhere = np.zeros(size, np.bool_), np.zeros(size, np.int8)
    tokens = np.full(size, 10**6, np.int64) if tokens is None else tokens
    reuse: Reuse = having(reuse=changes).reuse
    cached = draw_cached(
        Numbers(seed), 0, offsets, kind, kind, 2, nowhere if region is None else region,
        nowhere if deployment is None else deployment, np.full(size, 10**6, np.int64) if gap_us is None else gap_us,
        tokens, none if extracted is None else extracted, none if compacted is None else compacted, reuse)
    return cached / tokens


def bands(shares: np.ndarray) -> list[str]:
    return [("cold", "part", "most", "warm")[int(np.searchsorted([0.2, 0.8, 0.95], share, side="right"))]
            for share in shares.tolist()]


def test_every_situation_has_its_own_band() -> None:
    #        first  same  side  excursion of 1  switch, excursion of 1
    kind = small(0, 0, 0, 1, 0, 1, 0)
    shares = found(kind, offsets_of(7), extracted=np.array([0, 0, 1, 0, 0, 0, 0], np.bool_), switch=(PART, MOST))
    assert bands(shares) == ["cold", "warm", "most", "most", "part", "most", "part"]


def test_the_length_of_an_excursion_counts() -> None:
    lengths = {"excursion": (WARM, MOST, PART)}
    for away, band in ((1, "warm"), (2, "most"), (3, "part"), (9, "part")):
        kind = small(0, *[1] * away, 0)
        assert bands(found(kind, offsets_of(len(kind)), **lengths))[-1] == band  # type: ignore[arg-type]


def test_a_first_spine_call_ends_no_excursion() -> None:
    assert bands(found(small(1, 1, 0), offsets_of(3), switch=(MOST, PART), excursion=(COLD,) * 3))[-1] == "most"


def test_moves_decide_before_excursions() -> None:
    kind, elsewhere = small(0, 1, 0), small(0, 0, 1)
    assert bands(found(kind, offsets_of(3), deployment=elsewhere, cross_deployment=MOST))[-1] == "most"
    assert bands(found(kind, offsets_of(3), region=elsewhere, cross_region=WARM))[-1] == "warm"


def test_a_compacted_context_finds_what_is_lost() -> None:
    assert bands(found(small(0, 0), offsets_of(2), compacted=np.array([False, True]), lost=PART))[-1] == "part"


def test_state_is_lost_after_idling_since_the_models_own_last_call() -> None:
    # 40 s and 40 s: the second Mid call comes 40 s after its predecessor, the return to Spine 80 s after Spine.
    gap_us = np.array([0, 40, 40], np.int64) * 10**6
    idle = {"idle": ((60.0, 0.0),), "excursion": (WARM, WARM, WARM)}
    assert bands(found(small(0, 0, 0), offsets_of(3), gap_us=gap_us, **idle))[-1] == "warm"  # type: ignore[arg-type]
    assert bands(found(small(0, 1, 0), offsets_of(3), gap_us=gap_us, **idle))[-1] == "cold"  # type: ignore[arg-type]
    exactly = np.array([0, 60], np.int64) * 10**6
    assert bands(found(small(0, 0), offsets_of(2), gap_us=exactly, **idle))[-1] == "cold"  # type: ignore[arg-type]


def test_no_call_finds_more_than_was_sent_to_its_model() -> None:
    tokens = np.array([1_000, 100_000, 50_000], np.int64)
    shares = found(small(0, 0, 0), offsets_of(3), tokens=tokens)
    assert shares[1] == 0.01
    assert shares[2] >= 0.95


def test_whole_blocks_are_cached() -> None:
    tokens = np.full(CALLS, 1_000, np.int64)
    cached = found(np.zeros(CALLS, np.int8), LONG, tokens=tokens, block=128) * 1_000
    assert set(cached.astype(int).tolist()) <= {0, 128, 896}  # warm is 950 to 1,000, rounded down to blocks


@settings(max_examples=10, deadline=None)
@given(SEEDS)
def test_bands_have_their_probabilities(seed: int) -> None:
    shares = found(np.zeros(CALLS, np.int8), LONG, seed=seed, same=((0.1, 0.2, 0.3, 0.4), WARM))
    later = np.delete(shares, LONG[:-1])
    at = [float(np.mean((later >= low) & (later < high))) for low, high in ((0, 0.2), (0.2, 0.8), (0.8, 0.95),
                                                                           (0.95, 1.1))]
    assert at == pytest.approx([0.1, 0.2, 0.3, 0.4], abs=0.02)
    # Uniform within a band; in the lowest the square of a uniform number.
    assert later[(later >= 0.2) & (later < 0.8)].mean() == pytest.approx(0.5, abs=0.015)
    assert later[later < 0.2].mean() == pytest.approx(0.2 / 3, abs=0.008)


def test_an_ineffective_cache_finds_nothing_for_its_share_of_calls() -> None:
    shares = found(np.zeros(CALLS, np.int8), LONG, effectiveness=0.6)
    assert np.mean(np.delete(shares, LONG[:-1]) > 0) == pytest.approx(0.6, abs=0.015)
