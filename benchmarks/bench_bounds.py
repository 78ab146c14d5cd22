"""Speed of the bounds on misses, as a ratio against one sort of the costs of all reuse intervals of the same stream.

    python benchmarks/bench_bounds.py                   17.8 M calls
    python benchmarks/bench_bounds.py --calls 100000000 memory of a long stream

One core, processor time of this process, medians; what is compiled is compiled before.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import sys
import time
from collections.abc import Callable
from functools import partial

import numpy as np

from benchmarks.bench import made_stream
from replay.residency.bounds.grid import bounds
from replay.residency.budgets import DEFAULT_BUDGETS, parse_budgets
from replay.residency.keeping import WHOLE, Keeping

KEEPINGS = (WHOLE, Keeping(32), Keeping(33), Keeping(34), Keeping(40), Keeping(32, 1), Keeping(32, 2), Keeping(32, 4))


def seconds(work: Callable[[], object], runs: int) -> float:
    """Median processor time."""
    took = []
    for _ in range(runs):
        began = time.process_time()
        work()
        took.append(time.process_time() - began)
    return statistics.median(took)


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description="measure the bounds on misses against one sort")
    parser.add_argument("--calls", type=int, default=17_800_000)
    parser.add_argument("--runs", type=int, default=3)
    args = parser.parse_args()
    small = made_stream(1000, 40)
    bounds(small, ("pfoo_l", "pfoo_u"), (WHOLE,), DEFAULT_BUDGETS, beta=1)
    stream = made_stream(args.calls, max(args.calls * 691 // 17_800, 1))
    for kinds in (1, len(KEEPINGS)):
        took = seconds(partial(bounds, stream, ("pfoo_l",), KEEPINGS[:kinds], DEFAULT_BUDGETS, beta=1), args.runs)
        print(f"pfoo_l, {kinds * len(DEFAULT_BUDGETS)} bounds at once, with K*: {took:.2f} s")
    unit = 1 if sys.platform == "darwin" else 1024
    print(f"peak with the stream in memory: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e9:.2f} GB")
    starts = np.flatnonzero(stream.next_use < stream.calls)
    costs = stream.tokens[starts] * (stream.next_use[starts] - starts)
    print(f"np.sort of {len(costs):,} costs: {seconds(partial(np.sort, costs), args.runs):.2f} s")
    took = seconds(partial(bounds, stream, ("pfoo_u",), (WHOLE,), parse_budgets(["10%"]), beta=1), 1)
    print(f"pfoo_u, one budget: {took:.2f} s")


if __name__ == "__main__":
    main()
