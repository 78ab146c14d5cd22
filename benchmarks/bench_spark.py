"""Spark beside DuckDB: the same job on the same trace, on two cores and on one.

    python benchmarks/bench_spark.py                     about 17.8 M calls, generated once into build/
    python benchmarks/bench_spark.py --calls 2000000     quicker

Every run is a process of its own, held to as many cores as it has threads: the JVM compiles and collects on any other
core that it finds. Its peak memory is that of all its processes together, looked at twice a second. The engines must
give the same numbers, or there is nothing to compare.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from benchmarks.bench import JOB
from benchmarks.traces import trace_of

_EVERY_S = 0.5
_PAGE = os.sysconf("SC_PAGE_SIZE")


def run(trace: Path, engine: str, threads: int, out: Path) -> dict[str, Any]:
    """One run of the whole job: seconds, and the peak of memory by program, in GB."""
    command = [sys.executable, str(Path(__file__).parents[1] / "pipelines" / "characterize.py"), str(trace), *JOB,
               "--engine", engine, "--threads", str(threads), "--out", str(out)]
    began = time.perf_counter()
    cores = sorted(os.sched_getaffinity(0))[:threads]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                          preexec_fn=lambda: os.sched_setaffinity(0, cores)) as process:
        peaks: dict[str, float] = {}
        watch = threading.Thread(target=_watch, args=(process, peaks))
        watch.start()
        code = process.wait()
        watch.join()
    if code:
        raise SystemExit(f"{engine} on {threads} threads ended with exit code {code}")
    return {"engine": engine, "threads": threads, "seconds": round(time.perf_counter() - began, 1),
            "peak_gb": {name: round(peak, 2) for name, peak in sorted(peaks.items())}}


def _watch(process: subprocess.Popen[bytes], peaks: dict[str, float]) -> None:
    """Note the highest memory of the driver, of the JVM and of the Python workers."""
    while process.poll() is None:
        now = {"driver": 0.0, "jvm": 0.0, "workers": 0.0}
        for pid in _tree(process.pid):
            kind = "driver" if pid == process.pid else "jvm" if _name(pid) == "java" else "workers"
            now[kind] += _resident(pid)
        for kind, held in (*now.items(), ("all", sum(now.values()))):
            peaks[kind] = max(peaks.get(kind, 0.0), held)
        time.sleep(_EVERY_S)


def _tree(root: int) -> list[int]:
    """A process and all below it."""
    found = [root]
    for pid in found:
        for task in Path(f"/proc/{pid}/task").glob("*/children"):
            try:
                found += map(int, task.read_text().split())
            except OSError:  # it has ended
                continue
    return found


def _name(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""


def _resident(pid: int) -> float:
    """Resident memory in GB, without what it shares with others."""
    try:
        _, resident, shared, *_ = map(int, Path(f"/proc/{pid}/statm").read_text().split())
    except OSError:
        return 0.0
    return (resident - shared) * _PAGE / 1e9


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description="measure Spark beside DuckDB")
    parser.add_argument("--calls", type=int, default=17_800_000)
    parser.add_argument("--trace", type=Path)
    parser.add_argument("--skip-one", action="store_true", help="no run on one core")
    args = parser.parse_args()
    trace = args.trace or trace_of(args.calls)
    with tempfile.TemporaryDirectory(prefix="kvcensus-bench-") as folder:
        runs = []
        for engine, threads in (("duckdb", 2), ("spark", 2), *(() if args.skip_one else (("spark", 1),))):
            out = Path(folder) / f"{engine}-{threads}"
            runs.append(run(trace, engine, threads, out))
            print(json.dumps(runs[-1]), flush=True)
        numbers = {(path / "all" / "numbers.json").read_bytes() for path in Path(folder).iterdir()}
    print(f"numbers.json of all runs: {'equal' if len(numbers) == 1 else 'NOT EQUAL'}")
    print(f"Spark / DuckDB on two cores: {runs[1]['seconds'] / runs[0]['seconds']:.2f}")
    if not args.skip_one:
        print(f"Spark on one core / on two: {runs[2]['seconds'] / runs[1]['seconds']:.2f}")
    if len(numbers) > 1:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
