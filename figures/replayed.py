"""What figures of a residency replay share: names of policies, the axis of budgets, the title of a panel."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from matplotlib.axes import Axes

from figures import axes, budget, style
from figures.source import Row
from figures.units import format_value, short_bytes

__all__ = ["bands", "budget_axis", "budget_field", "cell", "ordered", "policy", "title"]

_POLICIES: Final = {"lru": "LRU", "fnu": "FNU", "mrr": "MRR (int4)", "size_aware": "size-aware",
                    "ttl_5m": "idle cap of 5 min"}


def policy(name: str) -> str:
    """The words for a policy; any other name as it is, made harmless."""
    return _POLICIES.get(name, axes.label(name))


def ordered(data: Iterable[Row]) -> list[str]:
    """The policies of some rows, those that have words first, always in one order."""
    present = dict.fromkeys(r["policy"] for r in data)
    return [name for name in _POLICIES if name in present] + [name for name in present if name not in _POLICIES]


def bands(ax: Axes, data: Iterable[Row], x: str, ends: tuple[str, str], colour: str) -> None:
    """The intervals of one policy: an area, or a bar where there is one budget."""
    points = sorted((r[x], r[ends[0]], r[ends[1]]) for r in data if r[x] and r[ends[0]] is not None)
    places, low, high = ([point[i] for point in points] for i in range(3))
    if len(points) == 1:
        ax.vlines(places, low, high, color=colour, linewidth=1)
    elif points:
        ax.fill_between(places, low, high, color=colour, alpha=style.BAND, linewidth=0)


def cell(row: Row) -> tuple[str, str, str]:
    """What one panel is of."""
    return row["stream"], row["object_key"], row["release"]


def budget_field(data: Iterable[Row]) -> str:
    """The column that places rows on the axis of budgets: shares of K* where all are."""
    return "budget_share" if all(r["budget_share"] for r in data) else "budget_bytes"


def budget_axis(ax: Axes, data: list[Row], kstar: int | None) -> None:
    """A log axis with a tick at each budget that was replayed: share of K* and, below it, bytes."""
    field = budget_field(data)
    budgets = {r[field]: r["budget_bytes"] for r in data if r[field]}
    places = sorted(budgets)
    if len(places) > 8:
        places = places[:: -(-len(places) // 8)]
    ax.set_xscale("log")
    shares = field == "budget_share"
    ax.set_xticks(
        places,
        [f"{p * 100:g}%\n{_two_digits(budgets[p])}" if shares else _two_digits(budgets[p]) for p in places],
        fontsize=7.5,
    )
    ax.set_xticks([], minor=True)
    if len(budgets) == 1:
        ax.set_xlim(places[0] / 3, places[0] * 3)
    known_peak = "" if kstar is None else f" (K* = {format_value(kstar, 'bytes')})"
    ax.set_xlabel(f"budget{known_peak}")


def _two_digits(size: int) -> str:
    """`short_bytes` without the space, for ticks that stand close."""
    return short_bytes(float(f"{size:.2g}")).replace(" ", "\N{NO-BREAK SPACE}")


def title(row: Row) -> str:
    """The objects, the stream and the sample that a row is of."""
    stream = budget.STREAMS.get(row["stream"], axes.label(row["stream"]))
    objects = budget.OBJECTS.get(row["object_key"], axes.label(row["object_key"]))
    released = "" if row["release"] == "last" else ", never released"
    share = row.get("sample_fraction")
    sampled = "" if share is None else f", a sample of {format_value(share, 'share')} of the sessions"
    return f"{objects[0].upper()}{objects[1:]}{released}, {stream}{sampled}"
