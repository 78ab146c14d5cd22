"""The parameters of a fleet, as the components read them; `profile_file` reads and checks the file."""

from __future__ import annotations

from dataclasses import dataclass, replace

from telemetry.errors import UsageError
from tracesim.measured import DepthTable, DurationTables, GapTables, ReuseTables, Threads
from tracesim.parameters import (
    BANDS,
    CLASSES,
    Arrivals,
    Classes,
    Context,
    Depth,
    Durations,
    Gaps,
    Model,
    Part,
    Placement,
    Reuse,
    Row,
    Turns,
    Window,
)

__all__ = ["BANDS", "CLASSES", "Arrivals", "Classes", "Context", "Depth", "Durations", "Gaps", "Model", "Part",
           "Placement", "Profile", "Reuse", "Row", "Turns", "Window"]


@dataclass(frozen=True)
class Profile:
    """A fleet. What is None is not in its calls: turns, places, cached tokens, output and durations."""

    name: str
    window: Window
    arrivals: Arrivals
    depth: Depth | DepthTable
    turns: Turns | None
    gaps: Gaps | GapTables
    classes: Classes
    placement: Placement | None
    context: Context | Threads
    reuse: Reuse | ReuseTables | None
    durations: Durations | DurationTables | None
    unsessioned_per_session: float

    def with_window(self, sessions: int | None, days: float | None, rate: float | None) -> Profile:
        """The same fleet over another window, at its own arrival rate or `rate` sessions a second, or of `sessions`.

        Starts measured in the profile's window are those of that length; another has its hours and days.
        """
        length = self.window.days if days is None else days
        if rate is None:
            rate = self.window.sessions / (self.window.days * 86_400)
        count = max(round(rate * length * 86_400), 1) if sessions is None else sessions
        arrivals = self.arrivals if length == self.window.days else replace(self.arrivals, starts=())
        return replace(self, window=replace(self.window, days=length, sessions=count), arrivals=arrivals)

    def with_effectiveness(self, effectiveness: float) -> Profile:
        """The same fleet with a cache that finds only so large a share of what it would find.

        Raises UsageError when the profile has no cached tokens.
        """
        if effectiveness == 1:
            return self
        if self.reuse is None:
            raise UsageError(f"--cache-effectiveness {effectiveness:g}: the profile {self.name} has no [reuse].")
        return replace(self, reuse=replace(self.reuse, effectiveness=self.reuse.effectiveness * effectiveness))

    def with_stickiness(self, stickiness: float) -> Profile:
        """The same fleet with so large a share of the moves prevented: 0 = none, 1 = all.

        Raises UsageError when the profile places no calls.
        """
        if stickiness == 0:
            return self
        if self.placement is None:
            raise UsageError(f"--stickiness {stickiness:g}: the profile {self.name} has no [placement].")
        moves = ("move_deployment", "move_region", "return_deployment", "return_region")
        fewer = {name: getattr(self.placement, name) * (1 - stickiness) for name in moves}
        return replace(self, placement=replace(self.placement, **fewer))

    def with_classes(self, count: int) -> Profile:
        """The same fleet with the first `count` classes only, their probabilities made to sum to 1.

        Raises UsageError when the profile has fewer, or one of those left leads to none of them.
        """
        have = len(self.classes.first)
        if not 1 <= count <= have:
            raise UsageError(f"--classes {count}: the profile {self.name} has {have} classes.")
        rows = [row[:count] for row in (self.classes.first, *self.classes.following[:count])]
        if not all(sum(row) > 0 for row in rows):
            raise UsageError(f"--classes {count}: among the first {count} classes of the profile {self.name} there is "
                             "one that has no successor. Keep more.")
        first, *following = (tuple(p / sum(row) for p in row) for row in rows)
        models = tuple(model for model in self.classes.models if model.conservative in CLASSES[:count])
        return replace(self, classes=Classes(first, tuple(following), models))

    @property
    def depth_bands(self) -> tuple[int, ...]:
        """Fewest calls of each band of depth that has tables of its own."""
        return self.depth.bands if isinstance(self.depth, DepthTable) else (1,)
