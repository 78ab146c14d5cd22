"""The same sessions against one server for each policy, and what each server said of itself."""

from __future__ import annotations

import math
import time
import urllib.error
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from live_clients import SESSIONS, TURNS, complete, make_sessions, run_sessions, working_set_tokens

from replay.live.scrape import Scrape, scrape
from replay.live.server import Launch, LiveServer, ServerError
from replay.live.tiny_model import TinyLlama

BLOCK_TOKENS = 32
CHUNK_BYTES = BLOCK_TOKENS * TinyLlama().kv_bytes_per_token
TIER_SHARE = 0.3
READY_S = 240.0
#: Condition -> settings of the plugin; None: a server without a tier.
CONDITIONS: dict[str, Mapping[str, object] | None] = {
    "off": None,
    "gate": {"policy": "gate"},
    "lru": {"policy": "lru"},
    # By the default nobody would fall behind in a run so short.
    "gate_tags_off": {"policy": "gate_tags_off", "parameters": {"live_ttl_s": 1}},
    "lru_reclaim": {"policy": "lru_reclaim"},
    "wrong": {"policy": "nonsense"},
}
#: Sent to the gate after the sessions, and how many fields of each cannot be used. Nothing of it may harm the server.
HOSTILE: tuple[tuple[Any, int], ...] = (
    ({"session_id": 7, "expected_gap_ms": "soon", "last_turn": "yes", "turn_idx": -1}, 4),
    ({"session_id": "x" * 10_000}, 1),
    ({"session_id": ["a"], "job_id": {"a": 1}}, 2),
    ({"session_id": "hostile", "expected_gap_ms": math.nan}, 1),
    ({"session_id": "hostile", "expected_gap_ms": 10**30}, 1),
    ({"session_id": "session 23", "last_turn": True}, 0),
    ({"session_id": "session 23", "turn_idx": 2}, 0),
    ({"session_id": "\x00<script>'; drop table", "expected_gap_ms": 1e308}, 1),
    ({}, 0))
_COUNTED = ("vllm:external_prefix_cache_hits_total", "vllm:kv_offload_store_bytes_total")


@dataclass
class Run:
    """What came of a condition."""

    name: str
    log: Path
    decisions: Path
    answers: list[list[list[int]]] = field(default_factory=list)
    after_sessions: Scrape | None = None
    at_end: Scrape | None = None
    log_before_stop: str = ""
    exit_code: int | None = None
    killed: bool = False
    error: str = ""
    served_hostile: list[int] = field(default_factory=list)

    @property
    def hits(self) -> float:
        """Tokens found in the tier."""
        return self.counted("vllm:external_prefix_cache_hits_total")

    @property
    def bytes_per_byte(self) -> float:
        """Bytes stored for a byte reloaded."""
        return (self.counted("vllm:kv_offload_store_bytes_total")
                / max(1, self.counted("vllm:kv_offload_load_bytes_total")))

    @property
    def evicted(self) -> float:
        """Blocks of all classes; a class is published once a block of it went."""
        name = "vllm:kvcensus_tier_evicted_blocks_total"
        return self.counted(name) if self.after_sessions is not None and name in self.after_sessions else 0

    def counted(self, name: str, **labels: str) -> float:
        assert self.after_sessions is not None
        return self.after_sessions.total(name, **labels)


def chunks() -> int:
    """Of the tier: a share of the working set."""
    return int(TIER_SHARE * working_set_tokens(make_sessions())) // BLOCK_TOKENS


def run_condition(name: str, python: Path, model: Path, folder: Path) -> Run:
    """Start a server, run the sessions, read it out, stop it."""
    settings = CONDITIONS[name]
    run = Run(name, folder / f"{name}.log", folder / f"{name}.jsonl")
    connector = None if settings is None else {
        "spec_name": "kvcensus_gate", "cpu_bytes_to_use": chunks() * CHUNK_BYTES,
        "kvcensus_gate": {**settings, "decision_log": str(run.decisions)}}
    # Two requests at a time have room on the device: nothing is preempted, so that a hit is loaded once.
    launch = Launch(python, model, block_tokens=BLOCK_TOKENS, max_seqs=2, connector=connector)
    try:
        server = LiveServer(launch, run.log, READY_S)
    except ServerError as error:
        run.error = str(error)
        return run
    with server:
        sessions = make_sessions()
        assert (len(sessions), {len(session.rounds) for session in sessions}) == (SESSIONS, {TURNS})
        run_sessions(server.url, sessions)
        run.answers = [session.answers for session in sessions]
        run.after_sessions = _settled(server.url)
        run.log_before_stop = run.log.read_text(encoding="utf-8", errors="replace")
        if name == "gate":
            run.served_hostile = _send_hostile(server.url, sessions[-1].context[:200])
            run.at_end = _settled(server.url)
        server.check()
    run.exit_code, run.killed = server.exit_code, server.killed
    return run


def _send_hostile(url: str, prompt: list[int]) -> list[int]:
    """Which of them were served, by place.

    Versions of vLLM refuse NaN, or fail on integers of more than 64 bits, before the plugin sees them.
    """
    served = []
    for place, (hints, _) in enumerate(HOSTILE):
        try:
            complete(url, prompt, hints)
        except urllib.error.HTTPError as error:
            if error.code not in (400, 500):
                raise
        else:
            served.append(place)
    return served


def _settled(url: str) -> Scrape:
    """Metrics, once nothing is under way: counters are published with the step after."""
    def counts(read: Scrape) -> list[float]:
        return [read.total(name) for name in sorted(read.samples)
                if name in _COUNTED or name.startswith("vllm:kvcensus")]

    latest = scrape(url)
    for _ in range(40):
        time.sleep(0.25)
        before, latest = latest, scrape(url)
        if counts(before) == counts(latest) and latest.total("vllm:num_requests_running") == 0:
            break
    return latest
