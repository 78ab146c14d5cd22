"""The gate without its signals: what does refusal alone achieve?

Rule: as `gate`, with gap hint and end bit unread, so that sessions are live for `live_ttl_s` after their last request
and go in the order of their idleness. With `identity` false every request is a session of its own.

Source: Tenure 3, 4.1 and 5.1, the tags-off ablation.
"""

from __future__ import annotations

from dataclasses import dataclass

from kvcensus_gate.hints import Hints
from kvcensus_gate.policies.gate import Gate
from kvcensus_gate.policy import Lifecycle

__all__ = ["POLICY"]


@dataclass(frozen=True)
class Blinded(Lifecycle):
    """Parameters of `gate_tags_off`.

    Attributes
    ----------
    identity : bool
        Whether session ids are read.
    """

    identity: bool = True


class GateTagsOff(Gate):
    """Overdue, recent, running."""

    name = "gate_tags_off"
    description = "as gate, without gap hints and end bits"
    Parameters = Blinded
    parameters: Blinded

    def sees(self, hints: Hints) -> Hints:
        return hints.without_tags() if self.parameters.identity else hints.without_identity()


POLICY = GateTagsOff
