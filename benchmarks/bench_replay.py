"""Speed and memory of the residency replay, as ratios against libCacheSim in the same run.

    python benchmarks/bench_replay.py                    about 17.8 M calls; trace and stream are made once, in build/
    python benchmarks/bench_replay.py --calls 2000000    quicker
    python benchmarks/bench_replay.py --times 6          memory of a stream of 6 * 17.8 M calls; no ratios
    python benchmarks/bench_replay.py --calls 100000000 --memory    a drawn stream, no trace: memory only

libCacheSim (PyPI `libcachesim`) runs its C loop over a binary trace of the same accesses, on one core as the kernels
do, with the same budget. It cannot grow an object, so each has its mean size there, and it frees none after its last
use. Reading is taken off: the time of the same loop over a cache of one byte, into which nothing fits. That takes off a
failing look-up a call, too, so the ratios are rather too low. Both sides alternate, in processor time; ratios are of
the medians. The grid's time is that of the clock.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.streams import drawn, repeated, stream_of
from benchmarks.traces import ROOT, trace_of
from replay.residency.budgets import parse_budget, parse_budgets
from replay.residency.cells import Plan, cells_here
from replay.residency.policy import find_policy, no_log
from replay.residency.stream import UNITS, Stream, build_stream, no_eviction_peak
from replay.residency.stream_file import StreamFile

BETA = 327_680
KERNELS = ("lru", "mrr", "ttl_5m", "fnu", "size_aware", "mrr_host_1")
#: Policy -> libCacheSim's, and how many times as fast the kernel is to be.
AGAINST = {"lru": ("LRU", 3.0), "mrr": ("LRU", 3.0), "ttl_5m": ("LRU", 3.0), "fnu": ("Belady", 2.0)}
#: What a long stream is replayed with.
LONG = ("lru", "mrr", "fnu", "size_aware")
GRID = Plan("window", ("session", "session+deployment"), ("lru", "fnu", "mrr"),
            parse_budgets(["1%", "2%", "5%", "10%", "20%", "50%"]), "last")
ABSENT = "libcachesim is not installed: pip install --no-deps libcachesim (its dependencies serve S3 only)"

#: A row of libCacheSim's oracleGeneral format.
ORACLE = np.dtype([("time", "<u4"), ("id", "<u8"), ("size", "<u4"), ("next", "<i8")])


def beside() -> bool:
    """Whether libCacheSim is here to be measured, too."""
    return importlib.util.find_spec("libcachesim") is not None


def write_oracle(stream: Stream, path: Path) -> None:
    """The stream in libCacheSim's format; each object has its mean size, in tokens."""
    n, count = stream.calls, stream.object_count
    sums = np.bincount(stream.objects, weights=stream.tokens, minlength=count)
    sizes = np.maximum(sums / np.bincount(stream.objects, minlength=count), 1).astype(np.uint32)
    rows = np.zeros(n, ORACLE)
    rows["time"] = np.arange(n) >> 10
    rows["id"], rows["size"] = stream.objects, sizes[stream.objects]
    rows["next"] = np.where(stream.next_use == n, -1, stream.next_use)
    rows.tofile(path)


def simulate(path: Path, policy: str, capacity: int) -> tuple[float, float]:
    """Processor seconds and miss ratio of libCacheSim's loop."""
    import libcachesim

    reader = libcachesim.TraceReader(str(path), libcachesim.TraceType.ORACLE_GENERAL_TRACE)
    cache = getattr(libcachesim, policy)(capacity)
    began = time.process_time()
    missed, _ = cache.process_trace(reader)
    return time.process_time() - began, missed


def timed(run: Callable[..., Any], *arguments: Any) -> float:
    """Processor seconds of a run on one thread."""
    began = time.process_time()
    run(*arguments)
    return time.process_time() - began


def peak_gb() -> float:
    """Peak of this process's memory so far."""
    unit = 1 if sys.platform == "darwin" else 1024
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e9, 2)


def kernels(stream: Stream, share: str, runs: int) -> dict[str, Any]:
    """Median seconds of each kernel and of each simulator, in turns."""
    units = parse_budget(share).resolve(no_eviction_peak(stream, "last") * UNITS, BETA)
    simulated = ("reading", "LRU", "Belady") if beside() else ()
    times: dict[str, list[float]] = {name: [] for name in (*KERNELS, *simulated)}
    rates: dict[str, float] = {}
    with tempfile.TemporaryDirectory(prefix="kvcensus-bench-") as folder:
        path = Path(folder) / "oracle.bin"
        if simulated:
            write_oracle(stream, path)
        for _ in range(runs + 1):
            for name, each in times.items():
                if name in KERNELS:
                    each.append(timed(find_policy(name).kernel, stream, units, True, no_log()))
                elif name == "reading":
                    each.append(simulate(path, "LRU", 1)[0])
                else:
                    seconds, rates[name] = simulate(path, name, units // UNITS)
                    each.append(seconds)
    # The first round compiles, and fills caches.
    return {"calls": stream.calls, "seconds": {name: statistics.median(each[1:]) for name, each in times.items()},
            "miss_ratios": rates}


def grid(file: StreamFile, threads: int) -> dict[str, Any]:
    """Every cell of the grid, after its kernels were compiled on a stream of two calls."""
    tiny = build_stream(np.zeros(2, np.int32), np.ones(2, np.int64), 1)
    for name in GRID.policies:
        find_policy(name).kernel(tiny, UNITS, True, no_log())
    began, cpu = time.perf_counter(), time.process_time()
    cells_here(GRID, file, BETA, threads)
    return {"calls": file.calls, "seconds": round(time.perf_counter() - began, 2), "threads": threads,
            "cpu_s": round(time.process_time() - cpu, 2), "peak_rss_gb": peak_gb()}


def memory(file: StreamFile, share: str) -> dict[str, Any]:
    """Peak of memory after each policy, one after the other; the file's pages that are read count, too."""
    stream = file.stream("session")
    units = parse_budget(share).resolve(no_eviction_peak(stream, "last") * UNITS, BETA)
    peaks = {"stream": peak_gb()}
    for name in LONG:
        misses = find_policy(name).kernel(stream, units, True, no_log()).misses
        peaks[f"{name} ({misses / stream.calls:.1%} missed)"] = peak_gb()
    return {"calls": stream.calls, "objects": stream.object_count, "peaks": peaks}


def in_child(*arguments: str) -> dict[str, Any]:
    """Run this file in a process of its own, so that peaks of memory are apart; its last line is JSON."""
    done = subprocess.run([sys.executable, str(Path(__file__).resolve()), *arguments], check=True, text=True,
                          stdout=subprocess.PIPE, env={**os.environ, "NUMBA_NUM_THREADS": "1"})
    line = done.stdout.splitlines()[-1]
    result: dict[str, Any] = json.loads(line[line.index("{"):])  # libCacheSim's colours may come before it
    return result


def child(args: argparse.Namespace) -> dict[str, Any]:
    """What a process of its own measures."""
    file = StreamFile.open(args.stream)
    if args.child == "grid":
        return grid(file, args.threads)
    return memory(file, args.budget) if args.child == "memory" else \
        kernels(file.stream("session"), args.budget, args.runs)


def show(found: dict[str, Any]) -> None:
    """Calls a second of each kernel, and the ratios."""
    seconds, calls = found["seconds"], found["calls"]
    reading = seconds.get("reading", 0.0)
    for name in KERNELS:
        line = f"{name:12} {seconds[name]:7.2f} s {calls / seconds[name] / 1e6:8.1f} M calls/s"
        if name in AGAINST and AGAINST[name][0] in seconds:
            other, least = AGAINST[name]
            line += f"   {(seconds[other] - reading) / seconds[name]:.1f} times libCacheSim's {other} (>= {least:g})"
        print(line)
    for name in ("LRU", "Belady"):
        if name in seconds:
            net = seconds[name] - reading
            print(f"libCacheSim's {name}: {seconds[name]:.2f} s, of it reading {reading:.2f} s; without "
                  f"{calls / net / 1e6:.1f} M calls/s; misses {found['miss_ratios'][name]:.1%} at constant sizes")
    if not reading:
        print(ABSENT)


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description="measure the residency replay against libCacheSim")
    parser.add_argument("--calls", type=int, default=17_800_000)
    parser.add_argument("--trace", type=Path, help="a trace of your own, in the canonical columns")
    parser.add_argument("--budget", default="10%")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2, help="of the grid")
    parser.add_argument("--times", type=int, default=1, help="repeat the stream with new objects: memory only")
    parser.add_argument("--memory", action="store_true", help="draw a stream of --calls, and measure memory only")
    parser.add_argument("--child", choices=("kernels", "grid", "memory"), help=argparse.SUPPRESS)
    parser.add_argument("--stream", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child is not None:
        print(json.dumps(child(args)))
        return
    if args.memory:
        path = drawn(args.calls, ROOT / "build")
        found = in_child("--child", "memory", "--stream", str(path), "--budget", args.budget)
        print(f"stream: {path.name}, {found['calls']:,} calls, {found['objects']:,} objects")
        for name, peak in found["peaks"].items():
            print(f"peak after {name}: {peak:.2f} GB")
        return
    trace = args.trace or trace_of(args.calls)
    path = repeated(stream_of(trace, ROOT / "build"), args.times)
    print(f"stream: {path.name}, {StreamFile.open(path).calls:,} calls")
    if args.times == 1:
        show(in_child("--child", "kernels", "--stream", str(path), "--budget", args.budget, "--runs", str(args.runs)))
    cells = len(GRID.policies) * len(GRID.budgets) * len(GRID.keys)
    run = in_child("--child", "grid", "--stream", str(path), "--threads", str(args.threads))
    print(f"grid of {cells} cells: {run['seconds']} s on {run['threads']} threads, of the processor {run['cpu_s']} s, "
          f"peak {run['peak_rss_gb']:.2f} GB")


if __name__ == "__main__":
    main()
