"""Time and peak memory of the yardstick query in `baseline.sql`.

    python benchmarks/baseline.py trace.parquet --threads 2 --memory-limit 6GB [--in-memory]

Prints one JSON object. The query runs in a child process, so that the peak is its own and not that of
whatever imported this module.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import duckdb

SQL = Path(__file__).with_suffix(".sql")


def run_query(trace: Path, threads: int, memory_limit: str, in_memory: bool) -> dict[str, Any]:
    """Run the query in this process; database and spill files live in a temporary folder."""
    with tempfile.TemporaryDirectory(prefix="baseline-") as folder:
        database = ":memory:" if in_memory else str(Path(folder) / "baseline.duckdb")
        with duckdb.connect(database) as connection:
            connection.execute(f"set threads = {int(threads)}")
            connection.execute("set memory_limit = $1", [memory_limit])
            connection.execute("set temp_directory = $1", [str(Path(folder) / "spill")])
            connection.execute("set variable trace = $1", [str(trace)])
            before = time.perf_counter()
            connection.execute(SQL.read_text())
            query = time.perf_counter() - before
            rows = connection.execute("select count(*) from lags").fetchone()
        # Closing checkpoints: a table is written when it is in the file, not only in the log.
        seconds = time.perf_counter() - before
        size = 0 if in_memory else Path(database).stat().st_size
    usage = resource.getrusage(resource.RUSAGE_SELF)
    unit = 1 if sys.platform == "darwin" else 1_024  # ru_maxrss: bytes on macOS, KiB on Linux
    return {
        "database": "memory" if in_memory else "file",
        "threads": threads,
        "memory_limit": memory_limit,
        "rows": rows[0] if rows else 0,
        "query_s": round(query, 2),
        "seconds": round(seconds, 2),
        "cpu_s": round(usage.ru_utime + usage.ru_stime, 2),
        "peak_rss_gb": round(usage.ru_maxrss * unit / 1e9, 3),
        "database_gb": round(size / 1e9, 3),
        "duckdb": duckdb.__version__,
    }


def measure(
    trace: Path, threads: int = 2, memory_limit: str = "6GB", in_memory: bool = False
) -> dict[str, Any]:
    """Run the query in a child process and give what it reports."""
    command = [sys.executable, str(Path(__file__).resolve()), str(trace.resolve()), "--child"]
    command += ["--threads", str(threads), "--memory-limit", memory_limit]
    command += ["--in-memory"] if in_memory else []
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description="measure the yardstick query")
    parser.add_argument("trace", type=Path, help="Parquet file in the canonical columns")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--memory-limit", default="6GB")
    parser.add_argument("--in-memory", action="store_true", help="no database file")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    act = run_query if args.child else measure
    print(json.dumps(act(args.trace, args.threads, args.memory_limit, args.in_memory)))


if __name__ == "__main__":
    main()
