"""What a residency policy is, and how policies are found.

A policy is one file in `replay/residency/policies/`; it declares `POLICIES`, and is found by
scanning the folder. Each policy comes twice with one signature: compiled, and as a plain reference
written to be read; tests hold the two together, call for call.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from replay.residency.stream import Stream
from telemetry.errors import UsageError, shorten

__all__ = ["Outcome", "Policy", "Replay", "find_policy", "no_log", "policies", "trace_policy"]


@dataclass(frozen=True)
class Outcome:
    """What one replay counted.

    Attributes
    ----------
    misses : int
        Calls that found no object, neither whole nor as a copy.
    missed_tokens : int
        Sum of the contexts of these calls: tokens that must be prefilled again.
    counters : mapping of str to int
        What a policy counts beyond that, e.g. units moved to a host tier.
    """

    misses: int
    missed_tokens: int
    counters: Mapping[str, int] = field(default_factory=dict)


Replay = Callable[[Stream, int, bool, NDArray[np.bool_]], Outcome]
"""(stream, budget in units of 1/128 token, release_last, missed) -> Outcome.

`missed` is a bool[n] of False to be set where a call misses, or a bool[0] when nobody asks.
"""


@dataclass(frozen=True)
class Policy:
    """A rule for what stays resident.

    Attributes
    ----------
    name, description : str
    clairvoyant : bool
        True when it reads the future: a yardstick, not something to deploy.
    kernel, reference : Replay
        Compiled, for use; plain Python, for comparison. They agree call for call.
    """

    name: str
    description: str
    clairvoyant: bool
    kernel: Replay
    reference: Replay


def policies() -> dict[str, Policy]:
    """Every policy by name.

    Raises
    ------
    RuntimeError
        Two policies of one name, or a file without `POLICIES`.
    """
    import replay.residency.policies as package

    found: dict[str, Policy] = {}
    for module in sorted(info.name for info in pkgutil.iter_modules(package.__path__)):
        for policy in importlib.import_module(f"{package.__name__}.{module}").POLICIES:
            if policy.name in found:
                raise RuntimeError(f"two policies are called {policy.name!r}")
            found[policy.name] = policy
    return found


def find_policy(name: str) -> Policy:
    """The policy called `name`.

    Raises
    ------
    UsageError
        For an unknown name; the message lists the known ones.
    """
    known = policies()
    if name not in known:
        raise UsageError(f"unknown policy {shorten(name)!r}. Known policies: {', '.join(sorted(known))}.")
    return known[name]


def no_log() -> NDArray[np.bool_]:
    """The `missed` argument of a replay whose calls nobody asks for."""
    return np.empty(0, np.bool_)


def trace_policy(run: Replay, stream: Stream, budget_units: int,
                 release_last: bool) -> tuple[Outcome, NDArray[np.bool_]]:
    """The outcome of a kernel or a reference, and bool[n]: which calls missed."""
    missed = np.zeros(stream.calls, np.bool_)
    return run(stream, budget_units, release_last, missed), missed
