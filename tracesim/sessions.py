"""Whole sessions: the components in the order in which they build on each other."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracesim import draw
from tracesim.arrivals import Starts
from tracesim.classes import Small, draw_models
from tracesim.compiled import Flags, Ints, Longs, compiled
from tracesim.depth_table import bands_of
from tracesim.philox import Numbers
from tracesim.profile import Profile
from tracesim.turns import draw_turns

__all__ = ["Calls", "Fleet"]

_MILLION = 10**6
_FAR_US = 9 * 10**18  # calls there are beyond every window; the next gap still fits 64 bits
_TYPES = (*(np.int64,) * 2, *(np.int32,) * 4, np.int64, np.int32, np.bool_, *(np.int8,) * 3)  # of the columns of Calls


@dataclass(frozen=True)
class Calls:
    """Columns of calls.

    Attributes
    ----------
    t_us : int64 array
        Start, microseconds UTC.
    session : int64 array
        Number of the session, from 0; for a call without a session -1 - its number.
    index : int32 array
        Place in the session, from 0.
    context, cached, output : int32 arrays
        Tokens.
    duration_us : int64 array
    turn : int32 array
        Number of the turn in its session, from 1; 0 where the fleet marks no turns.
    opens : bool array
    model, region, deployment : int8 arrays
    """

    t_us: Longs
    session: Longs
    index: Ints
    context: Ints
    cached: Ints
    output: Ints
    duration_us: Longs
    turn: Ints
    opens: Flags
    model: Small
    region: Small
    deployment: Small

    def __len__(self) -> int:
        return len(self.t_us)

    def take(self, rows: NDArray[np.integer] | slice | Flags) -> Calls:
        """Some of the calls, in the order of `rows`."""
        return Calls(*(getattr(self, field.name)[rows] for field in fields(Calls)))

    @staticmethod
    def none() -> Calls:
        """No calls."""
        columns: list[Any] = [np.zeros(0, kind) for kind in _TYPES]
        return Calls(*columns)

    @staticmethod
    def joined(parts: Iterable[Calls]) -> Calls:
        """Calls one after another."""
        parts = list(parts) or [Calls.none()]
        return Calls(*(np.concatenate([getattr(part, field.name) for part in parts]) for field in fields(Calls)))

    def in_order(self) -> Calls:
        """The calls by time; at equal times by session, then by index."""
        rows = np.argsort(self.t_us, kind="stable")
        _settle(rows, self.t_us, self.session, self.index)
        return self.take(rows)


class Fleet:
    """The sessions of a profile under a seed.

    Units are what arrives: sessions, and calls without one, evenly mixed.

    Attributes
    ----------
    units : int
    """

    def __init__(self, profile: Profile, seed: int) -> None:
        self._profile, self._numbers = profile, Numbers(seed)
        self._each = _MILLION + round(profile.unsessioned_per_session * _MILLION)
        self.units = -(-profile.window.sessions * self._each // _MILLION)
        self._starts = Starts(self._numbers, profile.window, profile.arrivals, self.units)

    def start_us(self, unit: int) -> int:
        """When a unit arrives."""
        return int(self._starts.of(unit, 1)[0])

    def calls(self, first: int, count: int) -> Calls:
        """All calls of units first to first + count - 1, unit by unit."""
        profile, numbers = self._profile, self._numbers
        session = self._sessions(first, count)
        starts = self._starts.of(first, count)
        drawn = draw.depths(numbers, first, self._starts.load(starts), profile.depth)
        depth = np.where(session < 0, 1, drawn)
        band = bands_of(depth, profile.depth_bands)
        offsets = np.concatenate(([0], np.cumsum(depth)))
        if profile.turns is None:
            # Gaps are drawn as within a turn.
            opens, turn = np.zeros(offsets[-1], np.bool_), np.zeros(offsets[-1], np.int32)
        else:
            opens, turn = draw_turns(numbers, first, offsets, band, profile.turns)
        gap_us, loop_us = draw.gaps(numbers, first, offsets, band, opens, profile.gaps)
        kind, model = draw_models(numbers, first, offsets, profile.classes)
        region, deployment = draw.places(numbers, first, offsets, model, profile)
        context, cached = draw.contexts(numbers, first, offsets, band, kind, model, region, deployment, gap_us, profile)
        duration_us, output = draw.durations(numbers, first, offsets, loop_us, kind, profile.durations)
        t_us, index = _clock(starts, offsets, gap_us)
        return Calls(t_us, np.repeat(session, depth), index, context.astype(np.int32), cached.astype(np.int32),
                     output.astype(np.int32), duration_us, turn, opens, model, region, deployment)

    def _sessions(self, first: int, count: int) -> Longs:
        """Numbers of the sessions among units; negative for a call without one."""
        units = np.arange(first, first + count + 1, dtype=np.int64)
        before = units * _MILLION // self._each
        return np.where(before[1:] > before[:-1], before[:-1], -1 - (units[:-1] - before[:-1]))


@compiled
def _clock(starts: Longs, offsets: Longs, gap_us: Longs) -> tuple[Longs, Ints]:
    """Start and index of each call."""
    t_us = np.empty(len(gap_us), np.int64)
    index = np.empty(len(gap_us), np.int32)
    for place in range(len(starts)):
        now = starts[place]
        for row in range(offsets[place], offsets[place + 1]):
            now = min(now + gap_us[row], _FAR_US)
            t_us[row] = now
            index[row] = row - offsets[place]
    return t_us, index


@compiled
def _settle(rows: Longs, t_us: Longs, session: Longs, index: Ints) -> None:
    """Order rows of equal time, which stand together already, by session and index."""
    for place in range(1, len(rows)):
        moving = rows[place]
        at = place
        while at > 0 and t_us[rows[at - 1]] == t_us[moving] and (
                session[rows[at - 1]] > session[moving]
                or (session[rows[at - 1]] == session[moving] and index[rows[at - 1]] > index[moving])):
            rows[at] = rows[at - 1]
            at -= 1
        rows[at] = moving
