"""Servers and workloads in round numbers: a token takes a microsecond, a block holds ten."""

from __future__ import annotations

from dataclasses import replace

from replay.tier.platform import Server
from replay.tier.workload import Session, Turn, Workload

#: A byte a token; a step takes 10 microseconds at least; a load or store moves 2 bytes a microsecond.
PLAIN = Server(kv_bytes_per_token=1, prefill_tokens_per_s=1_000_000, attention_tokens=10**18, step_floor_us=10,
               step_overhead_us=0, decode_kv_bytes_per_s=10**18, device_kv_bytes=100, link_bytes_per_s=2_000_000,
               max_batched_tokens=100, max_seqs=8, block_tokens=10)


def server(**changes: int) -> Server:
    return replace(PLAIN, **changes)


def workload(*sessions: tuple[int, list[tuple[int, int, int]]]) -> Workload:
    """Sessions as (arrival, [(prompt, output, gap), ...])."""
    return Workload("by hand", 1.0, tuple(Session(at, tuple(Turn(*turn) for turn in turns)) for at, turns in sessions),
                    {})
