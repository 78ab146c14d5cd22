"""The residency replay: what each policy misses under each budget, on one stream.

A cell is one policy under one budget. Cells share nothing but the stream, which is read-only, so
they run side by side; the order of the result does not depend on who finishes first. What a run of a
policy found depends on the stream, the release mode, the policy and the budget in units, and on
nothing else: a journal may know it already.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Protocol

from replay.residency.budgets import Budget, units_to_bytes
from replay.residency.comparison import Counts, Logged, compare
from replay.residency.policy import Outcome, Policy, find_policy, log_policy, no_log
from replay.residency.stream import UNITS, Release, Stream, check_release, first_touch_floor, no_eviction_peak
from telemetry.errors import UsageError

__all__ = ["Cell", "Journal", "Kept", "Run", "replay"]


@dataclass(frozen=True)
class Run:
    """What one run of a policy found.

    Attributes
    ----------
    outcome : Outcome
    beside_log : mapping or None
        The same calls beside the log; None where nobody asks, and for a clairvoyant policy, as no fleet runs one.
    """

    outcome: Outcome
    beside_log: Counts | None = None


class Kept(Protocol):
    """The runs of one stream that are known."""

    def find(self, policy: str, units: int) -> Run | None:
        """The run of a policy under a budget in units, if it is known."""

    def keep(self, policy: str, units: int, run: Run) -> None:
        """Take in a run that is done."""


class Journal(Protocol):
    """Where runs are kept."""

    def of(self, stream: Stream, logged: Logged | None, release: Release) -> Kept:
        """Those of one stream."""


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
    beside_log : mapping or None
        As in `Run`.
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
    beside_log: Counts | None = None

    @property
    def name(self) -> str:
        """The last parts of the key of its rate: `lru.b10`."""
        return f"{self.policy}.{self.budget.key}"


def replay(stream: Stream, policies: Sequence[str], budgets: Sequence[Budget], release: Release = "last", *,
           beta: int | Fraction, threads: int = 1, logged: Logged | None = None,
           journal: Journal | None = None) -> list[Cell]:
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
        Cells that run at once. Each needs about 16 bytes an object, size_aware 32, and FNU one bit a call; beside a
        log one byte a call more.
    logged : Logged, optional
        What the log says of each call, to be set beside what policies predict that are not clairvoyant.
    journal : Journal, optional
        Knows runs, which are not done again, and takes in each that is done.

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
    check_release(release)
    kstar = no_eviction_peak(stream, release)
    work = [(policy, budget, budget.resolve(kstar * UNITS, beta))
            for policy in map(find_policy, policies) for budget in budgets]
    runs = _runs(stream, [(policy, units) for policy, _, units in work], release, threads, logged, journal)
    total = stream.total_tokens
    return [_cell(stream, policy.name, budget, units, run, total_tokens=total, kstar=kstar, beta=beta)
            for (policy, budget, units), run in zip(work, runs, strict=True)]


def _runs(stream: Stream, work: Sequence[tuple[Policy, int]], release: Release, threads: int, logged: Logged | None,
          journal: Journal | None) -> list[Run]:
    """One for each policy and budget in units."""
    kept = None if journal is None else journal.of(stream, logged, release)
    done = {} if kept is None else {place: run for place, (policy, units) in enumerate(work)
                                    if (run := kept.find(policy.name, units)) is not None}
    pool = ThreadPoolExecutor(threads)
    try:
        waiting = {pool.submit(_run, stream, policy, units, release == "last", logged): place
                   for place, (policy, units) in enumerate(work) if place not in done}
        for each in as_completed(waiting):
            place = waiting[each]
            done[place] = each.result()
            if kept is not None:
                policy, units = work[place]
                kept.keep(policy.name, units, done[place])
    finally:  # after a stop or an error what is queued must not run on, and what runs is not waited for
        pool.shutdown(wait=False, cancel_futures=True)
    return [done[place] for place in range(len(work))]


def _run(stream: Stream, policy: Policy, units: int, release_last: bool, logged: Logged | None) -> Run:
    if logged is None or policy.clairvoyant:
        return Run(policy.kernel(stream, units, release_last, no_log()))
    outcome, log = log_policy(policy.kernel, stream, units, release_last)
    return Run(outcome, compare(log, stream.tokens, logged))


def _cell(stream: Stream, policy: str, budget: Budget, units: int, run: Run, *, total_tokens: int, kstar: int,
          beta: int | Fraction) -> Cell:
    outcome = run.outcome
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
        beside_log=run.beside_log,
    )


def _published(name: str, count: int, beta: int | Fraction) -> tuple[str, int]:
    """A counter as a cell has it."""
    if name.endswith("_units"):
        return f"{name.removesuffix('_units')}_bytes", units_to_bytes(count, beta)
    return name, count
