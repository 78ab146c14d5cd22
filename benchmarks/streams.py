"""Replay streams for the benchmarks: of a trace, made once by the pipeline's own steps; repeated; and drawn."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from benchmarks.bench import made_stream
from metrics.core.classes import DEFAULT_RULES
from metrics.core.clock import Window
from metrics.core.ingest import ingest
from metrics.core.loading import stream
from metrics.core.trace import Settings, Trace
from metrics.engines.duckdb import DuckEngine
from replay.residency.stream import build_stream
from replay.residency.stream_file import StreamFile, extract_stream
from telemetry.adapter import DefectLog, ReadOptions
from telemetry.registry import find_adapter
from telemetry.sources import expand

__all__ = ["drawn", "repeated", "stream_of"]

#: Calls and objects of the part that a drawn stream repeats.
PART, PART_OBJECTS = 1_000_000, 38_800


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


def drawn(calls: int, folder: Path) -> Path:
    """A stream drawn with a seed, by session only: a part repeated with new objects, the last time cut; made once.

    It is made in a process of its own, whose memory is not what is measured.
    """
    path = folder / f"drawn-{calls}.arrow"
    if not path.exists():
        folder.mkdir(exist_ok=True)
        subprocess.run([sys.executable, str(Path(__file__).resolve()), str(calls), str(path), "--draw"], check=True)
    return path


def _draw(calls: int, path: Path) -> None:
    part = made_stream(PART, PART_OBJECTS)
    objects = np.empty(calls, np.int32)
    tokens = np.empty(calls, np.int64)
    for turn, start in enumerate(range(0, calls, PART)):
        length = min(PART, calls - start)
        objects[start:start + length] = part.objects[:length] + np.int32(turn * PART_OBJECTS)
        tokens[start:start + length] = part.tokens[:length]
    whole = build_stream(objects, tokens, int(objects.max()) + 1, np.arange(calls, dtype=np.int64) * 1_000_000)
    table = pa.table({"t_us": whole.time_us, "tokens": tokens, "object_session": objects,
                      "next_use_session": whole.next_use})
    StreamFile(table, None).write(path)


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
    if sys.argv[3:] == ["--draw"]:
        _draw(int(sys.argv[1]), Path(sys.argv[2]))
    else:
        _extract(Path(sys.argv[1]), Path(sys.argv[2]))
