"""Speed and memory of the generator, as a ratio against writing the same rows to Parquet.

    python benchmarks/bench_generate.py                                   research, 690,000 sessions: 17 M calls
    python benchmarks/bench_generate.py --profile chat --sessions 13184080    105 M calls

Every run is a process of its own, held to one core, after one that compiles. The baseline reads a trace that was
generated and times nothing but the writing of its row groups, by the writer's own settings. The ratio is of the
medians of processor time.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any


def generate(profile: str, sessions: int, out: Path) -> dict[str, Any]:
    """The whole command in this process, imports left out."""
    from pipelines.cli import main as kvcensus

    began = time.process_time()
    code = kvcensus(["generate", "--profile", profile, "--sessions", str(sessions), "--seed", "1", "--threads", "1",
                     "--out", str(out)])
    if code != 0:
        raise SystemExit(code)
    return measured(time.process_time() - began, out / "calls.parquet")


def write(trace: Path, out: Path) -> dict[str, Any]:
    """Nothing but the writing of rows that are in memory, one row group at a time."""
    import pyarrow.parquet as pq

    from tracesim.writer import ParquetRows

    took = 0.0
    with pq.ParquetFile(trace, read_dictionary=ParquetRows.LABELS) as source, ParquetRows(out, {}) as rows:
        for group in range(source.num_row_groups):
            table = source.read_row_group(group, use_threads=False)
            began = time.process_time()
            rows.write(table)
            took += time.process_time() - began
    return measured(took, out)


def measured(seconds: float, written: Path) -> dict[str, Any]:
    """What a child says on its last line."""
    import pyarrow.parquet as pq

    unit = 1 if sys.platform == "darwin" else 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e9
    return {"seconds": round(seconds, 2), "rows": pq.read_metadata(written).num_rows,
            "mb": round(written.stat().st_size / 1e6), "peak_rss_gb": round(peak, 2)}


def in_child(*arguments: str) -> dict[str, Any]:
    """Run this file in a process of its own on one core; its last line of output is JSON."""
    core = min(os.sched_getaffinity(0))
    done = subprocess.run([sys.executable, str(Path(__file__).resolve()), *arguments], check=True, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          preexec_fn=lambda: os.sched_setaffinity(0, {core}))
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description="measure the generator against writing its rows to Parquet")
    parser.add_argument("--profile", default="research")
    parser.add_argument("--sessions", type=int, default=690_000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--child", nargs=2, metavar=("WHAT", "OUT"), help=argparse.SUPPRESS)
    parser.add_argument("--trace", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        what, out = args.child[0], Path(args.child[1])
        print(json.dumps(generate(args.profile, args.sessions, out) if what == "generate" else write(args.trace, out)))
        return
    fleet = ["--profile", args.profile, "--sessions", str(args.sessions)]
    generated, written = [], []
    with tempfile.TemporaryDirectory(prefix="kvcensus-bench-") as folder:
        in_child("--profile", args.profile, "--sessions", "1000", "--child", "generate", f"{folder}/warm")
        for run in range(args.runs):
            generated.append(in_child(*fleet, "--child", "generate", f"{folder}/trace-{run}"))
            written.append(in_child("--trace", f"{folder}/trace-{run}/calls.parquet", "--child", "write",
                                    f"{folder}/rows-{run}"))
    show(args.profile, generated, written)


def show(profile: str, generated: list[dict[str, Any]], written: list[dict[str, Any]]) -> None:
    """Both sides and the ratio, in words."""
    print(f"profile {profile}: {generated[0]['rows']:,} calls, {generated[0]['mb']:,} MB, on one core")
    for name, runs in (("generate", generated), ("write the same rows", written)):
        print(f"{name}: {', '.join(str(run['seconds']) for run in runs)} s; "
              f"peak {max(run['peak_rss_gb'] for run in runs):.2f} GB")
    ratio = (statistics.median(run["seconds"] for run in generated)
             / statistics.median(run["seconds"] for run in written))
    print(f"ratio of medians: {ratio:.2f}")


if __name__ == "__main__":
    main()
