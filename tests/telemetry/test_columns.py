"""Columns of any type in, canonical columns and a mask of what does not parse out."""

from __future__ import annotations

from decimal import ROUND_HALF_EVEN, Decimal

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from telemetry.columns import block_size, booleans, durations, failures, prefix_keys, texts, tokens
from telemetry.readers_text import raw_value

NAN = float("nan")
F, T = False, True


def check(result: tuple[pa.Array, object], values: list[object], bad: list[bool]) -> None:
    assert result[0].to_pylist() == values
    assert result[1].tolist() == bad


def test_tokens_in_text() -> None:
    check(
        tokens(pa.array(["12", "12.0", " 7 ", "1e3", "0", "007", "8589934591", "8589934591.0"])),
        [12, 12, 7, 1000, 0, 7, 8_589_934_591, 8_589_934_591],
        [F] * 8,
    )
    check(
        tokens(
            pa.array(
                ["-1", "1.5", "nan", "inf", "abc", "0x10", "1_000", "8589934592", "9" * 5000, "1,2"]
            )
        ),
        [None] * 10,
        [T] * 10,
    )
    check(tokens(pa.array(["", None, "5"])), [None, None, 5], [F, F, F])


@pytest.mark.parametrize("kind", [pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint64()])
def test_tokens_in_integers(kind: pa.DataType) -> None:
    check(tokens(pa.array([0, 12, None], kind)), [0, 12, None], [F, F, F])


def test_tokens_out_of_range() -> None:
    assert 8_589_934_591 * 10**9 < 2**63 < (8_589_934_591 + 2**30) * 10**9  # parts per billion fit int64
    check(
        tokens(pa.array([-1, 8_589_934_592, 8_589_934_591, None])),
        [None, None, 8_589_934_591, None],
        [T, T, F, F],
    )
    check(tokens(pa.array([8_589_934_591.0, 8_589_934_592.0])), [8_589_934_591, None], [F, T])
    check(tokens(pa.array([2**64 - 1, 3], pa.uint64())), [None, 3], [T, F])
    for kind in (pa.decimal128(38, 0), pa.decimal256(40, 0), pa.decimal256(76, 2)):
        column = pa.array([Decimal(10) ** 19, Decimal(-(10**19)), Decimal(2) ** 64, Decimal(5), None], kind)
        check(tokens(column), [None, None, None, 5, None], [T, T, T, F, F])
        check(tokens(column[:1]), [None], [T])


def test_tokens_in_other_types() -> None:
    check(
        tokens(pa.array([12.0, -0.0, 1.5, NAN, float("inf"), -3.0, None])),
        [12, 0, None, None, None, None, None],
        [F, F, T, T, T, T, F],
    )
    check(tokens(pa.array([Decimal("12.00"), Decimal("12.50")])), [12, None], [F, T])
    check(tokens(pa.array([True, None])), [None, None], [T, F])
    check(tokens(pa.array([{"a": 1}, None])), [None, None], [T, F])
    check(tokens(pa.array([[1], None])), [None, None], [T, F])
    check(tokens(pa.array([b"\xff", b"7"])), [None, 7], [T, F])
    check(tokens(pa.nulls(2)), [None, None], [F, F])
    check(tokens(pa.array(["1", "x"]).dictionary_encode()), [1, None], [F, T])
    check(tokens(pa.chunked_array([["1"], ["x"]])), [1, None], [F, T])
    check(tokens(pa.array([], pa.string())), [], [])


def test_booleans() -> None:
    check(
        booleans(pa.array(["true", "FALSE", "1", "0", "Yes", "no", "", None, "maybe", "2"])),
        [T, F, T, F, T, F, None, None, None, None],
        [F] * 8 + [T, T],
    )
    check(booleans(pa.array([1, 0, 2])), [T, F, None], [F, F, T])
    check(booleans(pa.array([1.0, 0.0, None])), [T, F, None], [F, F, F])
    check(booleans(pa.array([True, None])), [T, None], [F, F])
    check(booleans(pa.array([[True]])), [None], [T])


def test_durations_round_half_to_even() -> None:
    check(
        durations(pa.array(["12", "12.3456", "0.0005", "0.0015", "0.0025", "1e3", "-1", "x", "nan", ""])),
        [12_000, 12_346, 0, 2, 2, 1_000_000, None, None, None, None],
        [F] * 6 + [T, T, T, F],
    )
    check(
        durations(pa.array([12.3456, 0.0005, 0.0015, 0.0025, NAN, -1.0, 1e300, None])),
        [12_346, 0, 2, 2, None, None, None, None],
        [F, F, F, F, T, T, T, F],
    )
    check(durations(pa.array([3, None, -3, 2**62])), [3000, None, None, None], [F, F, T, T])
    check(durations(pa.array([3], pa.duration("s"))), [3_000_000], [F])


def test_durations_above_366_days() -> None:
    longest = 31_622_400_000  # milliseconds
    for column in (
        pa.array([longest, longest + 1, None]),
        pa.array([float(longest), float(longest + 1), None]),
        pa.array([str(longest), str(longest + 1), None]),
        pa.array([longest * 1000, longest * 1000 + 1, None], pa.duration("us")),
        pa.array([Decimal(longest), Decimal(longest) + Decimal("0.001"), None]),
    ):
        check(durations(column), [31_622_400_000_000, None, None], [F, T, F])
    check(durations(pa.array([2**62, -1], pa.duration("s"))), [None, None], [T, T])


@given(
    st.lists(st.one_of(st.floats(0, 1e9), st.integers(0, 10**9).map(lambda n: n / 2000), st.floats(0, 1e-2)))
)
def test_durations_of_floats_and_of_their_text_agree(values: list[float]) -> None:
    exact = [int((Decimal(repr(value)) * 1000).quantize(Decimal(1), ROUND_HALF_EVEN)) for value in values]
    check(durations(pa.array(values, pa.float64())), exact, [F] * len(values))
    check(durations(pa.array(map(repr, values), pa.string())), exact, [F] * len(values))


def test_texts_stand_as_they_are() -> None:
    hostile = [
        "<script>alert(1)</script>",
        "'; drop table calls; --",
        "../../etc/passwd",
        "a\0b\x1b[31m",
        "x" * 10_000,
        "\u202e\u2028",
        " spaces ",
    ]
    check(texts(pa.array(hostile)), hostile, [F] * 7)
    check(texts(pa.array(["a", "", None])), ["a", None, None], [F, F, F])
    check(
        texts(pa.array([b"ok", b"\xff\xfe", "\ud800".encode("utf-8", "surrogatepass"), "é".encode()])),
        ["ok", None, None, "é"],
        [F, T, T, F],
    )
    invalid = pa.Array.from_buffers(pa.string(), 2, pa.array([b"\xc3\x28", b"ok"]).buffers())
    check(texts(invalid), [None, "ok"], [T, F])


def test_texts_of_other_types() -> None:
    check(texts(pa.array([1, None])), ["1", None], [F, F])
    check(texts(pa.array([12.0, 1.5, None])), ["12", "1.5", None], [F, F, F])
    check(texts(pa.array([True])), ["true"], [F])
    check(texts(pa.array(["a", "", None, "a"]).dictionary_encode()), ["a", None, None, "a"], [F] * 4)
    check(texts(pa.array(["a", None], pa.large_string())), ["a", None], [F, F])
    check(texts(pa.array(["a", ""], pa.string_view())), ["a", None], [F, F])
    check(texts(pa.array([b"\x01" * 16], pa.binary(16))), ["01" * 16], [F])
    check(texts(pa.array([{"a": 1}, None])), [None, None], [T, F])
    check(texts(pa.array(["x", "", "y"]).slice(1)), [None, "y"], [F, F])


def test_status() -> None:
    check(
        failures(pa.array(["ok", "OK", " Success ", "200", "204", "0", "completed", "true"])),
        [F] * 8,
        [F] * 8,
    )
    check(failures(pa.array(["error", "500", "304", "timeout", "wörse", "false"])), [T] * 6, [F] * 6)
    check(failures(pa.array(["", None])), [None, None], [F, F])
    check(failures(pa.array([200, 429, None])), [F, T, None], [F, F, F])
    check(failures(pa.array([{"code": 200}])), [None], [T])


def test_block_size() -> None:
    check(
        block_size(pa.array(["512", "16.0", "0", "-1", "x", str(2**31), ""])),
        [512, 16, None, None, None, None, None],
        [F, F, T, T, T, T, F],
    )
    assert block_size(pa.array([64]))[0].type == pa.int32()


def test_a_key_names_the_whole_prefix() -> None:
    keys, bad = prefix_keys(pa.array([[1, 2, 3], [1, 2, 4], [2, 2, 3], [1], [], None]))
    a, b, c, d, empty, none = keys.to_pylist()
    assert a[:2] == b[:2]
    assert a[2] != b[2]
    assert len({*a, *c}) == 6  # same id, other prefix: another key
    assert d == a[:1]
    assert (empty, none) == ([], None)
    assert not bad.any()


@pytest.mark.parametrize(
    "column",
    [
        pa.array([[9], [1, 2], None, [], [-1]], pa.list_(pa.int32())).slice(1),
        pa.array([[9], [1, 2], None, [], [2**64 - 1]], pa.list_(pa.uint64())).slice(1),
        pa.array([[1, 2], None, [], [-1]], pa.large_list(pa.int64())),
        pa.array([["1", "2"], None, [], ["-1"]]),
        pa.array(["[1, 2]", "", "[]", "[18446744073709551615]"]),
    ],
)
def test_forms_of_hash_ids_agree(column: pa.Array) -> None:
    keys, bad = prefix_keys(column)
    assert keys.to_pylist() == prefix_keys(pa.array([[1, 2], None, [], [-1]]))[0].to_pylist()
    assert not bad.any()


def test_hash_ids_that_are_none() -> None:
    keys, bad = prefix_keys(
        pa.array(["[1,null]", "null", '{"a":1}', "[1.5]", "[[1]]", "[true]", "x", "[" * 9999, "[7]"])
    )
    assert bad.tolist() == [T] * 8 + [F]
    assert keys.to_pylist() == [None] * 8 + prefix_keys(pa.array([[7]]))[0].to_pylist()
    keys, bad = prefix_keys(pa.array([[1, None], [7]]))
    assert (keys.to_pylist()[0], bad.tolist()) == (None, [T, F])


@pytest.mark.parametrize(
    ("column", "shown"),
    [
        (pa.array([2**62], pa.duration("s")), "4611686018427387904 as duration[s]"),
        (pa.array([2**63 - 1], pa.timestamp("us")), "9223372036854775807 as timestamp[us]"),
        (pa.array([2**63 - 1], pa.timestamp("us")).dictionary_encode(), "9223372036854775807 as timestamp[us]"),
        (pa.array([7], pa.timestamp("s", "No/Zone")), "7 as timestamp[s, tz=No/Zone]"),
        (pa.array([2**31 - 1], pa.int32()).view(pa.date32()), "2147483647 as date32[day]"),
        (pa.array([b"a\xff"]).cast(pa.string(), safe=False).slice(0), "a\\xff"),
        (pa.array([None], pa.duration("s")), "null"),
    ],
)
def test_raw_value_never_raises(column: pa.Array, shown: str) -> None:
    assert str(raw_value(column, 0)) == shown


def test_raw_value_of_a_nested_value_that_is_no_text() -> None:
    broken = pa.Array.from_buffers(pa.string(), 1, pa.array([b"\xff"]).buffers())
    column = pa.StructArray.from_arrays([broken], ["a"])
    assert raw_value(column, 0) == "a value of type struct<a: string> that cannot be shown"
