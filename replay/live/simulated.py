"""What the simulator and the residency replay say of the sessions that were sent to a real server."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from kvcensus_gate import GateError
from replay.live.results import ServerFacts
from replay.residency.policy import MISSED, find_policy, log_policy
from replay.residency.stream import UNITS, build_stream
from replay.tier.condition import Condition
from replay.tier.metrics import Summary, nearest_rank, summarize
from replay.tier.platform import Server, load_server
from replay.tier.record import Outcome
from replay.tier.simulate import simulate
from replay.tier.workload import Workload
from telemetry.errors import InputError

__all__ = ["Coarse", "Simulated", "found_nothing", "found_share", "measured_step_us", "residency", "server_of",
           "simulated"]

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
    """The same sessions, blocks and capacities in the simulator.

    Attributes
    ----------
    summary : Summary
        The same plan in a closed loop: the simulator decides how long turns take.
    coarse : Coarse
    at_starts : Summary
        Every turn comes when it came live: what differs is not a matter of time.
    step_us : int
        Overhead of a step: the median time between tokens that was measured.
    """

    summary: Summary
    coarse: Coarse
    at_starts: Summary
    step_us: int


def server_of(facts: ServerFacts, step_us: int | None) -> Server:
    """The simulator's server of these sizes, with the rates of its platform; `step_us` in place of its overhead."""
    block_bytes = facts.block_tokens * facts.kv_bytes_per_token
    rates = load_server(facts.platform).server
    return replace(rates, kv_bytes_per_token=facts.kv_bytes_per_token, block_tokens=facts.block_tokens,
                   device_kv_bytes=(facts.device_blocks - _NULL_BLOCKS) * block_bytes, max_seqs=facts.max_seqs,
                   max_batched_tokens=facts.max_batched_tokens,
                   step_overhead_us=rates.step_overhead_us if step_us is None else step_us)


def simulated(workloads: Mapping[int, Workload], live: Mapping[int, Outcome], condition: Condition,
              facts: ServerFacts) -> Simulated | str:
    """A condition over its seeds, pooled; or why it cannot be simulated.

    Parameters
    ----------
    workloads, live : mapping
        By seed: what was planned, and what came back.
    """
    server = server_of(facts, measured_step_us(live.values()))
    closed, at_starts = [], []
    try:
        for seed, outcome in live.items():
            starts = {record[:2]: record.arrival_us for record in outcome.records}
            closed.append(simulate(workloads[seed], server, condition, seed))
            at_starts.append(simulate(workloads[seed], server, condition, seed, starts))
    except (InputError, GateError) as error:
        return str(error)
    return Simulated(summarize(closed), Coarse(found_share(closed), found_nothing(closed)), summarize(at_starts),
                     server.step_overhead_us)


def measured_step_us(outcomes: Iterable[Outcome]) -> int | None:
    """The median time between the tokens of a turn, a value a turn; None where none has two tokens."""
    each = sorted((record.end_us - record.first_token_us) // (record.output_tokens - 1) for outcome in outcomes
                  for record in outcome.records if record.output_tokens > 1)
    return nearest_rank(each, 50) if each else None


def found_share(outcomes: Sequence[Outcome]) -> float:
    """Prompt tokens found on the device or in the tier / prompt tokens."""
    records = [record for outcome in outcomes for record in outcome.records]
    return (sum(record.device_hit_tokens + record.tier_hit_tokens for record in records)
            / sum(record.prompt_tokens for record in records))


def found_nothing(outcomes: Sequence[Outcome]) -> float:
    """Turns that found nothing / turns."""
    records = [record for outcome in outcomes for record in outcome.records]
    return sum(not record.device_hit_tokens + record.tier_hit_tokens for record in records) / len(records)


def residency(workloads: Sequence[Workload], tier_bytes: int, facts: ServerFacts) -> Coarse:
    """LRU over whole sessions in the bytes of the tier, seeds pooled: a turn takes no time, and finds all or nothing.

    What it finds are the whole blocks of what it shares with the turn before. Nothing is released before it is evicted:
    the replay does not know which turn is a session's last.
    """
    found = missed = prompts = turns = 0
    for workload in workloads:
        order = _accesses(workload)
        objects, tokens, shared = (np.array(column, np.int64) for column in zip(*order, strict=True))
        stream = build_stream(objects.astype(np.int32), tokens, len(workload.sessions))
        _, log = log_policy(find_policy(_POLICY).kernel, stream, tier_bytes * UNITS // facts.kv_bytes_per_token, False)
        blocks = np.where(log == MISSED, 0, shared // facts.block_tokens)
        found += int(blocks.sum()) * facts.block_tokens
        missed += int((blocks == 0).sum())
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
