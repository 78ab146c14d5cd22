"""Does memory grow with the input? Peak memory of the whole job at one and at ten times the calls.

    python benchmarks/memory.py [--calls 2000000] [--memory-limit 450MB]

Both traces carry call ids, one in a hundred of them twice, so that de-duplication has work to do. What
exceeds the engine's limit is spilled to disk. Prints both peaks and their ratio.
"""

from __future__ import annotations

import argparse

from benchmarks.bench import in_child
from benchmarks.traces import trace_with_ids


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description="peak memory at one and at ten times the input")
    parser.add_argument("--calls", type=int, default=2_000_000)
    parser.add_argument("--memory-limit", default="450MB", help="of the engine; so small that both inputs exceed it")
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args()
    peaks = []
    for calls in (args.calls, 10 * args.calls):
        run = in_child(["--trace", str(trace_with_ids(calls)), "--threads", str(args.threads),
                        "--memory-limit", args.memory_limit, "--child", "job"])
        peaks.append(run["peak_rss_gb"])
        print(f"{calls:,} calls: peak {run['peak_rss_gb']} GB, {run['seconds']} s", flush=True)
    print(f"ratio: {peaks[1] / peaks[0]:.2f}")


if __name__ == "__main__":
    main()
