"""Whole sessions of an event log."""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracesim.arrivals import cumulated_rate
from tracesim.classes import Small
from tracesim.compiled import Flags, Floats, Ints, Longs
from tracesim.events.components import depth_table, draw_counters, draw_depths, draw_gaps, draw_kinds, draw_labels
from tracesim.events.profile import EventProfile
from tracesim.parameters import Arrivals, Window
from tracesim.philox import Component, Numbers

__all__ = ["HOUR_US", "EventFleet", "Events", "blocks_of"]

HOUR_US = 3_600_000_000
_DAY_US = 24 * HOUR_US

#: Of the columns of Events.
_TYPES = (np.int64, np.int64, np.int32, *(np.int8,) * 3, *(np.int64,) * 3, np.bool_, np.bool_)


@dataclass(frozen=True)
class Events:
    """Columns of events.

    Attributes
    ----------
    t_us : int64 array
        Microseconds UTC.
    session : int64 array
    index : int32 array
        Place in the session, from 0.
    kind, tool, model : int8 arrays
        Kinds are 0 for the opening event, 1 for the closing one, 2 and on for the others; no tool is -1.
    context, cached, output : int64 arrays
        Counters of the session.
    known : bool array
        Whether the event reports them.
    twice : bool array
        Whether it is logged twice.
    """

    t_us: Longs
    session: Longs
    index: Ints
    kind: Small
    tool: Small
    model: Small
    context: Longs
    cached: Longs
    output: Longs
    known: Flags
    twice: Flags

    def __len__(self) -> int:
        return len(self.t_us)

    def take(self, rows: NDArray[np.integer] | slice | Flags) -> Events:
        """Some of the events, in the order of `rows`."""
        return Events(*(getattr(self, field.name)[rows] for field in fields(Events)))

    @staticmethod
    def joined(parts: Iterable[Events]) -> Events:
        """Events one after another."""
        none: list[Any] = [np.zeros(0, kind) for kind in _TYPES]
        parts = list(parts) or [Events(*none)]
        return Events(*(np.concatenate([getattr(part, field.name) for part in parts]) for field in fields(Events)))

    def in_order(self) -> Events:
        """The events by time; at equal times by session, then by index."""
        return self.take(np.lexsort((self.index, self.session, self.t_us)))


class EventFleet:
    """The sessions of a profile under a seed.

    Parameters
    ----------
    profile : EventProfile
    seed : int
    threads, block : int
        Blocks drawn side by side, and about how many events there are in one.

    Attributes
    ----------
    depths, first_us, last_us : int64 arrays
        Events of each session, and the times of its first and its last one, microseconds UTC.
    by_hour : int64 array
        Events in each hour of the window.
    """

    def __init__(self, profile: EventProfile, seed: int, *, threads: int, block: int) -> None:
        self._profile, self._numbers = profile, Numbers(seed)
        self.depths = draw_depths(self._numbers, profile.window.sessions, depth_table(profile.depth)).astype(np.int64)
        sessions = np.arange(len(self.depths), dtype=np.int64)
        hours = -(-round(profile.window.days * _DAY_US) // HOUR_US)
        self.by_hour = np.zeros(hours, np.int64)
        ends = []
        with ThreadPoolExecutor(threads) as pool:
            for t_us, offsets in pool.map(lambda part: self._clock(sessions[part]), blocks_of(self.depths, block)):
                ends.append((t_us[offsets[:-1]], t_us[offsets[1:] - 1]))
                self.by_hour += np.bincount((t_us - profile.window.start_us) // HOUR_US, minlength=hours)
        self.first_us, self.last_us = (np.concatenate(times) for times in zip(*ends, strict=True))

    def events(self, sessions: Longs) -> Events:
        """All events of some sessions, session by session."""
        profile, numbers = self._profile, self._numbers
        t_us, offsets = self._clock(sessions)
        depths = self.depths[sessions]
        kind, tool, twice = draw_kinds(numbers, sessions, offsets, profile.kinds, profile.repeats)
        context, cached, output, known = draw_counters(numbers, sessions, offsets, profile.counters)
        model = draw_labels(self._own(sessions)[:, 2], profile.models)
        index = np.arange(offsets[-1], dtype=np.int64) - np.repeat(offsets[:-1], depths)
        return Events(t_us, np.repeat(sessions, depths), index.astype(np.int32), kind, tool, np.repeat(model, depths),
                      context, cached, output, known, twice)

    def _clock(self, sessions: Longs) -> tuple[Longs, Longs]:
        """Times of the events of some sessions, and where those of each begin.

        The last one lies in the last days of the window; the others so long before it as the gaps say.
        """
        profile, depths = self._profile, self.depths[sessions]
        offsets = _offsets(depths)
        gap_us = draw_gaps(self._numbers, sessions, offsets, profile.gaps, profile.longest_us)
        final = Window(profile.window.start_us + profile.longest_us, profile.selected, len(sessions))
        edges, share = cumulated_rate(final, Arrivals(profile.hours, (1.0,) * 7))
        into = np.interp(self._own(sessions)[:, 1], share, edges).astype(np.int64)
        first_us = final.start_us + into - np.add.reduceat(gap_us, offsets[:-1])
        before = np.cumsum(gap_us)
        return before + np.repeat(first_us - before[offsets[:-1]], depths), offsets

    def _own(self, sessions: Longs) -> Floats:
        """Lanes: the first context, the last event, the model, one unused."""
        return self._numbers.of_rows(Component.EVENT_SESSION, sessions, _offsets(np.ones_like(sessions)))


def blocks_of(counts: Longs, block: int) -> list[slice]:
    """Consecutive places, sessions or hours, with about `block` events together, one place at least."""
    if not len(counts):
        return []
    cuts = np.flatnonzero(np.diff(np.cumsum(counts) // block, prepend=0))
    edges = [0, *cuts[cuts > 0].tolist(), len(counts)]
    return [slice(a, b) for a, b in pairwise(edges)]


def _offsets(depths: Longs) -> Longs:
    return np.concatenate(([0], np.cumsum(depths))).astype(np.int64)
