"""Objects numbered by first appearance, from arbitrary 64-bit ids."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from replay.residency.compiled import compiled
from replay.residency.stream import MAX_OBJECTS
from telemetry.errors import InputError

__all__ = ["factorize"]


def factorize(ids: NDArray[np.int64], limit: int = MAX_OBJECTS) -> tuple[NDArray[np.int32], int]:
    """Objects numbered by first appearance, from arbitrary 64-bit ids.

    Parameters
    ----------
    ids : int64[n]
    limit : int
        Most objects allowed.

    Returns
    -------
    objects : int32[n]
    count : int
        Distinct ids.

    Raises
    ------
    InputError
        More than `limit` distinct ids.
    """
    view = np.ascontiguousarray(ids, np.int64).view(np.ndarray)
    view.flags.writeable = False
    objects, count = _factorize(view, limit)
    if count > limit:
        raise InputError(f"replay stream: more than {limit} distinct objects; take a shorter window.")
    return objects, int(count)


@compiled
def _mixed(key: int) -> int:
    """A 64-bit mix: ids in arithmetic progression must not share slots."""
    mixed = np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)
    mixed ^= mixed >> np.uint64(32)
    mixed *= np.uint64(0xD6E8FEB86659FD93)
    return np.int64(mixed ^ (mixed >> np.uint64(32)))  # type: ignore[return-value]


@compiled
def _factorize(ids: NDArray[np.int64], limit: int) -> tuple[NDArray[np.int32], int]:
    """An open-addressing hash table of ids and their numbers, doubled when half full."""
    objects = np.empty(len(ids), np.int32)
    keys = np.empty(1 << 10, np.int64)
    numbers = np.full(1 << 10, -1, np.int32)
    count = 0
    for i in range(len(ids)):
        slot = _slot(keys, numbers, ids[i])
        if numbers[slot] < 0:
            if count == limit:
                return objects, count + 1
            keys[slot] = ids[i]
            numbers[slot] = count
            count += 1
        objects[i] = numbers[slot]
        if 2 * count > len(keys):
            keys, numbers = _doubled(keys, numbers)
    return objects, count


@compiled
def _slot(keys: NDArray[np.int64], numbers: NDArray[np.int32], key: int) -> int:
    """Where a key is, or where it belongs; a slot is free while its number is negative."""
    mask = len(keys) - 1
    slot = _mixed(key) & mask
    while numbers[slot] >= 0 and keys[slot] != key:
        slot = (slot + 1) & mask
    return slot


@compiled
def _doubled(keys: NDArray[np.int64],
             numbers: NDArray[np.int32]) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    more_keys = np.empty(2 * len(keys), np.int64)
    more_numbers = np.full(2 * len(keys), -1, np.int32)
    for old in range(len(keys)):
        if numbers[old] >= 0:
            slot = _slot(more_keys, more_numbers, keys[old])
            more_keys[slot] = keys[old]
            more_numbers[slot] = numbers[old]
    return more_keys, more_numbers
