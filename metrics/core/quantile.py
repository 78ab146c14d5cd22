"""Exact nearest-rank quantiles of integers, by refining buckets; the same on every engine.

The quantile at p is the smallest value whose cumulative weight reaches p of the total. A first
query counts coarse buckets; each following one looks only inside the buckets that hold a wanted
rank, until a bucket is one value wide. Nothing is sorted and nothing grows with the rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from metrics.core.engine import Engine, inline

__all__ = ["Quantiles", "quantiles", "rank_of"]

_FAN_OUT_BITS = 20  # of one group or a few
_GROUPED_BITS = 12  # of many groups
_FEW = 8


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


@dataclass
class _Search:
    """Where one wanted rank has been narrowed to: a bucket, and the weight below it."""

    group: int
    p: Fraction
    rank: int
    everything: bool = False
    bucket: int = 0
    below: int = 0


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

    Returns
    -------
    dict
        Group -> Quantiles; a group without weight is absent.
    """
    source = (f"(select {group} as grp, {value} as val, {weight} as wgt from {relation} as src "
              f"where {value} is not null and {weight} > 0)")
    groups = engine.rows(
        f"select grp, cast(sum(wgt) as bigint) as total, min(val) as lowest, max(val) as highest "
        f"from {source} as s group by grp"
    )
    if not groups:
        return {}
    if everything is not None:
        totals, lowest, highest = ([row[name] for row in groups] for name in ("total", "lowest", "highest"))
        groups.append({"grp": everything, "total": sum(totals), "lowest": min(lowest), "highest": max(highest)})
    if min(row["lowest"] for row in groups) < 0:
        raise ValueError(f"quantiles are of values >= 0, {value} is not")
    points = [Fraction(p) for p in probabilities]
    searches = [_Search(row["grp"], p, rank_of(p, row["total"]), everything=row["grp"] == everything)
                for row in groups for p in points]
    parent = None
    for shift in _shifts(max(row["highest"] for row in groups), len(groups)):
        _narrow(_count(engine, source, searches, shift, parent), searches, shift, parent)
        parent = shift
    found: dict[int, dict[Fraction, int]] = {}
    for search in searches:
        found.setdefault(search.group, {})[search.p] = search.bucket
    return {row["grp"]: Quantiles(row["total"], found[row["grp"]]) for row in groups}


def _shifts(highest: int, groups: int) -> list[int]:
    """Bucket widths, as powers of two, that split the bits of the highest value evenly."""
    bits = max(int(highest).bit_length(), 1)
    rounds = -(-bits // (_FAN_OUT_BITS if groups <= _FEW else _GROUPED_BITS))
    return [bits * (rounds - done) // rounds for done in range(1, rounds + 1)]


def _narrow(counts: _Counts, searches: list[_Search], shift: int, parent: int | None) -> None:
    """Find, for every search, the bucket of width 2^shift that holds its rank."""
    for search in searches:
        mine = np.ones(len(counts.bucket), np.bool_) if search.everything else counts.group == search.group
        if parent is not None:
            mine &= counts.bucket >> (parent - shift) == search.bucket
        order = np.argsort(counts.bucket[mine], kind="stable")
        buckets, upto = counts.bucket[mine][order], np.cumsum(counts.weight[mine][order])
        place = int(np.searchsorted(upto, search.rank - search.below))
        search.bucket = int(buckets[place])
        # Rows of one bucket can stand apart, a row a group: what lies below is what the bucket starts at.
        first = int(np.searchsorted(buckets, search.bucket))
        search.below += int(upto[first - 1]) if first else 0


@dataclass(frozen=True)
class _Counts:
    """Weights by group and bucket."""

    group: npt.NDArray[np.int64]
    bucket: npt.NDArray[np.int64]
    weight: npt.NDArray[np.int64]


def _count(engine: Engine, source: str, searches: list[_Search], shift: int, parent: int | None) -> _Counts:
    """The weights of the buckets that are still of interest."""
    wanted = sorted({(search.group, search.bucket) for search in searches})
    bucket = engine.dialect.div("s.val", 1 << shift)
    query = (f"select cast(s.grp as bigint) as grp, {bucket} as bucket, cast(sum(s.wgt) as bigint) as weight "
             f"from {source} as s {{inside}} group by s.grp, {bucket}")
    if parent is None:
        found = engine.fetch(query.format(inside=""))
    elif len(wanted) <= _FEW or any(search.everything for search in searches):
        found = engine.fetch(query.format(inside=_ranges({bucket for _, bucket in wanted}, parent)))
    else:
        with inline(engine, "wanted", grp=[group for group, _ in wanted], bucket=[bucket for _, bucket in wanted]):
            found = engine.fetch(query.format(
                inside="join wanted on s.grp = wanted.grp and "
                       f"{engine.dialect.div('s.val', 1 << parent)} = wanted.bucket"))
    return _Counts(*(np.asarray(found[name].to_numpy(), np.int64) for name in ("grp", "bucket", "weight")))


def _ranges(buckets: Iterable[int], shift: int) -> str:
    """SQL that keeps the values in these buckets."""
    ranges = (f"s.val >= {bucket << shift} and s.val < {bucket + 1 << shift}" for bucket in sorted(buckets))
    return f"where ({' or '.join(ranges)})"
