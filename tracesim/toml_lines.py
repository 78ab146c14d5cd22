"""TOML with the line of every key, so that a message can point at it; a file can build on another.

    base = "research"       # everything that this file does not say
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from telemetry.errors import UsageError, escaped, quoted

__all__ = ["Document", "read_document"]

_HEADER = re.compile(r"^\s*(\[\[?)\s*([^\[\]]+?)\s*\]\]?\s*(?:#.*)?$")
_KEY = re.compile(r"""^\s*([A-Za-z0-9_.-]+|"[^"]*"|'[^']*')\s*=""")
_MOST_BASES = 8


@dataclass(frozen=True)
class Document:
    """Content of a file and of those it builds on.

    Attributes
    ----------
    name : str
        Of the file that was asked for.
    content : mapping
    places : mapping of str to str
        Dotted key -> `file, line n`; elements of arrays of tables are numbered from 1.
    """

    name: str
    content: Mapping[str, Any]
    places: Mapping[str, str]

    def where(self, key: str) -> str:
        """File and line of a key, or of the closest table around it that is written down."""
        while key:
            if key in self.places:
                return self.places[key]
            key = key.rpartition(".")[0]
        return self.name

    def wrong(self, key: str, what: str) -> UsageError:
        """An error at a key."""
        return UsageError(f"{self.where(key)}: {what}")


def read_document(path: Path, known: Mapping[str, Path]) -> Document:
    """Read a file, and under it the file that its `base` names: one of `known`, or a path beside it.

    Raises
    ------
    UsageError
        A file is missing or no TOML, or files build on each other in a circle.
    """
    content, places = _read(path)
    name, at, left = path.name, path, _MOST_BASES
    while "base" in content:
        base = content.pop("base")
        if not isinstance(base, str) or left == 0:
            raise UsageError(f"{places.get('base', name)}: base = {quoted(base)}; expected the name of a profile that "
                             "does not build on this one.")
        at, left = known.get(base, at.parent / base), left - 1
        below, lines = _read(at)
        content, places = _over(content, below), {**lines, **places}
    return Document(name, content, places)


def _read(path: Path) -> tuple[dict[str, Any], dict[str, str]]:
    try:
        text = path.read_text(encoding="utf-8")
        return tomllib.loads(text), _places(path.name, text)
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{escaped(str(path))} cannot be read: {error}.") from error
    except ValueError as error:  # a TOMLDecodeError tells the line
        raise UsageError(f"{escaped(str(path))} is no TOML: {error}.") from error
    except RecursionError:
        raise UsageError(f"{escaped(str(path))} is nested too deeply.") from None


def _places(name: str, text: str) -> dict[str, str]:
    places: dict[str, str] = {}
    counts: dict[str, int] = {}
    table = ""
    for number, line in enumerate(text.splitlines(), start=1):
        header, key = _HEADER.match(line), _KEY.match(line)
        if header:
            table = header[2].replace(" ", "").replace('"', "")
            if header[1] == "[[":
                counts[table] = counts.get(table, 0) + 1
                places.setdefault(table, f"{name}, line {number}")
                table = f"{table}.{counts[table]}"
            places[table] = f"{name}, line {number}"
        elif key:
            plain = key[1].strip("\"'")
            places[f"{table}.{plain}" if table else plain] = f"{name}, line {number}"
    return places


def _over(above: dict[str, Any], below: dict[str, Any]) -> dict[str, Any]:
    """Tables are merged key by key; anything else above replaces what is below."""
    merged = dict(below)
    for key, value in above.items():
        old = merged.get(key)
        merged[key] = _over(value, old) if isinstance(value, dict) and isinstance(old, dict) else value
    return merged
