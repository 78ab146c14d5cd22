"""The parameters of an event log, as its components read them."""

from __future__ import annotations

from dataclasses import dataclass, replace

from telemetry.errors import UsageError
from tracesim.parameters import Depth, Part, Row, Window

__all__ = ["Counters", "EventProfile", "Kinds", "Labels"]


@dataclass(frozen=True)
class Labels:
    """Names, and the share of each."""

    names: tuple[str, ...]
    shares: Row


@dataclass(frozen=True)
class Kinds:
    """What events are called.

    Attributes
    ----------
    opens, closes : str
        The first event of a session and, if it has two or more, the last.
    others : Labels
        Those between them; the first is the execution of a tool.
    tools : Labels
        Which tool is executed.
    """

    opens: str
    closes: str
    others: Labels
    tools: Labels


@dataclass(frozen=True)
class Counters:
    """What the hidden model calls of a session add to its counters.

    Attributes
    ----------
    calls : float
        Probability that a model call lies before an event that is not the first.
    first, spread : float
        Median and sigma of the context of a session's first call, tokens.
    growth, noise : float
        Mean growth from call to call, tokens, and the sigma of its lognormal.
    limit, compacted : float
        A context beyond `limit` shrinks to that share of it.
    warm, found : float, (float, float)
        Probability that a call finds its context in the cache, and the least and the largest share that it then finds.
    output, output_sigma : float
        Median and sigma of a call's output, tokens; `limit` at most.
    """

    calls: float
    first: float
    spread: float
    growth: float
    noise: float
    limit: float
    compacted: float
    warm: float
    found: tuple[float, float]
    output: float
    output_sigma: float


@dataclass(frozen=True)
class EventProfile:
    """A fleet whose log holds events.

    Attributes
    ----------
    selected : float
        Days at the end of the window in which every session logs its last event: sessions are selected there, and their
        histories are whole.
    hours : tuple of float
        Weights of the hours of a day for that event.
    repeats : float
        Probability that an event is logged twice.
    """

    name: str
    window: Window
    selected: float
    hours: Row
    depth: Depth
    gaps: tuple[Part, ...]
    kinds: Kinds
    models: Labels
    counters: Counters
    repeats: float

    @property
    def longest_us(self) -> int:
        """Longest time from the first to the last event of a session: with it every history lies in the window."""
        return round((self.window.days - self.selected) * 86_400_000_000)

    def with_window(self, sessions: int | None, days: float | None, rate: float | None) -> EventProfile:
        """The same fleet over another window, at its own number of sessions a second or `rate`, or of `sessions`."""
        length = self.window.days if days is None else days
        if rate is None:
            rate = self.window.sessions / (self.window.days * 86_400)
        count = max(round(rate * length * 86_400), 1) if sessions is None else sessions
        return replace(self, window=replace(self.window, days=length, sessions=count),
                       selected=min(self.selected, length / 2))

    def with_effectiveness(self, effectiveness: float) -> EventProfile:
        """The same fleet with a cache that finds only so large a share of what it would find."""
        return replace(self, counters=replace(self.counters, warm=self.counters.warm * effectiveness))

    def with_stickiness(self, stickiness: float) -> EventProfile:
        """An event log has no placement: UsageError, unless nothing is asked."""
        if stickiness:
            raise UsageError(f"--stickiness {stickiness:g}: the profile {self.name} is of an event log, which places "
                             "no calls.")
        return self

    def with_classes(self, count: int) -> EventProfile:
        """An event log has no model classes: UsageError."""
        raise UsageError(f"--classes {count}: the profile {self.name} is of an event log, which has no model classes.")
