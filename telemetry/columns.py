"""Columns of an export, of any Arrow type, as columns of the canonical call.

Each function takes a column as it came and returns the canonical column with a mask of the
rows that held something which does not parse; there the result is null.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from telemetry.readers_decimal import scaled, scaled_integers
from telemetry.readers_prefix import prefix_keys
from telemetry.readers_text import Mask, as_array, as_text, null_where, valid_mask
from telemetry.schema import MAX_DURATION_S, MAX_TOKENS

__all__ = ["SUCCESS", "block_size", "booleans", "durations", "failures", "labels", "prefix_keys", "texts", "tokens"]

_TRUE: Final = pa.array(["true", "1", "yes"])
_FALSE: Final = pa.array(["false", "0", "no"])

#: What `status` says of a call that did not fail, in lower case; HTTP 200 to 299 too. Any other
#: word is a failure: an unknown word must not pass for success.
SUCCESS: Final = ("ok", "success", "succeeded", "successful", "complete", "completed", "true", "0", "unset",
                  *map(str, range(200, 300)))


def texts(column: pa.Array | pa.ChunkedArray) -> tuple[pa.Array, Mask]:
    """Text as it stands, however hostile; the empty text is null."""
    return as_text(column)


def labels(column: pa.Array | pa.ChunkedArray) -> tuple[pa.Array, Mask]:
    """Text that repeats, as a dictionary; only its distinct values are looked at."""
    if not pa.types.is_dictionary(column.type) or isinstance(column, pa.ChunkedArray):
        text, bad = as_text(column)
        return text.dictionary_encode(), bad
    text, bad = as_text(column.dictionary)
    indices = column.indices.cast(pa.int32())
    unfit = np.zeros(len(column), dtype=np.bool_)
    if text.null_count:  # a dictionary may hold no null: Parquet could not write it
        place, held = indices.fill_null(0).to_numpy(), valid_mask(text)
        unfit = bad[place] & valid_mask(indices)
        moved = pa.array((np.cumsum(held) - 1).astype(np.int32)[place])
        indices, text = null_where(moved, ~held[place] | ~valid_mask(indices)), text.drop_null()
    return pa.DictionaryArray.from_arrays(indices, text), unfit


def tokens(column: pa.Array | pa.ChunkedArray, largest: int = MAX_TOKENS) -> tuple[pa.Array, Mask]:
    """Token counts as int64: integers from 0 to `largest`, of any type or in text; 12.0 is 12."""
    column = as_array(column)
    kind = column.type
    unfit = np.zeros(len(column), dtype=np.bool_)
    if pa.types.is_integer(kind):
        counts = scaled_integers(column, 0, "exact")
        present = column
    elif pa.types.is_boolean(kind) or pa.types.is_temporal(kind):
        return pa.nulls(len(column), pa.int64()), valid_mask(column)
    elif pa.types.is_floating(kind):
        return _float_tokens(column, largest)
    else:
        present, unfit = as_text(column)
        counts = scaled(present, 0, "exact")
    return _up_to(largest, counts, present, unfit)


def booleans(column: pa.Array | pa.ChunkedArray) -> tuple[pa.Array, Mask]:
    """true, 1, yes and false, 0, no, in any case, as booleans."""
    column = as_array(column)
    if pa.types.is_boolean(column.type):
        return column, np.zeros(len(column), dtype=np.bool_)
    text, unfit = as_text(column)
    lower = pc.ascii_lower(pc.ascii_trim_whitespace(text))
    yes, no = _among(lower, _TRUE), _among(lower, _FALSE)
    return pa.array(yes, mask=~(yes | no)), (valid_mask(text) & ~yes & ~no) | unfit


def durations(column: pa.Array | pa.ChunkedArray) -> tuple[pa.Array, Mask]:
    """Milliseconds as integer microseconds, half to even; 0 to MAX_DURATION_S.

    A float stands for its shortest decimal text, so that CSV, JSON and Parquet exports of the
    same call agree.
    """
    column = as_array(column)
    kind = column.type
    if pa.types.is_integer(kind):
        present, unfit = column, np.zeros(len(column), dtype=np.bool_)
        micro = scaled_integers(column, 3, "half_even")
    elif pa.types.is_floating(kind):
        present, unfit = column, np.zeros(len(column), dtype=np.bool_)
        micro = _float_durations(column)
    elif pa.types.is_duration(kind):
        power = {"s": 6, "ms": 3, "us": 0, "ns": -3}[kind.unit]
        present, unfit = column, np.zeros(len(column), dtype=np.bool_)
        micro = scaled_integers(column.cast(pa.int64()), power, "half_even")
    else:
        present, unfit = as_text(column)
        micro = scaled(present, 3, "half_even")
    return _up_to(MAX_DURATION_S * 1_000_000, micro, present, unfit)


def failures(column: pa.Array | pa.ChunkedArray) -> tuple[pa.Array, Mask]:
    """`status` as failed: false for a word of SUCCESS in any case, true for any other, null for none."""
    words, unfit = labels(column)
    lower = pc.utf8_lower(pc.utf8_trim_whitespace(words.dictionary))
    failed = pa.array(~_among(lower, pa.array(SUCCESS)))
    return failed.take(words.indices), unfit


def block_size(column: pa.Array | pa.ChunkedArray) -> tuple[pa.Array, Mask]:
    """Tokens a prefix block: 1 to 2^31 - 1."""
    counts, bad = tokens(column)
    values = counts.fill_null(0).to_numpy()
    good = (values > 0) & (values < 2**31)
    sizes = pa.array(np.where(good, values, 0).astype(np.int32), mask=~good)
    return sizes, bad | (valid_mask(counts) & ~good)


def _up_to(largest: int, values: pa.Array, present: pa.Array, unfit: Mask) -> tuple[pa.Array, Mask]:
    """`values` from 0 to `largest`, and where there was another one or, in `present`, one that is no number."""
    bounds = pc.min_max(values).as_py()
    if values.null_count == present.null_count and (
            bounds["min"] is None or (bounds["min"] >= 0 and bounds["max"] <= largest)):
        return values, unfit
    numbers = values.fill_null(-1).to_numpy()
    good = (numbers >= 0) & (numbers <= largest)
    return pa.array(numbers, mask=~good), (valid_mask(present) & ~good) | unfit


def _among(text: pa.Array, words: pa.Array) -> Mask:
    found = pc.is_in(text, value_set=words)
    return np.asarray(found.to_numpy(zero_copy_only=False), dtype=np.bool_)


def _float_tokens(column: pa.Array, largest: int) -> tuple[pa.Array, Mask]:
    """Integral floats; NaN is no count."""
    present = valid_mask(column)
    values = column.cast(pa.float64()).fill_null(-1.0).to_numpy()
    good = (values >= 0) & (values <= largest) & (values == np.floor(values))
    return pa.array(np.where(good, values, 0.0).astype(np.int64), mask=~good), present & ~good


def _float_durations(column: pa.Array) -> pa.Array:
    """Milliseconds in floats; null where not finite.

    Away from a tie the float product rounds as the decimal text does, as they differ by less
    than two units in the last place (2^-51 of the product); near a tie the text decides.
    """
    present = valid_mask(column)
    values = column.cast(pa.float64()).fill_null(0.0).to_numpy()
    with np.errstate(over="ignore", invalid="ignore"):
        product = values * 1000.0
        sure = np.abs(product - np.floor(product) - 0.5) > np.abs(product) * 2.0**-49
    if not pa.types.is_float64(column.type):  # a narrow float's own text is the shorter one
        return scaled(as_text(column)[0], 3, "half_even")
    doubtful = np.flatnonzero(~sure)
    product[doubtful] = 0.0
    micro = np.rint(product).astype(np.int64)
    if len(doubtful) == 0:
        return pa.array(micro, mask=~present)
    exact = scaled(as_text(column.take(pa.array(doubtful)))[0], 3, "half_even")
    micro[doubtful] = exact.fill_null(0).to_numpy()
    present[doubtful] &= valid_mask(exact)
    return pa.array(micro, mask=~present)
