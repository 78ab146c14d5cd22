"""Measured against generated: every statistic that a fitted profile must keep (paper 6)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pipelines.markdown import aligned
from pipelines.matching.side import BUDGETS, POLICIES, Side
from pipelines.matching.statistics import (
    ks_critical,
    ks_distance,
    rank_interval,
    share_error,
    spearman,
    spearman_reach,
)
from tracesim.profile import CLASSES

__all__ = ["Compared", "compare", "compared_table", "replay_rows"]

HELD, FAILED, OPEN = "ok", "FAILS", "undecided"

_KS = 0.10
_DEPTH = 0.05
_RANK = 0.05
_PEAK = 0.20
_KSTAR = 0.10
_TRANSITION = 0.05
_FEW = 10  # sessions that leave a class, below which its transitions are not compared
_LRU, _MRR = 0, 2


@dataclass(frozen=True)
class Compared:
    """One line of the comparison.

    Attributes
    ----------
    verdict : str
        `ok`, `FAILS`, or `undecided` where chance hides which of two policies is the better.
    """

    what: str
    measured: str
    generated: str
    off: str
    within: str
    verdict: str

    @property
    def failed(self) -> bool:
        return self.verdict == FAILED


def compare(measured: Side, generated: Side) -> list[Compared]:
    """Every line; what the log does not say is left out."""
    return [*_distributions(measured, generated), _mean_depth(measured, generated),
            *_peaks(measured, generated), *_ranks(measured, generated),
            *_transitions(measured, generated), _kstar(measured, generated), *_orders(measured, generated),
            *_improvements(measured, generated)]


def compared_table(lines: list[Compared]) -> str:
    """The comparison as a Markdown table."""
    head = ("statistic", "measured", "generated", "off", "within", "verdict")
    return aligned([head, *((line.what, line.measured, line.generated, line.off, line.within, line.verdict)
                            for line in lines)])


def _distributions(a: Side, b: Side) -> Iterator[Compared]:
    """Depth, gaps, reuse of calls: KS, at most 0.10 or what chance makes of so many sessions."""
    within = max(_KS, ks_critical(a.sessions, b.sessions))
    pairs = (("depth", a.rows.depths, b.rows.depths),
             ("gaps", a.rows.gap_us[a.rows.index > 0], b.rows.gap_us[b.rows.index > 0]),
             ("reuse of calls", a.rows.reuse, b.rows.reuse))
    for what, mine, other in pairs:
        if not len(mine):
            continue
        if not len(other):
            yield Compared(f"KS of {what}", _count(len(mine)), "none", "", f"{within:.3f}", FAILED)
            continue
        distance = ks_distance(mine, other)
        yield Compared(f"KS of {what}", _count(len(mine)), _count(len(other)), f"{distance:.3f}", f"{within:.3f}",
                       _verdict(distance <= within))


def _mean_depth(a: Side, b: Side) -> Compared:
    """Calls a session: 5 %, or the 95 % reach of the difference of two means."""
    values = [len(side.rows.t_us) / side.sessions for side in (a, b)]
    errors = [float(side.rows.depths.std(ddof=1)) / math.sqrt(side.sessions) for side in (a, b)]
    within = max(_DEPTH, 1.96 * math.hypot(*errors) / values[0])
    off = values[1] / values[0] - 1
    return Compared("calls a session", f"{values[0]:.2f}", f"{values[1]:.2f}", f"{100 * off:+.1f}%", f"{within:.1%}",
                    _verdict(abs(off) <= within))


def _peaks(a: Side, b: Side) -> Iterator[Compared]:
    """Quantiles of the largest context of a session: 20 %, or intervals that overlap."""
    for p in a.peaks:
        mine, other = a.peaks[p], b.peaks[p]
        one, two = (rank_interval(side.rows.peaks, float(p)) for side in (a, b))
        off = other / mine - 1 if mine else 0.0
        yield Compared(f"peak context p{100 * float(p):g}", _count(mine), _count(other), f"{100 * off:+.1f}%",
                       f"{_PEAK:.0%} or chance", _verdict(abs(off) <= _PEAK or (one[0] <= two[1] and two[0] <= one[1])))


def _ranks(a: Side, b: Side) -> Iterator[Compared]:
    """Rank correlations of depth with peak and with duration: 0.05, or their sampling error."""
    for what in ("peaks", "spans_us"):
        mine, other = (spearman(side.rows.depths, getattr(side.rows, what)) for side in (a, b))
        if mine is None:
            continue
        name = f"Spearman depth-{'peak' if what == 'peaks' else 'duration'}"
        if other is None:
            yield Compared(name, f"{mine:.3f}", "none", "", f"{_RANK}", FAILED)
            continue
        within = max(_RANK, spearman_reach(mine, a.sessions, other, b.sessions))
        yield Compared(name, f"{mine:.3f}", f"{other:.3f}", f"{other - mine:+.3f}", f"{within:.3f}",
                       _verdict(abs(other - mine) <= within))


def _transitions(a: Side, b: Side) -> Iterator[Compared]:
    """By class, the pair that is furthest off for what it may be: 0.05, or its sampling error by session."""
    for place, name in enumerate(CLASSES):
        counts = [_leaving(side, place) for side in (a, b)]
        if int((counts[0].sum(axis=1) > 0).sum()) < _FEW:
            continue
        lines = []
        for to, other in enumerate(CLASSES):
            errors = [share_error(each[:, to], each.sum(axis=1)) for each in counts]
            within = max(_TRANSITION, 1.96 * math.hypot(*errors))
            values = [side.transitions.get((name, other), 0.0) for side in (a, b)]
            off = values[1] - values[0]
            lines.append((abs(off) / within, Compared(
                f"P({other} | {name})", f"{values[0]:.3f}", f"{values[1]:.3f}", f"{off:+.3f}", f"{within:.3f}",
                _verdict(abs(off) <= within))))
        yield max(lines, key=lambda pair: pair[0])[1]


def _leaving(side: Side, place: int) -> NDArray[np.int64]:
    """By session: calls of each class that follow one of this class, both with a model."""
    rows, kind = side.rows, side.rows.kind
    later = np.flatnonzero(rows.index > 0)
    later = later[(kind[later - 1] == place) & (kind[later] >= 0)]
    counts = np.zeros((rows.sessions, len(CLASSES)), np.int64)
    np.add.at(counts, (rows.session[later], kind[later]), 1)
    return counts


def _kstar(a: Side, b: Side) -> Compared:
    """Bytes that hold everything, of which budgets are shares: 10 %, or bootstrap intervals that overlap."""
    values = [side.cells[0].kstar_bytes for side in (a, b)]
    spans = [_interval(value, side.replicates.kstars) for value, side in zip(values, (a, b), strict=True)]
    shown = [f"{value / 1e9:,.1f} GB ({low / 1e9:,.1f} to {high / 1e9:,.1f})"
             for value, (low, high) in zip(values, spans, strict=True)]
    off = values[1] / values[0] - 1 if values[0] else 0.0
    held = abs(off) <= _KSTAR or (spans[0][0] <= spans[1][1] and spans[1][0] <= spans[0][1])
    return Compared("K*", shown[0], shown[1], f"{100 * off:+.1f}%", f"{_KSTAR:.0%} or intervals overlap",
                    _verdict(held))


def _orders(a: Side, b: Side) -> Iterator[Compared]:
    """At every budget the order of the policies; undecided where chance could turn it."""
    for at, budget in enumerate(BUDGETS):
        verdict = HELD
        for better in range(1, len(POLICIES)):
            one, two = (_difference(side, better, at) for side in (a, b))
            if one[0] * two[0] < 0:
                decided = all(low > 0 or high < 0 for _, low, high in (one, two))
                verdict = FAILED if decided or verdict == FAILED else OPEN
        shown = [_order(side, at) for side in (a, b)]
        yield Compared(f"order at {budget.label} of K*", shown[0], shown[1], "", "same order", verdict)


def _order(side: Side, at: int) -> str:
    """Policies from the most misses to the fewest, with their rates; equal ones in the order of POLICIES."""
    cells = sorted((side.cell(place, at) for place in range(len(POLICIES))), key=lambda cell: -cell.misses)
    return " >= ".join(f"{cell.policy.partition('_')[0]} {100 * cell.misses / cell.calls:.1f}" for cell in cells)


def _difference(side: Side, better: int, at: int) -> tuple[float, float, float]:
    """Rate of a policy over that of the next one in POLICIES, and its interval."""
    worse = side.cell(better - 1, at).misses - side.cell(better, at).misses
    rates = side.replicates.rates[:, better - 1, at] - side.replicates.rates[:, better, at]
    value = worse / side.cell(better, at).calls
    return value, *_interval(value, rates, least=-1.0)


def _improvements(a: Side, b: Side) -> Iterator[Compared]:
    """How many times fewer calls unbounded MRR rebuilds than LRU: bootstrap intervals must overlap."""
    for at, budget in enumerate(BUDGETS):
        shown, spans, values = [], [], []
        for side in (a, b):
            value, low, high = improvement(side, at)
            shown.append(f"{value:.2f} ({low:.2f} to {high:.2f})")
            spans.append((low, high))
            values.append(value)
        held = spans[0][0] <= spans[1][1] and spans[1][0] <= spans[0][1]
        yield Compared(f"LRU / unbounded MRR at {budget.label}", shown[0], shown[1],
                       f"{100 * (values[1] / values[0] - 1):+.1f}%", "intervals overlap", _verdict(held))


def improvement(side: Side, at: int) -> tuple[float, float, float]:
    """Misses of LRU / misses of unbounded MRR at a budget, and the interval."""
    rates = side.replicates.rates[:, _LRU, at] / side.replicates.rates[:, _MRR, at]
    value = side.cell(_LRU, at).misses / side.cell(_MRR, at).misses
    return value, *_interval(value, rates)


def _interval(value: float, replicates: NDArray[np.float64] | NDArray[np.int64],
              least: float = 0.0) -> tuple[float, float]:  # fmt: skip
    """95 %: 1.96 standard deviations of the replicates either way of the value.

    Replicates themselves lie to one side of it, since copies of a session come in lockstep.
    """
    reach = 1.96 * float(np.std(replicates, ddof=1))
    return max(value - reach, least), value + reach


def replay_rows(measured: Side, generated: Side) -> list[dict[str, object]]:
    """The replays of both sides, a row a policy and budget, for the figure."""
    rows: list[dict[str, object]] = []
    for name, side in (("measured", measured), ("generated", generated)):
        for place, policy in enumerate(POLICIES):
            for at, budget in enumerate(BUDGETS):
                cell = side.cell(place, at)
                rate = cell.misses / cell.calls
                low, high = _interval(rate, side.replicates.rates[:, place, at])
                rows.append({"side": name, "policy": policy, "budget_share": float(budget.share or 0),
                             "calls": cell.calls, "misses": cell.misses, "reconstruction_rate": rate, "low": low,
                             "high": min(high, 1.0)})
    return rows


def _verdict(held: bool) -> str:
    return HELD if held else FAILED


def _count(number: int) -> str:
    return f"{number:,}"
