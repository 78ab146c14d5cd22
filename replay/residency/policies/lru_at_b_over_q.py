"""LRU with the capacity that int4 copies emulate: is MRR's gain more than that of as much more memory?

A copy of q = 32/128 of its size lets a budget B hold up to B / q of contexts. LRU at B / q never misses more than MRR
at B: each of MRR's copies and whole objects would fit there at full size.

Source: "Understanding KV Residency in Production-Scale Agentic LLM Workloads", arXiv:2610.22863, 5.3.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from replay.residency.keeping import Keeping
from replay.residency.policies import lru
from replay.residency.policies.mrr import INT4
from replay.residency.policy import Outcome, Policy
from replay.residency.stream import MAX_UNITS, UNITS, Stream

__all__ = ["POLICIES"]


def emulated(budget_units: int) -> int:
    """B / q in units, rounded down; at most what kernels can count, which no stream reaches."""
    return min(budget_units * UNITS // INT4, MAX_UNITS)


def kernel(stream: Stream, budget_units: int, release_last: bool, log: NDArray[np.int8]) -> Outcome:
    """LRU at B / q, compiled. See `replay.residency.policy.Replay`."""
    return lru.kernel(stream, emulated(budget_units), release_last, log)


def reference(stream: Stream, budget_units: int, release_last: bool, log: NDArray[np.int8]) -> Outcome:
    """LRU at B / q, plainly."""
    return lru.reference(stream, emulated(budget_units), release_last, log)


POLICIES = (Policy("lru_at_B_over_q", "lru with four times the budget, which int4 copies emulate", clairvoyant=False,
                   kernel=kernel, reference=reference, keeping=Keeping(INT4)),)
