"""Idleness: evict the session that has been idle longest.

Rule: a session is idle from the end of its latest request on; running sessions go last, but go. A store is never
declined. Hints other than the session's identity are not read, so no session ever ends, and of the idle owners of a
shared block only the latest counts.

Source: Tenure 1.4, 3 and 8.1, "an idleness-rank proxy inspired by MORI".
"""

from __future__ import annotations

from kvcensus_gate.hints import Hints
from kvcensus_gate.ranking import ORPHANED, Ranking, Standing
from kvcensus_gate.sessions import Session

__all__ = ["POLICY"]


class Mori(Ranking):
    """Sessions by the time since they fell idle."""

    name = "mori"
    description = "evict the session that has been idle longest"
    LEVELS = (ORPHANED, "idle", "running")

    def sees(self, hints: Hints) -> Hints:
        return hints.without_tags()

    def rank(self, session: Session, now_us: int) -> Standing:
        if session.running:
            return Standing("running", session.idle_since_us)
        return Standing("idle", session.idle_since_us, lapsing=True)


POLICY = Mori
