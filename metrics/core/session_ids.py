"""The session ids of an input, collected while its rows are read: far fewer than the rows, but not few."""

from __future__ import annotations

from dataclasses import dataclass, field

import pyarrow as pa

from metrics.core.engine import Sink

__all__ = ["SESSION_SCHEMA", "SessionIds"]

#: One row a session id; an id comes again where its calls lie far apart.
SESSION_SCHEMA = pa.schema([pa.field("session_id", pa.string())])

_MOST_HELD = 1 << 20


@dataclass
class SessionIds:
    """Gives the session ids of batches to a sink, most of them once; holds at most about a million."""

    sink: Sink
    _held: list[pa.Array] = field(default_factory=list)
    _count: int = 0

    def add(self, batch: pa.RecordBatch) -> None:
        """Take in the ids of the rows without a defect."""
        column = batch["session_id"]
        defect = batch["defect"]
        if defect.null_count < len(batch):
            column = column.filter(defect.is_null())
        used = column.dictionary.take(column.indices.unique().drop_null())
        self._held.append(used)
        self._count += len(used)
        if self._count > _MOST_HELD:
            self._merge()
            if self._count > _MOST_HELD // 2:
                self.flush()

    def flush(self) -> None:
        """Give what is held to the sink."""
        self._merge()
        for ids in self._held:
            self.sink(pa.record_batch([ids], schema=SESSION_SCHEMA))
        self._held, self._count = [], 0

    def _merge(self) -> None:
        if self._held:
            merged = pa.chunked_array(self._held, pa.string()).unique()
            self._held, self._count = [merged], len(merged)
