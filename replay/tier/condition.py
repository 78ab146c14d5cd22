"""What a run of the simulator varies on one workload and one server."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from replay.tier.hints import EXACT, HintPlan

__all__ = ["Condition"]


@dataclass(frozen=True)
class Condition:
    """What a run varies.

    Attributes
    ----------
    policy : str
        Of `kvcensus_gate`.
    tier_bytes : int
        Capacity of the tier; `none` ignores it.
    hints : HintPlan
    parameters : mapping, optional
        Of the policy.
    warm_lead_us : int or None
        Warm promotion: this long before the expected wake-up the client sends a one-token request over the whole
        prefix (Continuum-D 4.4). None: it does not.
    """

    policy: str
    tier_bytes: int
    hints: HintPlan = EXACT
    parameters: Mapping[str, object] | None = None
    warm_lead_us: int | None = None
