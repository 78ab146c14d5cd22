"""Exact nearest-rank quantiles of integers, by refining buckets; the same on every engine.

The quantile at p is the smallest value whose cumulative weight reaches p of the total. A first
query counts buckets: small values alone, larger ones the coarser the larger they are. Each
following one looks only inside the buckets that hold a wanted rank, until these are one value
wide. Nothing is sorted and nothing grows with the rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from metrics.core.engine import Dialect, Engine, inline

__all__ = ["Quantiles", "quantiles", "rank_of"]

Integers = npt.NDArray[np.int64]

_FEW = 8  # buckets to look into
_MOST_ROWS_BITS = 20  # of an answer
_VALUE_BITS = 63


@dataclass(frozen=True)
class Quantiles:
    """Quantiles of one group: its total weight and the value at each p."""

    total: int
    values: Mapping[Fraction, int]

    def __getitem__(self, p: str) -> int:
        """The value at p, written as a decimal: `quantiles["0.99"]`."""
        return self.values[Fraction(p)]


def rank_of(p: Fraction, total: int) -> int:
    """The nearest rank: the smallest integer >= p * total, at least 1."""
    return max(-(-(p.numerator * total) // p.denominator), 1)


# Buckets of the first query, in rungs: values below 2^12 alone, and on each rung above values that reach 8 times
# as far, in buckets 8 times as wide: a bucket is never wider than a 512th of its values.
_ALONE_BITS, _RUNG_BITS = 12, 3


def _rungs(dialect: Dialect, value: str) -> str:
    """SQL for the bucket of a value >= 0; any value below 0 gives one below 0."""
    rungs = range(1, -(-(_VALUE_BITS - _ALONE_BITS) // _RUNG_BITS) + 1)
    ends = [f"when {value} < {1 << _ALONE_BITS + _RUNG_BITS * (rung - 1)} then" for rung in rungs]
    inside = [value, *(f"{rung << _ALONE_BITS} + {dialect.div(value, 1 << _RUNG_BITS * rung)}" for rung in rungs)]
    return f"case {' '.join(map(' '.join, zip([*ends, 'else'], inside, strict=True)))} end"


def _of_rungs(bucket: Integers) -> tuple[Integers, Integers]:
    """The lowest value of each bucket, and its width as a power of two."""
    shift = (bucket >> _ALONE_BITS) * _RUNG_BITS
    return (bucket & (1 << _ALONE_BITS) - 1) << shift, shift


@dataclass(frozen=True)
class _Counts:
    """Weights by group and bucket, which starts at `low` and is 2^shift wide."""

    group: Integers
    low: Integers
    shift: Integers
    weight: Integers


@dataclass
class _Search:
    """Where one wanted rank has been narrowed to: a bucket, its weight, and the weight below it."""

    group: int
    p: Fraction
    rank: int
    everything: bool
    low: int = 0
    shift: int = _VALUE_BITS
    below: int = 0
    weight: int = 0

    @property
    def high(self) -> int:
        """The highest value of the bucket."""
        return self.low + (1 << self.shift) - 1

    def narrow(self, counts: _Counts) -> None:
        """Find the bucket that holds the rank."""
        mine = (counts.low >= self.low) & (counts.low <= self.high)
        if not self.everything:
            mine &= counts.group == self.group
        order = np.argsort(counts.low[mine], kind="stable")
        lows, upto = counts.low[mine][order], np.cumsum(counts.weight[mine][order])
        place = int(np.searchsorted(upto, self.rank - self.below))
        self.low, self.shift = int(lows[place]), int(counts.shift[mine][order][place])
        # Rows of one bucket can stand apart, a row a group: what lies below is what the bucket starts at.
        first = int(np.searchsorted(lows, self.low))
        below = int(upto[first - 1]) if first else 0
        self.below += below
        self.weight = int(upto[np.searchsorted(lows, self.low, side="right") - 1]) - below


def quantiles(engine: Engine, relation: str, value: str, probabilities: Sequence[str], *, group: str = "0",
              weight: str = "1", everything: int | None = None) -> dict[int, Quantiles]:
    """Quantiles of `value` for each integer `group` of a relation.

    Parameters
    ----------
    relation : str
        A table name or a parenthesised query.
    value, group, weight : str
        Integer expressions over it; value >= 0 (rows with a null value, or without a weight
        above 0, are left out).
    probabilities : sequence of str
        Decimals such as "0.5"; exact, not floats.
    everything : int, optional
        The number of one more group: all rows.

    Returns
    -------
    dict
        Group -> Quantiles; a group without weight is absent.

    Raises
    ------
    ValueError
        When a value is below 0.
    """
    source = (f"(select {group} as grp, {value} as val, {weight} as wgt from {relation} as src "
              f"where {value} is not null and {weight} > 0)")
    known, bucket, weights = _fetch(engine, source, _rungs(engine.dialect, "s.val"))
    if bucket.min(initial=0) < 0:
        raise ValueError(f"quantiles are of values >= 0, {value} is not")
    counts = _Counts(known, *_of_rungs(bucket), weights)
    totals = {int(number): int(weights[known == number].sum()) for number in np.unique(known)}
    if everything is not None and totals:
        totals[everything] = int(weights.sum())
    points = [Fraction(p) for p in probabilities]
    searches = [_Search(number, p, rank_of(p, total), number == everything)
                for number, total in totals.items() for p in points]
    unsettled = searches
    while unsettled:
        for search in unsettled:
            search.narrow(counts)
        shift = _next_shift(searches)
        unsettled = [search for search in searches if search.shift > shift]
        if unsettled:
            counts = _inside(engine, source, unsettled, shift)
    return {number: Quantiles(total, {search.p: search.low for search in searches if search.group == number})
            for number, total in totals.items()}


def _next_shift(searches: Sequence[_Search]) -> int:
    """Width of the next buckets, as a power of two: single values, where the rows to look at are few enough."""
    rows = sum({(search.group, search.low): search.weight for search in searches}.values())  # or fewer
    return 0 if rows >> _MOST_ROWS_BITS == 0 else max(max(search.shift for search in searches) - _MOST_ROWS_BITS, 0)


def _inside(engine: Engine, source: str, searches: Sequence[_Search], shift: int) -> _Counts:
    """Buckets of width 2^shift within those where the searches have arrived."""
    bucket = engine.dialect.div("s.val", 1 << shift)
    wanted = sorted({(search.group, search.low, search.high) for search in searches})
    if len(wanted) <= _FEW or any(search.everything for search in searches):
        ranges = sorted({(low, high) for _, low, high in wanted})
        inside = " or ".join(f"s.val between {low} and {high}" for low, high in ranges)
        found = _fetch(engine, source, bucket, f"where {inside}")
    else:
        groups, lows, highs = zip(*wanted, strict=True)
        with inline(engine, "wanted", grp=groups, low=lows, high=highs):
            found = _fetch(engine, source, bucket,
                           "join wanted on s.grp = wanted.grp and s.val between wanted.low and wanted.high")
    known, index, weights = found
    return _Counts(known, index << shift, np.full(len(index), shift), weights)


def _fetch(engine: Engine, source: str, bucket: str, inside: str = "") -> tuple[Integers, Integers, Integers]:
    """Group, bucket and weight of the rows inside."""
    found: pa.Table = engine.fetch(
        f"select cast(s.grp as bigint) as grp, {bucket} as bucket, cast(sum(s.wgt) as bigint) as weight "
        f"from {source} as s {inside} group by s.grp, {bucket}")
    groups, buckets, weights = (np.asarray(found[name].to_numpy(), np.int64) for name in ("grp", "bucket", "weight"))
    return groups, buckets, weights
