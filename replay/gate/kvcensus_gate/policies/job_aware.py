"""Four classes before recency, and a refusal where these cannot make room.

Rule: evict blocks of finished jobs; then of overdue ones, the most overdue first; then of jobs whose wake-up is far,
the largest gap left first; then untagged blocks and jobs without a gap hint, by recency; then jobs whose wake-up is
near. Running jobs are spared. A store is refused when finished, overdue and untagged blocks cannot make room for it,
that is when what unfinished jobs in time hold, and the store, exceed the tier.

Source: Continuum-D 4.1 to 4.3. Its text puts every awaited job before recency and yet says that a job about to wake
goes last: `near_s` is that switch.
"""

from __future__ import annotations

from dataclasses import dataclass

from kvcensus_gate.policy import Lifecycle, microseconds
from kvcensus_gate.ranking import ORPHANED, Ranking, Standing
from kvcensus_gate.sessions import Session

__all__ = ["POLICY", "JobAware", "Jobs"]


@dataclass(frozen=True)
class Jobs(Lifecycle):
    """Parameters of `job_aware`.

    Attributes
    ----------
    near_s : float
        A job that wakes within this time, or is late and not yet overdue, goes after untagged blocks. The default is
        the reading of 4.2 by its example, a wake-up in 0.2 s; a time beyond every gap lets untagged blocks go before
        any awaited job.
    admission_control : bool
        Whether stores are refused at all (Continuum-D 5, configuration of the plugin).
    """

    near_s: float = 0.2
    admission_control: bool = True


class JobAware(Ranking):
    """Finished, overdue, far, untagged, recent, near, running."""

    name = "job_aware"
    description = "finished, overdue, far wake-up, recency, near wake-up; refuse what would evict awaited jobs"
    Parameters = Jobs
    LEVELS = (ORPHANED, "finished", "overdue", "far", "untagged", "recent", "near", "running")
    FINISHED = "finished"
    SPARED_FROM = "running"
    parameters: Jobs

    def rank(self, session: Session, now_us: int) -> Standing:
        rules = self.parameters
        if session.running:
            return Standing("running", session.idle_since_us)
        if session.id is None:
            return Standing("untagged", session.idle_since_us)
        deadline = rules.deadline_us(session)
        if now_us > deadline:
            return Standing("overdue", deadline, lapsing=True)
        wake = rules.wake_us(session)
        if wake is None:
            return Standing("recent", session.idle_since_us, deadline)
        near = wake - microseconds(rules.near_s)
        return Standing("far", -wake, near) if now_us <= near else Standing("near", -wake, deadline)

    def admits(self, incoming: int, now_us: int) -> bool:
        super().admits(incoming, now_us)
        needed = self.blocks_of("far", "recent", "near", "running")
        return not self.parameters.admission_control or needed + incoming <= self.capacity


POLICY = JobAware
