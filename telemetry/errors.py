"""The errors a user can act on, and the exit code that each one means.

Every message says what is wrong, where it is (file, row, column, value, as far as they
are known) and what to do about it. Anything else that escapes is our fault (exit 1).
"""

from __future__ import annotations

__all__ = ["EXIT_INPUT", "EXIT_OK", "EXIT_OURS", "EXIT_USAGE", "InputError", "KvcensusError",
           "UsageError", "shorten"]

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
    text = value if isinstance(value, str) else str(value)
    cut = text[:limit].encode("unicode_escape").decode("ascii")
    return f"{cut}... ({len(text)} characters)" if len(text) > limit else cut
