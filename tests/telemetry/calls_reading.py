"""Writes a small call log, reads it with the `calls` adapter, and shows rows of the result."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from telemetry.adapter import DefectLog, ReadOptions
from telemetry.registry import find_adapter
from telemetry.schema import CALL_SCHEMA
from telemetry.sources import expand

ADAPTER = find_adapter("calls")
T0 = 1_767_225_600_000_000  # 2026-01-01T00:00:00Z
HEAD = "session_id,timestamp,context_tokens,cached_tokens\n"


class Read:
    """Writes the file, reads it, keeps the log."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.log = DefectLog()

    def write(self, name: str, content: str | bytes | list[object] | pa.Table) -> str:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, pa.Table):
            pq.write_table(content, path)
        else:
            if isinstance(content, list):
                content = "".join(f"{json.dumps(line)}\n" for line in content)
            raw = content.encode() if isinstance(content, str) else content
            path.write_bytes(gzip.compress(raw) if name.endswith(".gz") else raw)
        return str(path)

    def __call__(self, *inputs: str, strict: bool = False, **options: object) -> pa.Table:
        self.log = DefectLog(strict=strict)
        batches = list(ADAPTER.batches(expand(inputs, ADAPTER.suffixes), ReadOptions(**options), self.log))
        assert all(batch.num_rows and batch.schema == CALL_SCHEMA for batch in batches)
        table = pa.Table.from_batches(batches, CALL_SCHEMA)
        table.validate(full=True)
        return table


def rows(table: pa.Table, *columns: str) -> list[tuple[object, ...]]:
    return list(zip(*(table[column].to_pylist() for column in columns), strict=True))
