"""Words for the names that several figures show."""

from __future__ import annotations

from typing import Final

from figures.units import clean

__all__ = ["TRANSITIONS", "transition"]

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


def transition(name: str) -> str:
    """The words for a transition; any other name of the data as it is, made harmless."""
    return TRANSITIONS.get(name, clean(name, 18))
