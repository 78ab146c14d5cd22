"""stdout and stderr that may be closed, full, or too narrow for a name."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import TextIO

from telemetry.errors import InputError

__all__ = ["encodable", "flush", "say", "tell"]


def say(text: str, end: str = "\n") -> None:
    """Print a result. A reader that went away is no error.

    Raises
    ------
    InputError
        When stdout cannot be written, such as on a full disk.
    """
    _write(sys.stdout, text + end)


def flush() -> None:
    """Bring out what `say` wrote, with the same errors; Python would fail at exit otherwise."""
    _write(sys.stdout, "")


def tell(text: str, end: str = "\n", stream: TextIO | None = None) -> None:
    """Print a message on stderr (or `stream`); one that cannot be written is let go."""
    stream = sys.stderr if stream is None else stream
    try:
        print(encodable(text, stream), end=end, file=stream, flush=True)
    except (OSError, ValueError, AttributeError):
        _silence(stream)


def encodable(text: str, stream: TextIO | None) -> str:
    """The text with escapes in place of what the stream's encoding cannot hold."""
    encoding = getattr(stream, "encoding", None) or "utf-8"
    return text.encode(encoding, "backslashreplace").decode(encoding)


def _write(stream: TextIO | None, text: str) -> None:
    if stream is None:  # there is no stdout at all
        return
    try:
        stream.write(encodable(text, stream))
        stream.flush()
    except BrokenPipeError:
        _silence(stream)
    except (OSError, ValueError) as error:
        _silence(stream)
        why = getattr(error, "strerror", None) or error
        raise InputError(f"cannot write to standard output: {why}. Send it to another place.") from error


def _silence(stream: TextIO | None) -> None:
    """Send the rest to nowhere, what is still in the buffer too, so that exit does not fail on it."""
    with suppress(OSError, ValueError, AttributeError):
        assert stream is not None
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
