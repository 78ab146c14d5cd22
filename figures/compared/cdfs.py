"""What the overlaid distributions share: a line a window."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from matplotlib.axes import Axes

from figures.compared.spec import Compared, name_of
from figures.source import Row, rows

__all__ = ["overlay"]


def overlay(ax: Axes, windows: Sequence[Compared], table: str,
            point: Callable[[Row], tuple[float, float] | None]) -> list[tuple[float, float]]:
    """Draw a stepped line a window through what `point` makes of its rows (None: not drawn); returns all points."""
    every: list[tuple[float, float]] = []
    for window in windows:
        points = [found for row in rows(window.results, table) if (found := point(row)) is not None]
        every += points
        ax.plot(
            [x for x, _ in points],
            [y for _, y in points],
            drawstyle="steps-post",
            color=window.look.colour,
            linestyle=window.look.dash,
            marker=window.look.marker if len(points) < 3 else "",
            label=name_of(window, windows),
        )
    return every
