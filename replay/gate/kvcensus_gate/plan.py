"""What a tier is given and gives back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from kvcensus_gate.sessions import Key

__all__ = ["Clock", "Lookup", "StorePlan"]

Clock = Callable[[], int]
"""Microseconds since any fixed moment. A reading below an earlier one counts as the earlier one."""


class Lookup(Enum):
    """What a tier knows of a block: absent, ready to be loaded, or still on its way into the tier."""

    MISS = "miss"
    HIT = "hit"
    PENDING = "pending"


@dataclass(frozen=True)
class StorePlan:
    """What becomes of an offer.

    Attributes
    ----------
    store : tuple of Key
        To be copied into the tier, in the order of the offer; empty if refused, or if all are there already.
    evict : tuple of Key
        Gone from the tier.
    refused : str or None
        Why: `admission` or `no_room`.
    """

    store: tuple[Key, ...] = ()
    evict: tuple[Key, ...] = ()
    refused: str | None = None
