"""Reads and checks profiles: TOML files that say of every parameter where it comes from."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

from telemetry.errors import UsageError, quoted
from tracesim.events.event_file import event_profile
from tracesim.events.profile import EventProfile
from tracesim.measured import DepthTable, DurationTables, GapTables, ReuseTables, Threads
from tracesim.measured_file import depth_table, duration_tables, gap_tables, reuse_tables, thread_tables
from tracesim.profile import (
    BANDS,
    CLASSES,
    Arrivals,
    Classes,
    Context,
    Depth,
    Durations,
    Gaps,
    Model,
    Placement,
    Profile,
    Reuse,
    Turns,
)
from tracesim.toml_lines import Document, read_document
from tracesim.toml_parts import mixture_of, window_of
from tracesim.toml_table import Table

__all__ = ["load_profile", "profiles"]

_FOLDER = Path(__file__).parent / "profiles"
_EXCURSIONS = ("1", "2", "3+")
_BANDS = len(BANDS) - 1
_MOST_LABELS = 127  # places and models are counted in a byte


def profiles() -> dict[str, Path]:
    """Name -> file, of the profiles that come with kvcensus."""
    return {path.stem: path for path in sorted(_FOLDER.glob("*.toml"))}


def load_profile(name: str) -> Profile | EventProfile:
    """A profile by name, or from a file that ends with .toml; one with [events] is of an event log.

    Raises
    ------
    UsageError
        Unknown name; a file that cannot be read; an unknown, missing or unusable key, with its line.
    """
    known = profiles()
    path = known.get(name) or (Path(name) if name.endswith(".toml") else None)
    if path is None:
        raise UsageError(f"unknown profile {quoted(name)}. Known profiles: {', '.join(known)}; or name a file that "
                         "ends with .toml.")
    document = read_document(path, known)
    if "events" in document.content:
        return event_profile(document, path.stem)
    return _Reader(document).profile(path.stem)


class _Reader:
    """Makes a profile of a document."""

    def __init__(self, document: Document) -> None:
        self._top = Table(document, "", document.content)

    def profile(self, name: str) -> Profile:
        parts = ("window", "arrivals", "depth", "turns", "gaps", "classes", "models", "placement", "context", "reuse",
                 "durations")
        self._top.only(parts)
        classes = self._classes()
        count = len(classes.first)
        window = self._top.table("window")
        window.only(("start", "days", "sessions", "cuts", "unsessioned_per_session"))
        depth = self._depth()
        bands = depth.bands if isinstance(depth, DepthTable) else (1,)
        return Profile(
            name=name, window=window_of(window), arrivals=self._arrivals(), depth=depth,
            turns=self._turns(len(bands)), gaps=self._gaps(bands), classes=classes, placement=self._placement(),
            context=self._context(count, depth), reuse=self._reuse(count), durations=self._durations(count),
            unsessioned_per_session=window.number("unsessioned_per_session", 0, 1000)
            if "unsessioned_per_session" in window.content else 0.0)

    def _arrivals(self) -> Arrivals:
        table = self._top.table("arrivals")
        table.only(("hours", "days", "starts"))
        starts = table.points("starts") if "starts" in table.content else []
        times, shares = [time for time, _ in starts], [share for _, share in starts]
        if starts and (times[-1] > 1 or (shares[0], shares[-1]) != (0, 1) or any(b <= a for a, b in pairwise(shares))):
            raise table.wrong("starts", [list(pair) for pair in starts], "pairs [share of the window, share of the "
                              "sessions] that rise within the window, from share 0 to share 1")
        return Arrivals(table.weights("hours", 24), table.weights("days", 7), tuple(starts))

    def _depth(self) -> Depth | DepthTable:
        table = self._top.table("depth")
        if "edges" in table.content:
            return depth_table(table)
        table.only(("parts", "most", "deepens"))
        return Depth(mixture_of(table, "parts"), table.whole("most", 1, 10**6),
                     table.number("deepens", -3, 3) if "deepens" in table.content else 0.0)

    def _turns(self, bands: int) -> Turns | None:
        if "turns" not in self._top.content:
            return None
        table = self._top.table("turns")
        table.only(("opens",))
        if isinstance(table.content.get("opens"), list):
            return Turns(table.numbers("opens", bands, 0, 1))
        return Turns((table.number("opens", 0, 1),) * bands)

    def _gaps(self, bands: Sequence[int]) -> Gaps | GapTables:
        table = self._top.table("gaps")
        if "bands" in table.content:
            return gap_tables(table, bands)
        table.only(("intra", "inter"))
        inter = table.points("inter") if "inter" in table.content else [(0.0, 1.0), (1.0, 1.0)]
        shares, seconds = zip(*inter, strict=True)
        if shares[0] != 0 or shares[-1] != 1 or min(seconds) <= 0 or list(seconds) != sorted(seconds):
            raise table.wrong("inter", [list(pair) for pair in inter], "pairs [share, seconds] from share 0 to share "
                              "1, with seconds above 0 that do not fall")
        return Gaps(mixture_of(table, "intra"), tuple(inter))

    def _classes(self) -> Classes:
        table = self._top.table("classes")
        table.only(("first", "next"))
        first = table.probabilities("first", None)
        count = len(first)
        if count > len(CLASSES):
            raise table.wrong("first", list(first), f"at most {len(CLASSES)} probabilities: {', '.join(CLASSES)}")
        names = CLASSES[:count]
        following = table.table("next")
        following.only(names)
        rows = tuple(following.probabilities(name, count) for name in names)
        entered = [name for name, chances in zip(names, zip(first, *rows, strict=True), strict=True) if any(chances)]
        return Classes(first, rows, self._models(names, entered))

    def _models(self, names: Sequence[str], entered: Sequence[str]) -> tuple[Model, ...]:
        found: list[Model] = []
        tables = self._top.tables("models")
        for table in tables:
            table.only(("name", "class", "broad", "share"))
            kind = table.text("class")
            broad = table.text("broad") if "broad" in table.content else kind
            for key, value, allowed in (("class", kind, names), ("broad", broad, CLASSES)):
                if value not in allowed:
                    raise table.wrong(key, value, ", ".join(allowed))
            name = table.text("name")
            if any(name in other.name or other.name in name for other in found):
                raise table.wrong("name", name, "a name that is not part of another, nor contains one")
            found.append(Model(name, kind, broad, table.number("share", 0, above=True)))
        for name in names:
            if name in entered and not any(model.conservative == name for model in found):
                raise self._top.wrong("models", [model.name for model in found], f"a model of class {name}")
        if len(found) > _MOST_LABELS:
            raise self._top.wrong("models", f"{len(found)} models", f"at most {_MOST_LABELS}")
        return tuple(sorted(found, key=lambda model: CLASSES.index(model.conservative)))

    def _placement(self) -> Placement | None:
        if "placement" not in self._top.content:
            return None
        table = self._top.table("placement")
        moves = ("move_deployment", "move_region", "return_deployment", "return_region")
        table.only(("regions", "shares", "deployments", "home", "spread", *moves))
        regions = table.value("regions", "a list of names")
        if (not isinstance(regions, list) or not 1 <= len(regions) <= _MOST_LABELS
                or not all(isinstance(each, str) and each for each in regions) or len(set(regions)) < len(regions)):
            raise table.wrong("regions", regions, "a list of different names")
        shares = table.probabilities("shares", len(regions))
        chance = {name: table.number(name, 0, 1) for name in moves}
        return Placement(tuple(regions), shares, table.whole("deployments", 1, _MOST_LABELS),
                         table.number("home", 0, 1), **chance, spread=table.number("spread", 0, 10))

    def _context(self, count: int, depth: Depth | DepthTable) -> Context | Threads:
        table = self._top.table("context")
        if "bands" in table.content:
            if not isinstance(depth, DepthTable):
                raise table.wrong("bands", "tables by band", "a [depth] with edges and bands, which they follow")
            return thread_tables(table, depth.bands, CLASSES[:count])
        table.only(Context.__dataclass_fields__)
        least, window = table.whole("least", 1, 10**9), table.whole("window", 1, 2**31 - 1)
        if least > window:
            raise table.wrong("least", least, f"at most window, {window}")
        return Context(
            first=table.number("first", 1), spread=table.number("spread", 0, 5),
            growth=table.number("growth", 0), calls=table.number("calls", 1), noise=table.number("noise", 0, 5),
            deeper=table.number("deeper", -2, 2),
            limit=table.number("limit", 1), limit_spread=table.number("limit_spread", 0, 5),
            compacts=table.number("compacts", 0, 1), compacted=table.span("compacted", 0, 1),
            side=table.numbers("side", count, 0, 1),
            extract=table.number("extract", 0, 1, above=True), extract_spread=table.number("extract_spread", 0, 5),
            bursts=table.numbers("bursts", count, 0, 1),
            burst=table.number("burst", 1), burst_spread=table.number("burst_spread", 0, 5),
            scale=table.numbers("scale", count),
            least=least, window=window)

    def _reuse(self, count: int) -> Reuse | ReuseTables | None:
        if "reuse" not in self._top.content:
            return None
        table = self._top.table("reuse")
        if "cells" in table.content:
            return reuse_tables(table)
        table.only(Reuse.__dataclass_fields__)
        situations = {name: table.table(name) for name in ("same", "switch", "extract")}
        for each in situations.values():
            each.only(CLASSES[:count])
        by_class = {name: tuple(each.probabilities(kind, _BANDS) for kind in CLASSES[:count])
                    for name, each in situations.items()}
        excursion = table.table("excursion")
        excursion.only(_EXCURSIONS)
        idle = table.points("idle")
        if any(p > 1 for _, p in idle):
            raise table.wrong("idle", [list(pair) for pair in idle], "pairs [seconds, probability]")
        return Reuse(
            first=table.probabilities("first", _BANDS),
            **by_class,
            excursion=tuple(excursion.probabilities(name, _BANDS) for name in _EXCURSIONS),
            cross_deployment=table.probabilities("cross_deployment", _BANDS),
            cross_region=table.probabilities("cross_region", _BANDS),
            idle=tuple(idle), lost=table.probabilities("lost", _BANDS),
            block=table.whole("block", 1, 10**6),
            effectiveness=table.number("effectiveness", 0, 1) if "effectiveness" in table.content else 1.0)

    def _durations(self, count: int) -> Durations | DurationTables | None:
        if "durations" not in self._top.content:
            return None
        table = self._top.table("durations")
        if "classes" in table.content or not set(Durations.__dataclass_fields__) & {*table.content} - {"busy"}:
            return duration_tables(table, CLASSES[:count])
        table.only(Durations.__dataclass_fields__)
        return Durations(table.span("busy", 0, 100), table.number("most_s", 0, 10**6, above=True),
                         table.number("tokens_per_s", 0, above=True), table.number("speed_spread", 0, 5))
