"""Utility: recency against the compute that a session's blocks save a byte.

Rule: evict the session with the least utility: the time of its last request, plus `weight_s` for every unit of compute
saved per byte. A prefix of n blocks costs n * (1 + n / (2 * linear_blocks)) units of prefill, since the cost of
attention grows with the position and equals that of the weights at `linear_blocks`; a byte of it saves, in units of a
short prefix, 1 + n / (2 * linear_blocks). Running sessions go last, but go. A store is never declined. Hints other
than the session's identity are not read, so no session ever ends, and of the idle owners of a shared block only the
one of the greatest utility counts.

Source: Tenure 1.4 and 8.1, "a utility score that trades recency against the compute a block would save", with an
explicit weight. A linear trade-off of seconds keeps the order stable in time; neither seed prints a weight.
"""

from __future__ import annotations

from dataclasses import dataclass

from kvcensus_gate.hints import Hints
from kvcensus_gate.policy import microseconds
from kvcensus_gate.ranking import ORPHANED, Ranking, Standing
from kvcensus_gate.sessions import Session

__all__ = ["POLICY", "Utility"]


@dataclass(frozen=True)
class Utility:
    """Parameters of `marconi`.

    Attributes
    ----------
    weight_s : float
        Seconds of recency that one unit of compute saved per byte is worth. The default is the median cold window of
        Tenure 2.2, 6.0 s; 0 leaves recency alone. Ours, meant to be swept.
    linear_blocks : float
        Position, in blocks, at which attention costs as much as the weights. The default is that of Llama-3.1-8B with
        16 tokens a block: 2 * 8.03e9 / (4 * 32 layers * 4096) = 30,600 tokens.
    """

    weight_s: float = 6.0
    linear_blocks: float = 1914.0


class Marconi(Ranking):
    """Sessions by utility."""

    name = "marconi"
    description = "evict the session with the least utility: recency plus weighted compute saved per byte"
    Parameters = Utility
    LEVELS = (ORPHANED, "idle", "running")
    parameters: Utility

    def sees(self, hints: Hints) -> Hints:
        return hints.without_tags()

    def rank(self, session: Session, now_us: int) -> Standing:
        rules = self.parameters
        saved = 1 + session.depth / (2 * max(rules.linear_blocks, 1.0))
        utility = session.idle_since_us + microseconds(rules.weight_s * saved)
        if session.running:
            return Standing("running", utility)
        return Standing("idle", utility, lapsing=True)


POLICY = Marconi
