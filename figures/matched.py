"""Figure 12 of the paper: a log and a trace generated in its image under the same replay.

It is no figure of the report, which is of one trace; `kvcensus generate --check CALLS` draws it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

from figures import axes, replayed, style

__all__ = ["matched_figure"]

_SIDES = (("measured", "-"), ("generated", ":"))
_WORDS = {"mrr_unbounded": "unbounded MRR"}
_INCHES = (5.2, 3.2)  # room for a name of each line


def matched_figure(data: Sequence[Mapping[str, Any]]) -> Figure:
    """Reconstruction rate against budget, measured and generated, with bootstrap intervals.

    Parameters
    ----------
    data : sequence of mapping
        `side`, `policy`, `budget_share`, `reconstruction_rate`, `low`, `high`.
    """
    with mpl.rc_context(style.RC):
        figure = Figure(figsize=_INCHES)
        ax = figure.add_axes(style.Margins(bottom=0.18, top=0.78).rectangle())
        for place, policy in enumerate(dict.fromkeys(row["policy"] for row in data)):
            look = style.series(place)
            for side, dash in _SIDES:
                rows = [row for row in data if row["policy"] == policy and row["side"] == side]
                shares = [row["budget_share"] for row in rows]
                words = _WORDS.get(policy, replayed.policy(policy))
                ax.plot(shares, [row["reconstruction_rate"] for row in rows], color=look.colour, linestyle=dash,
                        marker=look.marker, label=f"{words}, {side}")
                ax.vlines(shares, [row["low"] for row in rows], [row["high"] for row in rows], color=look.colour,
                          linewidth=1)
        places = sorted({row["budget_share"] for row in data})
        ax.set_xscale("log")
        ax.set_xticks(places, [f"{place:.0%}" for place in places])
        ax.set_xticks([], minor=True)
        ax.set_xlabel("budget, share of each trace’s own K*")
        ax.set_ylabel("rebuilt calls")
        axes.percent_axis(ax.yaxis, whole=False)
        ax.set_ylim(bottom=0)
        axes.legend(ax, 2)
        return figure
