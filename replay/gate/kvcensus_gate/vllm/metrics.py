"""The tier's counters as metrics of the server. No label comes from a request."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kvcensus_gate.log import LoggedTier
from kvcensus_gate.tier import Tier
from kvcensus_gate.vllm.seams import OffloadingCounterMetadata, OffloadingGaugeMetadata

__all__ = ["Reporter", "metric_definitions"]

# vLLM forgets the metrics of an engine that is made anew by the vllm in their names.
_PREFIX = "vllm:kvcensus_tier_"
_BLOCKS = _PREFIX + "blocks"
_REFUSED = _PREFIX + "refused_blocks"
_EVICTED = _PREFIX + "evicted_blocks"
_REFUSED_STORES = _PREFIX + "refused_stores"
_MALFORMED = _PREFIX + "malformed_hints"
_STRAY = _PREFIX + "stray_completions"
_RESIDENT = _PREFIX + "resident_blocks"
_SESSIONS = _PREFIX + "session_records"

_Labels = tuple[str, ...]


def metric_definitions() -> dict[str, Any]:
    """Names, documentation and labels, for vLLM's registry; it appends `_total` to counters."""
    def counter(documentation: str, *labels: str) -> Any:
        return OffloadingCounterMetadata(documentation=documentation, labelnames=labels)

    return {
        _BLOCKS: counter("Blocks of the tier: offered, present already, stored, failed, reloaded, cleared.", "event"),
        _REFUSED: counter("Blocks whose store was refused, by reason.", "reason"),
        _EVICTED: counter("Blocks evicted, by their class in the words of the policy.", "class"),
        _REFUSED_STORES: counter("Offers that were refused."),
        _MALFORMED: counter("Hint fields that could not be used."),
        _STRAY: counter("Completions of transfers that nothing awaited."),
        _RESIDENT: OffloadingGaugeMetadata(documentation="Blocks whose store has completed."),
        _SESSIONS: OffloadingGaugeMetadata(documentation="Sessions that have a record."),
    }


class Reporter:
    """What was reported so far; vLLM adds up differences."""

    def __init__(self) -> None:
        self._reported: dict[tuple[str, _Labels], int] = {}
        self._broken = False

    def report(self, tier: Tier, stats: Any) -> None:
        """Add what a tier has counted since the last report; the first time also what is 0, so that it is shown."""
        for name, labels, value in _counts(tier):
            before = self._reported.get((name, labels))
            if value != before:
                self._reported[name, labels] = value
                stats.increase_counter(name, value - (before or 0), labels)
        stats.set_gauge(_RESIDENT, tier.resident)
        stats.set_gauge(_SESSIONS, len(tier.sessions))

    def breaks(self, tier: LoggedTier) -> bool:
        """Whether the tier's log has ended since the last report."""
        before, self._broken = self._broken, tier.broken is not None
        return self._broken and not before


def _counts(tier: Tier) -> Iterator[tuple[str, _Labels, int]]:
    counters = tier.counters
    for event in ("offered", "present", "stored", "failed", "reloaded", "cleared"):
        yield _BLOCKS, (event,), getattr(counters, event)
    for reason in ("admission", "no_room"):
        yield _REFUSED, (reason,), counters.refused.get(reason, 0)
    for name, count in counters.evicted.items():
        yield _EVICTED, (name,), count
    yield _REFUSED_STORES, (), counters.stores_refused
    yield _MALFORMED, (), counters.malformed_hints
    yield _STRAY, (), counters.stray
