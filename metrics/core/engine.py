"""The small interface behind which an engine runs the metrics.

SQL is written once, in the subset that the engines share; what differs between them stands in
`Dialect`, one method a difference. Integers only: floating-point sums differ from run to run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, Protocol, TypeVar, runtime_checkable

import pyarrow as pa

__all__ = ["Dialect", "Engine", "Sink", "SpreadingEngine", "inline", "scratch"]

Part = TypeVar("Part")
Result = TypeVar("Result")
Sink = Callable[[pa.RecordBatch], None]


class Dialect(Protocol):
    """The few functions that engines spell differently. All take and return SQL text."""

    @property
    def name(self) -> str:
        """The engine's name."""

    @property
    def sums_in_buckets(self) -> bool:
        """A running sum over a whole table would run in one place: sum by bucket, then within."""

    @property
    def hash_names_session(self) -> bool:
        """A hash of the session id costs less than a number; whether two ids share one is asked first."""

    def div(self, numerator: str, denominator: str | int) -> str:
        """Integer division of a number >= 0 by a number > 0."""

    def hash64(self, expression: str) -> str:
        """A 64-bit hash: equal values have equal hashes; whether others share one must be asked where it matters."""

    def explode(self, expression: str) -> str:
        """One row an element of a list, in a select list."""

    def element(self, expression: str, index: str) -> str:
        """The element of a list at an index counted from 1; null at index 0 or beyond the end."""

    def length(self, expression: str) -> str:
        """The number of elements of a list; null for a null list."""

    def last_known(self, value: str) -> str:
        """The last value before a row that is not null, to be followed by `over` and a window; null without one."""


class Engine(Protocol):
    """Runs SQL over named tables.

    Names are ours, never taken from telemetry; values from telemetry travel as data.
    """

    @property
    def dialect(self) -> Dialect:
        """How this engine spells what engines spell differently."""

    def load(self, name: str, schema: pa.Schema, batches: Iterable[pa.RecordBatch], columns: str = "*") -> None:
        """Make table `name` of Arrow batches, streamed; `columns` is its select list.

        Raises whatever the generator raises, unchanged.
        """

    def put(self, name: str, table: pa.Table) -> None:
        """Make a small table of what is in memory."""

    def create(self, name: str, query: str) -> None:
        """Materialise a query as a table; an older table of that name is replaced."""

    def number(self, name: str, query: str, column: str) -> None:
        """As `create`, with one more column: a distinct integer a row, in no order."""

    def view(self, name: str, query: str) -> None:
        """Name a query without running it."""

    def drop(self, name: str) -> None:
        """Forget a table or a view and free its space."""

    def fetch(self, query: str) -> pa.Table:
        """The result of a query; small, or one replay stream."""

    def rows(self, query: str) -> list[dict[str, Any]]:
        """The result of a query as Python values."""

    def row(self, query: str) -> dict[str, Any]:
        """The only row of a query's result."""

    def explaining(self, doing: str) -> AbstractContextManager[None]:
        """Errors of the engine's own inside of the block leave it as errors of ours that name what was done."""

    def close(self) -> None:
        """Give up the engine and its scratch space."""


@runtime_checkable
class SpreadingEngine(Engine, Protocol):
    """An engine whose workers can read an input themselves."""

    def spread(self, tables: Mapping[str, pa.Schema], parts: Sequence[Part],
               read: Callable[[Part, Mapping[str, Sink]], Result]) -> list[Result]:
        """Make tables, by name, of the batches that `read` gives to their sinks for each part, one task a part.

        Returns what `read` returned for each part, in order. Parts, results and `read` travel pickled; an
        error of ours that `read` raises is raised here.
        """

    def files(self, name: str) -> list[str]:
        """URIs of the Parquet files of a table that `spread` made, one a part, in order."""

    def scatter(self, parts: Sequence[Part], work: Callable[[Part, Path], Result], file: Path) -> list[Result]:
        """What `work` makes of each part and of a copy of `file`, one task a part, in order; small results."""


@contextmanager
def scratch(engine: Engine, name: str, query: str) -> Iterator[str]:
    """A table for the length of a block."""
    engine.create(name, query)
    try:
        yield name
    finally:
        engine.drop(name)


@contextmanager
def inline(engine: Engine, name: str, **columns: Iterable[int]) -> Iterator[str]:
    """A small table of integers for the length of a block."""
    engine.put(name, pa.table({key: pa.array(values, pa.int64()) for key, values in columns.items()}))
    try:
        yield name
    finally:
        engine.drop(name)
