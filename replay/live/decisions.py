"""What the gate's decision log says of each request, and of the tier at its end."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from telemetry.errors import InputError, escaped

__all__ = ["Decisions", "read_decisions"]

#: Our name of a request within the server's.
_NAME = re.compile(r"(?:^|-)(kvc-\d+-\d+-\d+w?)(?:-|$)")


@dataclass(frozen=True)
class Decisions:
    """What is read of a log.

    Attributes
    ----------
    block_bytes : int
        Of a block of the tier.
    loaded : dict
        Our name of a request -> blocks that it loaded when it was first scheduled. One that was preempted loads again,
        and what its answer calls cached is of the first time.
    counters : dict or None
        Of `Tier.report`, as the server stopped; None: it never wrote them.
    """

    block_bytes: int
    loaded: dict[str, int]
    counters: dict[str, Any] | None


def read_decisions(path: Path) -> Decisions:
    """Read a log; a torn last line is left out.

    Raises
    ------
    InputError
        A file that cannot be read, or a line before the last that is none of a decision log.
    """
    lines = _lines(path)
    head = next(lines, {})
    size = head.get("block_bytes")
    if type(size) is not int:
        raise InputError(f"{escaped(str(path))} is no decision log: its first line names no block_bytes.")
    loaded: dict[str, int] = {}
    counters = None
    for line in lines:
        if line.get("call") == "prepare_load":
            match = _NAME.search(str(line.get("request")))
            if match is not None:
                loaded.setdefault(match[1], len(line["keys"]))
        elif line.get("call") == "report":
            counters = line["report"]
    return Decisions(size, loaded, counters)


def _lines(path: Path) -> Iterator[Mapping[str, Any]]:
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            for number, line in enumerate(file, 1):
                if not line.endswith("\n"):
                    return
                yield _parsed(path, number, line)
    except OSError as error:
        raise InputError(f"{escaped(str(path))} cannot be read: {error.strerror or error}.") from error


def _parsed(path: Path, number: int, line: str) -> Mapping[str, Any]:
    try:
        found = json.loads(line)
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise InputError(f"{escaped(str(path))}, line {number} is no line of a decision log.")
    return found
