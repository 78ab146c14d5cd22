"""How a value is written, by its unit: `0.803` share is "80.3%", `501.8e12` bytes is "501.8 TB".

One function serves the sentences, the tables and the axis ticks, so that a number reads the same
wherever it stands. Units as in METHODOLOGY.md: TB = 10^12, GB = 10^9, GiB = 2^30 bytes.
"""

from __future__ import annotations

import unicodedata
from typing import Final

__all__ = ["NOT_KNOWN", "clean", "format_value", "h100_gib", "short_bytes", "short_count", "short_time"]

NOT_KNOWN: Final = "not known"

#: What the 80 GB of an H100 are in GiB (about 74.5): the reference line of the paper's figure 7.
h100_gib: Final = 80e9 / 2**30

#: Unicode categories that are shown as the replacement character: controls, bidi marks, surrogates.
_UNSHOWN: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
_BYTES: Final = ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1.0, "B"))
_TIMES: Final = ((86_400.0, "d"), (3_600.0, "h"), (60.0, "min"), (1.0, "s"))
_COUNTS: Final = frozenset(
    {
        "call",
        "calls",
        "sessions",
        "count",
        "tokens",
        "turns",
        "events",
        "instants",
        "rows",
        "objects",
        "models",
        "gaps",
        "files",
        "transitions",
        "points",
        "replicates",
        "hours",
        "",
    }
)


def clean(text: object, limit: int = 80) -> str:
    """Text from a trace made fit to show: no control or bidi characters, cut at `limit` characters.

    It is not markup-escaped: Jinja2 and Matplotlib do that, each in its own way.
    """
    # 10 kB of label are looked at only as far as they are shown.
    shown = str(text)[: limit + 1]
    plain = "".join("\ufffd" if unicodedata.category(c) in _UNSHOWN else c for c in shown)
    return plain if len(plain) <= limit else plain[: limit - 1] + "…"


def format_value(value: object, unit: str) -> str:
    """`value` written for a reader, by `unit`; null reads "not known"."""
    if value is None:
        return NOT_KNOWN
    if isinstance(value, bool) or not isinstance(value, int | float):
        return clean(value)
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return NOT_KNOWN if value != value else ("∞" if value > 0 else "−∞")
    if unit == "seed":  # told apart, not measured
        return str(value)
    if unit == "share":
        return _percent(value)
    if unit == "bytes":
        return _scaled(value, _BYTES)
    if unit == "bytes/s":
        return f"{_scaled(value, _BYTES)}/s"
    if unit == "s":
        return _scaled(value, _TIMES) if abs(value) >= 1 or value == 0 else f"{_significant(value * 1e3)} ms"
    if unit == "GiB":
        return f"{_decimals(value)} GiB"
    if unit == "ratio":
        return f"{_decimals(value)}×"
    if unit in _COUNTS or unit == "mean":
        return _count(value)
    return f"{_count(value)} {clean(unit, 24)}"


def _percent(value: float) -> str:
    """A share as per cent; never "0%" for something nor "100%" for something less."""
    percent = value * 100
    if percent == 0 or percent == 100:
        return f"{percent:.0f}%"
    if 0 < percent < 0.01:
        return "<0.01%"
    if 99.95 <= percent < 100:
        return ">99.9%"
    return f"{_decimals(percent)}%"


def _scaled(value: float, steps: tuple[tuple[float, str], ...]) -> str:
    """`value` in the largest step not above it."""
    for size, name in steps:
        if abs(value) >= size:
            return f"{int(value)} B" if name == "B" else f"{_decimals(value / size)} {name}"
    return f"{_decimals(value)} {steps[-1][1]}" if value else f"0 {steps[-1][1]}"


def _decimals(value: float) -> str:
    """Two decimals below ten, one above: 4.70, 47.0, 1,026.1."""
    return f"{value:,.2f}" if abs(value) < 9.995 else f"{value:,.1f}"


def _count(value: float) -> str:
    """Thousands separators up to a million, then "17.0 M"."""
    if abs(value) >= 1e9:
        return f"{_decimals(value / 1e9)} bn"
    if abs(value) >= 1e6:
        return f"{_decimals(value / 1e6)} M"
    if isinstance(value, int) or value == int(value):
        return f"{int(value):,}"
    return _decimals(value) if abs(value) >= 1 else _significant(value)


def _significant(value: float) -> str:
    return f"{value:.3g}"


# --- short forms, for axis ticks ---------------------------------------------------------------


def short_count(value: float) -> str:
    """1500 -> "1.5k", 2_000_000 -> "2M"."""
    for size, name in ((1e9, "bn"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:g}{name}"
    return f"{value:g}"


def short_bytes(value: float) -> str:
    """4.7e12 -> "4.7 TB", with at most three digits."""
    for size, name in _BYTES:
        if abs(value) >= size:
            scaled = value / size
            return f"{scaled:,.0f} {name}" if scaled >= 100 else f"{scaled:.3g} {name}"
    return f"{value:g}"


def short_time(value: float) -> str:
    """0.001 -> "1 ms", 3600 -> "1 h"."""
    for size, name in _TIMES:
        if value >= size:
            return f"{value / size:g} {name}"
    return f"{value * 1e3:g} ms" if value else "0 s"
