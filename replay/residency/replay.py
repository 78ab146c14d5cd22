"""The residency replay: what each policy misses under each budget, on one stream.

A cell is one policy under one budget. Cells share nothing but the stream, which is read-only, so
they run side by side; the order of the result does not depend on who finishes first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from fractions import Fraction

from replay.residency.budgets import Budget, units_to_bytes
from replay.residency.policy import Outcome, find_policy, no_log
from replay.residency.stream import UNITS, Release, Stream, check_release, first_touch_floor, no_eviction_peak
from telemetry.errors import UsageError

__all__ = ["Cell", "replay"]


@dataclass(frozen=True)
class Cell:
    """One policy under one budget.

    Attributes
    ----------
    policy : str
    budget : Budget
    budget_bytes : int
        As written for a budget in bytes; for a share, `budget_units` in bytes, rounded down.
    budget_units : int
        What the kernel compared with, in 1/128 token.
    calls, objects : int
        Of the stream.
    misses, missed_tokens : int
        Calls that found nothing; the sum of their contexts.
    reconstruction_rate : float or None
        misses / calls; None for an empty stream.
    missed_token_share : float or None
        missed_tokens / tokens of all calls; None when there are no tokens.
    floor : float or None
        objects / calls, which every policy meets at K*; None for an empty stream.
    kstar_bytes : int
        The no-eviction peak under the same release mode, rounded down.
    tokens : int
        Contexts of all calls of the stream.
    counters : mapping of str to int
        What the policy counts beyond misses, by the names in `Policy.counts`; units are bytes here, rounded down, and
        `down_units` is called `down_bytes`.
    """

    policy: str
    budget: Budget
    budget_bytes: int
    budget_units: int
    calls: int
    objects: int
    misses: int
    missed_tokens: int
    reconstruction_rate: float | None
    missed_token_share: float | None
    floor: float | None
    kstar_bytes: int
    tokens: int
    counters: Mapping[str, int] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The last parts of the key of its rate: `lru.b10`."""
        return f"{self.policy}.{self.budget.key}"


def replay(stream: Stream, policies: Sequence[str], budgets: Sequence[Budget], release: Release = "last", *,
           beta: int | Fraction, threads: int = 1) -> list[Cell]:
    """Replay a stream under every policy and budget.

    Parameters
    ----------
    stream : Stream
        May be empty: its cells have no misses, and None for rates.
    policies : sequence of str
        Names; see `replay.residency.policy.policies`.
    budgets : sequence of Budget
    release : {"last", "never"}
        Whether an object leaves after its last access in the stream.
    beta : int or Fraction
        KV bytes of a token.
    threads : int
        Cells that run at once. Each needs about 16 bytes an object, size_aware 32, and FNU one bit a call.

    Returns
    -------
    list of Cell
        Policies in the order given; within a policy, budgets in the order given.

    Raises
    ------
    UsageError
        Unknown or repeated policy, unknown release mode, unusable budget, beta or threads.
    """
    if threads < 1:
        raise UsageError(f"threads must be at least 1, not {threads}.")
    if len(set(policies)) < len(policies):
        raise UsageError(f"policies named more than once: {', '.join(policies)}.")
    release_last = check_release(release) == "last"
    kstar = no_eviction_peak(stream, release)
    work = [(policy, budget, budget.resolve(kstar * UNITS, beta))
            for policy in map(find_policy, policies) for budget in budgets]
    with ThreadPoolExecutor(threads) as pool:
        runs = [pool.submit(policy.kernel, stream, units, release_last, no_log())
                for policy, _, units in work]
        try:
            outcomes = [run.result() for run in runs]
        except BaseException:  # a stop, too: what is queued must not run on
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    total = stream.total_tokens
    return [_cell(stream, policy.name, budget, units, outcome, total_tokens=total, kstar=kstar, beta=beta)
            for (policy, budget, units), outcome in zip(work, outcomes, strict=True)]


def _cell(stream: Stream, policy: str, budget: Budget, units: int, outcome: Outcome, *, total_tokens: int,
          kstar: int, beta: int | Fraction) -> Cell:
    return Cell(
        policy=policy,
        budget=budget,
        budget_bytes=units_to_bytes(units, beta) if budget.bytes is None else budget.bytes,
        budget_units=units,
        calls=stream.calls,
        objects=stream.object_count,
        misses=outcome.misses,
        missed_tokens=outcome.missed_tokens,
        reconstruction_rate=outcome.misses / stream.calls if stream.calls else None,
        missed_token_share=outcome.missed_tokens / total_tokens if total_tokens else None,
        floor=first_touch_floor(stream),
        kstar_bytes=units_to_bytes(kstar * UNITS, beta),
        tokens=total_tokens,
        counters=dict(_published(name, count, beta) for name, count in outcome.counters.items()),
    )


def _published(name: str, count: int, beta: int | Fraction) -> tuple[str, int]:
    """A counter as a cell has it."""
    if name.endswith("_units"):
        return f"{name.removesuffix('_units')}_bytes", units_to_bytes(count, beta)
    return name, count
