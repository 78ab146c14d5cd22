"""Policies by name. A policy is one file in `kvcensus_gate/policies/` that declares `POLICY`; nothing else changes."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping

from kvcensus_gate.errors import GateError, shorten
from kvcensus_gate.plan import Clock
from kvcensus_gate.policy import Policy
from kvcensus_gate.tier import Tier

__all__ = ["find_policy", "known_policies", "make_policy", "make_tier"]


def known_policies() -> dict[str, type[Policy]]:
    """Every policy by name.

    Raises
    ------
    RuntimeError
        Two policies of one name.
    """
    import kvcensus_gate.policies as package

    found: dict[str, type[Policy]] = {}
    for module in sorted(info.name for info in pkgutil.iter_modules(package.__path__)):
        policy: type[Policy] = importlib.import_module(f"{package.__name__}.{module}").POLICY
        if policy.name in found:
            raise RuntimeError(f"two policies are called {policy.name!r}")
        found[policy.name] = policy
    return found


def find_policy(name: str) -> type[Policy]:
    """The policy called `name`.

    Raises
    ------
    GateError
        For an unknown name; the message lists the known ones.
    """
    known = known_policies()
    if name not in known:
        raise GateError(f"unknown tier policy {shorten(name)!r}. Known policies: {', '.join(sorted(known))}.")
    return known[name]


def make_policy(name: str, capacity: int, parameters: Mapping[str, object] | None = None) -> Policy:
    """The policy called `name` for a tier of `capacity` blocks; see `make_tier`."""
    policy = find_policy(name)
    return policy(at_least_one("capacity", capacity), policy.configure(parameters or {}))


def at_least_one(what: str, value: object) -> int:
    """A size of a tier, checked."""
    if type(value) is not int or value < 1:
        raise GateError(f"{what} of a tier is a whole number from 1, not {shorten(value)}.")
    return value


def make_tier(name: str, capacity: int, clock: Clock, *, block_bytes: int = 1,
              parameters: Mapping[str, object] | None = None) -> Tier:
    """A tier of `capacity` blocks under the policy called `name`.

    Parameters
    ----------
    clock : Clock
        Microseconds; `lambda: time.monotonic_ns() // 1000` in a server, the simulated time in a simulator.
    parameters : mapping, optional
        Of the policy, by name; those left out have their defaults.

    Raises
    ------
    GateError
        An unknown policy or parameter, or a value out of range.
    """
    return Tier(make_policy(name, capacity, parameters), clock, at_least_one("block_bytes", block_bytes))
