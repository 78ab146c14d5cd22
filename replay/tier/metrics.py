"""Live metrics of a condition: what a client and an operator would see (Tenure 3 and 6, Continuum-D 7)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from replay.tier.record import Outcome

__all__ = ["Summary", "completion_times", "nearest_rank", "summarize"]


@dataclass(frozen=True)
class Summary:
    """A condition over its seeds, pooled. Times in seconds; warm probes count in the bytes alone.

    Attributes
    ----------
    turns, sessions, probes : int
    ttft_mean_s, ttft_p50_s, ttft_p95_s, ttft_p99_s : float
        From a turn's arrival to its first token.
    late_ttft_mean_s : float or None
        The same, of second and later turns; None where there is none.
    latency_mean_s, latency_p95_s : float
        From a turn's arrival to its last token.
    jct_mean_s, jct_p90_s : float
        From a session's arrival to the end of its last turn.
    turns_per_s : float
        Turns / the sum over seeds of the time until the last one ended.
    device_hit_share : float
        Prompt tokens found on the device.
    tier_hit_rate : float
        Tokens found in the tier / tokens asked of it, which are the prompt tokens not found on the device.
    stored_bytes, reloaded_bytes : int
    stored_per_reloaded : float or None
        None where nothing was reloaded.
    stores_refused : int
        Offers.
    refused, evicted : dict
        Blocks, by reason and by class.
    """

    turns: int
    sessions: int
    probes: int
    ttft_mean_s: float
    ttft_p50_s: float
    ttft_p95_s: float
    ttft_p99_s: float
    late_ttft_mean_s: float | None
    latency_mean_s: float
    latency_p95_s: float
    jct_mean_s: float
    jct_p90_s: float
    turns_per_s: float
    device_hit_share: float
    tier_hit_rate: float
    stored_bytes: int
    reloaded_bytes: int
    stored_per_reloaded: float | None
    stores_refused: int
    refused: dict[str, int]
    evicted: dict[str, int]


def summarize(outcomes: Sequence[Outcome]) -> Summary:
    """The metrics of one condition; an outcome a seed."""
    records = [record for outcome in outcomes for record in outcome.records]
    ttft = sorted(record.first_token_us - record.arrival_us for record in records)
    late = [record.first_token_us - record.arrival_us for record in records if record.turn]
    latency = sorted(record.end_us - record.arrival_us for record in records)
    jct = sorted(time for outcome in outcomes for time in completion_times(outcome).values())
    prompt, device, tier = (sum(getattr(record, name) for record in records)
                            for name in ("prompt_tokens", "device_hit_tokens", "tier_hit_tokens"))
    stored, reloaded = (_total(outcomes, name) for name in ("stored_bytes", "reloaded_bytes"))
    return Summary(
        turns=len(records), sessions=len(jct), probes=sum(len(outcome.probes) for outcome in outcomes),
        ttft_mean_s=_mean(ttft), ttft_p50_s=nearest_rank(ttft, 50) / 1e6, ttft_p95_s=nearest_rank(ttft, 95) / 1e6,
        ttft_p99_s=nearest_rank(ttft, 99) / 1e6, late_ttft_mean_s=_mean(late) if late else None,
        latency_mean_s=_mean(latency), latency_p95_s=nearest_rank(latency, 95) / 1e6,
        jct_mean_s=_mean(jct), jct_p90_s=nearest_rank(jct, 90) / 1e6,
        turns_per_s=len(records) / (sum(outcome.end_us for outcome in outcomes) / 1e6),
        device_hit_share=device / prompt, tier_hit_rate=tier / (prompt - device),
        stored_bytes=stored, reloaded_bytes=reloaded, stored_per_reloaded=stored / reloaded if reloaded else None,
        stores_refused=_total(outcomes, "stores_refused"), refused=_classes(outcomes, "refused"),
        evicted=_classes(outcomes, "evicted"))


def completion_times(outcome: Outcome) -> dict[int, int]:
    """Session -> microseconds from its first arrival to its last end."""
    first = dict(outcome.arrivals)
    last: dict[int, int] = {}
    for record in outcome.records:
        first[record.session] = min(record.arrival_us, first.get(record.session, record.arrival_us))
        last[record.session] = max(record.end_us, last.get(record.session, 0))
    return {session: end - first[session] for session, end in last.items()}


def nearest_rank(ordered: Sequence[int], percent: int) -> int:
    """The smallest value whose cumulative count reaches the percentage."""
    return ordered[-(-len(ordered) * percent // 100) - 1]


def _mean(times_us: Sequence[int]) -> float:
    return sum(times_us) / len(times_us) / 1e6


def _total(outcomes: Iterable[Outcome], name: str) -> int:
    return sum(_number(outcome.tier[name]) for outcome in outcomes)


def _number(value: object) -> int:
    assert isinstance(value, int), "a counter of the tier"
    return value


def _classes(outcomes: Iterable[Outcome], name: str) -> dict[str, int]:
    found: dict[str, int] = {}
    for outcome in outcomes:
        counts = outcome.tier[name]
        assert isinstance(counts, dict), "counts by class"
        for word, count in counts.items():
            found[word] = found.get(word, 0) + count
    return dict(sorted(found.items()))
