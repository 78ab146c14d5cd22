"""No tier at all: what does the server cost without one (Tenure 3, the no-tier control)?"""

from __future__ import annotations

from typing import Any

from kvcensus_gate.policies.lru import Lru

__all__ = ["POLICY"]


class NoTier(Lru):
    """Refuses everything: a tier without capacity."""

    name = "none"
    description = "no tier: every store is refused"

    def __init__(self, capacity: int, parameters: Any = None):
        super().__init__(0, parameters)


POLICY = NoTier
