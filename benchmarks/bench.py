"""Speed and memory of the main job, as a ratio against a plain DuckDB pass over the same file.

    python benchmarks/bench.py                       about 17.8 M calls, generated once into build/
    python benchmarks/bench.py --calls 2000000       quicker
    python benchmarks/bench.py --trace my.parquet    a file of your own, in the canonical columns

Every run is a process of its own. The baseline is `baseline.sql`: it only sorts by session and time and
writes the lags into a table, in memory or in a database file. Baselines and job alternate, and the ratios
are of the medians.
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
from typing import TYPE_CHECKING, Any

from benchmarks import baseline
from benchmarks.traces import CLASSES, trace_of

if TYPE_CHECKING:
    from replay.residency.stream import Stream

JOB = ("--format", "calls", "--config", str(CLASSES), "--stream", "busiest-hour", "--key", "session,session+deployment",
       "--budgets", "1%,2%,5%,10%,20%,50%", "--policies", "lru,fnu,mrr", "--bounds", "none", "--routing", "none")


def job(trace: Path, threads: int, memory_limit: str) -> dict[str, Any]:
    """The whole job in this process: imports, every metric, the sweep, the replays, figures, report."""
    began = time.perf_counter()
    from pipelines.options import parse
    from pipelines.run import characterize

    imported = time.perf_counter() - began
    with tempfile.TemporaryDirectory(prefix="kvcensus-bench-") as folder:
        outcome = characterize(parse([str(trace), *JOB, "--out", f"{folder}/out", "--work", f"{folder}/work",
                                      "--threads", str(threads), "--memory-limit", memory_limit]))
        seconds = time.perf_counter() - began
        report = Path(outcome.page).stat().st_size
    usage = resource.getrusage(resource.RUSAGE_SELF)
    unit = 1 if sys.platform == "darwin" else 1024
    return {"seconds": round(seconds, 2), "cpu_s": round(usage.ru_utime + usage.ru_stime, 2),
            "peak_rss_gb": round(usage.ru_maxrss * unit / 1e9, 2), "report_mb": round(report / 1e6, 2),
            "stages": {"imports": round(imported, 2), **{name: round(s, 2) for name, s in outcome.seconds.items()}}}


def in_child(arguments: list[str], environment: dict[str, str] | None = None) -> dict[str, Any]:
    """Run this file in a process of its own; its last line of output is JSON."""
    done = subprocess.run([sys.executable, str(Path(__file__).resolve()), *arguments], check=True, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env={**os.environ, **(environment or {})})
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def made_stream(calls: int, objects: int) -> Stream:
    """A replay stream whose objects are live for a while each, with a seed; a second between calls."""
    import numpy as np

    from replay.residency.stream import build_stream

    rng = np.random.default_rng(1)
    weights = rng.lognormal(0, 1.15, objects)
    ids = rng.choice(objects, calls, p=weights / weights.sum()).astype(np.int32)
    # Sessions are live for a while, not for ever: the order of first accesses is that of the ids.
    ids = ids[np.argsort(ids / objects + rng.exponential(0.01, calls), kind="stable")]
    times = np.arange(calls, dtype=np.int64) * 1_000_000
    return build_stream(ids, rng.lognormal(10.3, 0.8, calls).astype(np.int64), objects, times)


def kernels(calls: int, objects: int, runs: int = 3) -> dict[str, float]:
    """Calls a second of each default policy's kernel at 10 % of K*, on one core, in millions."""
    from replay.residency.budgets import parse_budget
    from replay.residency.policy import default_policies, find_policy, no_log
    from replay.residency.stream import UNITS, no_eviction_peak

    stream = made_stream(calls, objects)
    units = parse_budget("10%").resolve(no_eviction_peak(stream, "last") * UNITS, 1)
    rates = {}
    for name in default_policies():
        policy = find_policy(name)
        policy.kernel(stream, units, True, no_log())
        took = []
        for _ in range(runs):
            began = time.perf_counter()
            policy.kernel(stream, units, True, no_log())
            took.append(time.perf_counter() - began)
        rates[name] = round(calls / statistics.median(took) / 1e6, 1)
    return rates


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description="measure the main job against a plain DuckDB pass")
    parser.add_argument("--calls", type=int, default=17_800_000)
    parser.add_argument("--trace", type=Path)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--memory-limit", default="7GB", help="of the engine, for baseline and job alike")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--child", choices=("job", "kernels"), help=argparse.SUPPRESS)
    args = parser.parse_args()
    trace = args.trace or trace_of(args.calls)
    if args.child == "job":
        print(json.dumps(job(trace, args.threads, args.memory_limit)))
        return
    if args.child == "kernels":
        print(json.dumps(kernels(args.calls, max(args.calls * 691 // 17_800, 1))))
        return
    options = ["--trace", str(trace), "--threads", str(args.threads), "--memory-limit", args.memory_limit]
    with tempfile.TemporaryDirectory(prefix="kvcensus-numba-") as cache:
        cold = in_child([*options, "--child", "job"], {"NUMBA_CACHE_DIR": cache})
    yardsticks: dict[str, list[dict[str, Any]]] = {"table in memory": [], "table in a file": []}
    jobs = []
    for _ in range(args.runs):
        for name, runs in yardsticks.items():
            runs.append(baseline.measure(trace, args.threads, args.memory_limit, in_memory="memory" in name))
        jobs.append(in_child([*options, "--child", "job"]))
    show(trace, yardsticks, jobs, cold)
    rates = in_child(["--calls", str(args.calls), "--child", "kernels"])
    print("kernels, one core, M calls/s: " + ", ".join(f"{name} {rate}" for name, rate in rates.items()))


def show(trace: Path, yardsticks: dict[str, list[dict[str, Any]]], jobs: list[dict[str, Any]],
         cold: dict[str, Any]) -> None:
    """Both sides, the ratios and the stages, in words."""
    rows = next(iter(yardsticks.values()))[0]["rows"]
    print(f"trace: {trace.name}, {trace.stat().st_size / 1e6:,.0f} MB, {rows:,} calls")
    for name, runs in (*((f"baseline, {name}", runs) for name, runs in yardsticks.items()), ("job, warm", jobs)):
        print(f"{name}: {', '.join(str(run['seconds']) for run in runs)} s; "
              f"cpu {', '.join(str(run['cpu_s']) for run in runs)} s; "
              f"peak {max(run['peak_rss_gb'] for run in runs):.2f} GB")
    for name, runs in yardsticks.items():
        wall, cpu = (statistics.median(run[what] for run in jobs) / statistics.median(run[what] for run in runs)
                     for what in ("seconds", "cpu_s"))
        print(f"ratio of medians to the baseline with its {name}: {wall:.2f} (cpu {cpu:.2f})")
    print(f"stages of the last warm run: {jobs[-1]['stages']}")
    print(f"cold start (no compiled kernels): {cold['seconds']} s, of it replays {cold['stages']['replays']} s")
    print(f"report: {jobs[-1]['report_mb']} MB")


if __name__ == "__main__":
    main()
