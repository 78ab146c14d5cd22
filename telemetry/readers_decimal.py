"""Decimal text and integers scaled by a power of ten, exactly: no floating point."""

from __future__ import annotations

import re
from typing import Final, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from telemetry.readers_text import Mask, valid_mask

__all__ = ["Ints", "Rounding", "scaled", "scaled_integers"]

Ints = npt.NDArray[np.int64]
Rounding = Literal["floor", "half_even", "exact"]

_MAX: Final = 2**63 - 1
_PLAIN: Final = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)$"
_NUMBER: Final = re.compile(r"([+-]?)([0-9]*)\.?([0-9]*)(?:[eE]([+-]?[0-9]{1,9}))?")
_LONGEST: Final = 400  # characters; a number beyond it is not a measurement
_POWERS: Final = np.array([10**k for k in range(19)], dtype=np.int64)


def scaled(text: pa.Array, power: int, rounding: Rounding) -> pa.Array:
    """`text * 10**power` as an int64.

    Parameters
    ----------
    text : pa.StringArray
        Numbers such as `12`, `-3.250`, `.5`, `1.5e3`; blanks around them are ignored.
    power : int
        -3 to 6.
    rounding : {"floor", "half_even", "exact"}
        What becomes of a remainder; under "exact" it makes the value null.

    Returns
    -------
    pa.Int64Array
        Null where the text is null, not a number, or outside int64.
    """
    text = pc.ascii_trim_whitespace(text)
    length = pc.binary_length(text)
    if power == 0 and _all(pc.and_(pc.ascii_is_decimal(text), pc.less_equal(length, 18))):
        return text.cast(pa.int64())
    values, ok, rest = _short(text, length, power, rounding)
    for index in np.flatnonzero(rest):
        exact = _long(text[int(index)].as_py(), power, rounding)
        if exact is not None:
            values[index], ok[index] = exact, True
    return pa.array(values, mask=~ok)


def scaled_integers(column: pa.Array, power: int, rounding: Rounding) -> pa.Array:
    """`column * 10**power` for a column of any integer type; null outside int64."""
    ok = valid_mask(column)
    if pa.types.is_uint64(column.type):
        wide = column.fill_null(0).to_numpy()
        ok &= wide <= np.uint64(_MAX)
        mantissa = np.where(ok, wide, 0).astype(np.int64)
    elif power == 0:
        return column.cast(pa.int64())
    else:
        mantissa = column.cast(pa.int64()).fill_null(0).to_numpy()
    values, fits = _shift(mantissa, np.full(len(column), power, dtype=np.int64), rounding)
    return pa.array(values, mask=~(ok & fits))


def _all(mask: pa.BooleanArray) -> bool:
    """True when no value is false; nulls do not count."""
    return pc.min(mask).as_py() is not False


def _short(text: pa.Array, length: pa.Array, power: int, rounding: Rounding) -> tuple[Ints, Mask, Mask]:
    """Numbers whose digits fit int64. Returns values, where they hold, and what is left to `_long`."""
    present = valid_mask(text)
    plain = pc.match_substring_regex(text, _PLAIN).fill_null(False)
    # The digits without sign and point are an integer; the place of the point is an exponent.
    digits = pc.replace_substring(pc.ascii_ltrim(text, "+-"), ".", "")
    count = pc.binary_length(digits).fill_null(0).to_numpy()
    short = np.asarray(plain.to_numpy(zero_copy_only=False), dtype=np.bool_) & (count <= 19)
    wide = pc.if_else(pa.array(short), digits, "0").cast(pa.uint64()).to_numpy()
    point = pc.find_substring(text, ".").fill_null(-1).to_numpy().astype(np.int64)
    after = np.where(point < 0, 0, length.fill_null(0).to_numpy() - point - 1)
    shift = power - after
    short &= (wide <= np.uint64(_MAX)) & (shift >= -18) & (shift <= 18)
    mantissa = np.where(short, wide, 0).astype(np.int64)
    negative = pc.starts_with(text, "-").fill_null(False).to_numpy(zero_copy_only=False)
    values, fits = _shift(np.where(negative, -mantissa, mantissa), np.where(short, shift, 0), rounding)
    return values, short & fits, present & ~short


def _shift(mantissa: Ints, shift: Ints, rounding: Rounding) -> tuple[Ints, Mask]:
    """`mantissa * 10**shift`, and where the result holds; shift is -18 to 18."""
    factor = _POWERS[np.maximum(shift, 0)]
    divisor = _POWERS[np.maximum(-shift, 0)]
    limit = _MAX // factor
    fits = (mantissa <= limit) & (mantissa >= -limit)
    up = np.where(fits, mantissa, 0) * factor
    quotient, remainder = np.divmod(up, divisor)
    if rounding == "exact":
        fits &= remainder == 0
    elif rounding == "half_even":
        twice = 2 * remainder  # below 2 * 10^18
        quotient += (twice > divisor) | ((twice == divisor) & (quotient & 1 == 1))
    return quotient, fits


def _long(text: str, power: int, rounding: Rounding) -> int | None:
    """One number with an exponent or many digits, in Python integers."""
    match = _NUMBER.fullmatch(text) if len(text) <= _LONGEST else None
    if match is None or not (match[2] or match[3]):
        return None
    mantissa = int(match[2] + match[3])
    shift = power - len(match[3]) + int(match[4] or 0)
    mantissa = -mantissa if match[1] == "-" else mantissa
    if shift > 0 and mantissa:
        if shift > 19:
            return None
        mantissa *= 10**shift
    elif shift < 0:
        # Beyond all digits only the sign of the remainder matters; the cut keeps it.
        divisor = 10 ** min(-shift, _LONGEST + 1)
        mantissa, remainder = divmod(mantissa, divisor)
        if remainder and rounding == "exact":
            return None
        if rounding == "half_even" and 2 * remainder + (mantissa & 1) > divisor:
            mantissa += 1
    return mantissa if -_MAX - 1 <= mantissa <= _MAX else None
