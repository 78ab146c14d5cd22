"""Pins: a session's blocks are pinned until it should be back, or for a time to live.

Rule: after a request its session is pinned until its expected wake-up and some slack, or for `live_ttl_s` where the
client gave no gap; a session that has ended has no pin, and neither have untagged requests. Evict what lost its pin
first, the longest ago; then what never had one, the least recently used; under pressure the pins too, the least
recently used first, and running sessions at last. A store is never declined.

Source: Tenure 1.4, 3.2 and 8.1 ("pins are force-evicted or expire under pressure"); Continuum-D 1.1.
"""

from __future__ import annotations

from kvcensus_gate.policy import Lifecycle
from kvcensus_gate.ranking import ORPHANED, Ranking, Standing
from kvcensus_gate.sessions import Session

__all__ = ["POLICY", "ContinuumTtl"]


class ContinuumTtl(Ranking):
    """Expired, unpinned, pinned, running."""

    name = "continuum_ttl"
    description = "pin a session until its wake-up or a time to live; pins are evicted last"
    Parameters = Lifecycle
    LEVELS = (ORPHANED, "expired", "unpinned", "pinned", "running")
    FINISHED = "expired"
    parameters: Lifecycle

    def rank(self, session: Session, now_us: int) -> Standing:
        if session.running:
            return Standing("running", session.idle_since_us)
        if session.id is None:
            return Standing("unpinned", session.idle_since_us)
        deadline = self.parameters.deadline_us(session)
        if now_us > deadline:
            return Standing("expired", deadline, lapsing=True)
        return Standing("pinned", session.idle_since_us, deadline)


POLICY = ContinuumTtl
