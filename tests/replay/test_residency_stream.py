"""The replay stream: next uses, the peak, numbering of objects, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replay.residency.factorize import factorize
from replay.residency.stream import (
    MAX_OBJECTS,
    Stream,
    build_stream,
    check_release,
    first_touch_floor,
    no_eviction_peak,
)
from telemetry.errors import InputError, UsageError


def ints(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


def items(*values: int) -> np.ndarray:
    return np.array(values, np.int32)


def test_next_use_is_the_position_of_the_next_access_and_n_means_never():
    stream = build_stream(items(0, 1, 0, 0, 2), ints(1, 1, 1, 1, 1), 3)
    assert stream.next_use.tolist() == [2, 5, 3, 5, 5]


@pytest.mark.parametrize(("release", "peak"), [("never", 12), ("last", 9)])
def test_the_peak_counts_current_sizes_after_an_access_and_before_its_release(release, peak):
    # Sizes held: 5; 5+4 = 9 (then B's only access is over: last frees it, 5);
    # A shrinks to 1: 5 (last: 1, then A is freed: 0); C7: 12 (last: 7).
    stream = build_stream(items(0, 1, 0, 2), ints(5, 4, 1, 7), 3)
    assert no_eviction_peak(stream, release) == peak


def test_floor_of_the_paper_is_distinct_sessions_over_calls():
    # arXiv:2610.22863: 9,486 sessions in the hour's 176,007 calls, printed as 5.39 %.
    sessions, calls = 9_486, 176_007
    objects = np.arange(calls, dtype=np.int32) % sessions
    stream = build_stream(objects, np.ones(calls, np.int64), sessions)
    assert first_touch_floor(stream) == 9486 / 176007
    assert round(100 * first_touch_floor(stream), 2) == 5.39


def test_an_empty_stream_has_no_floor_and_no_peak():
    stream = build_stream(items(), ints(), 0)
    assert first_touch_floor(stream) is None
    assert no_eviction_peak(stream, "last") == 0
    assert stream.total_tokens == 0


def test_a_stream_cannot_be_written_to():
    stream = build_stream(items(0), ints(1), 1)
    with pytest.raises(ValueError, match="read-only"):
        stream.tokens[0] = 2


def test_a_mapped_file_is_a_stream(tmp_path):
    np.save(tmp_path / "tokens.npy", ints(3, 4))
    tokens = np.load(tmp_path / "tokens.npy", mmap_mode="r")
    stream = build_stream(items(0, 1), tokens, 2)
    assert no_eviction_peak(stream, "never") == 7


@pytest.mark.parametrize(("objects", "tokens", "next_use"), [
    (items(0, 2), ints(1, 1), ints(2, 2)),
    (items(-1, 0), ints(1, 1), ints(2, 2)),
    (items(0, 1), ints(1, -1), ints(2, 2)),
    (items(0, 1), ints(1, 1), ints(3, 2)),
    (items(0, 1), ints(1, 1), ints(2, 1)),
])
def test_values_out_of_range_are_refused_with_their_place(objects, tokens, next_use):
    with pytest.raises(InputError, match=r"access [01]: .*out of range"):
        Stream(objects, tokens, next_use, 2)


def test_objects_out_of_range_are_refused_before_anything_indexes_with_them():
    with pytest.raises(InputError, match="0 to 1"):
        build_stream(items(0, 2), ints(1, 1), 2)


@pytest.mark.parametrize(("objects", "tokens"), [
    (items(0, 1), ints(1)),
    (ints(0, 1), ints(1, 1)),
    (items(0, 1), np.ones(2, np.float64)),
])
def test_arrays_of_another_type_or_length_are_refused(objects, tokens):
    with pytest.raises(InputError, match="must be"):
        Stream(objects, tokens, ints(2, 2), 2)


def test_times_that_go_back_are_refused_with_their_place():
    assert build_stream(items(0, 1, 0), ints(1, 1, 1), 2, ints(-5, -5, 7)).time_us.tolist() == [-5, -5, 7]
    with pytest.raises(InputError, match="access 2: starts at 6 us, before the preceding one \\(7 us\\)"):
        build_stream(items(0, 1, 0), ints(1, 1, 1), 2, ints(5, 7, 6))
    with pytest.raises(InputError, match="further apart"):
        build_stream(items(0, 1), ints(1, 1), 2, ints(-2**63, 0))


def test_sizes_whose_sums_could_pass_64_bits_are_refused():
    # 2 calls * 128 units * 2^55 tokens = 2^63, one more than fits; one token less is fine.
    with pytest.raises(InputError, match="access 1: 36028797018963968 tokens"):
        build_stream(items(0, 1), ints(1, 2**55), 2)
    stream = build_stream(items(0, 1), ints(2**55 - 1, 2**55 - 1), 2)
    assert no_eviction_peak(stream, "never") == 2**56 - 2


def test_too_many_objects_are_refused():
    with pytest.raises(InputError, match="objects"):
        Stream(items(0), ints(1), ints(1), MAX_OBJECTS + 1)
    with pytest.raises(InputError, match="more than 2 distinct"):
        factorize(ints(7, 8, 9), limit=2)


def test_factorize_numbers_by_first_appearance():
    objects, count = factorize(ints(900, -5, 900, 2**62, -5, 0))
    assert objects.dtype == np.int32
    assert (objects.tolist(), count) == ([0, 1, 0, 2, 1, 3], 4)


@given(st.lists(st.one_of(st.integers(-3, 3), st.integers(-2**63, 2**63 - 1)), max_size=50))
@settings(max_examples=150, deadline=None)
def test_factorize_is_the_plain_dictionary(ids):
    numbers: dict[int, int] = {}
    expected = [numbers.setdefault(key, len(numbers)) for key in ids]
    objects, count = factorize(ints(*ids))
    assert (objects.tolist(), count) == (expected, len(numbers))


def test_factorize_grows_its_table():
    ids = np.random.default_rng(1).permutation(np.repeat(np.arange(20_000, dtype=np.int64) << 40, 2))
    objects, count = factorize(ids)
    assert count == 20_000
    first = np.unique(objects, return_index=True)[1]
    assert (np.diff(first) > 0).all()
    assert np.array_equal(ids[first][objects], ids)


def test_release_modes():
    assert [check_release(mode) for mode in ("last", "never")] == ["last", "never"]
    with pytest.raises(UsageError, match=r"unknown release mode 'always'.*last, never"):
        check_release("always")
