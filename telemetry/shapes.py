"""The two kinds of export: which columns one can have, and what each becomes in a canonical row."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from telemetry.adapter import ReadOptions
from telemetry.columns import block_size, booleans, durations, failures, labels, prefix_keys, texts
from telemetry.readers_chunk import CALL_COLUMNS, EVENT_COLUMNS
from telemetry.readers_text import Mask
from telemetry.schema import CALLS, EVENTS, MAX_COUNTER, MAX_TOKENS, Rows

__all__ = ["CALL_SHAPE", "EVENT_SHAPE", "Shape"]

_Convert = Callable[[pa.Array], tuple[pa.Array, Mask]]
_Derive = Callable[[Mapping[str, pa.Array], ReadOptions], dict[str, pa.Array]]


def _nothing(columns: Mapping[str, pa.Array], options: ReadOptions) -> dict[str, pa.Array]:
    return {}


@dataclass(frozen=True)
class Shape:
    """How the columns of an export become rows.

    Attributes
    ----------
    rows : Rows
    one : str
        What messages call one of them.
    columns : tuple of str
        Those that an export can have.
    counts : tuple of str
        Tokens: those of the context, the cached ones among them, the output.
    context_needed : bool
        Whether a row without context tokens is none.
    largest : int
        The largest count.
    optional : tuple of (str, str, callable)
        In the schema, in the export, how.
    derive : callable
        (columns, options) -> columns of the schema that follow from those.
    """

    rows: Rows
    one: str
    columns: tuple[str, ...]
    counts: tuple[str, str, str]
    context_needed: bool
    largest: int
    optional: tuple[tuple[str, str, _Convert], ...]
    derive: _Derive = _nothing


def _tool_events(columns: Mapping[str, pa.Array], options: ReadOptions) -> dict[str, pa.Array]:
    """Whether each event is the execution of a tool; null where it does not say what it is."""
    if "event" not in columns:
        return {}
    words = columns["event"].dictionary
    known = pa.array([word.lower() for word in options.tool_events], pa.string())
    tools = pc.is_in(pc.utf8_lower(pc.utf8_trim_whitespace(words)), value_set=known)
    return {"tool_event": tools.take(columns["event"].indices)}


CALL_SHAPE: Final = Shape(
    CALLS, "a call", CALL_COLUMNS, ("context_tokens", "cached_tokens", "output_tokens"), context_needed=True,
    largest=MAX_TOKENS, optional=(
        ("session_id", "session_id", labels),
        ("model", "model", labels),
        ("turn_id", "turn_id", labels),
        ("user_initiated", "user_initiated", booleans),
        ("region", "region", labels),
        ("deployment", "deployment", labels),
        ("duration_us", "duration_ms", durations),
        ("parent_session_id", "parent_session_id", texts),
        ("call_id", "call_id", texts),
        ("failed", "status", failures),
        ("prefix_keys", "hash_ids", prefix_keys),
        ("block_size", "block_size", block_size),
    ))
EVENT_SHAPE: Final = Shape(
    EVENTS, "an event", EVENT_COLUMNS,
    ("cumulative_context_tokens", "cumulative_cached_tokens", "cumulative_output_tokens"), context_needed=False,
    largest=MAX_COUNTER, optional=(
        ("session_id", "session_id", labels),
        ("event", "event", labels),
        ("tool", "tool", labels),
        ("model", "model", labels),
        ("event_id", "event_id", texts),
    ), derive=_tool_events)
