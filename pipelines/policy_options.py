"""Options of commands about tier policies that more than one has."""

from __future__ import annotations

import re
from collections.abc import Sequence

from telemetry.errors import UsageError, quoted

__all__ = ["NUMBER", "count", "each", "settings_of"]

NUMBER = r"[0-9]{1,6}(?:\.[0-9]{1,6})?"


def settings_of(given: Sequence[str], names: Sequence[str], option: str) -> dict[str, dict[str, object]]:
    """Policy -> parameters, of `--set POLICY.NAME=VALUE`.

    Parameters
    ----------
    names : sequence of str
        Policies that may be named.
    option : str
        The option that names them.

    Raises
    ------
    UsageError
        Anything else.
    """
    found: dict[str, dict[str, object]] = {}
    for text in given:
        match = re.fullmatch(rf"(\w+)\.(\w+)=({NUMBER}|true|false)", text)
        if match is None or match[1] not in names:
            raise UsageError(f"--set {quoted(text)}: write POLICY.NAME=VALUE for one of {option}, such as "
                             "gate.slack_s=10; VALUE is a number, true or false.")
        value = match[3] == "true" if match[3] in ("true", "false") else float(match[3])
        found.setdefault(match[1], {})[match[2]] = value
    return found


def each(option: str, text: str) -> tuple[str, ...]:
    """The parts of a list."""
    parts = tuple(part.strip() for part in text.split(","))
    if not all(parts) or len(set(parts)) < len(parts):
        raise UsageError(f"{option} {quoted(text)}: name each once, separated by commas.")
    return parts


def count(option: str, text: str, least: int, most: int) -> int:
    """A whole number."""
    if not re.fullmatch("[0-9]{1,6}", text) or not least <= int(text) <= most:
        raise UsageError(f"{option} {quoted(text)}: write a whole number from {least} to {most:,}.")
    return int(text)
