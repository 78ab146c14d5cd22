"""Which KV geometry stands behind the bytes of a report, in words."""

from __future__ import annotations

from collections.abc import Mapping

from figures.sentence import Quote
from figures.source import ResultsLike
from figures.units import clean

__all__ = ["assumed", "holding"]


def _geometry(results: ResultsLike) -> tuple[str, str]:
    """Its name, empty where it is but a number, and its bytes a token; both empty where the store does not say."""
    configuration = results.manifest.get("configuration")
    found = configuration.get("geometry") if isinstance(configuration, Mapping) else None
    size = found.get("bytes_per_token") if isinstance(found, Mapping) else None
    if not isinstance(found, Mapping) or not isinstance(size, int):
        return "", ""
    name = clean(found.get("name") or "", 60)
    return ("" if name.isdigit() else name), f"{size:,} KV bytes a token"


def assumed(results: ResultsLike) -> str:
    """`327,680 KV bytes a token, those of llama-2-70b`; empty where the store does not say."""
    name, size = _geometry(results)
    return f"{size}, those of {name}" if name else size


def holding(results: ResultsLike, key: str) -> tuple[str | Quote, ...]:
    """What follows a statement on bytes: ` with the KV of llama-2-70b`; nothing where the store does not say."""
    name, size = _geometry(results)
    return (" with ", Quote(key, f"the KV of {name}" if name else size)) if size else ()
