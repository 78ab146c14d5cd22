"""Turns a minute of the tier simulator on one core, by policy, on the reference workload `swe`.

    python benchmarks/bench_tier.py                  a tier of 8 GB: every store is refused, or evicts
    python benchmarks/bench_tier.py --dram 64        everything fits

Processor time of the simulation alone: sessions are drawn before, metrics and intervals are left out. The ratio is of
the medians, against `lru` in the same run.
"""

from __future__ import annotations

import argparse
import statistics
import time

from kvcensus_gate import known_policies
from replay.tier.condition import Condition
from replay.tier.platform import load_server
from replay.tier.simulate import simulate
from replay.tier.workload import reference


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dram", type=int, default=8, help="GB of the tier")
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    server, workload = load_server("h100-tenure").server, reference("swe", 1)
    took: dict[str, list[float]] = {name: [] for name in known_policies()}
    for _ in range(given.rounds):
        for name, times in took.items():
            began = time.process_time()
            simulate(workload, server, Condition(name, given.dram * 10**9), 1)
            times.append(time.process_time() - began)
    lru = statistics.median(took["lru"])
    print(f"{workload.turns:,} turns, a tier of {given.dram} GB, median of {given.rounds}")
    for name, times in took.items():
        median = statistics.median(times)
        print(f"{name:24} {60 * workload.turns / median:12,.0f} turns/min  {median / lru:5.2f} x the time of lru")


if __name__ == "__main__":
    main()
