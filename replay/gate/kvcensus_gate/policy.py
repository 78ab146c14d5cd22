"""What a policy is: the order in which blocks of a tier are evicted, and whether a store is refused.

A tier calls it; a policy never calls a tier. It holds every resident block that a tier has told it of, in an order of
its own, and is told when a block is in flight and when it may be a victim again.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar

from kvcensus_gate.errors import GateError, shorten
from kvcensus_gate.hints import Hints
from kvcensus_gate.sessions import Key, Session

__all__ = ["STORING", "Block", "Lifecycle", "NoParameters", "Policy", "Victims", "microseconds"]

STORING = -1
"""`refs` of a block whose store is under way."""

_MOST_SECONDS = 10**9


class Block:
    """A resident block.

    Attributes
    ----------
    key : Key
    depth : int
        Its position in the context of the request that stored it, from 0.
    refs : int
        `STORING`, or the number of loads that read it; 0: idle, so it may be evicted.
    serial : int
        Order of storing.
    """

    __slots__ = ("depth", "entry", "key", "place", "refs", "serial")

    def __init__(self, key: Key, depth: int, serial: int):
        self.key = key
        self.depth = depth
        self.refs = STORING
        self.serial = serial
        self.place: Any = None  # the policy's own
        self.entry: object = None  # the policy's own


Victims = tuple[list[Block], dict[str, int]]
"""Blocks in the order of their eviction, and how many of each class they are."""


@dataclass(frozen=True)
class NoParameters:
    """Of a policy that has none."""


@dataclass(frozen=True)
class Lifecycle:
    """When a session that waits for its next turn is taken to be late.

    Tenure 4.1 names the slack and prints no value; a time to live for sessions without a gap hint is needed as well
    (Tenure 5.2 runs without gap hints). The defaults are ours, and meant to be swept.

    Attributes
    ----------
    slack_s : float
        How long after its expected wake-up a session is still awaited.
    live_ttl_s : float
        How long after its last request a session without a gap hint is awaited. The default lies above the p99 of the
        idle windows in Tenure 2.2, 15.8 s.
    longest_gap_s : float
        A longer gap hint counts as none: what a client says must not hold the tier. The default lies above the p99 of
        production tool gaps in Tenure 2.2, 343 s.
    """

    slack_s: float = 5.0
    live_ttl_s: float = 20.0
    longest_gap_s: float = 600.0

    def wake_us(self, session: Session) -> int | None:
        """When an idle session is expected back; None when nobody said."""
        gap = session.gap_us
        return None if gap is None or gap > microseconds(self.longest_gap_s) else session.idle_since_us + gap

    def deadline_us(self, session: Session) -> int:
        """Until when an idle session is awaited; after it, it is overdue."""
        wake = self.wake_us(session)
        if wake is None:
            return session.idle_since_us + microseconds(self.live_ttl_s)
        return wake + microseconds(self.slack_s)


def microseconds(seconds: float) -> int:
    """Seconds in whole microseconds."""
    return round(seconds * 1_000_000)


class Policy(ABC):
    """A policy over blocks of one size.

    Parameters
    ----------
    capacity : int
        Blocks that the tier holds, those in flight included.
    parameters : dataclass
        Of the type that the class names in `Parameters`.
    """

    name: ClassVar[str]
    description: ClassVar[str]
    Parameters: ClassVar[type] = NoParameters

    def __init__(self, capacity: int, parameters: Any = None):
        self.capacity = capacity
        self.parameters = self.Parameters() if parameters is None else parameters

    @classmethod
    def configure(cls, given: Mapping[str, object]) -> Any:
        """The parameters that a configuration gives, the others at their defaults.

        Raises
        ------
        GateError
            An unknown name; a value that is not of the default's kind, negative, or not finite.
        """
        known = {field.name: field.default for field in fields(cls.Parameters)}
        for name, value in given.items():
            if name not in known:
                raise GateError(f"policy {cls.name} has no parameter {shorten(name)!r}. "
                                f"It has: {', '.join(known) or 'none'}.")
            if isinstance(known[name], bool):
                if type(value) is not bool:
                    raise GateError(f"parameter {name} of policy {cls.name} is true or false, not {shorten(value)}.")
            elif type(value) not in (int, float) or not (
                    math.isfinite(value) and 0 <= value <= _MOST_SECONDS):  # type: ignore[arg-type, operator]
                raise GateError(f"parameter {name} of policy {cls.name} is a number from 0 to {_MOST_SECONDS}, "
                                f"not {shorten(value)}.")
        return cls.Parameters(**given)

    def sees(self, hints: Hints) -> Hints:
        """What of a request's hints this policy reads."""
        return hints

    def changed(self, session: Session, now_us: int) -> None:
        """A request of the session has begun or finished."""
        return

    def ended(self, session: Session, now_us: int) -> None:
        """The session is over."""
        return

    def forget(self, session: Session) -> None:
        """The session's record is collected: it is idle and owns nothing."""
        return

    def holds(self, session: Session) -> bool:
        """Whether resident blocks belong to the session, so that its record must stay."""
        return False

    def emptied(self) -> Collection[Session]:
        """Idle sessions that have lost their last block since the last call; each is named once."""
        return ()

    def keep(self, session: Session, context: Mapping[Key, int], found: int, now_us: int) -> None:
        """What the session owns beyond this context is orphaned; `found` of the context's blocks are resident."""
        return

    def admits(self, incoming: int, now_us: int) -> bool:
        """Whether `incoming` blocks may displace others. Not asked while there is room for them."""
        return True

    @abstractmethod
    def access(self, session: Session, found: Sequence[Block], missing: Sequence[Key]) -> None:
        """Blocks that a request shows, first block first; each once a request."""

    @abstractmethod
    def insert(self, session: Session, blocks: Sequence[Block]) -> None:
        """New blocks whose store begins, first block first."""

    @abstractmethod
    def hold(self, blocks: Sequence[Block]) -> None:
        """Idle blocks that are loaded from now on."""

    @abstractmethod
    def release(self, blocks: Sequence[Block]) -> None:
        """Blocks that are idle now."""

    @abstractmethod
    def remove(self, blocks: Sequence[Block]) -> None:
        """Blocks whose store failed."""

    @abstractmethod
    def evict(self, n: int, protected: Mapping[Key, Block], now_us: int) -> Victims | None:
        """Drop exactly `n` idle blocks that are not protected; None, and nothing dropped, when there are fewer."""

    @abstractmethod
    def clear(self) -> None:
        """Every block is gone."""
