"""The replay stream: which object each call touches, how large it becomes, and when it is next used.

One entry an access, in stream order. Sizes are in tokens here; budgets and resident sizes are
counted in units of 1/128 token (`UNITS`), so that a copy of q = 32/128 of a size is exact.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from replay.residency.compiled import compiled
from telemetry.errors import InputError, UsageError, shorten

__all__ = ["MAX_OBJECTS", "MAX_UNITS", "UNITS", "Release", "Stream", "build_stream", "check_release",
           "first_touch_floor", "no_eviction_peak"]

UNITS = 128
MAX_OBJECTS = 2**31 - 1
MAX_UNITS = 2**63 - 1

Release = Literal["last", "never"]


@dataclass(frozen=True, eq=False)
class Stream:
    """Accesses to objects, in order. Immutable: its arrays are made read-only.

    Attributes
    ----------
    objects : int32[n]
        Object of each access, 0 to object_count - 1.
    tokens : int64[n]
        Size of the object from this access on, in tokens: the call's whole context.
    next_use : int64[n]
        Stream position of the next access to the same object; n means never.
    object_count : int
    time_us : int64[n] or None
        Start of each call, never before the preceding one's, for policies that read the clock.

    Raises
    ------
    InputError
        Arrays of unequal length or another type, an object or a next use out of range, a negative
        size, times out of order, or sizes so large that sums of units could pass 2^63 - 1. Checked as
        largest size * 128 * n, which bounds every resident sum, every sum of missed tokens, and every
        product of a size and a distance in the stream.
    """

    objects: NDArray[np.int32]
    tokens: NDArray[np.int64]
    next_use: NDArray[np.int64]
    object_count: int
    time_us: NDArray[np.int64] | None = None

    def __post_init__(self) -> None:
        calls = len(self.objects)
        for name, dtype in (("objects", np.int32), ("tokens", np.int64), ("next_use", np.int64),
                            ("time_us", np.int64)):
            array = getattr(self, name)
            if array is not None:
                object.__setattr__(self, name, _frozen(array, name, np.dtype(dtype), calls))
        if not 0 <= self.object_count <= MAX_OBJECTS:
            raise InputError(f"replay stream: {self.object_count} objects; at most {MAX_OBJECTS} are "
                             "supported.")
        _check_values(self)

    @property
    def calls(self) -> int:
        """Accesses in the stream, n."""
        return len(self.objects)

    @property
    def total_tokens(self) -> int:
        """Sum of the contexts of all calls, in tokens."""
        return int(self.tokens.sum())


def build_stream(objects: NDArray[np.int32], tokens: NDArray[np.int64], object_count: int,
                 time_us: NDArray[np.int64] | None = None) -> Stream:
    """The stream of `objects` with their sizes; next uses are found here, in O(n).

    Parameters
    ----------
    objects : int32[n]
        As `factorize` numbers them.
    tokens : int64[n]
    object_count : int
    time_us : int64[n], optional

    Raises
    ------
    InputError
        See `Stream`.
    """
    if objects.size and (int(objects.min()) < 0 or int(objects.max()) >= object_count):
        raise InputError(f"replay stream: objects must lie in 0 to {object_count - 1}.")
    next_use = _next_use(np.ascontiguousarray(objects, np.int32), object_count)
    return Stream(objects, tokens, next_use, object_count, time_us)


def check_release(name: str) -> Release:
    """`name` as a release mode.

    `last`: an object whose access was its last in the stream is freed after that step.
    `never`: nothing is freed.

    Raises
    ------
    UsageError
        For any other name.
    """
    for mode in get_args(Release):
        if name == mode:
            return mode  # type: ignore[no-any-return]
    raise UsageError(f"unknown release mode {shorten(name)!r}. Known modes: {', '.join(get_args(Release))}.")


def no_eviction_peak(stream: Stream, release: Release) -> int:
    """K* in tokens: the peak of the sum of current sizes when nothing is evicted.

    Taken after each access and before its release, under the same release mode as the replay.
    """
    return int(_peak(stream.objects, stream.tokens, stream.next_use, stream.object_count, release == "last"))


def first_touch_floor(stream: Stream) -> float | None:
    """Distinct objects / calls, the miss rate that no budget improves; None for an empty stream."""
    return stream.object_count / stream.calls if stream.calls else None


def _frozen(array: NDArray[np.generic], name: str, dtype: np.dtype[np.generic],
            calls: int) -> NDArray[np.generic]:
    """A read-only contiguous view; kernels thus see one array type, whether memory or a mapped file."""
    if array.dtype != dtype or array.shape != (calls,):
        raise InputError(f"replay stream: {name} must be {dtype}[{calls}], not "
                         f"{array.dtype}{list(array.shape)}.")
    view = np.ascontiguousarray(array).view(np.ndarray)
    view.flags.writeable = False
    return view


def _check_values(stream: Stream) -> None:
    """Kernels index with these values, unchecked: one that is out of range must not get there."""
    row, largest = _scan(stream.objects, stream.tokens, stream.next_use, stream.object_count)
    if row >= 0:
        raise InputError(f"replay stream, access {row}: object {stream.objects[row]} (of "
                         f"{stream.object_count}), {stream.tokens[row]} tokens, next use "
                         f"{stream.next_use[row]}: out of range.")
    if int(largest) * UNITS * stream.calls > MAX_UNITS:
        row = int(np.argmax(stream.tokens))
        raise InputError(f"replay stream, access {row}: {largest} tokens; with {stream.calls} calls, sums of "
                         f"sizes in 1/{UNITS} token would not fit 64 bits. Mend the record.")
    if stream.time_us is not None:
        _check_times(stream.time_us)


def _check_times(time_us: NDArray[np.int64]) -> None:
    back = time_us[1:] < time_us[:-1]
    if back.any():
        row = int(np.argmax(back)) + 1
        raise InputError(f"replay stream, access {row}: starts at {time_us[row]} us, before the preceding one "
                         f"({time_us[row - 1]} us). Order the calls by time.")
    if len(time_us) and int(time_us[-1]) - int(time_us[0]) > MAX_UNITS:
        raise InputError(f"replay stream: its times, {time_us[0]} to {time_us[-1]} us, lie further apart than 64 bits "
                         "count.")


@compiled
def _scan(objects: NDArray[np.int32], tokens: NDArray[np.int64], next_use: NDArray[np.int64],
          object_count: int) -> tuple[int, int]:
    """First access with a value out of range (-1: none), and the largest size."""
    n = len(objects)
    largest = 0
    for i in range(n):
        if not (0 <= objects[i] < object_count and tokens[i] >= 0 and i < next_use[i] <= n):
            return i, largest
        largest = max(largest, tokens[i])
    return -1, largest


@compiled
def _next_use(objects: NDArray[np.int32], object_count: int) -> NDArray[np.int64]:
    n = len(objects)
    upcoming = np.full(object_count, n, np.int64)
    next_use = np.empty(n, np.int64)
    for i in range(n - 1, -1, -1):
        next_use[i] = upcoming[objects[i]]
        upcoming[objects[i]] = i
    return next_use


@compiled
def _peak(objects: NDArray[np.int32], tokens: NDArray[np.int64], next_use: NDArray[np.int64],
          object_count: int, release_last: bool) -> int:
    n = len(objects)
    size = np.zeros(object_count, np.int64)
    held = 0
    peak = 0
    for i in range(n):
        held += tokens[i] - size[objects[i]]
        size[objects[i]] = tokens[i]
        peak = max(peak, held)
        if release_last and next_use[i] == n:
            held -= tokens[i]
    return peak
