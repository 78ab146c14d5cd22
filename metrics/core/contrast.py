"""What differs most between several results: their numbers side by side, ranked.

Shares are told apart in points, all else by the ratio of the largest to the smallest. Totals, which grow with the
trace, are not ranked: that one trace is larger than another tells nothing on how they are used.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

__all__ = ["Contrast", "Contrasts", "contrasts"]

#: Units of totals; a median of calls is none.
_TOTALS = frozenset({"rows", "sessions", "transitions", "objects", "models", "instants", "bytes", "bytes/s", "seed"})
_COUNTED = ("trace.", "audit.", "replay.", "events.count", "events.sessioned", "events.span_s")
_GROWING = (".max", "max_s", ".calls", ".unclassified", ".depth_max")
_LOADS = (".load_p50", ".load_p99", ".load_max")
#: Their `lo` and `hi` are a range over hours, no interval.
_RANGED = "replay.hours."
_BYTES = frozenset({"bytes", "GiB"})


class _Number(Protocol):
    @property
    def value(self) -> Any: ...
    @property
    def lo(self) -> Any: ...
    @property
    def hi(self) -> Any: ...
    @property
    def unit(self) -> str: ...
    @property
    def n(self) -> int | None: ...
    @property
    def method(self) -> str: ...


class _Store(Protocol):
    @property
    def numbers(self) -> Mapping[str, _Number]: ...
    @property
    def manifest(self) -> Mapping[str, Any]: ...


@dataclass(frozen=True)
class Contrast:
    """One number in several results.

    Attributes
    ----------
    key, unit, method : str
    values : tuple of Published or None
        In the order of the results; None where one has no such number or does not know it.
    spread : float
        Points between the highest and the lowest share, 0 to 1; of other units the ratio of the two, infinite where
        the lowest is 0.
    apart : bool or None
        Whether the intervals of the highest and the lowest value do not meet; None unless both have one.
    """

    key: str
    unit: str
    method: str
    values: tuple[_Number | None, ...]
    spread: float
    apart: bool | None

    @property
    def subject(self) -> str:
        """What the number is on: the beginning of its key."""
        return self.key.partition(".")[0]


@dataclass(frozen=True)
class Contrasts:
    """All numbers that can be told apart, those that differ most first; and why how many others cannot."""

    shares: tuple[Contrast, ...]
    ratios: tuple[Contrast, ...]
    left_out: Mapping[str, int]


def contrasts(results: Sequence[_Store]) -> Contrasts:
    """Rank what two or more results know.

    Parameters
    ----------
    results : sequence of Results
        At least two.
    """
    one_geometry = len({_beta(store) for store in results}) == 1
    left_out: Counter[str] = Counter()
    found: list[Contrast] = []
    for key in dict.fromkeys(key for store in results for key in store.numbers):
        values = tuple(_known(store, key) for store in results)
        why = _incomparable(key, [value for value in values if value is not None], one_geometry)
        if why is not None:
            left_out[why] += 1
            continue
        contrast = _contrast(key, values)
        if contrast is None:
            left_out["equal in all results that know them"] += 1
        else:
            found.append(contrast)
    ranked = sorted(found, key=lambda each: (-each.spread, each.key))
    return Contrasts(tuple(c for c in ranked if c.unit == "share"), tuple(c for c in ranked if c.unit != "share"),
                     dict(sorted(left_out.items())))


def _known(store: _Store, key: str) -> _Number | None:
    number = store.numbers.get(key)
    return None if number is None or number.value is None else number


def _beta(store: _Store) -> object:
    configuration = store.manifest.get("configuration")
    geometry = configuration.get("geometry") if isinstance(configuration, Mapping) else None
    return geometry.get("bytes_per_token") if isinstance(geometry, Mapping) else None


def _incomparable(key: str, known: Sequence[_Number], one_geometry: bool) -> str | None:
    if len(known) < 2:
        return "known in fewer than two results"
    if len({(number.unit, number.method) for number in known}) > 1:
        return "defined differently, by other options"
    unit = known[0].unit
    if key.endswith(_LOADS):
        return "loads of a minute, which chance makes uneven in a small trace"
    if unit != "share" and (unit in _TOTALS or key.startswith(_COUNTED) or key.endswith(_GROWING)):
        return "totals, which grow with the trace"
    if not one_geometry and (unit in _BYTES or "80gb" in key):
        return "bytes by different geometries"
    if not all(isinstance(number.value, int | float) for number in known):
        return "words"
    return None


def _contrast(key: str, values: tuple[_Number | None, ...]) -> Contrast | None:
    """None where the values are equal."""
    known = [number for number in values if number is not None]
    low, high = min(known, key=lambda n: n.value), max(known, key=lambda n: n.value)
    if low.value == high.value:
        return None
    if low.unit == "share":
        spread = high.value - low.value
    else:
        spread = high.value / low.value if low.value > 0 else float("inf")
    return Contrast(key, low.unit, low.method, values, spread, _apart(key, low, high))


def _apart(key: str, low: _Number, high: _Number) -> bool | None:
    """Whether intervals tell the two apart."""
    if low.hi is None or high.lo is None or key.startswith(_RANGED):
        return None
    return bool(low.hi < high.lo)
