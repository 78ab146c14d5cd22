"""The errors a user can act on, and the exit code that each one means.

Every message says what is wrong, where it is (file, row, column, value, as far as they
are known) and what to do about it. Anything else that escapes is our fault (exit 1).
"""

from __future__ import annotations

import traceback

__all__ = ["EXIT_INPUT", "EXIT_OK", "EXIT_OURS", "EXIT_USAGE", "InputError", "KvcensusError",
           "UsageError", "escaped", "quoted", "shorten", "trace_of"]

EXIT_OK = 0
EXIT_OURS = 1
EXIT_USAGE = 2
EXIT_INPUT = 3


class KvcensusError(Exception):
    """An error with a message for the user; `exit_code` tells the shell its kind."""

    exit_code = EXIT_OURS


class UsageError(KvcensusError):
    """An option, a name or a configuration that cannot be used (exit 2)."""

    exit_code = EXIT_USAGE


class InputError(KvcensusError):
    """Input or data that cannot be used: missing, unreadable, truncated, wrong (exit 3)."""

    exit_code = EXIT_INPUT


def shorten(value: object, limit: int = 60) -> str:
    """A hostile value made fit for one line of a message: escaped, and cut at `limit` characters."""
    text = value if isinstance(value, str) else _text(value)
    cut = text[:limit].encode("unicode_escape").decode("ascii")
    return f"{cut}... ({len(text)} characters)" if len(text) > limit else cut


def quoted(value: object, limit: int = 60) -> str:
    """`shorten` in quotes. Not `repr` of it, which would escape a second time."""
    return f"'{shorten(value, limit)}'"


def escaped(text: str) -> str:
    """A name made fit for one line of a message: what cannot be printed is escaped, the rest stands."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


def _text(value: object) -> str:
    """`str` that never fails."""
    try:
        return str(value)
    except (RecursionError, ValueError):  # nested too deep; an integer of thousands of digits
        return f"a value of type {type(value).__name__} that cannot be shown"


def trace_of(error: BaseException) -> str:
    """The whole trace of an error and of its causes, Python's and, behind PySpark, Java's; for `--verbose`."""
    parts = []
    cause: BaseException | None = error
    while cause is not None:
        java = getattr(cause, "_stackTrace", None)
        parts.append(java if isinstance(java, str) else "")
        cause = cause.__cause__
    return "".join(traceback.format_exception(error)) + "".join(f"\n{part.rstrip()}\n" for part in parts if part)
