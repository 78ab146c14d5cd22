"""Timestamps: literal texts and numbers, literal microseconds."""

from __future__ import annotations

from datetime import date, datetime

import pyarrow as pa
import pytest

from telemetry.adapter import TimestampRule
from telemetry.errors import InputError, UsageError
from telemetry.times import check_first, to_microseconds

NEW_YEAR = 1_767_225_600_000_000  # 2026-01-01T00:00:00Z
UTC = TimestampRule(zone="UTC")
BERLIN = TimestampRule(zone="Europe/Berlin")
NOTHING = TimestampRule()


def read(values: list[object], rule: TimestampRule = NOTHING, kind: pa.DataType = None) -> list[int | None]:
    return to_microseconds(pa.array(values, kind), rule).to_pylist()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-01-01T00:00:00Z", NEW_YEAR),
        ("2026-01-01 00:00:00z", NEW_YEAR),
        ("2026-01-01T00:00:00.1Z", NEW_YEAR + 100_000),
        ("2026-01-01T00:00:00.123456Z", NEW_YEAR + 123_456),
        ("2026-01-01T00:00:00.1234567Z", NEW_YEAR + 123_456),
        ("2026-01-01T00:00:00.123456999+00:00", NEW_YEAR + 123_456),
        ("2026-01-01T00:00:00.123456789012345678Z", NEW_YEAR + 123_456),
        ("2026-01-01T02:00:00+02:00", NEW_YEAR),
        ("2026-01-01T02:00:00+0200", NEW_YEAR),
        ("2026-01-01T02:00:00+02", NEW_YEAR),
        ("2025-12-31T18:30:00-05:30", NEW_YEAR),
        ("2025-12-31T18:30:00.5-0530", NEW_YEAR + 500_000),
        (" 2026-01-01T00:00:00Z ", NEW_YEAR),
        ("1969-12-31T23:59:59.9999999Z", None),
        ("1970-01-01T00:00:00Z", 0),
        ("1970-01-01T00:30:00+01:00", None),
        ("1969-12-31T23:30:00-01:00", 1_800_000_000),
        ("2024-02-29T00:00:00Z", 1_709_164_800_000_000),
        ("2199-12-31T23:59:59.999999Z", 7_258_118_399_999_999),
        ("2200-01-01T00:00:00Z", None),
        ("2200-01-01T00:30:00+01:00", 7_258_116_600_000_000),
        ("0001-01-01T00:00:00Z", None),
        ("9999-12-31T23:59:59.999999Z", None),
    ],
)
def test_iso_text(text: str, expected: int | None) -> None:
    assert read([text]) == [expected]


@pytest.mark.parametrize(
    "text",
    [
        "2026-02-30T00:00:00Z",
        "2025-02-29T00:00:00Z",
        "1900-02-29T00:00:00Z",
        "2026-13-01T00:00:00Z",
        "2026-00-01T00:00:00Z",
        "2026-01-00T00:00:00Z",
        "0000-01-01T00:00:00Z",
        "2026-01-01T24:00:00Z",
        "2026-01-01T00:60:00Z",
        "2026-01-01T23:59:60Z",
        "2026-01-01T00:00:00.Z",
        "2026-01-01T00:00:00+2",
        "2026-01-01T00:00:00+24:00",
        "2026-01-01T00:00:00+02:60",
        "2026-01-01T00:00:00+02:0",
        "2026-01-01",
        "2026-01-01T00:00:00ZZ",
        "2026-01-01T00:00:00Z+02:00",
        "2026-01-01T00:00:00+020",
        "26-01-01T00:00:00Z",
        "2026/01/01T00:00:00Z",
        "2026-01-01T00:00:00 UTC",
        "x" * 10_000,
        "٢٠٢٦-01-01T00:00:00Z",
        "2026-01-01T00:00:00",
    ],
)
def test_what_is_no_moment_is_null(text: str) -> None:
    assert read([text, "2026-01-01T00:00:00Z"]) == [None, NEW_YEAR]


def test_mixed_precision_and_offsets_in_one_column() -> None:
    assert read(
        ["2026-01-01T00:00:00Z", None, "", "2026-01-01 01:00:00.5+01:00", "2025-12-31T23:59:59.999999Z"]
    ) == [NEW_YEAR, None, None, NEW_YEAR + 500_000, NEW_YEAR - 1]


def test_more_rows_than_a_slice() -> None:
    texts = [f"2026-01-01T00:00:{i % 60:02d}.{i}Z" for i in range(20_000)]
    expected = [NEW_YEAR + i % 60 * 1_000_000 + int(f"{i}000000"[:6]) for i in range(20_000)]
    assert read(texts) == expected
    assert to_microseconds(pa.array(["x", *texts]).slice(1), TimestampRule()).to_pylist() == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-07-01T02:00:00", 1_782_864_000_000_000),
        ("2026-03-29T01:59:59.999999", 1_774_745_999_999_999),
        ("2026-03-29T02:00:00", None),  # the clock goes from 02:00 to 03:00
        ("2026-03-29T02:59:59.999999", None),
        ("2026-03-29T03:00:00", 1_774_746_000_000_000),
        ("2026-10-25T02:30:00", 1_792_888_200_000_000),  # twice: the first, in summer time
        ("2026-10-25T03:00:00", 1_792_893_600_000_000),
    ],
)
def test_declared_zone_with_daylight_saving(text: str, expected: int | None) -> None:
    assert read([text], BERLIN) == [expected]
    naive = pa.array([datetime.fromisoformat(text)], pa.timestamp("us"))
    assert to_microseconds(naive, BERLIN).to_pylist() == [expected]


def test_a_text_with_an_offset_ignores_the_declared_zone() -> None:
    assert read(["2026-01-01T00:00:00Z", "2026-01-01T01:00:00"], BERLIN) == [NEW_YEAR, NEW_YEAR]


@pytest.mark.parametrize(
    ("unit", "value", "expected"),
    [
        ("s", 1_767_225_600, NEW_YEAR),
        ("ms", 1_767_225_600_001, NEW_YEAR + 1_000),
        ("us", NEW_YEAR + 1, NEW_YEAR + 1),
        ("ns", NEW_YEAR * 1000 + 1999, NEW_YEAR + 1),
        ("ns", 999, 0),
        ("ns", -1, None),
        ("s", 2**62, None),
        ("s", -(2**63), None),
        ("us", 2**63 - 1, None),
        ("us", 7_258_118_399_999_999, 7_258_118_399_999_999),
        ("us", 7_258_118_400_000_000, None),
    ],
)
def test_integers_and_integral_text(unit: str, value: int, expected: int | None) -> None:
    rule = TimestampRule(unit=unit)
    assert read([value], rule) == [expected]
    assert read([str(value)], rule) == [expected]


def test_fractions_are_exact() -> None:
    rule = TimestampRule(unit="s")
    assert read([1.5, 1767225600.123456, float("nan"), float("inf"), 1e300, 1e-7, -1e-7], rule) == [
        1_500_000,
        NEW_YEAR + 123_456,
        None,
        None,
        None,
        0,
        None,
    ]
    assert read(
        ["1.5", "1767225600.1234569", "1.7672256e9", "1e999999999", ".5", "-0.0000001", "1.2.3"], rule
    ) == [1_500_000, NEW_YEAR + 123_456, NEW_YEAR, None, 500_000, None, None]
    # Numbers below zero, which a declared epoch makes possible, are cut towards the past as well.
    early = TimestampRule(unit="s", epoch_us=NEW_YEAR)
    assert read([-1e-7, -1.5], early) == read(["-0.0000001", "-1.5"], early) == [NEW_YEAR - 1, NEW_YEAR - 1_500_000]
    assert read([-1], TimestampRule(unit="ns", epoch_us=NEW_YEAR)) == [NEW_YEAR - 1]
    assert to_microseconds(pa.array(["1767225600.123456"]).cast(pa.decimal128(20, 6)), rule).to_pylist() == [
        NEW_YEAR + 123_456
    ]


def test_epoch_is_added_and_does_not_wrap() -> None:
    rule = TimestampRule(unit="us", epoch_us=NEW_YEAR)
    assert read([0, 3, 2**63 - 1, None], rule) == [NEW_YEAR, NEW_YEAR + 3, None, None]
    assert read([-(2**63)], TimestampRule(unit="us", epoch_us=-1)) == [None]
    assert read([-NEW_YEAR, -NEW_YEAR - 1], rule) == [0, None]
    late = TimestampRule(unit="us", epoch_us=7_258_118_400_000_000)
    assert read(["0", "-1", "x"], late) == [None, 7_258_118_399_999_999, None]
    for far in (2**63 - 1, -(2**63)):
        assert read([NEW_YEAR, 0], TimestampRule(unit="us", epoch_us=far)) == [None, None]


def test_unsigned_numbers_do_not_wrap() -> None:
    assert read([2**64 - 1, 7], TimestampRule(unit="us"), pa.uint64()) == [None, 7]


@pytest.mark.parametrize(("unit", "count"), [("s", 1), ("ms", 1_000), ("us", 10**6), ("ns", 10**9)])
def test_native_timestamps(unit: str, count: int) -> None:
    value = NEW_YEAR // 10**6 * count
    assert to_microseconds(
        pa.array([value, None], pa.timestamp(unit, "America/New_York")), TimestampRule()
    ).to_pylist() == [NEW_YEAR, None]


def test_native_timestamps_too_large_are_null() -> None:
    assert to_microseconds(pa.array([2**62], pa.timestamp("s", "UTC")), TimestampRule()).to_pylist() == [None]


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_native_timestamps_outside_the_years(unit: str) -> None:
    per_s = {"s": 1, "ms": 1_000, "us": 10**6, "ns": 10**9}[unit]
    column = pa.array([-1, 0, 7_258_118_400 * per_s - 1, 7_258_118_400 * per_s, None], pa.timestamp(unit, "UTC"))
    last = (7_258_118_400 * per_s - 1) * 10**6 // per_s
    assert to_microseconds(column, NOTHING).to_pylist() == [None, 0, last, None, None]
    local = column.cast(pa.timestamp(unit))
    assert to_microseconds(local, BERLIN).to_pylist()[:3] == [None, None, last - 3_600_000_000]


@pytest.mark.parametrize("kind", [pa.date32(), pa.date64()])
def test_dates_without_a_time_of_day(kind: pa.DataType) -> None:
    column = pa.array([None, date(2026, 3, 1)], kind)
    for form in (column, column.dictionary_encode(), pa.chunked_array([column])):
        with pytest.raises(InputError, match=r"dates, such as 2026-03-01, .*without a time of day cannot be placed"):
            to_microseconds(form, UTC)
    assert to_microseconds(pa.array([2**30], pa.int32()).view(pa.date32())[:0], UTC).to_pylist() == []
    with pytest.raises(InputError, match="without a time of day"):
        to_microseconds(pa.array([2**31 - 1], pa.int32()).view(pa.date32()), UTC)
    assert to_microseconds(pa.nulls(2, kind), UTC).to_pylist() == [None, None]


def test_other_forms_of_columns() -> None:
    texts = pa.array(["2026-01-01T00:00:00Z", None])
    for column in (
        pa.chunked_array([texts]),
        texts.dictionary_encode(),
        texts.cast(pa.large_string()),
        texts.cast(pa.string_view()),
        texts.cast(pa.binary()),
    ):
        assert to_microseconds(column, TimestampRule()).to_pylist() == [NEW_YEAR, None]
    for column in (pa.nulls(2), pa.array([True, False]), pa.array([{"a": 1}, None]), pa.array([[1], None])):
        assert to_microseconds(column, TimestampRule()).to_pylist() == [None, None]
    assert to_microseconds(pa.array([b"\xff", b"2026-01-01T00:00:00Z"]), UTC).to_pylist() == [None, NEW_YEAR]
    assert to_microseconds(pa.chunked_array([], pa.string()), UTC).to_pylist() == []


@pytest.mark.parametrize("column", [pa.array([5]), pa.array(["5"]), pa.array([1.5])])
def test_numbers_need_a_unit(column: pa.Array) -> None:
    with pytest.raises(InputError, match=r"timestamp\.unit .* in --config"):
        to_microseconds(column, TimestampRule())


def test_one_stray_number_among_texts_is_null() -> None:
    assert read(["2026-01-01T00:00:00Z", "5"]) == [NEW_YEAR, None]


def test_native_timestamps_need_a_zone() -> None:
    with pytest.raises(InputError, match=r"timestamp\.zone in --config"):
        to_microseconds(pa.array([1], pa.timestamp("us")), TimestampRule())


def test_unknown_unit_and_zone() -> None:
    with pytest.raises(UsageError, match=r"'min'.*s, ms, us, ns"):
        read([1], TimestampRule(unit="min"))
    for zone in ("Mars/Olympus", "../../etc/passwd", "", "a\0b"):
        with pytest.raises(UsageError, match=r"timestamp\.zone"):
            read(["2026-01-01T00:00:00"], TimestampRule(zone=zone))


def doubt(values: list[object], rule: TimestampRule) -> None:
    column = pa.array(values)
    check_first(column, to_microseconds(column, rule), rule, "a.csv")


def test_plausibility_names_the_suspicion() -> None:
    with pytest.raises(
        InputError,
        match=r"a\.csv: read as s the first value 1767225600000 is in the year 57,971; "
        r"it looks like ms",
    ):
        doubt([1_767_225_600_000, 1_767_225_600_001, 5], TimestampRule(unit="s"))
    with pytest.raises(InputError, match=r"read as ms .* is in the year 1970; it looks like s"):
        doubt(["1767225600"], TimestampRule(unit="ms"))
    with pytest.raises(InputError, match=r"read as ms the first value 0 .*timestamp\.epoch"):
        doubt([0, 3000], TimestampRule(unit="ms"))
    with pytest.raises(InputError, match="beyond any date"):
        doubt(["9" * 30], TimestampRule(unit="s"))


def test_plausible_or_declared_is_not_doubted() -> None:
    doubt([1_767_225_600, 5, 1_767_225_601], TimestampRule(unit="s"))
    doubt([0, 3000], TimestampRule(unit="ms", epoch_us=NEW_YEAR))
    doubt(["1890-01-01T00:00:00Z"], TimestampRule())
    doubt([None], TimestampRule(unit="s"))


def test_texts_without_offset_and_zone_are_told_apart() -> None:
    with pytest.raises(InputError, match=r"a\.csv: .*'2026-01-01 00:00:00'.*timestamp\.zone"):
        doubt(["2026-01-01 00:00:00"], TimestampRule())
    doubt(["2026-01-01 00:00:00", "2026-01-01 00:00:00Z"], TimestampRule())
