"""Pins that hold: as `continuum_ttl`, but a store that only pins could make room for is refused.

Source: Tenure 9, "an admission-capable TTL baseline".
"""

from __future__ import annotations

from kvcensus_gate.policies.continuum_ttl import ContinuumTtl

__all__ = ["POLICY"]


class ContinuumTtlAdmission(ContinuumTtl):
    """Evicts expired and unpinned blocks only."""

    name = "continuum_ttl_admission"
    description = "as continuum_ttl, but refuse a store instead of evicting a pin"
    SPARED_FROM = "pinned"

    def admits(self, incoming: int, now_us: int) -> bool:
        super().admits(incoming, now_us)
        return self.blocks_of("pinned", "running") + incoming <= self.capacity


POLICY = ContinuumTtlAdmission
