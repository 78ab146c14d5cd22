"""Whole sessions of an event log, and their order in time."""

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

__all__ = ["EventFleet", "Events", "blocks_of"]

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
    """The sessions of a profile under a seed, in the order of their first events.

    Attributes
    ----------
    order : int64 array
        Numbers of the sessions.
    starts_us : int64 array
        Their first events, microseconds UTC.
    depths : int64 array
        Their events.
    """

    def __init__(self, profile: EventProfile, seed: int, *, threads: int, block: int) -> None:
        self._profile, self._numbers = profile, Numbers(seed)
        count = profile.window.sessions
        depths = draw_depths(self._numbers, count, depth_table(profile.depth)).astype(np.int64)
        sessions = np.arange(count, dtype=np.int64)
        with ThreadPoolExecutor(threads) as pool:
            starts = np.concatenate([*pool.map(lambda part: self._starts(sessions[part], depths[part]),
                                               blocks_of(depths, block))])
        self.order = np.argsort(starts, kind="stable")
        self.starts_us, self.depths = starts[self.order], depths[self.order]

    def events(self, part: slice) -> Events:
        """All events of some sessions, by place in `order`, session by session."""
        profile, numbers = self._profile, self._numbers
        sessions, depths = self.order[part], self.depths[part]
        offsets = _offsets(depths)
        gap_us = draw_gaps(numbers, sessions, offsets, profile.gaps, profile.longest_us)
        before = np.cumsum(gap_us)
        t_us = before - np.repeat(before[offsets[:-1]], depths) + np.repeat(self.starts_us[part], depths)
        kind, tool, twice = draw_kinds(numbers, sessions, offsets, profile.kinds, profile.repeats)
        context, cached, output, known = draw_counters(numbers, sessions, offsets, profile.counters)
        model = draw_labels(self._own(sessions)[:, 2], profile.models)
        index = np.arange(offsets[-1], dtype=np.int64) - np.repeat(offsets[:-1], depths)
        return Events(t_us, np.repeat(sessions, depths), index.astype(np.int32), kind, tool, np.repeat(model, depths),
                      context, cached, output, known, twice)

    def _starts(self, sessions: Longs, depths: Longs) -> Longs:
        """First events: so long before the last ones, which lie in the last days of the window, as the gaps say."""
        profile = self._profile
        offsets = _offsets(depths)
        gap_us = draw_gaps(self._numbers, sessions, offsets, profile.gaps, profile.longest_us)
        last = Window(profile.window.start_us + profile.longest_us, profile.selected, len(sessions))
        edges, share = cumulated_rate(last, Arrivals(profile.hours, (1.0,) * 7))
        into = np.interp(self._own(sessions)[:, 1], share, edges).astype(np.int64)
        return last.start_us + into - np.add.reduceat(gap_us, offsets[:-1])

    def _own(self, sessions: Longs) -> Floats:
        """Lanes: the first context, the last event, the model, one unused."""
        return self._numbers.of_rows(Component.EVENT_SESSION, sessions, _offsets(np.ones_like(sessions)))


def blocks_of(depths: Longs, block: int) -> list[slice]:
    """Consecutive sessions with about `block` events together, one session at least."""
    cuts = np.flatnonzero(np.diff(np.cumsum(depths) // block, prepend=-1))
    edges = [0, *cuts[cuts > 0].tolist(), len(depths)]
    return [slice(a, b) for a, b in pairwise(edges)]


def _offsets(depths: Longs) -> Longs:
    return np.concatenate(([0], np.cumsum(depths))).astype(np.int64)
