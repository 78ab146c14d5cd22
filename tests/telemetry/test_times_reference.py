"""Timestamps against a slow reference: `datetime` and `Fraction`, one value at a time."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from zoneinfo import ZoneInfo

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from telemetry.adapter import TimestampRule
from telemetry.readers_decimal import scaled
from telemetry.times import to_microseconds


def within(micro: int | None) -> int | None:
    """A moment of the years that a call can be in."""
    return micro if micro is not None and 0 <= micro < 7_258_118_400_000_000 else None


def read(values: list[object], rule: TimestampRule) -> list[int | None]:
    return to_microseconds(pa.array(values), rule).to_pylist()


def reference(text: str, zone: str | None) -> int | None:
    match = re.fullmatch(
        r"(\d{4}-\d\d-\d\d)[Tt ](\d\d:\d\d:\d\d)(?:[.,](\d+))?([Zz]|[+-]\d\d(?::?\d\d)?)?",
        text.strip(),
        re.ASCII,
    )
    if match is None:
        return None
    try:
        wall = datetime.fromisoformat(f"{match[1]}T{match[2]}")
    except ValueError:
        return None
    micro = timedelta(microseconds=int((match[3] or "").ljust(6, "0")[:6]))
    since = (wall - datetime(1970, 1, 1) + micro) // timedelta(microseconds=1)
    if match[4] is None:
        if zone is None:
            return None
        aware = (wall + micro).replace(tzinfo=ZoneInfo(zone))
        if aware.astimezone(UTC).astimezone(ZoneInfo(zone)).replace(tzinfo=None) != wall + micro:
            return None
        return since - aware.utcoffset() // timedelta(microseconds=1)
    if match[4] in "Zz":
        return since
    digits = match[4][1:].replace(":", "").ljust(4, "0")
    if int(digits[:2]) > 23 or int(digits[2:]) > 59:
        return None
    minutes = int(digits[:2]) * 60 + int(digits[2:])
    return since - (minutes if match[4][0] == "+" else -minutes) * 60_000_000


ISO = st.builds(
    lambda day, sep, time, fraction, suffix: f"{day}{sep}{time}{fraction}{suffix}",
    st.one_of(
        st.dates().map(str), st.from_regex(r"(19|20)\d\d-[01]\d-[0-3]\d", fullmatch=True).filter(str.isascii)
    ),
    st.sampled_from("TTTt  _"),
    st.one_of(
        st.times().map(lambda t: t.strftime("%H:%M:%S")), st.sampled_from(["24:00:00", "00:00:60", "1:00:00"])
    ),
    st.one_of(st.just(""), st.integers(0, 10**10).map(lambda n: f".{n}"), st.just("."), st.just(".0000009")),
    st.sampled_from(
        ["Z", "z", "", "+02:00", "-0330", "+14", "+24:00", "-00:00", "+2", "Z ", "+5:00", "+12:34:56"]
    ),
)


@given(
    st.lists(st.one_of(ISO, ISO, ISO, st.text(max_size=40)), max_size=30),
    st.sampled_from(
        [None, "UTC", "Europe/Berlin", "America/New_York", "Asia/Kathmandu", "Australia/Lord_Howe"]
    ),
)
def test_texts_agree_with_datetime(texts: list[str], zone: str | None) -> None:
    texts = [text.replace("\x00", "") for text in texts] + ["2026-01-01T00:00:00Z"]
    expected = []
    for text in texts:
        try:
            expected.append(within(reference(text, zone)))
        except OverflowError:
            expected.append(None)
    got = to_microseconds(pa.array(texts), TimestampRule(zone=zone)).to_pylist()
    assert got == expected


@given(
    st.lists(st.datetimes(datetime(2020, 1, 1), datetime(2030, 1, 1)), max_size=20),
    st.sampled_from(["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Africa/Casablanca"]),
)
def test_local_times_agree_with_zoneinfo(walls: list[datetime], zone: str) -> None:
    texts = [str(wall) for wall in walls]
    assert read([*texts, "x"], TimestampRule(zone=zone)) == [*(reference(text, zone) for text in texts), None]


@given(
    st.lists(st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**14), max_value=10**14)),
    st.sampled_from([("s", 6), ("ms", 3), ("us", 0), ("ns", -3)]),
)
def test_numbers_agree_with_fractions(numbers: list[object], unit: tuple[str, int]) -> None:
    def exact(value: Fraction) -> int | None:
        micro = value * 10 ** unit[1] // 1 if unit[1] >= 0 else value // 10 ** -unit[1]
        return micro if -(2**63) < micro < 2**63 else None

    texts, expected = [*map(str, numbers), None], [*(exact(Fraction(number)) for number in numbers), None]
    assert scaled(pa.array(texts, pa.string()), unit[1], "floor").to_pylist() == expected
    assert read(texts, TimestampRule(unit=unit[0])) == [within(micro) for micro in expected]


@given(st.lists(st.one_of(st.floats(-1e12, 1e12), st.floats(0, 7e9))))
def test_floats_stand_for_their_shortest_text(values: list[float]) -> None:
    expected = [within(Fraction(repr(value)) * 10**6 // 1) for value in values]
    assert to_microseconds(pa.array(values, pa.float64()), TimestampRule(unit="s")).to_pylist() == expected
