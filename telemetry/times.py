"""Timestamps of any form as integer microseconds UTC, exactly: no floating point, no guess."""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import lru_cache
from typing import Final
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from telemetry.adapter import TimestampRule
from telemetry.errors import InputError, UsageError, quoted, shorten
from telemetry.readers_decimal import Ints, scaled, scaled_integers
from telemetry.readers_iso import parse_iso
from telemetry.readers_text import Mask, as_array, as_text, null_where, raw_value, valid_mask
from telemetry.schema import TIME_FROM_US, TIME_TO_US

__all__ = ["UNITS", "check_first", "to_microseconds"]

#: Power of ten from a unit to microseconds.
UNITS: Final = {"s": 6, "ms": 3, "us": 0, "ns": -3}

_HOUR: Final = 3_600_000_000
_YEAR_S: Final = 31_556_952  # mean Gregorian year
_FROM: Final = 946_684_800_000_000  # 2000-01-01
_TO: Final = 4_102_444_800_000_000  # 2100-01-01
_EPOCH: Final = datetime(1970, 1, 1)
_MAX: Final = 2**63 - 1


def to_microseconds(column: pa.Array | pa.ChunkedArray, rule: TimestampRule) -> pa.Array:
    """A column of timestamps as microseconds UTC since 1970.

    Read are ISO-8601 texts (date, `T` or a blank, time with 0 or more fractional digits, cut
    to microseconds towards the past; `Z`, `+02:00`, `+0200`, `+02`, or none when `rule.zone` is
    declared), Arrow timestamps of any unit, and numbers of the declared `rule.unit` (integers,
    decimals, floats by their shortest decimal text, or text), to which `rule.epoch_us` is added.
    In a declared zone a time that occurs twice is its first occurrence.

    Returns
    -------
    pa.Int64Array
        Null where a value is no such timestamp, does not exist (2026-02-30, 24:00, a leap
        second, an hour that the zone skips), lacks an offset that nothing declares, or lies
        outside TIME_FROM_US to TIME_TO_US.

    Raises
    ------
    InputError
        When the column holds numbers and no unit is declared, Arrow timestamps without a zone and
        no zone is declared, or Arrow dates.
    UsageError
        When the declared unit or zone is unknown.
    """
    if rule.unit is not None and rule.unit not in UNITS:
        raise UsageError(f"unknown timestamp.unit {quoted(rule.unit)}. Known units: {', '.join(UNITS)}.")
    return _within_years(_instants(as_array(column), rule))


def _instants(column: pa.Array, rule: TimestampRule) -> pa.Array:
    """What `to_microseconds` returns, of any year that fits int64."""
    kind = column.type
    if pa.types.is_timestamp(kind):
        instants = scaled_integers(column.cast(pa.int64()), UNITS[kind.unit], "floor")
        return instants if kind.tz else _native_local(instants, rule)
    if column.null_count == len(column) or pa.types.is_boolean(kind) or pa.types.is_time(kind):
        return pa.nulls(len(column), pa.int64())
    if pa.types.is_date(kind):
        raise InputError(f"timestamps are dates, such as {shorten(raw_value(column.drop_null(), 0))}, and a date "
                         "without a time of day cannot be placed in time. Export the time of each call.")
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return _numbers(column, rule)
    return _texts(as_text(column)[0], rule)


def _within_years(instants: pa.Array) -> pa.Array:
    """The instants, null where outside TIME_FROM_US to TIME_TO_US."""
    bounds = pc.min_max(instants).as_py()
    if bounds["min"] is None or (bounds["min"] >= TIME_FROM_US and bounds["max"] < TIME_TO_US):
        return instants
    moment = instants.fill_null(-1).to_numpy()
    return pa.array(moment, mask=(moment < TIME_FROM_US) | (moment >= TIME_TO_US))


def check_first(column: pa.Array, instants: pa.Array, rule: TimestampRule, where: str) -> None:
    """Doubt a file by its first batch, before numbers come out of it.

    Raises
    ------
    InputError
        When no timestamp could be read and texts lack an offset that no zone declares; when
        most numbers, read in the declared unit, fall outside the years 2000 to 2100. A declared
        `epoch_us` switches the second off.
    """
    column = as_array(column)
    if pa.types.is_timestamp(column.type):
        return
    text = as_text(column)[0]
    if rule.zone is None and instants.null_count == len(instants):
        local = parse_iso(text)
        naive = np.flatnonzero(local.ok & ~local.has_offset)
        if len(naive):
            raise InputError(
                f"{where}: timestamps without an offset, such as {quoted(text[int(naive[0])].as_py())}. "
                'Declare the zone that they are in with timestamp.zone in --config, such as zone = "UTC".')
    if rule.unit is None or rule.epoch_us is not None:
        return
    raw = scaled(text, 0, "floor")
    # A number too large even for int64 is as implausible as one in a far year.
    number = np.asarray(pc.match_substring_regex(text, r"^\s*[+-]?[0-9.]+\s*$").fill_null(False)
                        .to_numpy(zero_copy_only=False), dtype=np.bool_) | valid_mask(raw)
    moment = instants.fill_null(_MAX).to_numpy()
    outside = number & ((moment < _FROM) | (moment >= _TO))
    if 2 * outside.sum() > number.sum():
        raise InputError(f"{where}: {_suspicion(raw, int(np.flatnonzero(outside)[0]), rule.unit, text)}")


def _suspicion(raw: pa.Array, index: int, unit: str, text: pa.Array) -> str:
    """What is odd about numbers read in `unit`, and which unit would not be."""
    value = raw[index].as_py()
    shown = shorten(text[index].as_py())
    if value is None:
        return (f"read as {unit} the first value {shown} is beyond any date. "
                "Declare another timestamp.unit in --config.")
    read = {other: value * 10 ** (power + 3) // 1000 for other, power in UNITS.items()}
    year = 1970 + read[unit] // (1_000_000 * _YEAR_S)
    shown_year = year if abs(year) < 10_000 else f'{year:,}'
    fits = [other for other, moment in read.items() if _FROM <= moment < _TO]
    hint = (f"it looks like {fits[0]}: declare timestamp.unit = \"{fits[0]}\" in --config" if fits
            else "no unit puts it between 2000 and 2100: if the numbers do not count from 1970, declare "
                 "in --config the moment that they count from (timestamp.epoch)")
    return f"read as {unit} the first value {shown} is in the year {shown_year}; {hint}."


def _numbers(column: pa.Array, rule: TimestampRule) -> pa.Array:
    """Integers, floats and decimals."""
    if rule.unit is None:
        first = column.drop_null()[0].as_py()
        raise InputError(f"timestamps are numbers, such as {first}, and their unit is not declared. "
                         "Declare timestamp.unit (s, ms, us or ns) in --config.")
    power = UNITS[rule.unit]
    if pa.types.is_integer(column.type):
        return _from_epoch(scaled_integers(column, power, "floor"), rule)
    return _from_epoch(scaled(as_text(column)[0], power, "floor"), rule)


def _from_epoch(instants: pa.Array, rule: TimestampRule) -> pa.Array:
    """Adds the declared epoch; null where the sum leaves int64."""
    epoch = rule.epoch_us or 0
    if epoch == 0:
        return instants
    values = instants.fill_null(0).to_numpy()
    fits = values <= _MAX - epoch if epoch > 0 else values >= -_MAX - 1 - epoch
    return pa.array(np.where(fits, values, 0) + epoch, mask=~(fits & valid_mask(instants)))


def _texts(text: pa.Array, rule: TimestampRule) -> pa.Array:
    """ISO-8601 texts, and numbers in text."""
    text = pc.ascii_trim_whitespace(text)
    local = parse_iso(text)
    moment, ok = local.moment - local.offset, local.ok.copy()
    naive = np.flatnonzero(local.ok & ~local.has_offset)
    if len(naive):
        if rule.zone is None:
            ok[naive] = False
        else:
            moment[naive], ok[naive] = _to_utc(local.moment[naive], _zone(rule.zone))
    rest = valid_mask(text) & ~local.ok
    if not rest.any():
        return pa.array(moment, mask=~ok)
    others = null_where(text, ~rest)
    if rule.unit is not None:
        numbers = _from_epoch(scaled(others, UNITS[rule.unit], "floor"), rule)
        return pc.if_else(pa.array(ok), pa.array(moment), numbers)
    # One stray number among texts is a bad row; a column of numbers is an undeclared unit.
    if not local.ok.any():
        numbers = scaled(others, 0, "floor").drop_null()
        if len(numbers):
            _numbers(numbers, rule)
    return pa.array(moment, mask=~ok)


def _native_local(instants: pa.Array, rule: TimestampRule) -> pa.Array:
    """Arrow timestamps without a zone."""
    if rule.zone is None:
        if instants.null_count == len(instants):
            return instants
        raise InputError("timestamps have no zone, and none is declared. "
                         'Declare timestamp.zone in --config, such as zone = "UTC".')
    moment, ok = _to_utc(instants.fill_null(0).to_numpy(), _zone(rule.zone))
    return pa.array(moment, mask=~(ok & valid_mask(instants)))


@lru_cache(maxsize=64)
def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        raise UsageError(f"unknown timestamp.zone {quoted(name)}. Give an IANA name, such as "
                         "UTC or Europe/Berlin.") from None


def _to_utc(local: Ints, zone: ZoneInfo) -> tuple[Ints, Mask]:
    """Local microseconds as UTC, and where that moment exists.

    Offsets are looked up once an hour; only the hours around a change go value by value.
    """
    hours, place = np.unique(local // _HOUR, return_inverse=True)
    offsets = np.zeros(len(hours), dtype=np.int64)
    steady = np.zeros(len(hours), dtype=np.bool_)
    for index, hour in enumerate(hours.tolist()):
        offset = _steady_offset(zone, hour)
        if offset is not None:
            offsets[index], steady[index] = offset, True
    moment = local - offsets[place]
    ok = steady[place]
    for row in np.flatnonzero(~ok):
        exact = _one_to_utc(int(local[row]), zone)
        if exact is not None:
            moment[row], ok[row] = exact, True
    return moment, ok


@lru_cache(maxsize=1 << 17)
def _steady_offset(zone: ZoneInfo, hour: int) -> int | None:
    """The zone's offset, in microseconds, throughout one local hour; None where it changes."""
    try:
        start = _EPOCH + timedelta(hours=hour)
        ends = (start, start + timedelta(microseconds=_HOUR - 1))
        offsets = {zone.utcoffset(end.replace(fold=fold)) for end in ends for fold in (0, 1)}
    except (OverflowError, ValueError):
        return None
    offset = offsets.pop()
    return None if offsets or offset is None else offset // timedelta(microseconds=1)


def _one_to_utc(local: int, zone: ZoneInfo) -> int | None:
    """One local time as UTC: the first of two occurrences, None where it does not exist."""
    try:
        wall = _EPOCH + timedelta(microseconds=local)
        offset = zone.utcoffset(wall)
        if offset is None:
            return None
        back = zone.fromutc((wall - offset).replace(tzinfo=zone))
        if back.replace(tzinfo=None, fold=0) != wall:  # the zone's clock never showed it
            return None
    except (OverflowError, ValueError):
        return None
    return local - offset // timedelta(microseconds=1)
