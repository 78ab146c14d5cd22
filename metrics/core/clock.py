"""Clock-aligned bins and windows: which hour, which day, in which zone."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from telemetry.errors import UsageError, shorten
from telemetry.schema import TIME_FROM_US, TIME_TO_US

__all__ = ["DAY_US", "HOUR_US", "MINUTE_US", "Clock", "Window", "find_zone", "iso", "parse_duration",
           "parse_window"]

MINUTE_US = 60_000_000
HOUR_US = 60 * MINUTE_US
DAY_US = 24 * HOUR_US
LONGEST_US = 3660 * DAY_US
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_UNITS_US = {"s": 1_000_000, "m": MINUTE_US, "h": HOUR_US, "d": DAY_US}


@dataclass(frozen=True)
class Window:
    """A half-open range of time [start_us, end_us); None is an open end.

    `name` is ours (a date, or `all`), so it can be a folder.
    """

    name: str
    start_us: int | None = None
    end_us: int | None = None

    @property
    def bounded(self) -> bool:
        return self.start_us is not None or self.end_us is not None

    def condition(self, column: str = "t_us") -> str:
        """SQL for "inside the window"."""
        parts = []
        if self.start_us is not None:
            parts.append(f"{column} >= {self.start_us}")
        if self.end_us is not None:
            parts.append(f"{column} < {self.end_us}")
        return " and ".join(parts) or "true"


def find_zone(name: str) -> ZoneInfo:
    """A time zone by its IANA name."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise UsageError(f"unknown time zone {shorten(name)!r}. Use an IANA name such as UTC or "
                         "Europe/Berlin.") from None


def to_us(moment: datetime) -> int:
    """Microseconds since 1970 of an aware datetime, exactly."""
    delta = moment - _EPOCH
    return (delta.days * 86_400 + delta.seconds) * 1_000_000 + delta.microseconds


def from_us(t_us: int) -> datetime:
    """The UTC datetime of microseconds since 1970."""
    return _EPOCH + timedelta(microseconds=t_us)


def iso(t_us: int, zone: ZoneInfo | None = None) -> str:
    """ISO-8601 text, to the second where that is exact."""
    moment = from_us(t_us).astimezone(zone or UTC)
    return moment.isoformat(timespec="auto").replace("+00:00", "Z")


@dataclass(frozen=True)
class Clock:
    """Hours and days of a zone.

    Hours are aligned to the zone's offset at the start of the window; a later change by whole
    hours keeps the alignment. Days follow the zone's calendar exactly.
    """

    zone: ZoneInfo

    def offset_us(self, t_us: int) -> int:
        """What is added to UTC microseconds to read the zone's wall clock at that time."""
        offset = from_us(t_us).astimezone(self.zone).utcoffset() or timedelta()
        return offset // timedelta(microseconds=1)

    def shift_us(self, t_us: int) -> int:
        """The same, and a whole number of days more, so that no wall clock in a query is below 0.

        Integer division in SQL rounds towards 0.
        """
        return self.offset_us(t_us) + DAY_US

    def day_edges(self, first_us: int, last_us: int) -> list[tuple[str, int, int]]:
        """(date, start_us, end_us) of each calendar day that the closed range touches."""
        day = from_us(first_us).astimezone(self.zone).date()
        edges = []
        while True:
            start, end = self._midnight(day), self._midnight(day + timedelta(days=1))
            edges.append((day.isoformat(), start, end))
            if end > last_us:
                return edges
            day += timedelta(days=1)

    def split(self, first_us: int, last_us: int, step_us: int) -> list[Window]:
        """Windows of `step_us` that cover the closed range; whole days follow the calendar."""
        if step_us % DAY_US == 0:
            days, width = self.day_edges(first_us, last_us), step_us // DAY_US
            groups = [days[i:i + width] for i in range(0, len(days), width)]
            return [Window(group[0][0], group[0][1], self._midnight(
                date.fromisoformat(group[0][0]) + timedelta(days=width))) for group in groups]
        offset = self.offset_us(first_us)
        start = (first_us + offset) // step_us * step_us - offset
        windows = []
        while start <= last_us:
            name = from_us(start).astimezone(self.zone).strftime("%Y-%m-%dT%H%M%S%z")
            windows.append(Window(name, start, start + step_us))
            start += step_us
        return windows

    def _midnight(self, day: date) -> int:
        return to_us(datetime(day.year, day.month, day.day, tzinfo=self.zone).astimezone(UTC))


def parse_duration(text: str) -> int:
    """Microseconds of `90s`, `15m`, `6h`, `1d`."""
    match = re.fullmatch(r"([1-9][0-9]{0,8})([smhd])", text)
    if match is None:
        raise UsageError(f"{shorten(text)!r} is no duration. Write a whole number and s, m, h or d, such as 1d.")
    duration = int(match[1]) * _UNITS_US[match[2]]
    if duration > LONGEST_US:
        raise UsageError(f"the duration {shorten(text)!r} is longer than ten years.")
    return duration


def parse_window(text: str, zone: ZoneInfo) -> Window:
    """START/END, each ISO-8601; a date or a time without an offset is read in `zone`."""
    parts = text.split("/")
    if len(parts) != 2:
        raise UsageError(f"{shorten(text)!r} is no window. Write START/END, such as 2026-01-01/2026-01-02.")
    start, end = (_moment(part, zone) for part in parts)
    if start >= end:
        ends = "where it starts, and its end is not included" if start == end else "before it starts"
        raise UsageError(f"the window {shorten(text)!r} ends {ends}.")
    return Window("window", start, end)


def _moment(text: str, zone: ZoneInfo) -> int:
    try:
        moment = datetime.fromisoformat(text.strip())
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=zone)
        t_us = to_us(moment.astimezone(UTC))
    except (ValueError, OverflowError):
        raise UsageError(f"{shorten(text)!r} is no time. Write ISO-8601, such as 2026-01-01 or "
                         "2026-01-01T08:00:00Z.") from None
    if not TIME_FROM_US <= t_us <= TIME_TO_US:
        raise UsageError(f"the time {shorten(text)!r} lies outside 1970 to 2200.")
    return t_us
