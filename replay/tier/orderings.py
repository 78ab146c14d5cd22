"""What Tenure and Continuum-D claim of the order of conditions, checked on a cell: held, not held, or not asked."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from replay.tier.ladder import Cell, Row

__all__ = ["Ordering", "orderings"]

_EVICTION_ONLY = ("lru", "arc", "marconi", "mori", "continuum_ttl")
#: A hit rate from which on the whole working set is resident: Tenure 6.3 prints 90.6 %, new tokens are never hits.
_RESIDENT = 0.85


@dataclass(frozen=True)
class Ordering:
    """A claim, whether it holds here, and the numbers that decide."""

    claim: str
    source: str
    holds: bool
    numbers: str


def orderings(cell: Cell) -> list[Ordering]:
    """The claims whose rows the cell has; those on intervals only after a bootstrap."""
    rows = cell.rows
    return [*_eviction_only(rows), *_gate(rows), *_attribution(rows), *_hints(rows), *_resident(rows), *_jobs(rows)]


def _p95(row: Row) -> float:
    return row.summary.latency_p95_s


def _eviction_only(rows: dict[str, Row]) -> Iterator[Ordering]:
    there = [name for name in _EVICTION_ONLY if name in rows]
    if there and "none" in rows and not _full(rows):
        off = {name: _p95(rows[name]) / _p95(rows["none"]) - 1 for name in there}
        yield Ordering("no eviction-only policy is more than 5 % of p95 from no tier", "Tenure 3",
                       all(abs(value) <= 0.05 for value in off.values()),
                       ", ".join(f"{name} {value:+.1%}" for name, value in off.items()))


def _gate(rows: dict[str, Row]) -> Iterator[Ordering]:
    if "gate" not in rows or "lru" not in rows or _full(rows):
        return
    gate, lru = rows["gate"].spread, rows["lru"].spread
    if gate is not None and lru is not None:
        for kind, mine, theirs in (("turns", gate.by_turn, lru.by_turn), ("sessions", gate.by_session, lru.by_session)):
            yield Ordering(f"gate beats lru on p95, intervals over {kind} apart", "Tenure 3", mine.hi < theirs.lo,
                           f"gate {mine.lo:.2f} to {mine.hi:.2f} s, lru {theirs.lo:.2f} to {theirs.hi:.2f} s")


def _attribution(rows: dict[str, Row]) -> Iterator[Ordering]:
    names = ("gate_tags_off", "lru_reclaim", "gate gap=none")
    if all(name in rows for name in (*names, "lru")):
        gate, bit, both = (_p95(rows["lru"]) - _p95(rows[name]) for name in names)
        yield Ordering("gate and end bit together gain more than their sum", "Tenure 5.1", both > gate + bit,
                       f"gate {gate:.2f} s + end bit {bit:.2f} s, together {both:.2f} s")


def _hints(rows: dict[str, Row]) -> Iterator[Ordering]:
    gaps = [name for name in rows if name.startswith("gate gap=")]
    if "gate" not in rows or "lru" not in rows:
        return
    exact = _p95(rows["gate"])
    win = _p95(rows["lru"]) - exact
    if len(gaps) > 1:
        off = {name: _p95(rows[name]) / exact - 1 for name in gaps}
        yield Ordering("noise in gap hints moves p95 by at most 5 %", "Tenure 5.2",
                       all(abs(value) <= 0.05 for value in off.values()),
                       ", ".join(f"{name} {value:+.1%}" for name, value in off.items()))
    for name, rule in (("gate last=blinded", ""), ("gate live=ever last=blinded", ", where only it ends a session")):
        if name in rows:
            lost = _p95(rows[name]) - exact
            yield Ordering(f"blinding the end bit costs at least a fifth of the win{rule}", "Tenure 5.2 (56 %)",
                           win > 0 and lost >= win / 5, f"win {win:.2f} s, lost {lost:.2f} s")
    for name in ("gate last=half", "gate last=spurious"):
        if name in rows:
            lost = _p95(rows[name]) - exact
            yield Ordering(f"{name} costs less than a fifth of the win", "Tenure 5.2", lost < win / 5,
                           f"win {win:.2f} s, lost {lost:.2f} s")


def _full(rows: dict[str, Row]) -> bool:
    """Whether the tier holds all that is asked of it: lru evicts nothing, or finds what it can find."""
    if "lru" not in rows:
        return False
    summary = rows["lru"].summary
    return not sum(summary.evicted.values()) or summary.tier_hit_rate >= _RESIDENT


def _resident(rows: dict[str, Row]) -> Iterator[Ordering]:
    if _full(rows):
        best = min(rows, key=lambda name: _p95(rows[name]))
        yield Ordering("at full residency no row is more than 5 % faster than lru", "Tenure 6.3",
                       _p95(rows[best]) >= 0.95 * _p95(rows["lru"]),
                       f"lru {_p95(rows['lru']):.2f} s, {best} {_p95(rows[best]):.2f} s")


def _jobs(rows: dict[str, Row]) -> Iterator[Ordering]:
    names = ("job_aware warm", "job_aware", "lru")
    late = [rows[name].summary.late_ttft_mean_s for name in names if name in rows]
    times = [time for time in late if time is not None]
    if len(times) == len(names) and rows["lru"].summary.evicted:
        yield Ordering("late turns start sooner under job_aware than under lru, and with warm promotion sooner still",
                       "Continuum-D 7.1 (tight pool)", times[0] < times[1] < times[2],
                       ", ".join(f"{name} {time:.4f} s" for name, time in zip(names, times, strict=True)))
