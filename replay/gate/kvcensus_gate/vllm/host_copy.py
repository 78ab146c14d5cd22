"""Copies between the device pool and the host pool where vLLM has none: the CPU platform, for tests without a GPU."""

from __future__ import annotations

import time
from typing import Any

import torch

from kvcensus_gate.vllm.seams import OffloadingWorker, TransferResult

__all__ = ["HostCopyWorker"]


class HostCopyWorker(OffloadingWorker):
    """Copies that have ended when they are submitted.

    Parameters
    ----------
    caches : CanonicalKVCaches
        Tensors of the device pool, one page a block, and which of them each KV cache group has.
    chunks, blocks_per_chunk : int
        Size of the host pool.
    """

    def __init__(self, caches: Any, chunks: int, blocks_per_chunk: int):
        self._blocks_per_chunk = blocks_per_chunk
        self._groups = caches.group_data_refs
        self._device = [each.tensor.view(torch.int8).view(-1, each.page_size_bytes) for each in caches.tensors]
        self._host = [torch.zeros((chunks * blocks_per_chunk, each.page_size_bytes), dtype=torch.int8)
                      for each in caches.tensors]
        self._finished: list[Any] = []

    def submit_store(self, job_id: int, src_spec: Any, dst_spec: Any, **_: Any) -> bool:
        """From device blocks to chunks."""
        return self._copy(job_id, src_spec, dst_spec, to_host=True)

    def submit_load(self, job_id: int, src_spec: Any, dst_spec: Any, **_: Any) -> bool:
        """From chunks to device blocks."""
        return self._copy(job_id, dst_spec, src_spec, to_host=False)

    def get_finished(self) -> list[Any]:
        finished, self._finished = self._finished, []
        return finished

    def wait(self, job_ids: set[int]) -> None:
        """Nothing is under way, ever."""

    def shutdown(self) -> None:
        self._device.clear()
        self._host.clear()

    def _copy(self, job_id: int, device_spec: Any, host_spec: Any, to_host: bool) -> bool:
        started = time.perf_counter()
        copied = 0
        blocks, chunks = device_spec.block_ids.tolist(), host_spec.block_ids.tolist()
        for refs, size, first in zip(self._groups, device_spec.group_sizes, device_spec.block_indices, strict=True):
            if size:
                # The first block of a group may lie inside its chunk.
                skipped = first % self._blocks_per_chunk
                used = -(-(skipped + size) // self._blocks_per_chunk)
                slots = [chunk * self._blocks_per_chunk + place for chunk in chunks[:used]
                         for place in range(self._blocks_per_chunk)][skipped:skipped + size]
                copied += self._copy_blocks(refs, torch.tensor(blocks[:size]), torch.tensor(slots), to_host)
                blocks, chunks = blocks[size:], chunks[used:]
        if blocks or chunks:
            raise RuntimeError(f"a transfer names {len(blocks)} blocks and {len(chunks)} chunks too many")
        self._finished.append(TransferResult(job_id=job_id, success=True, transfer_size=copied,
                                             transfer_time=time.perf_counter() - started))
        return True

    def _copy_blocks(self, refs: Any, blocks: Any, slots: Any, to_host: bool) -> int:
        """Copy one group's pages; returns their bytes."""
        for ref in refs:
            device, host = self._device[ref.tensor_idx], self._host[ref.tensor_idx]
            if to_host:
                host[slots] = device[blocks]
            else:
                device[blocks] = host[slots]
        return len(slots) * sum(int(ref.page_size_bytes) for ref in refs)
