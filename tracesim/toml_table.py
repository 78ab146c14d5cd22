"""One table of a TOML document, read value by value: what is wrong is said with file and line."""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from telemetry.errors import UsageError, quoted, shorten
from tracesim.toml_lines import Document

__all__ = ["SUM_ERROR", "Table"]

#: How far printed probabilities may be from 1, each: they have three digits.
SUM_ERROR = 1e-3
_MOST = 1e12


@dataclass(frozen=True)
class Table:
    """One table of a document; every value is asked for by its key."""

    document: Document
    path: str
    content: Mapping[str, Any]

    def key(self, name: str) -> str:
        return f"{self.path}.{name}" if self.path else name

    def only(self, known: Iterable[str]) -> None:
        """Nothing else may stand in the table."""
        known = tuple(known)
        for name in self.content:
            if name not in known:
                close = difflib.get_close_matches(name, known, 1)
                hint = f" Did you mean {close[0]}?" if close else ""
                raise self.document.wrong(self.key(name), f"unknown key {shorten(self.key(name))}.{hint} "
                                          f"Known: {', '.join(known)}.")

    def value(self, name: str, expected: str) -> Any:
        if name not in self.content:
            raise self.document.wrong(self.path, f"{self.key(name)} is missing; expected {expected}.")
        return self.content[name]

    def wrong(self, name: str, value: object, expected: str) -> UsageError:
        return self.document.wrong(self.key(name), f"{self.key(name)} = {quoted(value)}; expected {expected}.")

    def number(self, name: str, low: float, high: float = _MOST, *, above: bool = False) -> float:
        """A number from `low` (or above it) to `high`."""
        expected = f"a number {'above' if above else 'from'} {low:g}{'' if high == _MOST else f' to {high:g}'}"
        value = self.value(name, expected)
        if not _is_number(value) or not low <= value <= high or (above and value == low):
            raise self.wrong(name, value, expected)
        return float(value)

    def whole(self, name: str, low: int, high: int) -> int:
        value = self.value(name, f"a whole number from {low} to {high}")
        if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
            raise self.wrong(name, value, f"a whole number from {low} to {high}")
        return value

    def flag(self, name: str) -> bool:
        value = self.value(name, "true or false")
        if not isinstance(value, bool):
            raise self.wrong(name, value, "true or false")
        return value

    def text(self, name: str) -> str:
        value = self.value(name, "a text in quotes")
        if not isinstance(value, str) or not value:
            raise self.wrong(name, value, "a text in quotes")
        return value

    def numbers(self, name: str, count: int | None, low: float = 0.0, high: float = _MOST) -> tuple[float, ...]:
        """A list of numbers from `low` to `high`."""
        span = f"from {low:g}" + ("" if high == _MOST else f" to {high:g}")
        expected = f"a list of {'' if count is None else f'{count} '}numbers {span}"
        value = self.value(name, expected)
        if (not isinstance(value, list) or not value or (count is not None and len(value) != count)
                or not all(_is_number(each) and low <= each <= high for each in value)):
            raise self.wrong(name, value, expected)
        return tuple(map(float, value))

    def weights(self, name: str, count: int) -> tuple[float, ...]:
        """Weights of which some are above 0."""
        value = self.numbers(name, count)
        if not sum(value) > 0:
            raise self.wrong(name, list(value), "weights of which one at least is above 0")
        return value

    def probabilities(self, name: str, count: int | None) -> tuple[float, ...]:
        """Probabilities that sum to 1, made to do so to the last digit."""
        value = self.numbers(name, count, 0, 1)
        total = math.fsum(value)
        if abs(total - 1) > SUM_ERROR * len(value) / 2:
            raise self.wrong(name, list(value), f"probabilities that sum to 1, not to {total:.6g}")
        return tuple(p / total for p in value)

    def span(self, name: str, low: float, high: float) -> tuple[float, float]:
        """Two numbers, the second not below the first."""
        first, second = self.numbers(name, 2, low, high)
        if second < first:
            raise self.wrong(name, [first, second], "two numbers, the smaller first")
        return first, second

    def points(self, name: str, most: float = _MOST) -> list[tuple[float, float]]:
        """Pairs of numbers, the first of each ascending."""
        expected = "a list of pairs of numbers from 0, the first of each above that of the pair before"
        value = self.value(name, expected)
        pairs: list[Any] = value if isinstance(value, list) else [None]
        fine = all(isinstance(pair, list) and len(pair) == 2 and all(_is_number(each) and each >= 0 for each in pair)
                   for pair in pairs)
        if not pairs or not fine or any(b[0] <= a[0] for a, b in pairwise(pairs)):
            raise self.wrong(name, value, expected)
        return [(float(a), float(b)) for a, b in pairs]

    def table(self, name: str) -> Table:
        value = self.value(name, f"a [{self.key(name)}] table")
        if not isinstance(value, dict):
            raise self.wrong(name, value, f"a [{self.key(name)}] table")
        return Table(self.document, self.key(name), value)

    def tables(self, name: str) -> list[Table]:
        """An array of tables, at least one."""
        value = self.value(name, f"[[{self.key(name)}]] tables")
        if not isinstance(value, list) or not value or not all(isinstance(each, dict) for each in value):
            raise self.wrong(name, value, f"[[{self.key(name)}]] tables")
        return [Table(self.document, f"{self.key(name)}.{place}", each) for place, each in enumerate(value, start=1)]


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
