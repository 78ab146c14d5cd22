"""What a single look at every row finds, while it is loaded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from metrics.core.engine import Engine
from metrics.core.names import NUMBERED, Numbers
from telemetry.schema import CALLS, Rows

__all__ = ["Tally"]


@dataclass
class Tally:
    """Sums over rows as they are loaded.

    Attributes
    ----------
    defects : Counter
        Reason -> rows that cannot be used for it.
    sound : int
        Rows without a defect; what follows is about them.
    ids : int
        How many have an id of their own.
    first_us, last_us : int or None
        Their first and last time; None without rows.
    used : dict
        Column of numbers (`model_no` and so on) -> the numbers in it; none where the rows have no such column.
    id : str
        Column of their ids.
    """

    defects: Counter[str] = field(default_factory=Counter)
    sound: int = 0
    ids: int = 0
    first_us: int | None = None
    last_us: int | None = None
    used: dict[str, set[int]] = field(default_factory=lambda: {column: set() for column in NUMBERED.values()})
    id: str = CALLS.id

    @property
    def rows(self) -> int:
        """All of them."""
        return self.sound + self.defects.total()

    def watched(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The batches, of a numbered schema, unchanged."""
        for batch in batches:
            self._add(batch)
            yield batch

    def absorb(self, other: Tally, numbers: Mapping[str, Numbers]) -> None:
        """Add what another found, whose numbers are `numbers` (by name) here."""
        self.defects += other.defects
        self.ids += other.ids
        self._span(other.sound, other.first_us, other.last_us)
        for name, column in NUMBERED.items():
            self.used[column].update(int(numbers[name][number]) for number in other.used[column])

    def _add(self, batch: pa.RecordBatch) -> None:
        defect = batch["defect"]
        if defect.null_count < len(batch):
            self.defects.update(pc.drop_null(defect).to_pylist())
            batch = batch.filter(defect.is_null())
        self.ids += len(batch) - batch[self.id].null_count
        span = pc.min_max(batch["t_us"]).as_py()
        self._span(len(batch), span["min"], span["max"])
        for column in self.used.keys() & set(batch.schema.names):
            self.used[column].update(number for number in batch[column].unique().to_pylist() if number is not None)

    def _span(self, rows: int, first_us: int | None, last_us: int | None) -> None:
        if first_us is None or last_us is None:
            return
        self.sound += rows
        self.first_us = first_us if self.first_us is None else min(self.first_us, first_us)
        self.last_us = last_us if self.last_us is None else max(self.last_us, last_us)

    @classmethod
    def of(cls, engine: Engine, relation: str, rows: Rows = CALLS) -> Tally:
        """The tally of a relation whose rows have no defects."""
        found = engine.row(f"select count(*) as sound, count({rows.id}) as ids, min(t_us) as first_us, "
                           f"max(t_us) as last_us from {relation}")
        used = {column: {row["number"] for row in engine.rows(
            f"select distinct {column} as number from {relation} where {column} is not null")}
            if name in rows.schema.names else set() for name, column in NUMBERED.items()}
        return cls(**found, used=used, id=rows.id)
