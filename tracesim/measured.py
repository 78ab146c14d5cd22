"""The components of a fleet as `kvcensus fit` measures them: tables where `profile` has formulas.

Bands are of a session's depth: what a deep session does differently (how large it gets, how it is paced,
how often its user returns) is told by a table of its own, and so depth stays tied to peak context and duration.
"""

from __future__ import annotations

from dataclasses import dataclass

from tracesim.laws import Points

__all__ = ["Cell", "DepthTable", "DurationTables", "GapTables", "ReuseTables", "Threads"]


@dataclass(frozen=True)
class DepthTable:
    """Calls of a session.

    Attributes
    ----------
    edges : Points
        A session between two points has a whole number of calls from the first on, below the second.
    bands : tuple of int
        Fewest calls of each band of depth, ascending; the first is 1.
    """

    edges: Points
    bands: tuple[int, ...]


@dataclass(frozen=True)
class GapTables:
    """Seconds from start to start, by band of depth.

    Attributes
    ----------
    intra, inter : tuple of Points
        Within a turn, and before a call that opens one.
    alike : tuple of float
        Correlation of the normal scores of two gaps of one session, within turns and between them.
    """

    intra: tuple[Points, ...]
    inter: tuple[Points, ...]
    alike: tuple[float, float]


@dataclass(frozen=True)
class Threads:
    """Contexts of a session: every class has a thread of its own that grows, and is compacted.

    A call carries the thread, or an extract of it, after which the thread goes on as it was.

    Attributes
    ----------
    peak : tuple of Points
        By band of depth: largest context of the session, in tokens.
    follows : tuple of float
        By band of depth: correlation of the normal scores of peak and depth of the sessions in it.
    share : tuple of Points
        By class: largest context of its thread / that of the session.
    first : tuple of tuple of Points
        By class, then by band of depth: first context of a thread of several calls / its largest.
    step : tuple of Points
        By quarter of the thread, and after calls of others: growth of a call / mean growth in its thread.
    stays, compacts, extracts : tuple of float
        By class: probability that a call carries the thread unchanged, compacted, or an extract of it.
    remaining, extract : tuple of Points
        By class: what a compaction leaves of the thread, and what an extract is of it, as a share.
    """

    peak: tuple[Points, ...]
    follows: tuple[float, ...]
    share: tuple[Points, ...]
    first: tuple[tuple[Points, ...], ...]
    step: tuple[Points, ...]
    stays: tuple[float, ...]
    compacts: tuple[float, ...]
    extracts: tuple[float, ...]
    remaining: tuple[Points, ...]
    extract: tuple[Points, ...]


@dataclass(frozen=True)
class Cell:
    """Cached / context tokens in one situation (`situations.SITUATIONS`).

    Attributes
    ----------
    situation : str
    gap : int or None
        Band of the time since the model's last call (`situations.GAP_BANDS_S`); None for all others.
    found : Points
    """

    situation: str
    gap: int | None
    found: Points


@dataclass(frozen=True)
class ReuseTables:
    """Cached tokens by situation.

    Attributes
    ----------
    cells : tuple of Cell
        One for each situation, at least; more where a band of gaps has a table of its own.
    block : int
        Tokens of a block; whole blocks are cached.
    effectiveness : float
        Probability that a call finds what it would find; else nothing.
    """

    cells: tuple[Cell, ...]
    block: int
    effectiveness: float


@dataclass(frozen=True)
class DurationTables:
    """Engine time as a share of the gap that follows within the turn, and output tokens by class; None: not logged."""

    busy: Points | None
    output: tuple[Points, ...] | None
