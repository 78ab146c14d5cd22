"""Both bounds at every budget: between them lies what the best policy misses."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from fractions import Fraction

from replay.residency.bounds.pfoo_l import pfoo_l
from replay.residency.bounds.pfoo_u import cheapest_first, pfoo_u
from replay.residency.budgets import Budget, units_to_bytes
from replay.residency.keeping import Keeping
from replay.residency.policy import keeping_of
from replay.residency.stream import UNITS, Release, Stream, check_release, no_eviction_peak

__all__ = ["KINDS", "Bound", "bound_name", "bound_of", "bounds"]

#: Kinds of bounds, and what each says.
KINDS = {
    "pfoo_l": "a lower bound: no policy misses less",
    "pfoo_u": "a feasible schedule: the best policy misses no more",
}


@dataclass(frozen=True)
class Bound:
    """One bound at one budget.

    Attributes
    ----------
    kind : str
        Of `KINDS`.
    keeping : Keeping
        What the policies that it bounds may keep.
    budget : Budget
    budget_bytes, budget_units : int
        As in `replay.residency.replay.Cell`.
    calls, objects, tokens : int
        Of the stream.
    misses : int
    """

    kind: str
    keeping: Keeping
    budget: Budget
    budget_bytes: int
    budget_units: int
    calls: int
    objects: int
    tokens: int
    misses: int

    @property
    def rate(self) -> float | None:
        """misses / calls; None for an empty stream."""
        return self.misses / self.calls if self.calls else None

    @property
    def name(self) -> str:
        """The last parts of the key of its rate: `pfoo_l_q32.b10`."""
        return f"{bound_name(self.kind, self.keeping)}.{self.budget.key}"


def bound_name(kind: str, keeping: Keeping) -> str:
    """`pfoo_l` for whole objects, `pfoo_l_q32` with int4 copies, `pfoo_l_q32_h2` with these in a host tier of 2 B."""
    return kind + keeping.suffix


def bound_of(policy: str, kind: str) -> str | None:
    """The name of the bound of a kind for a policy; None where there is none."""
    keeping = keeping_of(policy)
    return None if keeping is None else bound_name(kind, keeping)


def bounds(stream: Stream, kinds: Sequence[str], keepings: Sequence[Keeping], budgets: Sequence[Budget],
           release: Release = "last", *, beta: int | Fraction, threads: int = 1) -> list[Bound]:
    """Bounds on the misses of the best policy.

    Parameters
    ----------
    stream : Stream
        May be empty.
    kinds : sequence of str
        Of `KINDS`. `pfoo_l` costs two passes for all budgets together, `pfoo_u` one of O(n log n) for each.
    keepings : sequence of Keeping
    budgets : sequence of Budget
    release : {"last", "never"}
        Decides what K* is, of which budgets are shares; at one budget both modes have the same optimum.
    beta : int or Fraction
        KV bytes of a token.
    threads : int
        Bounds that are computed at once. One of `pfoo_u` needs 16 bytes a call and tier, calls rounded up to a power
        of two, and all together 8 bytes a call.

    Returns
    -------
    list of Bound
        By kind, by keeping, by budget, each in the order given.

    Raises
    ------
    UsageError
        Unknown release mode, unusable budget or beta.
    """
    kstar = no_eviction_peak(stream, check_release(release))
    units = [budget.resolve(kstar * UNITS, beta) for budget in budgets]
    work = [(keeping, size) for keeping in keepings for size in units]
    misses = {
        "pfoo_l": lambda: pfoo_l(stream, [keeping.room(size, stream.calls) for keeping, size in work]),
        "pfoo_u": lambda: _feasible(stream, [keeping.tiers(size) for keeping, size in work], threads),
    }
    total = stream.total_tokens
    return [
        Bound(kind, keeping, budget, units_to_bytes(size, beta) if budget.bytes is None else budget.bytes, size,
              stream.calls, stream.object_count, total, missed)
        for kind in kinds
        for (keeping, size), budget, missed in zip(work, [*budgets] * len(keepings), misses[kind](), strict=True)
    ]


def _feasible(stream: Stream, tiers: Sequence[Sequence[int]], threads: int) -> list[int]:
    """Misses of the feasible schedule for each set of tiers."""
    order = cheapest_first(stream)
    with ThreadPoolExecutor(threads) as pool:
        runs = [pool.submit(pfoo_u, stream, order, sizes) for sizes in tiers]
        try:
            return [run.result() for run in runs]
        except BaseException:  # a stop, too: what is queued must not run on
            pool.shutdown(wait=False, cancel_futures=True)
            raise
