"""Tenure's gate: refuse what would displace a live session, instead of choosing whom to displace.

Rule: a store is refused when the blocks of live sessions and the store exceed the tier. A session is live until it is
finished or overdue, that is later than its expected wake-up and some slack (without a gap hint: than a time to live
after its last request). Evict blocks of finished sessions; then of overdue ones, the most overdue first; then of
those that wake far from now, the largest gap left first; then of sessions without a gap hint, by recency. Running
sessions are spared.

By the admission rule finished and overdue blocks always make room, so `far` and `recent` are reached only while some
of these are still in flight.

Source: Tenure 4.1. There a live session is any that has not ended; with that reading no overdue block could ever be
evicted under a live set that fits, and a gate without the end bit would fill and freeze.
"""

from __future__ import annotations

from kvcensus_gate.policy import Lifecycle
from kvcensus_gate.ranking import ORPHANED, Ranking, Standing
from kvcensus_gate.sessions import Session

__all__ = ["POLICY", "Gate"]


class Gate(Ranking):
    """Finished, overdue, far, recent, running."""

    name = "gate"
    description = "refuse a store that live sessions leave no room for; evict finished, overdue, far wake-up"
    Parameters = Lifecycle
    LEVELS = (ORPHANED, "finished", "overdue", "far", "recent", "running")
    FINISHED = "finished"
    SPARED_FROM = "running"
    parameters: Lifecycle

    def rank(self, session: Session, now_us: int) -> Standing:
        if session.running:
            return Standing("running", session.idle_since_us)
        deadline = self.parameters.deadline_us(session)
        if now_us > deadline:
            return Standing("overdue", deadline, lapsing=True)
        wake = self.parameters.wake_us(session)
        if wake is None:
            return Standing("recent", session.idle_since_us, deadline)
        return Standing("far", -wake, deadline)

    def admits(self, incoming: int, now_us: int) -> bool:
        super().admits(incoming, now_us)
        return self.blocks_of("far", "recent", "running") + incoming <= self.capacity


POLICY = Gate
