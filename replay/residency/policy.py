"""What a residency policy is, and how policies are found.

A policy is one file in `replay/residency/policies/`; it declares `POLICIES`, and is found by
scanning the folder. Each policy comes twice with one signature: compiled, and as a plain reference
written to be read; tests hold the two together, call for call.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from replay.residency.keeping import WHOLE, Keeping
from replay.residency.stream import Stream
from telemetry.errors import UsageError, shorten

__all__ = ["HIT", "MISSED", "PROMOTED", "Outcome", "Policy", "Replay", "default_policies", "find_policy", "keeping_of",
           "keepings", "log_policy", "no_log", "policies"]

#: What a call found, as a replay logs it: its object whole, as a copy that is brought back, or not at all.
HIT, PROMOTED, MISSED = 0, 1, 2


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
        What a policy counts beyond that, by the names in `Policy.counts`.
    """

    misses: int
    missed_tokens: int
    counters: Mapping[str, int] = field(default_factory=dict)


Replay = Callable[[Stream, int, bool, NDArray[np.int8]], Outcome]
"""(stream, budget in units of 1/128 token, release_last, log) -> Outcome.

`log` is an int8[n] of `HIT`, to be set to `PROMOTED` or `MISSED` where a call is no hit on a whole object; or an
int8[0] when nobody asks.
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
    by_default : bool
        Whether it is replayed when nobody names policies.
    counts : tuple of str
        What it counts beyond misses: `promotions`, calls that found a copy; `down_units` and `up_units`, units of 1/128
        token of fp16 KV that were moved to a host tier and back.
    keeping : Keeping or None
        What it may keep of an object: a bound on misses is for one such freedom. None where no bound is for it.
    """

    name: str
    description: str
    clairvoyant: bool
    kernel: Replay
    reference: Replay
    by_default: bool = False
    counts: tuple[str, ...] = ()
    keeping: Keeping | None = None


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


def default_policies() -> tuple[str, ...]:
    """Names of the policies that are replayed when nobody names any."""
    return tuple(name for name, policy in policies().items() if policy.by_default)


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


def keeping_of(name: str) -> Keeping | None:
    """What the policy called `name` may keep."""
    return find_policy(name).keeping


def keepings(names: Iterable[str]) -> tuple[Keeping, ...]:
    """What these policies may keep, each once: that of whole objects first, always."""
    found = (keeping_of(name) for name in names)
    return tuple(dict.fromkeys([WHOLE, *(keeping for keeping in found if keeping is not None)]))


def no_log() -> NDArray[np.int8]:
    """The `log` argument of a replay whose calls nobody asks for."""
    return np.empty(0, np.int8)


def log_policy(run: Replay, stream: Stream, budget_units: int,
               release_last: bool) -> tuple[Outcome, NDArray[np.int8]]:
    """The outcome of a kernel or a reference, and int8[n]: what each call found (`HIT`, `PROMOTED`, `MISSED`)."""
    log = np.zeros(stream.calls, np.int8)
    return run(stream, budget_units, release_last, log), log
