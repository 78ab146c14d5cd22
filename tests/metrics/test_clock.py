"""Days, hours and windows, in UTC and in zones with summer time."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from metrics.core.clock import DAY_US, HOUR_US, Clock, Window, find_zone, iso, parse_duration, parse_window
from telemetry.errors import UsageError


def us(text: str) -> int:
    return round(datetime.fromisoformat(text).astimezone(UTC).timestamp()) * 1_000_000


def clock(zone: str) -> Clock:
    return Clock(find_zone(zone))


def test_days_of_summer_time() -> None:
    # In Berlin 2026-03-29 has 23 hours and 2026-10-25 has 25.
    berlin = clock("Europe/Berlin")
    spring = berlin.day_edges(us("2026-03-29T10:00Z"), us("2026-03-30T10:00Z"))
    assert spring == [("2026-03-29", us("2026-03-28T23:00Z"), us("2026-03-29T22:00Z")),
                      ("2026-03-30", us("2026-03-29T22:00Z"), us("2026-03-30T22:00Z"))]
    (_, start, end), = berlin.day_edges(us("2026-10-25T00:00Z"), us("2026-10-25T00:00Z"))
    assert (end - start) // HOUR_US == 25


def test_a_day_is_half_open() -> None:
    utc = clock("UTC")
    assert [day for day, _, _ in utc.day_edges(us("2026-01-01T00:00Z"), us("2026-01-02T00:00Z"))] == [
        "2026-01-01", "2026-01-02"]
    assert [day for day, _, _ in utc.day_edges(us("2026-01-01T00:00Z"), us("2026-01-02T00:00Z") - 1)] == ["2026-01-01"]


def test_a_midnight_that_does_not_exist() -> None:
    # Beirut 2026-03-29: clocks went from 0:00 to 1:00; the day begins with its first instant, 22:00Z.
    (day, start, end), = clock("Asia/Beirut").day_edges(us("2026-03-29T12:00Z"), us("2026-03-29T12:00Z"))
    assert (day, start, (end - start) // HOUR_US) == ("2026-03-29", us("2026-03-28T22:00Z"), 23)


def test_splits_into_days_follow_the_calendar() -> None:
    windows = clock("Europe/Berlin").split(us("2026-03-28T12:00Z"), us("2026-03-30T12:00Z"), DAY_US)
    assert [(w.name, w.end_us - w.start_us) for w in windows] == [
        ("2026-03-28", DAY_US), ("2026-03-29", 23 * HOUR_US), ("2026-03-30", DAY_US)]
    assert [w.end_us for w in windows[:-1]] == [w.start_us for w in windows[1:]]
    two = clock("UTC").split(us("2026-01-01T12:00Z"), us("2026-01-03T00:00Z"), 2 * DAY_US)
    assert two == [Window("2026-01-01", us("2026-01-01T00:00Z"), us("2026-01-03T00:00Z")),
                   Window("2026-01-03", us("2026-01-03T00:00Z"), us("2026-01-05T00:00Z"))]


def test_splits_into_hours_follow_the_zone() -> None:
    windows = clock("Asia/Kolkata").split(us("2026-01-01T00:00Z"), us("2026-01-01T12:30Z"), 6 * HOUR_US)
    # 0:00Z is 5:30 there, so the first window is 0:00 to 6:00 there; 12:30Z, 18:00 there, begins another.
    assert [(w.name, w.start_us) for w in windows] == [
        ("2026-01-01T000000+0530", us("2025-12-31T18:30Z")), ("2026-01-01T060000+0530", us("2026-01-01T00:30Z")),
        ("2026-01-01T120000+0530", us("2026-01-01T06:30Z")), ("2026-01-01T180000+0530", us("2026-01-01T12:30Z"))]


def test_windows_have_names_of_their_own() -> None:
    windows = clock("Europe/Berlin").split(us("2026-10-24T23:00Z"), us("2026-10-25T03:00Z"), HOUR_US)
    assert len({w.name for w in windows}) == len(windows)


def test_iso() -> None:
    assert iso(0) == "1970-01-01T00:00:00Z"
    assert iso(1_767_225_600_000_001) == "2026-01-01T00:00:00.000001Z"
    assert iso(us("2026-07-01T00:00Z"), find_zone("Europe/Berlin")) == "2026-07-01T02:00:00+02:00"


@pytest.mark.parametrize(("text", "seconds"), [("90s", 90), ("15m", 900), ("6h", 21_600), ("1d", 86_400)])
def test_durations(text: str, seconds: int) -> None:
    assert parse_duration(text) == seconds * 1_000_000


@pytest.mark.parametrize("text", ["", "0s", "1", "1w", "-1h", "1.5h", "1 h", "1h\n", "٣h"])
def test_what_is_no_duration(text: str) -> None:
    with pytest.raises(UsageError, match="no duration"):
        parse_duration(text)


def test_windows() -> None:
    berlin = find_zone("Europe/Berlin")
    assert parse_window("2026-07-01/2026-07-02", berlin) == Window(
        "window", us("2026-06-30T22:00Z"), us("2026-07-01T22:00Z"))
    assert parse_window("2026-07-01T00:00:00Z/2026-07-01T02:00:00+01:00", berlin) == Window(
        "window", us("2026-07-01T00:00Z"), us("2026-07-01T01:00Z"))
    assert Window("w", 5, 9).condition() == "t_us >= 5 and t_us < 9"
    assert (Window("all").condition(), Window("all").bounded) == ("true", False)


@pytest.mark.parametrize(("text", "message"), [
    ("2026-01-01", "no window"), ("a/b", "no time"), ("2026-01-02/2026-01-02", "ends where it starts"),
    ("2026-01-03/2026-01-02", "ends before it starts"), ("1/2/3", "no window"),
])
def test_what_is_no_window(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        parse_window(text, find_zone("UTC"))


@pytest.mark.parametrize("name", ["Nowhere/Here", "../UTC", "", "a\0b", "Europe"])
def test_unknown_zones(name: str) -> None:
    with pytest.raises(UsageError, match="unknown time zone"):
        find_zone(name)
