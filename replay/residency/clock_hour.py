"""A clock hour as a stream: `hour:2026-01-31T13`, in the zone of the report."""

from __future__ import annotations

import re
from datetime import UTC, datetime

from metrics.core.clock import Clock, from_us, to_us
from telemetry.errors import UsageError, quoted
from telemetry.schema import TIME_FROM_US, TIME_TO_US

__all__ = ["HOUR", "check_hour", "hour_start"]

HOUR = "hour:"
_WRITTEN = re.compile(r"hour:[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}")


def check_hour(text: str, clock: Clock) -> str:
    """The stream of a clock hour.

    Raises
    ------
    UsageError
        For what is no hour, and for one that the zone's clocks skip.
    """
    if not _WRITTEN.fullmatch(text):
        raise UsageError(f"--stream {quoted(text)}: write a clock hour as hour:2026-01-31T13.")
    hour_start(text, clock)
    return text


def hour_start(text: str, clock: Clock) -> int:
    """When the hour starts, in microseconds UTC; of an hour that the clocks repeat, the first.

    Raises
    ------
    UsageError
        As `check_hour`.
    """
    try:
        wall = datetime.strptime(text.removeprefix(HOUR), "%Y-%m-%dT%H")
        start = to_us(wall.replace(tzinfo=clock.zone).astimezone(UTC))
    except (ValueError, OverflowError):
        start = -1
    if not TIME_FROM_US <= start <= TIME_TO_US:
        raise UsageError(f"--stream {quoted(text)} is no hour of 1970 to 2200.")
    if from_us(start).astimezone(clock.zone).replace(tzinfo=None) != wall:
        raise UsageError(f"--stream {quoted(text)}: the clocks of {clock.zone.key} skip that hour.")
    return start
