"""A line for every turn that a client has sent: written as it ends, read with what may be wrong with it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple, get_type_hints

from replay.live.cells import read_bytes
from telemetry.errors import InputError, escaped

__all__ = ["LiveTurn", "as_line", "read_turns"]


class LiveTurn(NamedTuple):
    """A turn, or a warm probe. Times in microseconds since the replay began.

    Attributes
    ----------
    condition : str
    seed : int
    session, turn : int
        Places in the plan, from 0.
    sampled : int
        The session's place in the sample, which is the same under every seed.
    probe : bool
        A warm probe: no turn of the trace.
    arrival_us : int
        When its session was to arrive.
    planned_us, start_us : int
        When it was to be sent, and was.
    ttft_us : int or None
        From start to first token; None after an error.
    end_us : int
        When its last token had come, or its error.
    prompt_tokens, output_tokens : int
        As asked for.
    cached_tokens, external_tokens : int or None
        Of the prompt: found on the device or in the tier, and found in the tier. None: the server did not say.
    request : str
        Its name in the server's logs.
    error : str or None
    """

    condition: str
    seed: int
    session: int
    turn: int
    sampled: int
    probe: bool
    arrival_us: int
    planned_us: int
    start_us: int
    ttft_us: int | None
    end_us: int
    prompt_tokens: int
    output_tokens: int
    cached_tokens: int | None
    external_tokens: int | None
    request: str
    error: str | None


_TYPES = get_type_hints(LiveTurn)


def as_line(turn: LiveTurn) -> str:
    """A turn as JSON, with its end of line."""
    return json.dumps(turn._asdict(), separators=(",", ":")) + "\n"


def read_turns(path: Path) -> tuple[list[LiveTurn], bool]:
    """The turns of a file, and whether its last line is torn: cut off as it was written.

    Raises
    ------
    InputError
        A file that cannot be read, or a line before the last one that is no turn.
    """
    try:
        lines = read_bytes(path).decode("utf-8", "replace").split("\n")
    except OSError as error:
        raise InputError(f"{escaped(str(path))} cannot be read: {error.strerror or error}.") from error
    torn = lines.pop() != ""
    return list(_turns(path, lines)), torn


def _turns(path: Path, lines: Iterable[str]) -> Iterable[LiveTurn]:
    for number, line in enumerate(lines, 1):
        try:
            found = json.loads(line)
        except ValueError:
            found = None
        if not isinstance(found, dict) or set(found) != set(_TYPES) or not all(
                _is(found[name], kind) for name, kind in _TYPES.items()):
            raise InputError(f"{escaped(str(path))}, line {number} is no turn. Remove the folder that the file lies "
                             "in, and run the same command again.")
        yield LiveTurn(**found)


def _is(value: object, kind: object) -> bool:
    """Whether a value has a type; true and false are no integers."""
    return type(value) in getattr(kind, "__args__", (kind,))
