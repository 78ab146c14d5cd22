"""Reads and checks the profile of an event log: a TOML file that has [events]."""

from __future__ import annotations

from telemetry.schema import MAX_COUNTER
from tracesim.events.profile import Counters, EventProfile, Kinds, Labels
from tracesim.parameters import Depth
from tracesim.toml_lines import Document
from tracesim.toml_parts import mixture_of, window_of
from tracesim.toml_table import Table

__all__ = ["event_profile"]

_MOST_LABELS = 127  # kinds, tools and models are counted in a byte


def event_profile(document: Document, name: str) -> EventProfile:
    """A profile of a document.

    Raises
    ------
    UsageError
        An unknown, missing or unusable key, with its line.
    """
    top = Table(document, "", document.content)
    top.only(("window", "arrivals", "depth", "gaps", "events", "models", "counters"))
    window = top.table("window")
    window.only(("start", "days", "sessions", "selected"))
    range_of = window_of(window)
    selected = window.number("selected", 0, range_of.days, above=True)
    if selected >= range_of.days:
        raise window.wrong("selected", selected, f"days at the end of the window, fewer than its {range_of.days:g}")
    counters = _counters(top.table("counters"))
    arrivals, gaps, depth = top.table("arrivals"), top.table("gaps"), top.table("depth")
    arrivals.only(("hours",))
    gaps.only(("parts",))
    depth.only(("parts", "most"))
    most = depth.whole("most", 2, 10**6)
    if most * counters.limit > MAX_COUNTER:
        raise depth.wrong("most", most, f"so many that contexts of {counters.limit:g} tokens sum up to at most "
                          f"{MAX_COUNTER:,}")
    kinds, repeats = _kinds(top.table("events"))
    return EventProfile(
        name=name, window=range_of, selected=selected, hours=arrivals.weights("hours", 24),
        depth=Depth(mixture_of(depth, "parts"), most), gaps=mixture_of(gaps, "parts"),
        kinds=kinds, models=_labels(top.table("models")), counters=counters, repeats=repeats)


def _kinds(table: Table) -> tuple[Kinds, float]:
    table.only(("opens", "closes", "names", "shares", "tools", "repeats"))
    others = _labels(table, ("names", "shares"))
    return (Kinds(table.text("opens"), table.text("closes"), others, _labels(table.table("tools"))),
            table.number("repeats", 0, 1))


def _labels(table: Table, keys: tuple[str, str] = ("names", "shares")) -> Labels:
    names_key, shares_key = keys
    if "opens" not in table.content:
        table.only(keys)
    names = table.value(names_key, "a list of different names")
    if (not isinstance(names, list) or not 1 <= len(names) <= _MOST_LABELS
            or not all(isinstance(each, str) and each for each in names) or len(set(names)) < len(names)):
        raise table.wrong(names_key, names, "a list of different names")
    return Labels(tuple(names), table.probabilities(shares_key, len(names)))


def _counters(table: Table) -> Counters:
    table.only(Counters.__dataclass_fields__)
    first, limit = table.number("first", 1), table.number("limit", 1)
    if first > limit:
        raise table.wrong("first", first, f"at most limit, {limit:g}")
    return Counters(
        calls=table.number("calls", 0, 1), first=first, spread=table.number("spread", 0, 5),
        growth=table.number("growth", 0), noise=table.number("noise", 0, 5), limit=limit,
        compacted=table.number("compacted", 0, 1), warm=table.number("warm", 0, 1), found=table.span("found", 0, 1),
        output=table.number("output", 0), output_sigma=table.number("output_sigma", 0, 5))
