"""What the figures of live results share."""

from __future__ import annotations

from collections.abc import Iterable

from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter

from figures.source import Row
from figures.units import short_time

__all__ = ["MOST", "ON_TIME", "RIGHT", "ROUGH", "SAME", "conditions", "seconds_axis"]

#: Conditions that are drawn; the table has them all.
MOST = 6
#: Differences of shares: policies that hardly differ; a simulator that is right, or roughly.
SAME, RIGHT, ROUGH = 0.01, 0.01, 0.03
#: Seconds by which a turn may be late.
ON_TIME = 0.1


def conditions(data: Iterable[Row]) -> list[str]:
    """The first conditions of a table."""
    return list(dict.fromkeys(row["condition"] for row in data))[:MOST]


def seconds_axis(ax: Axes) -> None:
    """Seconds from zero on."""
    ax.set_ylim(bottom=0)
    ax.yaxis.set_major_formatter(FuncFormatter(lambda v, _: short_time(v) if v else "0"))
