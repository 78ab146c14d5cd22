"""What a metric is, and what it finds: numbers under published keys, and small tables.

A metric is one file in `metrics/`: its question, its population, the numbers and tables that it
publishes, and a function from a `Trace`, or an `EventLog`, to `Findings`. Everything it declares is accounted for:
a number is a value, or null with the reason.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import pyarrow as pa

from metrics.core.log import Log

__all__ = ["Column", "Finding", "Findings", "Metric", "Number", "TableSpec", "measure", "ratio", "withheld"]

LogT = TypeVar("LogT", bound=Log)

Value = int | float | str | None


@dataclass(frozen=True)
class Number:
    """A number that is published.

    Attributes
    ----------
    key : str
    unit : str
    method : str
        Its definition, in one sentence.
    population : str or None
        Over whom, where it is not the metric's population.
    """

    key: str
    unit: str
    method: str
    population: str | None = None


@dataclass(frozen=True)
class Column:
    """A column of a published table."""

    name: str
    type: pa.DataType
    doc: str


@dataclass(frozen=True)
class TableSpec:
    """A table that is published: what a row is, and its columns."""

    name: str
    row: str
    columns: tuple[Column, ...]

    def build(self, rows: Iterable[Mapping[str, Any]]) -> pa.Table:
        """An Arrow table with these columns in this order; a missing one is an error."""
        rows = list(rows)
        arrays = [pa.array([row[column.name] for row in rows], column.type) for column in self.columns]
        fields = [pa.field(column.name, column.type, metadata={"doc": column.doc}) for column in self.columns]
        return pa.Table.from_arrays(arrays, schema=pa.schema(fields, metadata={"row": self.row}))


@dataclass(frozen=True)
class Finding:
    """What was found for one key; `why` says what is missing where the value is null."""

    value: Value
    n: int | None = None
    low: Value = None
    high: Value = None
    why: str | None = None


@dataclass
class Findings:
    """What a metric found; filled by its function."""

    numbers: dict[str, Finding] = field(default_factory=dict)
    tables: dict[str, pa.Table] = field(default_factory=dict)

    def set(self, key: str, value: Value, n: int | None, *, why: str = "nothing in the window to count",
            low: Value = None, high: Value = None) -> None:
        """Publish a value; None is published as null with `why`."""
        if key in self.numbers:
            raise RuntimeError(f"{key} is set twice")
        self.numbers[key] = Finding(value, n, low, high, why if value is None else None)

    def missing(self, why: str, *keys: str) -> None:
        """Publish nulls with a reason."""
        for key in keys:
            self.set(key, None, 0, why=why)

    def table(self, spec: TableSpec, rows: Iterable[Mapping[str, Any]]) -> None:
        """Publish a table."""
        self.tables[spec.name] = spec.build(rows)


@dataclass(frozen=True)
class Metric(Generic[LogT]):
    """One metric.

    Attributes
    ----------
    name, question, population : str
    source : str
        Paper and section.
    kind : str
        `measured` or `estimated` (bytes by an assumed geometry).
    needs : tuple of str
        Without these (fields of `Profile`) nothing of it can be computed.
    numbers, tables : tuple
        What it publishes.
    compute : callable
        (log, findings) -> None.
    """

    name: str
    question: str
    population: str
    source: str
    numbers: tuple[Number, ...]
    compute: Callable[[LogT, Findings], None]
    tables: tuple[TableSpec, ...] = ()
    needs: tuple[str, ...] = ()
    kind: str = "measured"


def measure(metric: Metric[LogT], log: LogT) -> Findings:
    """Run a metric; whatever it declares and the log lacks becomes null with the reason."""
    why = log.lacks(*metric.needs)
    if why is not None:
        return withheld(metric, why)
    findings = Findings()
    metric.compute(log, findings)
    declared = {number.key for number in metric.numbers}
    if declared != set(findings.numbers):
        odd = sorted(declared ^ set(findings.numbers))
        raise RuntimeError(f"metric {metric.name} declares other numbers than it computes: {odd}")
    return findings


def withheld(metric: Metric[LogT], why: str) -> Findings:
    """Nulls for every number of a metric, with the reason."""
    findings = Findings()
    findings.missing(why, *(number.key for number in metric.numbers))
    return findings


def ratio(numerator: int | None, denominator: int | None) -> float | None:
    """A quotient of exact integers, correctly rounded; None where it has no value."""
    if numerator is None or not denominator:
        return None
    return numerator / denominator
