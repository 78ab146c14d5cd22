"""The curve of how deep sessions are, which several figures draw."""

from __future__ import annotations

from dataclasses import dataclass

from matplotlib.axes import Axes

from figures import axes, style
from figures.source import ResultsLike, rows, value_of
from figures.units import format_value

__all__ = ["Depths", "draw_ccdf"]


@dataclass(frozen=True)
class Depths:
    """A table of depths, and the quantiles that a finding names.

    Attributes
    ----------
    table : str
    of : str
        What is counted, and its column: `calls`.
    half, tenth, hundredth : str
        Keys of the depths that so large a share of the sessions reaches.
    """

    table: str
    of: str
    half: str
    tenth: str
    hundredth: str


def draw_ccdf(ax: Axes, results: ResultsLike, depths: Depths, *, log: bool) -> None:
    """Share of sessions with more than x calls or events, on linear or on log axes."""
    data = rows(results, depths.table)
    if not data:
        return axes.note(ax, "no sessions")
    # On a log axis the last point, P = 0, has no place: the deepest session ends the line.
    kept = [r for r in data if not log or (r["ccdf"] > 0 and r[depths.of] > 0)]
    if not kept:
        return axes.note(ax, "all sessions are equally deep")
    look = style.series(0)
    ax.plot(
        [r[depths.of] for r in kept],
        [r["ccdf"] for r in kept],
        drawstyle="steps-post",
        color=look.colour,
        marker=look.marker if len(kept) < 3 else "",
    )
    ax.set_xlabel(f"{depths.of} per session")
    ax.set_ylabel(f"sessions with more {depths.of}")
    if log:
        axes.count_axis(ax.xaxis, log=True)
        axes.odds_axis(ax.yaxis)
    else:
        deep = value_of(results, depths.hundredth) or max(r[depths.of] for r in data)
        ax.set_xlim(0, max(4, deep))
        axes.count_axis(ax.xaxis)
        axes.percent_axis(ax.yaxis)
    # The curve of a small trace ends above a hundredth: a mark below it would hang in the air.
    _marks(ax, results, depths, log, min(r["ccdf"] for r in kept))
    return None


def _marks(ax: Axes, results: ResultsLike, depths: Depths, log: bool, lowest: float) -> None:
    """The quantiles that the finding names, at the height that gives them their name, down to `lowest`."""
    ax.get_xlim()  # settles the limits, on which the places depend
    to_axes = ax.transData + ax.transAxes.inverted()
    for key, height, name in (
        (depths.half, 0.5, "half"),
        (depths.tenth, 0.1, "a tenth"),
        (depths.hundredth, 0.01, "a hundredth"),
    ):
        depth = value_of(results, key)
        if not depth or height < lowest or (not log and key == depths.hundredth):
            continue
        ax.plot([depth], [height], style.MARKERS[1], color=style.FOREGROUND, markersize=4, zorder=3)
        # The free side of a falling line is above right, unless the frame ends there.
        near_edge = float(to_axes.transform((depth, height))[0]) > 0.64
        ax.annotate(
            f"{name}: {format_value(depth, depths.of)}+",
            (depth, height),
            xytext=(-6, -3) if near_edge else (7, 4),
            textcoords="offset points",
            ha="right" if near_edge else "left",
            va="top" if near_edge else "bottom",
            fontsize=8.5,
            gid="halo",
        )
