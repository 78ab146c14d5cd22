"""Replay streams for the benchmarks: of a trace, made once by the pipeline's own steps; and repeated."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from metrics.core.classes import DEFAULT_RULES
from metrics.core.clock import Window
from metrics.core.ingest import ingest
from metrics.core.loading import stream
from metrics.core.trace import Settings, Trace
from metrics.engines.duckdb import DuckEngine
from replay.residency.stream_file import StreamFile, extract_stream
from telemetry.adapter import DefectLog, ReadOptions
from telemetry.registry import find_adapter
from telemetry.sources import expand

__all__ = ["repeated", "stream_of"]


def stream_of(trace: Path, folder: Path) -> Path:
    """The stream of all sessioned calls of a trace, in a process of its own; made once."""
    path = folder / f"{trace.stem}-window.arrow"
    if not path.exists():
        folder.mkdir(exist_ok=True)
        subprocess.run([sys.executable, str(Path(__file__).resolve()), str(trace), str(path)], check=True)
    return path


def repeated(path: Path, times: int) -> Path:
    """The stream so many times end to end, with new objects each time; made once."""
    longer = path.with_name(f"{path.stem}-x{times}.arrow")
    if times == 1 or longer.exists():
        return path if times == 1 else longer
    file = StreamFile.open(path)
    table = file.table
    calls, columns = len(table), {}
    for name in table.column_names:
        column = table[name].combine_chunks()
        step = _step(name, calls, column)
        if step is None:
            columns[name] = pa.chunked_array([column] * times).combine_chunks()
            continue
        values = column.to_numpy()
        again = np.concatenate([values + np.array(turn * step, values.dtype) for turn in range(times)])
        if name.startswith("next_use_"):
            again[np.tile(values == calls, times)] = calls * times
        columns[name] = pa.array(again)
    replace(file, table=pa.table(columns)).write(longer)
    return longer


def _step(name: str, calls: int, column: pa.Array) -> int | None:
    """What is added to a column at each turn; None: nothing."""
    if name.startswith("next_use_"):
        return calls
    if name.startswith("object_"):
        return int(column.to_numpy().max()) + 1
    if name == "t_us":
        return int(column[-1].as_py() - column[0].as_py())
    return None


def _extract(trace: Path, path: Path) -> None:
    adapter = find_adapter("calls")
    with tempfile.TemporaryDirectory(prefix="kvcensus-bench-", dir=path.parent) as work:
        engine = DuckEngine(Path(work), memory_limit="7GB")
        try:
            batches = adapter.batches(expand([str(trace)], adapter.suffixes), ReadOptions(), DefectLog())
            ingested = ingest(engine, stream(engine, batches), DEFAULT_RULES)
            whole = Trace(engine, ingested, Window("all"), Settings())
            whole.derive()
            extract_stream(whole, "window", path)
        finally:
            engine.close()


if __name__ == "__main__":
    _extract(Path(sys.argv[1]), Path(sys.argv[2]))
