"""Records of sessions: created at their first request, woken by later ones, finished, and collected.

A record lives while a request of its session runs or the session owns resident blocks; nothing outlives that, so
sessions that come and go leave nothing behind. The end that a client declares takes effect when that request has
finished, unless a later request has already taken the session up again. An id that is used again after its end
starts a new life. Every untagged request is a session of its own, which nobody can wake.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from kvcensus_gate.hints import Hints

__all__ = ["Key", "Request", "Session", "Sessions"]

Key = Hashable
"""A block's identity: equal content, prefix included, means an equal key."""

_Block = TypeVar("_Block")


class Session:
    """One life of a session.

    Attributes
    ----------
    id : str or None
        None for an untagged request.
    serial : int
        Order of creation.
    running : int
        Its requests that have begun and not finished.
    idle_since_us : int
        When its latest request began or finished.
    gap_us : int or None
        Expected length of the idle window, as the latest finished request said.
    depth : int
        Blocks in the context of its latest finished request.
    """

    __slots__ = ("collected", "depth", "ending", "gap_us", "id", "idle_since_us", "latest", "running", "serial",
                 "state")

    def __init__(self, identity: str | None, serial: int, now_us: int):
        self.id = identity
        self.serial = serial
        self.running = 0
        self.latest = 0
        self.ending = False
        self.idle_since_us = now_us
        self.gap_us: int | None = None
        self.depth = 0
        self.collected = False
        self.state: Any = None  # the policy's own


class Request:
    """A request under way.

    Attributes
    ----------
    seen : dict
        Key -> position in its context, of every block that it has shown so far; ~position while not resident.
    end : int
        Position after the last of them.
    whole : bool
        Its context was shown as a whole.
    """

    __slots__ = ("end", "hints", "seen", "serial", "session", "whole")

    def __init__(self, session: Session, hints: Hints, serial: int):
        self.session = session
        self.hints = hints
        self.serial = serial
        self.seen: dict[Key, int] = {}
        self.end = 0
        self.whole = False

    def show(self, keys: Sequence[Key], first: int | None, resident: Mapping[Key, _Block]) -> tuple[
            list[_Block], list[Key]]:
        """The request shows consecutive blocks of its context, from position `first` on.

        Returns those that are resident and those that are not; each block once a request, or twice if it was missing
        before and is not any more. By default the blocks follow what was shown so far, or begin where their first did.
        """
        seen = self.seen
        found: list[_Block] = []
        missing = []
        position = self.end if first is None else first
        if first is None and keys and keys[0] in seen:
            position = max(seen[keys[0]], ~seen[keys[0]])
        for key in keys:
            known = seen.get(key)
            if known is None or known < 0:
                block = resident.get(key)
                if block is not None:
                    seen[key] = position
                    found.append(block)
                elif known is None:
                    seen[key] = ~position
                    missing.append(key)
            position += 1
        self.end = max(self.end, position)
        return found, missing


@dataclass
class Tally:
    """How many lives were created, woken, finished and collected so far."""

    created: int = 0
    woken: int = 0
    finished: int = 0
    collected: int = 0


class Sessions:
    """Every session that has a record."""

    def __init__(self) -> None:
        self.tally = Tally()
        self._by_id: dict[str, Session] = {}
        self._requests = 0

    def __len__(self) -> int:
        return self.tally.created - self.tally.collected

    def begin(self, hints: Hints, now_us: int) -> Request:
        """A request begins: its session is created or woken."""
        session = None if hints.session_id is None else self._by_id.get(hints.session_id)
        if session is None:
            session = self.create(hints.session_id, now_us)
        elif not session.running:
            self.tally.woken += 1
        self._requests += 1
        session.running += 1
        session.latest = self._requests
        session.ending = False
        session.idle_since_us = now_us
        return Request(session, hints, self._requests)

    def create(self, identity: str | None, now_us: int) -> Session:
        """A new life."""
        session = Session(identity, self.tally.created, now_us)
        self.tally.created += 1
        if identity is not None:
            self._by_id[identity] = session
        return session

    def finish(self, request: Request, now_us: int) -> bool:
        """A request has finished; True when its session ends with it."""
        session = request.session
        session.running -= 1
        session.idle_since_us = now_us
        session.gap_us = request.hints.expected_gap_us
        session.depth = request.end
        if request.hints.last_turn and session.latest == request.serial:
            session.ending = True
        if session.running or not session.ending:
            return False
        self.tally.finished += 1
        self._forget(session)
        return True

    def collect(self, session: Session) -> None:
        """Drop the record of a session that neither runs nor owns a block; once is enough."""
        self._forget(session)
        self.tally.collected += not session.collected
        session.collected = True

    def _forget(self, session: Session) -> None:
        if session.id is not None and self._by_id.get(session.id) is session:
            del self._by_id[session.id]
