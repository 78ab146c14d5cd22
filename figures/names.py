"""Words for names of the store that a reader sees."""

from __future__ import annotations

from typing import Final

from figures.units import clean

__all__ = ["COLUMNS", "TRANSITIONS", "column", "transition"]

#: How a call follows the one before, as the store names it and as a figure says it.
TRANSITIONS: Final = {
    "first_call": "first call",
    "unknown_model": "model unknown",
    "model_switch": "model switch",
    "same_deployment": "same deployment",
    "cross_deployment": "other deployment",
    "cross_region": "other region",
    "unknown": "place unknown",
}

#: Columns of the call that a format may have to derive, as the pipeline names them and as the report says it.
COLUMNS: Final = {
    "t_us": "time of the call",
    "context_tokens": "context tokens",
    "cached_tokens": "cached tokens",
    "output_tokens": "output tokens",
    "turn_id": "turn",
    "user_initiated": "whether the call opens a user turn",
    "duration_us": "duration of the call",
    "session_id": "session",
    "parent_session_id": "session that started this one",
    "call_id": "identity of the call",
    "prefix_keys": "prefix blocks",
}


def column(name: str) -> str:
    """The words for a column; any other name as it is, made harmless."""
    return COLUMNS.get(name, clean(name))


def transition(name: str) -> str:
    """The words for a transition; any other name of the data as it is, made harmless."""
    return TRANSITIONS.get(name, clean(name, 18))
