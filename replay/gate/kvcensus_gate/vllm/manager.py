"""vLLM's offloading manager, with a tier's policy in the place of its own decisions.

vLLM's manager goes on keeping chunks, transfers and events; each of its calls is first, or also, a call of the tier.
Both hold the same chunks at any time.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any

from kvcensus_gate.hints import parse_hints
from kvcensus_gate.log import LoggedTier
from kvcensus_gate.tier import Tier
from kvcensus_gate.vllm.cache_policy import ChunkTable
from kvcensus_gate.vllm.metrics import Reporter
from kvcensus_gate.vllm.seams import (
    CPULoadStoreSpec,
    CPUOffloadingManager,
    PrepareStoreOutput,
    context_keys,
    init_logger,
    manager_arguments,
)

__all__ = ["GateManager"]

logger = init_logger(__name__)


class _Shown:
    """What a request has shown of its context: key -> position. It lives and dies with vLLM's request context."""

    __slots__ = ("positions", "whole")

    def __init__(self) -> None:
        self.positions: dict[bytes, int] = {}
        self.whole = False

    def add(self, keys: Iterable[bytes]) -> None:
        for key in keys:
            self.positions.setdefault(key, len(self.positions))


class GateManager(CPUOffloadingManager):
    """An offloading manager whose stores, refusals and evictions are those of a tier.

    Parameters
    ----------
    tier : Tier
        Of as many chunks as vLLM's pool has.
    chunks : int
        Chunks of vLLM's pool. The tier of the policy `none` holds fewer.
    groups : int
        KV cache groups of the model; only with one does a `touch` show the whole context.
    """

    def __init__(self, tier: Tier, chunks: int, groups: int = 1, enable_events: bool = False):
        super().__init__(**manager_arguments(chunks, ChunkTable), enable_events=enable_events)
        self.tier = tier
        self._groups = groups
        self._table: ChunkTable = self._policy
        self._reporter = Reporter()

    def on_new_request(self, req_context: Any) -> Any:
        answer = super().on_new_request(req_context)
        req_context.set_state(_Shown())
        self.tier.begin(req_context.req_id, parse_hints(req_context.kv_transfer_params))
        return answer

    def lookup(self, key: bytes, req_context: Any) -> Any:
        self._show_context(req_context)
        return super().lookup(key, req_context)

    def touch(self, keys: Collection[bytes], req_context: Any) -> None:
        self._show(list(keys), req_context, whole=self._groups == 1)

    def prepare_load(self, keys: Collection[bytes], req_context: Any) -> Any:
        self._show_context(req_context)
        loaded = list(keys)
        spec = super().prepare_load(loaded, req_context)
        self.tier.prepare_load(req_context.req_id, loaded)
        _shown(req_context).add(loaded)
        return spec

    def complete_load(self, keys: Collection[bytes], req_context: Any) -> None:
        ordered = self._in_order(keys, req_context)
        super().complete_load(ordered, req_context)
        self.tier.complete_load(ordered)

    def prepare_store(self, keys: Collection[bytes], req_context: Any) -> Any:
        """A refusal is an empty answer: vLLM repeats a None at every step."""
        self._show_context(req_context)
        offered = list(keys)
        _shown(req_context).add(offered)
        plan = self.tier.prepare_store(req_context.req_id, offered)
        if plan.refused is not None:
            return PrepareStoreOutput(keys_to_store=[], store_spec=CPULoadStoreSpec([]), evicted_keys=[])
        self._table.doom(plan.evict)
        answer = super().prepare_store(offered, req_context)
        if answer is None or list(answer.keys_to_store) != list(plan.store):
            raise RuntimeError(f"the tier and vLLM disagree: {len(plan.store)} of {len(offered)} chunks are to be "
                               f"stored, vLLM stores {None if answer is None else len(answer.keys_to_store)}")
        return answer

    def complete_store(self, keys: Collection[bytes], req_context: Any, success: bool = True) -> None:
        ordered = self._in_order(keys, req_context)
        super().complete_store(ordered, req_context, success)
        self.tier.complete_store(ordered, success)

    def on_request_finished(self, req_context: Any) -> None:
        super().on_request_finished(req_context)
        self.tier.finish(req_context.req_id)

    def reset_cache(self) -> None:
        super().reset_cache()
        self.tier.clear()

    def get_stats(self) -> Any:
        stats = super().get_stats()
        self._reporter.report(self.tier, stats)
        if isinstance(self.tier, LoggedTier) and self._reporter.breaks(self.tier):
            logger.warning("kvcensus_gate: the decision log has ended, the server goes on: %s", self.tier.broken)
        return stats

    def shutdown(self) -> None:
        super().shutdown()
        if isinstance(self.tier, LoggedTier):
            self.tier.log_report()

    def _show_context(self, req_context: Any) -> None:
        """Show the tier what the request's context holds, once, where vLLM records it."""
        if not _shown(req_context).whole:
            keys = context_keys(req_context)
            if keys:
                self._show(keys, req_context, whole=True)

    def _show(self, keys: Sequence[bytes], req_context: Any, whole: bool) -> None:
        shown = _shown(req_context)
        if shown.whole:
            return
        shown.whole = whole
        shown.add(keys)
        self.tier.touch(req_context.req_id, keys, whole=whole)

    def _in_order(self, keys: Collection[bytes], req_context: Any) -> list[bytes]:
        """vLLM keeps the keys of a transfer as a set, whose order differs from process to process."""
        positions = _shown(req_context).positions
        return sorted(keys, key=positions.__getitem__)


def _shown(req_context: Any) -> _Shown:
    shown: _Shown | None = req_context.get_state(_Shown)
    if shown is None:  # a request that began before the manager, or never
        shown = _Shown()
        req_context.set_state(shown)
    return shown
