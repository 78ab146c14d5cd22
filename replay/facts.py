"""Values with their sources: TOML files in which every value says how it came about and where it is from.

Platforms of `replay.cost` and `replay.tier` are such files. Values are exact: decimals are read as written, never
through binary floating point.
"""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any, NoReturn

from metrics.core.geometry import Geometry, find_geometry
from telemetry.errors import InputError, UsageError, escaped, quoted, shorten

__all__ = ["KINDS", "Fact", "FactsFile", "find_file"]

#: How a value came about, in the words that a file uses.
KINDS = ("published", "derived", "assumed", "measured")

_MOST = 10**18
_MOST_TEXT = 1000


@dataclass(frozen=True)
class Fact:
    """A value, how it came about (of `KINDS`), and its source."""

    value: Fraction
    kind: str
    source: str


def find_file(text: str, shipped: Mapping[str, Path]) -> Path:
    """The shipped platform called `text`, or the file at `text`; UsageError for an unknown name."""
    if text in shipped:
        return shipped[text]
    path = Path(text)
    if path.suffix != ".toml":
        raise UsageError(f"unknown platform {quoted(text)}. Known: {', '.join(shipped)}; or a path to a .toml file, "
                         "for which these are models.")
    return path


class FactsFile:
    """One file while it is read.

    Parameters
    ----------
    path : Path
    texts : tuple of str
        Names of its words at the top.
    values : mapping of str to str
        Name of a value -> what it is, for messages.
    fractional : tuple of str
        Values that need not be whole.
    known : str
        Names of shipped files, for messages.

    Raises
    ------
    UsageError
        A file that is no TOML.
    InputError
        A file that cannot be read.
    """

    def __init__(self, path: Path, texts: tuple[str, ...], values: Mapping[str, str], fractional: tuple[str, ...],
                 known: str) -> None:
        self.path = path
        self._texts, self._values, self._fractional = texts, values, fractional
        try:
            self._text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            why = getattr(error, "strerror", None) or "it is no UTF-8 text"
            raise InputError(f"--platform {escaped(str(path))} cannot be read: {why}. Known platforms: "
                             f"{known}.") from error
        try:
            self._content = tomllib.loads(self._text, parse_float=Decimal)
        except (ValueError, RecursionError) as error:  # TOMLDecodeError is a ValueError
            raise UsageError(f"--platform {escaped(str(path))} is no TOML: {shorten(error, 200)}.") from error

    def content(self) -> tuple[dict[str, str], dict[str, Fact]]:
        """Words and values by name; UsageError for a key or a value that cannot be used, with key and line."""
        self._known(self._content, "", (*self._texts, *self._values))
        return ({name: self._words(self._content, "", name) for name in self._texts},
                {name: self._fact(name) for name in self._values})

    def geometry(self) -> Geometry:
        """What the text `geometry` names."""
        try:
            return find_geometry(self._words(self._content, "", "geometry"))
        except UsageError as error:
            self._wrong("", "geometry", str(error).rstrip("."))

    def _fact(self, name: str) -> Fact:
        table = self._content.get(name)
        if not isinstance(table, dict):
            self._wrong("", name, f"a [{name}] table with value, kind and source is needed: {self._values[name]}")
        self._known(table, name, ("value", "kind", "source"))
        value, kind = table.get("value"), self._words(table, name, "kind")
        whole = name not in self._fractional
        if isinstance(value, bool) or not isinstance(value, int | Decimal) or not self._fits(value, whole=whole):
            self._wrong(name, "value", f"{'a whole number' if whole else 'a number'} above 0, at most 10^18, is "
                        f"needed: {self._values[name]}")
        if kind not in KINDS:
            self._wrong(name, "kind", f"one of {', '.join(KINDS)} is needed")
        return Fact(Fraction(value), kind, self._words(table, name, "source"))

    @staticmethod
    def _fits(value: int | Decimal, *, whole: bool) -> bool:
        number = Decimal(value)
        return number.is_finite() and Decimal("1e-9") <= number <= _MOST and not (whole and number % 1)

    def _words(self, table: Mapping[str, Any], inside: str, name: str) -> str:
        value = table.get(name)
        if not isinstance(value, str) or not value.strip() or len(value) > _MOST_TEXT:
            self._wrong(inside, name, f"a text in quotes of at most {_MOST_TEXT} characters is needed")
        return escaped(value.strip())

    def _known(self, table: Mapping[str, Any], inside: str, known: tuple[str, ...]) -> None:
        for name in table:
            if name not in known:
                close = difflib.get_close_matches(name, known, 1)
                hint = f"did you mean {close[0]}? " if close else ""
                self._wrong(inside, name, f"unknown key; {hint}known: {', '.join(known)}", value=False)

    def _wrong(self, inside: str, name: str, why: str, *, value: bool = True) -> NoReturn:
        """An error that names the key and, where it stands in the file, its line and value."""
        table = self._content.get(inside, {}) if inside else self._content
        given = table.get(name) if value and isinstance(table, dict) else None
        shown = "" if given is None or isinstance(given, dict) else f" = {quoted(given)}"
        line = _line(self._text, inside, name) or (_line(self._text, "", inside) if inside else None)
        where = "" if line is None else f", line {line}"
        key = ".".join(part for part in (inside, shorten(name)) if part)
        raise UsageError(f"--platform {escaped(str(self.path))}{where}: {key}{shown}: {why}.")


def _line(text: str, inside: str, name: str) -> int | None:
    """The line of a key or of the head of a table; None where neither stands alone on its line."""
    table = ""
    for number, line in enumerate(text.splitlines(), start=1):
        head = re.match(r"\s*\[([^\]\[]+)\]", line)
        if head:
            table = head[1].strip().strip("\"'")
            if not inside and table == name:
                return number
        key = re.match(r"\s*([\w\"'.-]+)\s*=", line)
        if key and table == inside and key[1].strip("\"'") == name:
            return number
    return None
