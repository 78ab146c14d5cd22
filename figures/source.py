"""What a figure asks of a results store: a Protocol, so that nothing here depends on who wrote it.

`metrics.core.store.Results` satisfies it, and so does a small stand-in in a test or a notebook.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import pyarrow as pa

from figures.style import FEW

__all__ = ["NumberLike", "ResultsLike", "Row", "few", "known", "rows", "value_of", "why_of"]

Row = dict[str, Any]


class NumberLike(Protocol):
    """One published number. `lo` and `hi` are null unless it is an estimate or a bound."""

    @property
    def value(self) -> Any: ...
    @property
    def lo(self) -> Any: ...
    @property
    def hi(self) -> Any: ...
    @property
    def unit(self) -> str: ...
    @property
    def population(self) -> str: ...
    @property
    def n(self) -> int | None: ...
    @property
    def method(self) -> str: ...
    @property
    def command(self) -> str: ...
    @property
    def why(self) -> str | None: ...


class ResultsLike(Protocol):
    """The store of one window."""

    @property
    def numbers(self) -> Mapping[str, NumberLike]: ...
    @property
    def audit(self) -> Mapping[str, Any]: ...
    @property
    def manifest(self) -> Mapping[str, Any]: ...

    def has_table(self, name: str) -> bool: ...
    def table(self, name: str) -> pa.Table: ...


def value_of(results: ResultsLike, key: str) -> Any:
    """The value of `key`, or None where it is null or not in the store."""
    number = results.numbers.get(key)
    return None if number is None else number.value


def known(results: ResultsLike, *keys: str) -> bool:
    """Whether every one of `keys` has a value."""
    return all(value_of(results, key) is not None for key in keys)


def few(results: ResultsLike, *keys: str) -> bool:
    """Whether so few stand behind one of the means that nothing should be read into it."""
    sizes = [results.numbers[key].n for key in keys if key in results.numbers]
    return any(n is not None and n < FEW for n in sizes)


def why_of(results: ResultsLike, key: str) -> str:
    """Why `key` has no value."""
    number = results.numbers.get(key)
    if number is None:
        return "it was not computed in this run"
    return number.why or "no reason was recorded"


def rows(results: ResultsLike, name: str) -> list[Row]:
    """The rows of a table as dictionaries, in the order of the store."""
    found: list[Row] = results.table(name).to_pylist()
    return found
