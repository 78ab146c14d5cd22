"""What the source of a profile prints about its trace, with tolerances: `tracesim/published/NAME.toml`."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tracesim

__all__ = ["Order", "Printed", "Published", "Tolerance", "load_published", "published_profiles"]

_FOLDER = Path(tracesim.__file__).parent / "published"
_TOLERANCE = re.compile(r"([0-9]+(?:\.[0-9]+)?)(%| points)")


@dataclass(frozen=True)
class Tolerance:
    """How far a number may be off: `5%` of the value, or `2 points` of a share."""

    text: str
    amount: float
    relative: bool

    @classmethod
    def parse(cls, text: str) -> Tolerance:
        """Raises ValueError for anything else."""
        found = _TOLERANCE.fullmatch(text)
        if found is None:
            raise ValueError(f"a tolerance is written 5% or 2 points, not {text}")
        return cls(text, float(found[1]) / 100, found[2] == "%")

    def holds(self, published: float, generated: float) -> bool:
        """Whether the number lies within the tolerance."""
        return abs(generated - published) <= self.amount * (abs(published) if self.relative else 1) * (1 + 1e-12)

    def off(self, published: float, generated: float) -> str:
        """The difference, in the tolerance's unit."""
        difference = generated - published
        return f"{100 * difference / published:+.1f}%" if self.relative else f"{100 * difference:+.2f} points"


@dataclass(frozen=True)
class Printed:
    """A printed number.

    Attributes
    ----------
    key : str
        As in `pipelines.trace_numbers`.
    value : float
    within : Tolerance
    tier : int
        1 must hold; 2 is reported.
    source : str
        Where it is printed.
    sized : bool
        Grows with the fleet: compared in proportion to the sessions.
    limit : Tolerance or None
        The residual that is known and accepted.
    why : str
        Its reason.
    """

    key: str
    value: float
    within: Tolerance
    tier: int
    source: str
    sized: bool
    limit: Tolerance | None
    why: str


@dataclass(frozen=True)
class Order:
    """Numbers of which each is at least the next."""

    keys: tuple[str, ...]
    tier: int
    source: str


@dataclass(frozen=True)
class Published:
    """All of one source.

    Attributes
    ----------
    stream : str or None
        What is replayed; None: nothing, as an event log holds no calls.
    sessions : int
        Of the published trace.
    """

    stream: str | None
    sessions: int
    numbers: tuple[Printed, ...]
    orders: tuple[Order, ...]

    @property
    def counted(self) -> str:
        """Key of the sessions of a generated trace."""
        return "events.sessions" if self.stream is None else "trace.sessions"


def published_profiles() -> dict[str, Path]:
    """Profile -> file."""
    return {path.stem: path for path in sorted(_FOLDER.glob("*.toml"))}


def load_published(name: str) -> Published:
    """What is printed about a profile; KeyError for one without a source."""
    content = tomllib.loads(published_profiles()[name].read_text(encoding="utf-8"))
    return Published(content.get("stream"), content["sessions"], tuple(map(_printed, content["numbers"])),
                     tuple(Order(tuple(each["keys"]), each["tier"], each["source"])
                           for each in content.get("orders", [])))


def _printed(entry: Mapping[str, Any]) -> Printed:
    limit = entry.get("limit")
    if (limit is not None) != ("why" in entry) or (limit is not None and entry["tier"] == 1):
        raise ValueError(f"{entry['key']}: only a number of tier 2 has a limit, and then a reason")
    return Printed(entry["key"], entry["value"], Tolerance.parse(entry["within"]), entry["tier"], entry["source"],
                   entry.get("sized", False), None if limit is None else Tolerance.parse(limit), entry.get("why", ""))
