"""Chained prefix keys, against a slow plain reference and by their properties."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from telemetry.prefixes import chain_keys, scope_seed

WORD = 2**64
IDS = st.lists(st.integers(-(2**63), 2**63 - 1), max_size=12)


def mix(word: int) -> int:
    """splitmix64: the step and the finaliser, in Python's unbounded integers."""
    word = (word + 0x9E3779B97F4A7C15) % WORD
    word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9 % WORD
    word = (word ^ (word >> 27)) * 0x94D049BB133111EB % WORD
    return word ^ (word >> 31)


def reference(calls: list[list[int]], seed: int) -> list[int]:
    keys = []
    for ids in calls:
        key = mix(seed % WORD)
        for one in ids:
            key = mix((key * 0x9E3779B97F4A7C15 + mix(one % WORD)) % WORD)
            keys.append(key - WORD if key >= 2**63 else key)
    return keys


def chained(calls: list[list[int]], seed: int = 0) -> list[int]:
    flat = np.array([one for ids in calls for one in ids], dtype=np.int64)
    offsets = np.cumsum([0, *(len(ids) for ids in calls)])
    return [int(key) for key in chain_keys(flat, offsets, seed)]


def test_mix_is_splitmix64() -> None:
    # First output of the published generator for seed 0.
    assert mix(0) == 0xE220A8397B1DCDAF


@settings(deadline=None)  # the first call compiles
@given(st.lists(IDS, max_size=6), st.integers(-(2**64), 2**64))
def test_equals_the_reference(calls: list[list[int]], seed: int) -> None:
    assert chained(calls, seed) == reference(calls, seed)


def test_the_keys_are_pinned() -> None:
    # They may be stored beside results: another value is a change of format.
    assert chained([[7, 8], [7, 9], []]) == [
        -4589770884951881070, -4754471534643866882, -4589770884951881070, -104241386469041055]
    assert scope_seed("x") == 6052157962238932337


@settings(deadline=None)
@given(IDS, IDS)
def test_a_key_names_the_whole_prefix(one: list[int], other: list[int]) -> None:
    keys = chained([one, other])
    mine, others = keys[:len(one)], keys[len(one):]
    for i in range(min(len(one), len(other))):
        assert (mine[i] == others[i]) == (one[:i + 1] == other[:i + 1])


def test_order_and_repetition_matter() -> None:
    keys = chained([[1, 2], [2, 1], [1, 1, 1], [0, 0, 0]])
    assert len(set(keys)) == len(keys) - 1  # the two calls that begin with 1 share that key


@pytest.mark.parametrize("seed", [0, 5, -1, 2**40])
def test_an_id_equal_to_the_seed_is_like_any_other(seed: int) -> None:
    # A plain xor of start and id would make these one key.
    assert len(set(chained([[seed] * 5], seed))) == 5
    assert not set(chained([[seed] * 5], seed)) & set(chained([[0] * 5], 77))


def test_scopes_never_meet() -> None:
    assert not set(chained([[1, 2, 3]], 1)) & set(chained([[1, 2, 3]], 2))
    assert scope_seed("a", "bc") != scope_seed("ab", "c")
    assert scope_seed("\ud800") != scope_seed("")


def test_offsets_may_leave_a_margin_and_a_view_is_read_right() -> None:
    flat = np.arange(12, dtype=np.int64)[::2]
    keys = chain_keys(flat, np.array([1, 3, 3, 5]))
    assert keys.tolist() == [0, *reference([[2, 4], [], [6, 8]], 0), 0]
    assert chain_keys(np.array([], dtype=np.int64), np.array([0])).size == 0
    assert chain_keys(np.array([], dtype=np.int64), np.array([], dtype=np.int64)).size == 0


@pytest.mark.parametrize("offsets", [[-1, 2], [0, 4], [0, 2, 1]])
def test_wrong_offsets_are_refused(offsets: list[int]) -> None:
    with pytest.raises(ValueError, match="offsets"):
        chain_keys(np.array([1, 2, 3]), np.array(offsets))
