"""Axes and words in a figure: ticks people read, names at lines, reference lines."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullLocator

from figures.style import BACKGROUND, FEW, MARGINS, MARKERS, MUTED, Series
from figures.units import clean, short_bytes, short_count, short_time

__all__ = [
    "bar_look",
    "bytes_axis",
    "categories",
    "count_axis",
    "end_labels",
    "few_legend",
    "few_top",
    "label",
    "legend",
    "line",
    "note",
    "odds_axis",
    "percent_axis",
    "positive",
    "reference",
    "share_axis",
    "time_axis",
]

_HIGHEST = 0.97  # of a name at a line, in heights of the axes: a legend may stand above


# --- axes --------------------------------------------------------------------------------------


def percent_axis(axis: Any, whole: bool = True) -> None:
    """Shares shown as per cent; `whole`: the axis runs over 0 to 100%."""
    axis.set_major_formatter(FuncFormatter(lambda v, _: f"{v * 100:g}%"))
    if whole:
        axis.set_major_locator(FixedLocator([0, 0.25, 0.5, 0.75, 1]))
        if axis.axis_name == "y":
            axis.axes.set_ylim(0, 1.04)
        else:
            axis.axes.set_xlim(0, 1.02)


def count_axis(axis: Any, log: bool = False) -> None:
    """Counts as 1, 10, 1k; a log axis without minor ticks, whose labels would collide."""
    _plain(axis, short_count, log)


def odds_axis(axis: Any) -> None:
    """A log axis of shares as people say them: 1 in 10, 1 in 1k."""
    count_axis(axis, log=True)
    axis.set_major_formatter(
        FuncFormatter(
            lambda v, _: "all" if v == 1 else f"1 in {short_count(round(1 / v))}" if 0 < v < 1 else ""
        )
    )


def bytes_axis(axis: Any) -> None:
    """Bytes as 200 TB, from zero."""
    _plain(axis, short_bytes, log=False)


def _plain(axis: Any, formatter: Any, log: bool) -> None:
    if log:
        (axis.axes.set_xscale if axis.axis_name == "x" else axis.axes.set_yscale)("log")
        axis.set_major_locator(LogLocator(numticks=7))
        axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda v, _: formatter(v)))


def share_axis(ax: Axes, shares: Sequence[float]) -> None:
    """A log x axis with a tick at each share."""
    ax.set_xscale("log")
    ax.set_xticks(shares, [f"{share * 100:g}%" for share in shares])
    ax.set_xticks([], minor=True)
    if len(shares) == 1:
        ax.set_xlim(shares[0] / 3, shares[0] * 3)


def time_axis(axis: Any, low: float, high: float) -> None:
    """A log axis of seconds with ticks that people use: 1 s, 1 min, 1 h, 1 d."""
    axis.axes.set_xscale("log")
    ticks = [
        t
        for t in (1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1, 10, 60, 600, 3600, 6 * 3600, 86_400, 864_000)
        if low <= t <= high
    ]
    # More than seven labels collide: ten times steps are dropped first.
    if len(ticks) > 7:
        ticks = [t for t in ticks if t in (1e-6, 1e-3, 1, 60, 3600, 86_400, 864_000)]
    axis.set_major_locator(FixedLocator(ticks))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda v, _: short_time(v)))


def positive(values: Iterable[float | None], floor: float) -> list[float]:
    """Values for a log axis: what is not above `floor` (a gap of 0 s, say) is drawn at it, not left out."""
    return [max(v, floor) if v is not None else floor for v in values]


def categories(ax: Axes, names: Sequence[object], axis: str = "x") -> list[int]:
    """Evenly spaced positions with labels from the data."""
    places = list(range(len(names)))
    shown = [label(name, 22) for name in names]
    if axis == "x":
        ax.set_xticks(places, shown)
        ax.set_xlim(-0.6, max(len(places), 1) - 0.4)
        ax.grid(visible=False, axis="x")
    else:
        ax.set_yticks(places, shown)
        ax.set_ylim(max(len(places), 1) - 0.4, -0.6)  # the first one on top
        ax.grid(visible=False, axis="y")
    return places


# --- marks -------------------------------------------------------------------------------------


def line(ax: Axes, points: Sequence[tuple[float, float, int]], look: Series) -> None:
    """A line through points of x, y and n; one that few stand behind is hollow, and no line leads to it."""
    ax.plot(
        [x for x, _, _ in points],
        [y if n >= FEW else float("nan") for _, y, n in points],
        color=look.colour,
        linestyle=look.dash,
        marker=look.marker,
        clip_on=False,  # a marker at zero is seen whole
    )
    for x, y, n in points:
        if n < FEW:
            ax.plot([x], [y], look.marker, color=look.colour, markerfacecolor=BACKGROUND, clip_on=False)


def bar_look(look: Series, n: int) -> dict[str, Any]:
    """How a bar is filled: not at all where few stand behind it."""
    if n < FEW:
        return {"facecolor": BACKGROUND, "edgecolor": look.colour, "linewidth": 1.2}
    edge = BACKGROUND if look.hatch else look.colour  # of the lines of the hatch
    return {"facecolor": look.colour, "edgecolor": edge, "hatch": look.hatch, "alpha": 0.85, "linewidth": 0}


def few_top(sizes: Iterable[int]) -> float:
    """Top margin of a panel: room for `few_legend` where something is hollow."""
    return 0.885 if any(n < FEW for n in sizes) else MARGINS.top


def few_legend(ax: Axes, sizes: Iterable[int]) -> None:
    """What hollow means, where something is."""
    if any(n < FEW for n in sizes):
        name = f"hollow: under {FEW} calls"
        ax.plot([], [], MARKERS[0], color=MUTED, markerfacecolor=BACKGROUND, label=name)
        legend(ax, 1)


# --- words in a figure -------------------------------------------------------------------------


def label(name: object, limit: int = 28) -> str:
    """A label of the trace, fit to be drawn."""
    return clean("unknown" if name is None else name, limit)


def note(ax: Axes, text: str) -> None:
    """One line in the middle of the axes: what is said instead of a plot without rows."""
    ax.text(0.5, 0.5, text, transform=ax.transAxes, ha="center", va="center", color=MUTED)
    ax.set_xticks([])
    ax.set_yticks([])
    ax.grid(visible=False)


def reference(ax: Axes, at: float, text: str, axis: str = "y", dash: Any = (0, (4, 3))) -> None:
    """A thin line at a value (`axis="y"`: horizontal), named in the legend: no curve runs through there."""
    draw = ax.axhline if axis == "y" else ax.axvline
    draw(at, color=MUTED, linewidth=1.1, linestyle=dash, zorder=1.5, label=text)


def legend(ax: Axes, columns: int) -> None:
    """Names in rows above the axes, where no line can run through them."""
    if not ax.get_legend_handles_labels()[0]:
        return
    ax.legend(
        loc="lower left",
        bbox_to_anchor=(-0.02, 1.0),
        ncols=columns,
        frameon=False,
        fontsize=8.5,
        handlelength=2.6,
        borderaxespad=0.2,
        columnspacing=1.2,
        handletextpad=0.5,
        labelspacing=0.25,
    )


def end_labels(ax: Axes, ends: Sequence[tuple[float, float, str]], gap: float = 0.075) -> None:
    """Names at the right end of lines instead of a legend, pushed apart where they would overlap.

    `ends`: x, y and text of each line's last point; `gap`: least distance in heights of the axes.
    """
    ax.get_xlim(), ax.get_ylim()  # settles the limits, on which the places depend
    to_axes = ax.transData + ax.transAxes.inverted()
    placed = sorted(((float(to_axes.transform((x, y))[1]), x, y, text) for x, y, text in ends))
    heights: list[float] = []
    for height, *_ in placed:
        heights.append(max(height, heights[-1] + gap) if heights else height)
    if heights and heights[-1] > _HIGHEST:  # pushed out at the top: pull the stack down
        for i in range(len(heights) - 1, -1, -1):
            heights[i] = min(heights[i], _HIGHEST - gap * (len(heights) - 1 - i))
    for height, (_, x, _y, text) in zip(heights, placed, strict=True):
        ax.annotate(
            text,
            (x, height),
            xycoords=("data", "axes fraction"),
            xytext=(6, 0),
            textcoords="offset points",
            ha="left",
            va="center",
            fontsize=8.5,
            annotation_clip=False,
            gid="halo",
        )
