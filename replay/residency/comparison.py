"""What a replay predicts of each call, beside what the log says of it, by how the call follows the one before.

A call that reports cached tokens and has a context above 0 is a logged hit iff some were cached. Calls are told apart
by the move from the session's preceding call (`metrics.core.steps.TRANSITIONS`, and `BEFORE_STREAM`) and by the band of
the time since that call (`metrics.core.bands`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from metrics.core.bands import GAP_NAMES
from metrics.core.steps import TRANSITIONS
from replay.residency.compiled import compiled
from replay.residency.policy import MISSED
from telemetry.errors import InputError

__all__ = ["BANDS", "BEFORE_STREAM", "MOVES", "Agreement", "Counts", "Logged", "compare", "compare_reference", "ways"]

#: Code of a call whose session's preceding call lies before the stream: a replay of the stream alone does not see it.
BEFORE_STREAM = 7
#: Codes of the move from the session's preceding call.
MOVES = TRANSITIONS | {BEFORE_STREAM: "before_stream"}
#: Bands of the time since that call, by code; the last is for a call without one.
BANDS = (*GAP_NAMES, None)

_WAYS = len(MOVES) * len(BANDS)


@dataclass(frozen=True)
class Agreement:
    """Calls by prediction and log: `hit_miss` are predicted to hit and logged as misses.

    Attributes
    ----------
    hit_context, hit_cached : int
        Context tokens of the calls that are predicted to hit, and those that were cached by the log.
    miss_cached : int
        Cached tokens, by the log, of the calls that are predicted to miss.
    """

    hit_hit: int = 0
    hit_miss: int = 0
    miss_hit: int = 0
    miss_miss: int = 0
    hit_context: int = 0
    hit_cached: int = 0
    miss_cached: int = 0

    @property
    def calls(self) -> int:
        return self.hit_hit + self.hit_miss + self.miss_hit + self.miss_miss

    @classmethod
    def total(cls, some: Iterable[Agreement]) -> Agreement:
        """Of all of them together."""
        each = list(some)
        return cls(*(sum(getattr(one, field.name) for one in each) for field in fields(cls)))


#: (code of `MOVES`, code of `BANDS`) -> the calls that follow in this way; ways without a call are left out.
Counts = Mapping[tuple[int, int], Agreement]


@dataclass(frozen=True, eq=False)
class Logged:
    """What the log says of each call of a stream.

    Attributes
    ----------
    cached : int64[n]
        Cached tokens; -1 where they are not reported.
    way : int8[n]
        How the call follows, see `ways`.
    """

    cached: NDArray[np.int64]
    way: NDArray[np.int8]


def ways(moves: NDArray[np.int16], bands: NDArray[np.int16]) -> NDArray[np.int8]:
    """Move and band of each call in one number.

    Parameters
    ----------
    moves, bands : int16[n]
        Codes of `MOVES` and `BANDS`.

    Raises
    ------
    InputError
        For a code that is none: kernels count by it, unchecked.
    """
    for what, codes, known in (("transition", moves, len(MOVES)), ("gap band", bands, len(BANDS))):
        odd = (codes < 0) | (codes >= known)
        if odd.any():
            row = int(np.argmax(odd))
            raise InputError(f"replay stream, access {row}: {what} {codes[row]} is none of 0 to {known - 1}.")
    return (moves * len(BANDS) + bands).astype(np.int8)


def compare(found: NDArray[np.int8], tokens: NDArray[np.int64], logged: Logged) -> Counts:
    """The counts.

    Parameters
    ----------
    found : int8[n]
        What each call finds in the replay, as `replay.residency.policy.log_policy` gives it.
    tokens : int64[n]
        Context.
    logged : Logged
    """
    counts = np.zeros((_WAYS, len(fields(Agreement))), np.int64)
    _compare(found, tokens, logged.cached, logged.way, counts)
    return {divmod(way, len(BANDS)): Agreement(*counts[way].tolist())
            for way in np.flatnonzero(counts.any(axis=1)).tolist()}


@compiled
def _compare(found: NDArray[np.int8], tokens: NDArray[np.int64], cached: NDArray[np.int64], way: NDArray[np.int8],
             counts: NDArray[np.int64]) -> None:
    for i in range(len(found)):
        if cached[i] >= 0 and tokens[i] > 0:
            missed = found[i] == MISSED
            counts[way[i], 2 * missed + (cached[i] == 0)] += 1
            counts[way[i], 4] += tokens[i] * (not missed)
            counts[way[i], 5 + missed] += cached[i]


def compare_reference(found: Iterable[int], tokens: Iterable[int], logged: Logged) -> Counts:
    """`compare`, plainly."""
    counts: dict[tuple[int, int], Agreement] = {}
    for state, size, cached, way in zip(found, tokens, logged.cached.tolist(), logged.way.tolist(), strict=True):
        if cached < 0 or size == 0:
            continue
        place, hit, was_cached = divmod(way, len(BANDS)), state != MISSED, cached > 0
        one = Agreement(hit and was_cached, hit and not was_cached, not hit and was_cached, not hit and not was_cached,
                        size if hit else 0, cached if hit else 0, 0 if hit else cached)
        counts[place] = Agreement.total([counts.get(place, Agreement()), one])
    return counts
