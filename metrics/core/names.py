"""Names of models, regions and deployments, numbered while they are loaded.

A number costs a sort or a group-by a fraction of what a text costs, and no name goes further than
the small tables made here. Names are few; a column of millions of names is some other column.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from metrics.core.classes import ClassRule, classify
from metrics.core.engine import Engine
from telemetry.errors import InputError

__all__ = ["NUMBERED", "NUMBER_LIMIT", "Names", "Numbers", "numbered_schema"]

Numbers = npt.NDArray[np.int32]

#: Numbers are below this, so that two of them fit one integer.
NUMBER_LIMIT = 1 << 20

#: Column of names -> column of numbers.
NUMBERED = {"model": "model_no", "region": "region_no", "deployment": "deployment_no"}

#: Whether a row has a text or a list at all -> the column of it: to read a flag costs a fraction of what that costs.
_PRESENT = {"has_session": "session_id", "has_turn": "turn_id", "has_prefix": "prefix_keys"}


def numbered_schema(schema: pa.Schema) -> pa.Schema:
    """A canonical schema with numbers in place of names, and flags for what is there."""
    return pa.schema([
        *(pa.field(NUMBERED[item.name], pa.int32()) if item.name in NUMBERED else item for item in schema),
        *(pa.field(flag, pa.bool_()) for flag, name in _PRESENT.items() if name in schema.names)])


@dataclass
class Names:
    """The names seen so far, by column: name -> number from 1, in order of appearance."""

    numbers: dict[str, dict[str, int]] = field(default_factory=lambda: {name: {} for name in NUMBERED})

    def numbered(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The batches, of one schema, with numbers in place of names, where null stays null, and with the flags.

        Raises
        ------
        InputError
            When a column holds more names than `NUMBER_LIMIT`.
        """
        for batch in batches:
            arrays = [self._column(item.name, batch.column(item.name)) if item.name in NUMBERED
                      else batch.column(item.name) for item in batch.schema]
            arrays += [_present(batch.column(name)) for name in _PRESENT.values() if name in batch.schema.names]
            yield pa.RecordBatch.from_arrays(arrays, schema=numbered_schema(batch.schema))

    def _column(self, name: str, column: pa.DictionaryArray) -> pa.Array:
        known = self.numbers[name]
        local = np.array([0 if text is None else known.setdefault(text, len(known) + 1)
                          for text in column.dictionary.to_pylist()] or [0], np.int32)
        _check_count(name, len(known))
        numbers = local[column.indices.fill_null(0).to_numpy()]
        missing = np.asarray(column.is_null().to_numpy(zero_copy_only=False)) | (numbers == 0)
        return pa.array(numbers, mask=missing) if missing.any() else pa.array(numbers)

    def adopt(self, other: Names) -> dict[str, Numbers]:
        """Take in the names of another; returns, by column, its numbers -> the numbers here.

        Raises
        ------
        InputError
            As `numbered`.
        """
        found = {}
        for name, known in self.numbers.items():
            theirs = [known.setdefault(text, len(known) + 1) for text in other.numbers[name]]
            _check_count(name, len(known))
            found[name] = np.array([0, *theirs], np.int32)
        return found

    def publish(self, engine: Engine, rules: Sequence[ClassRule], used: Mapping[str, Collection[int]]) -> None:
        """Make the tables `models`, `regions` and `deployments` of the numbers in use, by column.

        `rank` orders the names, so that a label does not depend on the order of the input; a model
        without a name is number 0, of class `unknown`.
        """
        models: list[tuple[str | None, int, int]] = [(None, 0, 0), *self._ranked("model", used)]
        classes = [classify(name, rules) for name, _, _ in models]
        engine.put("models", pa.table({
            "model_no": pa.array([number for _, number, _ in models], pa.int32()),
            "rank": pa.array([rank for _, _, rank in models], pa.int32()),
            "model": pa.array([name for name, _, _ in models], pa.string()),
            "conservative": pa.array([row["conservative"] for row in classes], pa.string()),
            "broad": pa.array([row["broad"] for row in classes], pa.string()),
        }))
        for name in ("region", "deployment"):
            ranked = self._ranked(name, used)
            engine.put(f"{name}s", pa.table({
                f"{name}_no": pa.array([number for _, number, _ in ranked], pa.int32()),
                name: pa.array([text for text, _, _ in ranked], pa.string()),
            }))

    def _ranked(self, name: str, used: Mapping[str, Collection[int]]) -> list[tuple[str, int, int]]:
        """(name, number, rank from 1 in order of the names)."""
        numbers = used[NUMBERED[name]]
        named = sorted((text, number) for text, number in self.numbers[name].items() if number in numbers)
        return [(text, number, rank) for rank, (text, number) in enumerate(named, start=1)]


def _present(column: pa.Array) -> pa.BooleanArray:
    """Which values are not null; a dictionary may hold a null itself."""
    if isinstance(column, pa.DictionaryArray) and column.dictionary.null_count:
        return column.dictionary.is_valid().take(column.indices).fill_null(False)
    return column.is_valid()


def _check_count(name: str, count: int) -> None:
    if count >= NUMBER_LIMIT:
        raise InputError(f"the input has more than {NUMBER_LIMIT - 2:,} distinct values of {name}; this looks like "
                         "an identifier of each call. Map the right column under [columns] in --config.")
