"""Bands of time since an earlier call, the same wherever a metric is split by them."""

from __future__ import annotations

__all__ = ["GAP_BANDS", "GAP_NAMES", "gap_band"]

#: (upper edge in microseconds, not in the band; name).
GAP_BANDS = ((10_000_000, "below 10 s"), (60_000_000, "10 s to 1 min"), (300_000_000, "1 to 5 min"),
             (3_600_000_000, "5 min to 1 h"))

#: All names, the last one for what lies beyond.
GAP_NAMES = (*(name for _, name in GAP_BANDS), "1 h and more")


def gap_band(gap: str) -> str:
    """SQL for the place in `GAP_NAMES` of a gap in microseconds that is not null."""
    cases = " ".join(f"when {gap} < {edge} then {place}" for place, (edge, _) in enumerate(GAP_BANDS))
    return f"case {cases} else {len(GAP_BANDS)} end"
