"""The error of this package: a caller asked for what does not exist, or broke the protocol of a tier.

What a client of the server sends never raises it: hints are advice, see `kvcensus_gate.hints`.
"""

from __future__ import annotations

__all__ = ["GateError", "shorten"]


class GateError(ValueError):
    """An unknown policy or parameter, a value out of range, a load of a block that is not there."""


def shorten(value: object, limit: int = 60) -> str:
    """A value made fit for one line of a message: escaped, and cut at `limit` characters."""
    text = value if isinstance(value, str) else repr(value)
    cut = text[:limit].encode("unicode_escape").decode("ascii")
    return f"{cut}... ({len(text)} characters)" if len(text) > limit else cut
