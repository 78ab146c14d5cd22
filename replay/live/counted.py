"""What a server has counted between two looks at its metrics, in the words of the tier's own report."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from replay.live.scrape import Scrape

__all__ = ["counted"]

_TIER = "vllm:kvcensus_tier_"
_BYTES = "vllm:kv_offload_{}_bytes_total"
#: Before 0.24 one metric had the bytes of both directions.
_OLD_BYTES, _OLD = "vllm:kv_offload_total_bytes_total", {"store": "GPU_to_CPU", "load": "CPU_to_GPU"}


def counted(before: Scrape, after: Scrape) -> dict[str, Any]:
    """The counters that grew; 0 and {} for what did not, or what a server without a tier does not know.

    Returns
    -------
    dict
        `stored_bytes`, `reloaded_bytes`, `stores_refused`, `refused`, `evicted` as in `Tier.report`;
        `external_queried_tokens`, `external_hit_tokens`, `device_queried_tokens`, `device_hit_tokens`: of all requests,
        probes among them; `preemptions`; `blocks`: offered, present, stored, failed, reloaded.
    """
    def grown(name: str, **labels: str) -> int:
        return round(_total(after, name, labels) - _total(before, name, labels))

    def by(name: str, label: str) -> dict[str, int]:
        words = sorted({sample.labels[label] for sample in after.samples.get(name, ()) if label in sample.labels})
        return {word: count for word in words if (count := grown(name, **{label: word}))}

    def moved(way: str) -> int:
        name = _BYTES.format(way)
        return grown(name) if name in after else grown(_OLD_BYTES, transfer_type=_OLD[way])

    found: Mapping[str, Any] = {
        "stored_bytes": moved("store"), "reloaded_bytes": moved("load"),
        "stores_refused": grown(f"{_TIER}refused_stores_total"),
        "refused": by(f"{_TIER}refused_blocks_total", "reason"), "evicted": by(f"{_TIER}evicted_blocks_total", "class"),
        "blocks": by(f"{_TIER}blocks_total", "event"),
        "external_queried_tokens": grown("vllm:external_prefix_cache_queries_total"),
        "external_hit_tokens": grown("vllm:external_prefix_cache_hits_total"),
        "device_queried_tokens": grown("vllm:prefix_cache_queries_total"),
        "device_hit_tokens": grown("vllm:prefix_cache_hits_total"),
        "preemptions": grown("vllm:num_preemptions_total"),
    }
    return dict(found)


def _total(scrape: Scrape, name: str, labels: Mapping[str, str]) -> float:
    return scrape.total(name, **labels) if name in scrape else 0.0
