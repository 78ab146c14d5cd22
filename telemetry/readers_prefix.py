"""Block hashes of a prompt as chained keys: one key names the whole prefix that ends with a block."""

from __future__ import annotations

import json
from typing import Final

import numpy as np
import pyarrow as pa

from telemetry.readers_text import Mask, as_array, as_text, valid_mask

__all__ = ["prefix_keys"]

_WRAP: Final = (1 << 64) - 1


def prefix_keys(column: pa.Array | pa.ChunkedArray) -> tuple[pa.Array, Mask]:
    """`hash_ids` as chained 64-bit keys.

    Parameters
    ----------
    column : array
        Lists of integers, or text that holds a JSON list of integers. An id outside int64 keeps
        its lowest 64 bits.

    Returns
    -------
    pa.ListArray of int64, mask
        Null where the list is null; null and masked where it is no list of integers.
    """
    from telemetry.prefixes import chain_keys  # here, as its compiler takes half a second to load

    column = as_array(column)
    lists, bad = _native(column) if _is_list(column.type) else _from_text(column)
    if bad.any():
        lists = pa.array([None if wrong else value
                          for wrong, value in zip(bad, lists.to_pylist(), strict=True)], pa.list_(pa.int64()))
    present = valid_mask(lists)
    length = np.where(present, np.diff(lists.offsets.to_numpy()), 0).astype(np.int64)
    offsets = np.concatenate(([0], np.cumsum(length)))
    keys = pa.array(chain_keys(lists.flatten().to_numpy(), offsets))
    return pa.ListArray.from_arrays(pa.array(offsets.astype(np.int32)), keys, mask=pa.array(~present)), bad


def _is_list(kind: pa.DataType) -> bool:
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)
                or pa.types.is_list_view(kind) or pa.types.is_large_list_view(kind))


def _native(column: pa.Array) -> tuple[pa.Array, Mask]:
    """Arrow lists as lists of int64; unsigned ids keep their bits."""
    inner = column.type.value_type
    none = np.zeros(len(column), dtype=np.bool_)
    if pa.types.is_null(inner) and column.flatten().null_count == 0:
        return column.cast(pa.list_(pa.int64())), none
    if not pa.types.is_integer(inner) or column.flatten().null_count:
        return _from_python(column.to_pylist())
    if not pa.types.is_list(column.type):
        column = column.cast(pa.list_(inner))
    if pa.types.is_uint64(inner):
        values = column.values.to_numpy().view(np.int64)
        mask = column.is_null() if column.null_count else None
        offsets = column.offsets
        if column.offset:  # from_arrays refuses a mask beside sliced offsets
            offsets = pa.array(offsets.to_numpy().copy())
        return pa.ListArray.from_arrays(offsets, pa.array(values), mask=mask), none
    return column.cast(pa.list_(pa.int64())), none


def _from_text(column: pa.Array) -> tuple[pa.Array, Mask]:
    """Texts that hold a JSON list."""
    text, bad = as_text(column)
    values: list[object] = []
    for value in text.to_pylist():
        try:
            values.append(None if value is None else json.loads(value))
        except (ValueError, RecursionError):
            values.append(False)
    # JSON `null` in text is no list.
    lists, wrong = _from_python(values)
    wrong |= np.array([raw is not None and value is None
                       for raw, value in zip(text.to_pylist(), values, strict=True)], dtype=np.bool_)
    return lists, bad | wrong


def _from_python(values: list[object]) -> tuple[pa.Array, Mask]:
    """Python lists; ids may be integers or texts of integers."""
    bad = np.zeros(len(values), dtype=np.bool_)
    lists: list[list[int] | None] = []
    for index, value in enumerate(values):
        lists.append(None)
        if value is None:
            continue
        try:
            if not isinstance(value, list):
                raise TypeError
            lists[-1] = [_signed(item) for item in value]
        except (TypeError, ValueError):
            bad[index] = True
    return pa.array(lists, pa.list_(pa.int64())), bad


def _signed(item: object) -> int:
    """The lowest 64 bits of an integer, as int64."""
    if isinstance(item, bool) or not isinstance(item, (int, str)):
        raise TypeError
    bits = int(item) & _WRAP
    return bits - (1 << 64) if bits >> 63 else bits
