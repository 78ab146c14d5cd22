"""What the simulator and the residency replay say of the sessions that were sent to a real server."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from kvcensus_gate import GateError
from replay.live.results import ServerFacts
from replay.residency.policy import MISSED, find_policy, log_policy
from replay.residency.stream import UNITS, build_stream
from replay.tier.condition import Condition
from replay.tier.metrics import Summary, summarize
from replay.tier.platform import Server, load_server
from replay.tier.record import Outcome
from replay.tier.simulate import simulate
from replay.tier.workload import Workload
from telemetry.errors import InputError

__all__ = ["Coarse", "Simulated", "found_nothing", "found_share", "residency", "server_of", "simulated"]

#: vLLM keeps a block of its pool for itself.
_NULL_BLOCKS = 1
_POLICY = "lru"


@dataclass(frozen=True)
class Coarse:
    """Two numbers that every model has.

    Attributes
    ----------
    found_share : float
        Prompt tokens found, wherever / prompt tokens.
    found_nothing : float
        Turns that found nothing / turns.
    """

    found_share: float
    found_nothing: float


@dataclass(frozen=True)
class Simulated:
    """The same sessions, schedule, blocks and capacities in the simulator."""

    summary: Summary
    coarse: Coarse


def server_of(facts: ServerFacts) -> Server:
    """The simulator's server of these sizes, with the rates of its platform."""
    block_bytes = facts.block_tokens * facts.kv_bytes_per_token
    return replace(load_server(facts.platform).server, kv_bytes_per_token=facts.kv_bytes_per_token,
                   block_tokens=facts.block_tokens, device_kv_bytes=(facts.device_blocks - _NULL_BLOCKS) * block_bytes,
                   max_seqs=facts.max_seqs, max_batched_tokens=facts.max_batched_tokens)


def simulated(workloads: Sequence[tuple[int, Workload]], condition: Condition, facts: ServerFacts) -> Simulated | str:
    """A condition over its seeds, pooled; or why it cannot be simulated.

    Parameters
    ----------
    workloads : sequence of (int, Workload)
        With their seeds.
    """
    try:
        outcomes = [simulate(workload, server_of(facts), condition, seed) for seed, workload in workloads]
    except (InputError, GateError) as error:
        return str(error)
    return Simulated(summarize(outcomes), Coarse(found_share(outcomes), found_nothing(outcomes)))


def found_share(outcomes: Sequence[Outcome]) -> float:
    """Prompt tokens found on the device or in the tier / prompt tokens."""
    records = [record for outcome in outcomes for record in outcome.records]
    return (sum(record.device_hit_tokens + record.tier_hit_tokens for record in records)
            / sum(record.prompt_tokens for record in records))


def found_nothing(outcomes: Sequence[Outcome]) -> float:
    """Turns that found nothing / turns."""
    records = [record for outcome in outcomes for record in outcome.records]
    return sum(not record.device_hit_tokens + record.tier_hit_tokens for record in records) / len(records)


def residency(workloads: Sequence[Workload], tier_bytes: int, kv_bytes_per_token: int) -> Coarse:
    """LRU over whole sessions in the bytes of the tier, seeds pooled: a turn takes no time, and finds all or nothing.

    Nothing is released before it is evicted: the replay does not know which turn is a session's last.
    """
    found = missed = prompts = turns = 0
    for workload in workloads:
        order = _accesses(workload)
        objects, tokens, shared = (np.array(column, np.int64) for column in zip(*order, strict=True))
        stream = build_stream(objects.astype(np.int32), tokens, len(workload.sessions))
        _, log = log_policy(find_policy(_POLICY).kernel, stream, tier_bytes * UNITS // kv_bytes_per_token, False)
        there = log != MISSED
        found += int(shared[there].sum())
        missed += int((~there).sum())
        prompts += int(tokens.sum())
        turns += len(order)
    return Coarse(found / prompts, missed / turns)


def _accesses(workload: Workload) -> list[tuple[int, int, int]]:
    """Session, prompt and shared tokens of every turn, in the order of their times."""
    timed = []
    for index, session in enumerate(workload.sessions):
        at = session.arrival_us
        for place, turn in enumerate(session.turns):
            timed.append((at, index, place, turn.prompt_tokens, turn.shared_tokens or 0))
            at += turn.gap_us
    return [(index, prompt, shared) for _, index, _, prompt, shared in sorted(timed)]
