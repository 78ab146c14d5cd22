"""The plugin's entrance: what vLLM builds from `spec_name`, in the scheduler and in each worker."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any, TextIO

from kvcensus_gate.errors import GateError, shorten
from kvcensus_gate.log import make_logged_tier
from kvcensus_gate.registry import make_tier
from kvcensus_gate.tier import Tier
from kvcensus_gate.vllm.host_copy import HostCopyWorker
from kvcensus_gate.vllm.manager import GateManager
from kvcensus_gate.vllm.metrics import metric_definitions
from kvcensus_gate.vllm.seams import CPUOffloadingSpec, chunks_of, init_logger, needs_host_copy, vllm_version
from kvcensus_gate.vllm.settings import Settings, read_settings
from kvcensus_gate.vllm.versions import check_version

__all__ = ["GateSpec"]

logger = init_logger(__name__)


class GateSpec(CPUOffloadingSpec):
    """A tier in host memory, under one of our policies.

    Raises
    ------
    GateError
        Settings that cannot be used, a version of vLLM that was never run, a tier without room for one chunk.
    """

    @classmethod
    def build_metric_definitions(cls, extra_config: dict[str, Any]) -> dict[str, Any]:
        return {**super().build_metric_definitions(extra_config), **metric_definitions()}

    def __init__(self, config: Any):
        self.settings = read_settings(config.extra_config)
        check_version(vllm_version(), self.settings.allow_untested)
        super().__init__(config)
        self._manager: GateManager | None = None
        self._host_copy: HostCopyWorker | None = None

    def get_manager(self) -> Any:
        if self._manager is None:
            chunks = chunks_of(self)
            if chunks < 1:
                raise GateError(f"cpu_bytes_to_use holds no chunk of {self.kv_bytes_per_chunk} bytes. Give it more.")
            tier = _make_tier(self.settings, chunks, self.kv_bytes_per_chunk)
            self._manager = GateManager(tier, chunks, len(self.config.groups),
                                        enable_events=self.kv_events_config.enable_kv_cache_events)
            logger.info("kvcensus_gate: policy %s over %d chunks of %d bytes; %s", tier.policy.name, chunks,
                        self.kv_bytes_per_chunk, tier.policy.parameters)
        return self._manager

    def get_worker(self, kv_caches: Any) -> Any:
        if not needs_host_copy():
            return super().get_worker(kv_caches)
        if self._host_copy is None:
            self._host_copy = HostCopyWorker(kv_caches, chunks_of(self), self.blocks_per_chunk)
        return self._host_copy


def _make_tier(settings: Settings, chunks: int, chunk_bytes: int) -> Tier:
    def clock() -> int:
        return time.monotonic_ns() // 1000

    if settings.decision_log is None:
        return make_tier(settings.policy, chunks, clock, block_bytes=chunk_bytes, parameters=settings.parameters)
    return make_logged_tier(settings.policy, chunks, clock, _open_log(settings.decision_log), block_bytes=chunk_bytes,
                            parameters=settings.parameters)


def _open_log(path: str) -> TextIO:
    """A new file for its owner alone; a line is written whole, so that a server that is killed leaves whole lines."""
    try:
        descriptor = os.open(Path(path), os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as error:
        raise GateError(f"the decision log {shorten(path, 200)} cannot be made: {error.strerror}. Name a new file in a "
                        "folder that exists.") from error
    return os.fdopen(descriptor, "w", encoding="utf-8", buffering=1)
