"""Random numbers: the published test vectors, and addresses that are what they say."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sim_profiles import offsets_of

from tracesim.philox import LANES, Component, Numbers, normal, philox

# Known answers of Random123 for philox4x32 with 10 rounds: counter, key, result.
KNOWN = [
    ([0] * 4, [0] * 2, [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]),
    ([0xFFFFFFFF] * 4, [0xFFFFFFFF] * 2, [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]),
    ([0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344], [0xA4093822, 0x299F31D0],
     [0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1]),
]


@pytest.mark.parametrize(("counter", "key", "result"), KNOWN)
def test_known_answers(counter: list[int], key: list[int], result: list[int]) -> None:
    words = np.array([counter], np.uint64)
    philox(np.array(key, np.uint64), words)
    assert words[0].tolist() == result


def test_the_address_is_index_component_session_and_the_key_is_the_seed() -> None:
    seed, session, index = (7 << 32) + 5, (3 << 32) + 2, 4
    words = np.array([[index, Component.GAPS, 2, 3]], np.uint64)
    philox(np.array([5, 7], np.uint64), words)
    drawn = Numbers(seed).of_calls(Component.GAPS, session, offsets_of(index + 1))
    assert drawn[index].tolist() == [(word + 0.5) / 2**32 for word in words[0].tolist()]


@settings(deadline=None)
@given(seed=st.integers(0, 2**64 - 1), depths=st.lists(st.integers(1, 9), min_size=2, max_size=6))
def test_a_session_draws_the_same_whatever_stands_before_it(seed: int, depths: list[int]) -> None:
    numbers, offsets = Numbers(seed), offsets_of(*depths)
    together = numbers.of_calls(Component.REUSE, 10, offsets)
    alone = [numbers.of_calls(Component.REUSE, 10 + place, offsets_of(depth)) for place, depth in enumerate(depths)]
    assert (together == np.concatenate(alone)).all()
    assert len(np.unique(together)) == together.size  # no two addresses share their numbers
    assert together.shape[1] == LANES
    assert 0 < together.min() <= together.max() < 1


def test_components_and_seeds_draw_different_numbers() -> None:
    drawn = [Numbers(seed).of_sessions(component, 0, 50) for seed in (0, 1, 2**32, 2**63) for component in Component]
    assert len(np.unique(drawn)) == np.size(drawn)


def test_the_mean_and_the_spread_of_uniform_numbers() -> None:
    drawn = Numbers(1).of_sessions(Component.DEPTH, 0, 50_000)
    # The standard error of a mean of 50,000 is 0.0013, that of a variance about 0.0003.
    assert drawn.mean(axis=0) == pytest.approx([0.5] * LANES, abs=0.006)
    assert drawn.var(axis=0) == pytest.approx([1 / 12] * LANES, abs=0.002)
    assert np.abs(np.corrcoef(drawn, rowvar=False) - np.eye(LANES)).max() < 0.02


def test_normal_is_the_quantile_function() -> None:
    p = np.concatenate(([2.0**-33, 1e-12, 1 - 1e-12], np.linspace(0.0001, 0.9999, 2_001)))
    expected = [NormalDist().inv_cdf(each) for each in p]
    assert normal(p) == pytest.approx(expected, rel=1e-14, abs=1e-15)


@pytest.mark.parametrize("seed", [-1, 2**64])
def test_a_seed_that_does_not_fit(seed: int) -> None:
    with pytest.raises(ValueError, match="2\\^64"):
        Numbers(seed)
