"""Every adapter, found by scanning the folder; adding one touches no other file."""

from __future__ import annotations

import importlib
import pkgutil

from telemetry.adapter import Adapter
from telemetry.errors import UsageError, quoted

__all__ = ["adapters", "find_adapter"]


def adapters() -> dict[str, Adapter]:
    """Every adapter by name; one file in `telemetry/adapters/` each."""
    import telemetry.adapters as package

    found: dict[str, Adapter] = {}
    for module in sorted(info.name for info in pkgutil.iter_modules(package.__path__)):
        adapter = getattr(importlib.import_module(f"{package.__name__}.{module}"), "ADAPTER", None)
        if adapter is None:
            continue
        if adapter.name in found:
            raise RuntimeError(f"two adapters are called {adapter.name!r}")
        found[adapter.name] = adapter
    return found


def find_adapter(name: str) -> Adapter:
    """The adapter called `name`; an unknown name is an error that lists the valid ones."""
    known = adapters()
    if name not in known:
        raise UsageError(f"unknown format {quoted(name)}. Known formats: {', '.join(sorted(known))}.")
    return known[name]
