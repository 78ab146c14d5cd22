"""vLLM's side of the table of chunks: where each lies in host memory. What to evict was decided before it is asked."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from kvcensus_gate.sessions import Key
from kvcensus_gate.vllm.seams import CachePolicy

__all__ = ["ChunkTable"]


class ChunkTable(CachePolicy):
    """A cache policy that carries out what a tier has decided.

    vLLM's manager keeps chunks and their transfers, and asks a cache policy for victims without saying for whom.
    Decisions that need to know are made before, in `GateManager`.
    """

    def __init__(self, cache_capacity: int, *_: Any, **__: Any):
        self.cache_capacity = cache_capacity
        self._chunks: dict[Key, Any] = {}
        self._doomed: Sequence[Key] = ()

    def __len__(self) -> int:
        return len(self._chunks)

    def doom(self, keys: Sequence[Key]) -> None:
        """What the next `evict` takes."""
        self._doomed = keys

    def get(self, key: Key) -> Any:
        return self._chunks.get(key)

    def insert(self, key: Key, chunk: Any, *_: Any) -> None:
        self._chunks[key] = chunk

    def remove(self, key: Key) -> None:
        del self._chunks[key]

    def touch(self, keys: Iterable[Key], *_: Any) -> None:
        """Recency is the tier's business."""

    def evict(self, n: int, protected: set[Key]) -> list[tuple[Key, Any]] | None:
        doomed, self._doomed = self._doomed, ()
        if len(doomed) != n or not protected.isdisjoint(doomed):
            raise RuntimeError(f"the tier and vLLM disagree: {len(doomed)} chunks are to be evicted, vLLM asks for {n}")
        return [(key, self._chunks.pop(key)) for key in doomed]

    def clear(self) -> None:
        self._chunks.clear()
        self._doomed = ()
