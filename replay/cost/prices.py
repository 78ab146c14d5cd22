"""What a replayed policy costs on a platform: GPU-seconds of prefill, GPUs that hold the budget, and money.

A miss prefills its whole context again. GPU-seconds = missed tokens / prefill rate. Their money is that of the
GPU-seconds at the price of a GPU-hour; the money of the memory is that of the GPUs whose memory holds the budget, at
the same price, for as long. The two are stated apart. Where the GPUs that hold KV also prefill, their sum counts these
twice, so what a fleet costs lies between the larger of the two and the sum.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from replay.cost.platform import Platform
from replay.residency.policy import policies

__all__ = ["HOUR_S", "Price", "host_words", "price", "rounded"]

HOUR_S = 3600
_MOST_DIGITS = 15


@dataclass(frozen=True)
class Price:
    """What one policy at one budget costs; exact.

    Attributes
    ----------
    gpu_seconds : Fraction
        Of prefill, over the stream.
    recompute : Fraction
        Money for them.
    busy_gpus : Fraction or None
        GPU-seconds a second of the stream: GPUs that do nothing else; None where the stream has no length.
    recompute_per_hour : Fraction or None
        Money for them.
    memory_gpus : int
        GPUs whose memory holds the budget, in whole replicas.
    memory_per_hour : Fraction
        Money for them.
    total_per_hour : Fraction or None
        Both.
    """

    gpu_seconds: Fraction
    recompute: Fraction
    busy_gpus: Fraction | None
    recompute_per_hour: Fraction | None
    memory_gpus: int
    memory_per_hour: Fraction
    total_per_hour: Fraction | None


def price(platform: Platform, missed_tokens: int | Fraction, budget_bytes: int, span_us: int) -> Price:
    """The price of so many missed tokens in a stream of `span_us`, and of so many bytes of memory."""
    hourly = platform.price_per_gpu_hour.value
    seconds = Fraction(missed_tokens) / platform.prefill_tokens_per_s.value
    busy = seconds * 10**6 / span_us if span_us else None
    gpus = platform.gpus(budget_bytes)
    recompute = None if busy is None else busy * hourly
    memory = gpus * hourly
    return Price(seconds, seconds * hourly / HOUR_S, busy, recompute, gpus, memory,
                 None if recompute is None else recompute + memory)


def rounded(value: Fraction | None, places: int) -> float | None:
    """To so many decimals, half to even, and to at most 15 digits, which a double holds as they are written."""
    if value is None:
        return None
    digits = len(str(abs(int(value))))
    places = max(min(places, _MOST_DIGITS - digits), 0)
    return float(f"{round(value * 10**places)}e-{places}")


def host_words(policy: str) -> str:
    """What a policy holds beside its budget, which is not priced; empty for one that holds nothing else."""
    known = policies().get(policy)
    if policy == "lru_at_B_over_q":
        return f"{policy} is LRU with four times the budget that is priced: no GPU holds it for that."
    if known is None or "down_units" not in known.counts:
        return ""
    if known.keeping is None:
        return f"{policy} also needs host memory without end, which is not priced."
    return f"{policy} also needs {known.keeping.host} times its budget of host memory, which is not priced."
