"""What a file reader yields: columns as they came, and which record each row was."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import pyarrow as pa

from telemetry.adapter import ReadOptions, Source
from telemetry.errors import InputError, UsageError, quoted, shorten
from telemetry.readers_decimal import Ints

__all__ = ["CALL_COLUMNS", "EVENT_COLUMNS", "REQUIRED", "Chunk", "check_required", "column_names"]

#: The columns that an export of calls can have, under their canonical names.
CALL_COLUMNS: Final = (
    "session_id", "timestamp", "context_tokens", "cached_tokens", "output_tokens", "model", "turn_id",
    "user_initiated", "region", "deployment", "duration_ms", "parent_session_id", "call_id", "status",
    "hash_ids", "block_size",
)
#: Those of an export of events. A counter has another name than the tokens of a call, so that neither passes for the
#: other.
EVENT_COLUMNS: Final = (
    "session_id", "timestamp", "event", "tool", "model", "cumulative_context_tokens", "cumulative_cached_tokens",
    "cumulative_output_tokens", "event_id",
)
#: Those that must be there, where an export can have them at all.
REQUIRED: Final = ("timestamp", "context_tokens", "event")

_SHOWN: Final = 20
_COUNTER: Final = "cumulative_"


@dataclass(frozen=True)
class Chunk:
    """Some consecutive records of one file.

    Attributes
    ----------
    rows : int64 array
        Which record of the file each row of the columns was, from 1, ascending.
    columns : mapping of str to pa.Array
        Canonical name -> values as they came; a column that the file lacks is absent.
    unreadable : sequence of (int, str)
        The other records among them: number and text.
    """

    rows: Ints
    columns: Mapping[str, pa.Array]
    unreadable: Sequence[tuple[int, str]] = field(default_factory=tuple)


def column_names(options: ReadOptions, known: Sequence[str] = CALL_COLUMNS, of: str = "a call") -> dict[str, str]:
    """Canonical name -> name in the user's export, of the columns that one can have.

    Raises
    ------
    UsageError
        When the user maps a name that is not canonical.
    """
    unknown = sorted(set(options.columns) - set(known))
    if unknown:
        raise UsageError(f"[columns] in --config maps {quoted(unknown[0])}, which is no column of {of}. "
                         f"Known columns: {', '.join(known)}.")
    return {name: options.columns.get(name, name) for name in known}


def check_required(source: Source, present: Iterable[str], names: Mapping[str, str]) -> None:
    """Raise InputError when the file cannot hold such records, and say how to map its columns."""
    present = list(dict.fromkeys(present))
    available = {*present, *source.partition}
    for name in REQUIRED:
        wanted = names.get(name)
        if wanted is None or wanted in available:
            continue
        counters = [column for column in present if column.startswith(_COUNTER)]
        close = _close(wanted, [column for column in present if column not in counters])
        shown = ", ".join(shorten(column) for column in present[:_SHOWN])
        more = f" and {len(present) - _SHOWN} more" if len(present) > _SHOWN else ""
        guess = f" Close to it: {', '.join(shorten(column) for column in close)}." if close else ""
        example = shorten(close[0]) if close else "NameInYourExport"
        if counters and name == "context_tokens":
            guess += " Counters of a session are no tokens of a call: --format events reads event logs."
        raise InputError(
            f"{source.name}: no column {quoted(wanted)} for {name}. The file has: {shown or 'none'}{more}."
            f'{guess} Map the name in --config under [columns]: {name} = "{example}".')


def _close(wanted: str, present: Sequence[str]) -> list[str]:
    """Names that a person would take for `wanted`."""
    def plain(text: str) -> str:
        return "".join(filter(str.isalnum, text.lower()))[:100]

    by_plain = {plain(column): column for column in reversed(present[:1000])}
    matches = difflib.get_close_matches(plain(wanted), list(by_plain), n=3, cutoff=0.6)
    return [by_plain[match] for match in matches]
