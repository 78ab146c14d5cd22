"""What was replayed, as curves: misses and missed tokens of one policy against its budget, exact.

Read from the table `residency_replay` of a results store, with or without columns of an interval. Rates are quotients
of whole numbers. Bytes can be told for another geometry than that of the store: a budget holds so many tokens, and
tokens are what a replay counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from metrics.core.store import Results
from telemetry.errors import InputError, escaped

__all__ = ["MEASURES", "Curve", "Measure", "Point", "Replay", "curves_of", "read_replay"]

Row = Mapping[str, Any]


#: The columns that tell one replay of a store from another.
_CELL = ("stream", "object_key", "release", "policy", "budget_share", "budget_bytes")
#: The columns that a curve is made of.
_NEEDED = (*_CELL, "calls", "misses", "missed_tokens", "kstar_bytes")


@dataclass(frozen=True)
class Measure:
    """What may be counted of a replay.

    Attributes
    ----------
    name : str
        As users write it.
    column, whole : str
        What is counted, and of what it is a share.
    low, high : str
        Columns with the interval of the share, where a table has them.
    """

    name: str
    column: str
    whole: str
    low: str
    high: str


MEASURES = {measure.name: measure for measure in (
    Measure("misses", "misses", "calls", "low", "high"),
    Measure("missed-tokens", "missed_tokens", "tokens", "missed_token_low", "missed_token_high"),
)}


@dataclass(frozen=True)
class Point:
    """One replay.

    Attributes
    ----------
    budget_bytes : int
    budget_share : float or None
        Of K*; None for a budget that was given in bytes.
    misses, missed_tokens : int
    shares : mapping of str to Fraction or None
        By measure: misses / calls, missed tokens / tokens; None where there is nothing to divide by.
    intervals : mapping of str to (Fraction, Fraction)
        By measure, of these shares, where the table has one.
    """

    budget_bytes: int
    budget_share: float | None
    misses: int
    missed_tokens: int
    shares: Mapping[str, Fraction | None]
    intervals: Mapping[str, tuple[Fraction, Fraction]] = field(default_factory=dict)


@dataclass(frozen=True)
class Curve:
    """One policy on one stream.

    Attributes
    ----------
    stream, object_key, release, policy : str
        As in the table.
    calls : int
    kstar_bytes : int
        At this budget nothing is evicted.
    points : tuple of Point
        By budget, smallest first.
    """

    stream: str
    object_key: str
    release: str
    policy: str
    calls: int
    kstar_bytes: int
    points: tuple[Point, ...]


@dataclass(frozen=True)
class Replay:
    """All curves of a store.

    Attributes
    ----------
    stream : str
    span_us : int
        Length of the stream; 0 where all its calls start at one moment.
    tokens : int
        Contexts of all its calls.
    beta : int
        KV bytes of a token behind the bytes of the curves.
    sampled : bool
        The curves are those of a sample of the sessions.
    """

    curves: tuple[Curve, ...]
    stream: str
    span_us: int
    tokens: int
    beta: int
    sampled: bool

    def cells(self) -> dict[tuple[str, str, str], list[Curve]]:
        """Curves by stream, object key and release, policies in the order of the table."""
        found: dict[tuple[str, str, str], list[Curve]] = {}
        for curve in self.curves:
            found.setdefault((curve.stream, curve.object_key, curve.release), []).append(curve)
        return found


def read_replay(results: Results, beta: int | None = None) -> Replay:
    """The replays of a store; with `beta`, its bytes are those of so many KV bytes a token, rounded down.

    Raises
    ------
    InputError
        When nothing was replayed, or an earlier version wrote the store.
    """
    rows = results.table("residency_replay").to_pylist() if results.has_table("residency_replay") else []
    if not rows:
        raise InputError(f"{escaped(str(results.folder))} holds no replay{_why(results)}. Run characterize on calls "
                         "with session ids.")
    lacking = [column for column in _NEEDED if column not in rows[0]]
    if lacking:
        raise InputError(f"{escaped(str(results.folder))}: the table residency_replay lacks the column {lacking[0]}: "
                         "another version of kvcensus wrote it. Run characterize again.")
    rows = _with_intervals(results, rows)
    stream, own = str(rows[0]["stream"]), _beta(results)
    tokens, seconds = (_number(results, f"replay.{stream}.{name}") for name in ("tokens", "span_s"))
    scale = Fraction(own if beta is None else beta, own)
    curves = tuple(curves_of(rows, int(tokens), scale))
    return Replay(curves, stream, round(Fraction(seconds) * 10**6), int(tokens), own if beta is None else beta,
                  sampled="sample_fraction" in rows[0])


def _with_intervals(results: Results, rows: Sequence[Row]) -> list[Row]:
    """Rows with the intervals of resampled sessions, where these were asked for; a sample has its own."""
    if "low" in rows[0] or not results.has_table("replay_uncertainty"):
        return list(rows)
    sure = {tuple(row[name] for name in _CELL): {"low": row["lo"], "high": row["hi"]}
            for row in results.table("replay_uncertainty").to_pylist() if row["method"] == "bootstrap"}
    return [{**row, **sure.get(tuple(row[name] for name in _CELL), {})} for row in rows]


def curves_of(rows: Iterable[Row], tokens: int, scale: Fraction = Fraction(1)) -> list[Curve]:
    """Curves of rows of `residency_replay`.

    Parameters
    ----------
    rows : iterable of mapping
    tokens : int
        Contexts of all calls of the stream.
    scale : Fraction
        What bytes are multiplied by, and rounded down.
    """
    found: dict[tuple[str, str, str, str], list[Row]] = {}
    for row in rows:
        found.setdefault((row["stream"], row["object_key"], row["release"], row["policy"]), []).append(row)
    return [Curve(*key, some[0]["calls"], int(some[0]["kstar_bytes"] * scale), _points(some, tokens, scale))
            for key, some in found.items()]


def _points(rows: Sequence[Row], tokens: int, scale: Fraction) -> tuple[Point, ...]:
    """By budget. A share and an amount may be one budget: where they were replayed alike, one stands for both.

    At K* nothing is evicted for lack of memory, so what a larger budget misses is what K* would have missed.
    """
    found: dict[tuple[int, int, int], Point] = {}
    for row in rows:
        wholes = {"calls": row["calls"], "tokens": tokens}
        shares = {name: Fraction(row[measure.column], wholes[measure.whole]) if wholes[measure.whole] else None
                  for name, measure in MEASURES.items()}
        intervals = {name: (_decimal(row[measure.low]), _decimal(row[measure.high]))
                     for name, measure in MEASURES.items()
                     if row.get(measure.low) is not None and row.get(measure.high) is not None}
        enough = row["budget_bytes"] >= row["kstar_bytes"]
        needed = row["kstar_bytes"] if enough else row["budget_bytes"]
        found.setdefault((needed, row["misses"], row["missed_tokens"]), Point(
            int(needed * scale), 1.0 if enough else row["budget_share"], row["misses"], row["missed_tokens"], shares,
            intervals))
    return tuple(found[key] for key in sorted(found, key=lambda key: (key[0], -key[1], -key[2])))


def _decimal(value: float) -> Fraction:
    """A bound as it reads: 0.1 is a tenth."""
    return Fraction(str(value))


def _beta(results: Results) -> int:
    """KV bytes of a token, as the manifest has them."""
    try:
        return int(results.manifest["configuration"]["geometry"]["bytes_per_token"])
    except (KeyError, TypeError, ValueError):
        raise InputError(f"{escaped(str(results.folder))}/manifest.json names no geometry. Run characterize "
                         "again.") from None


def _number(results: Results, key: str) -> Any:
    number = results.numbers.get(key)
    if number is None or number.value is None:
        raise InputError(f"{escaped(str(results.folder))} holds no {key}: an earlier version of kvcensus wrote it. Run "
                         "characterize again.")
    return number.value


def _why(results: Results) -> str:
    """The reason that the store gives for having no replay."""
    reasons = (number.why for key, number in results.numbers.items()
               if key.startswith("replay.") and key.endswith(".floor") and number.why)
    reason = next(reasons, None)
    return "" if reason is None else f": {escaped(reason)}"
