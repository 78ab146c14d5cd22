"""Decisions a second of each tier policy, with 100,000 resident blocks, as a ratio against LRU in the same run.

    python benchmarks/bench_gate.py                  the tier is full: every store evicts
    python benchmarks/bench_gate.py --fits           the tier holds everything: no policy has anything to decide
    python benchmarks/bench_gate.py --shared 20      every session begins with the same 20 blocks

A decision is one block stored, evicted or refused. Sessions come, take some turns and end; each turn shows its whole
context, as vLLM does, loads what the tier holds of it, and offers the rest. The live sessions fit into the tier, so
that the gate stores and evicts as many blocks as LRU does. Policies take turns, and the ratio is of the medians.
"""

from __future__ import annotations

import argparse
import random
import statistics
import time
from collections import deque
from collections.abc import Iterator
from itertools import islice

from kvcensus_gate import Hints, Lookup, Tier, known_policies, make_tier

TURNS = 6
FIRST, GROWTH = 112, 16
"""Blocks of a session's first context, and how many each turn adds."""
GAP_US = 6_000_000
BLOCKS = FIRST + GROWTH * (TURNS - 1)


class Session:
    """A session of a synthetic client: the keys of its context so far."""

    def __init__(self, number: int, shared: int):
        self.id = f"session {number}"
        self.turn = 0
        self.keys = list(range(shared)) + [(number + 1 << 20) + at for at in range(FIRST - shared)]

    def advance(self) -> bool:
        """To the next turn; False when there is none."""
        self.turn += 1
        start = self.keys[-1] + 1
        self.keys += range(start, start + GROWTH)
        return self.turn < TURNS


class Clock:
    """Simulated microseconds."""

    def __init__(self) -> None:
        self.now_us = 0

    def __call__(self) -> int:
        return self.now_us


def turns(live: int, shared: int, seed: int) -> Iterator[tuple[int, Session, bool]]:
    """(time between turns, session, whether it ends): `live` sessions, each replaced as it ends."""
    order = random.Random(seed)
    waiting = deque(Session(number, shared) for number in range(live))
    made = live
    while True:
        session = waiting.popleft()
        last = session.turn == TURNS - 1
        yield GAP_US // live, session, last
        session.advance()
        if last:
            session = Session(made, shared)
            made += 1
        # Not quite in turn: gaps differ.
        waiting.insert(len(waiting) - order.randrange(max(live // 4, 1)), session)


def turn(tier: Tier, number: int, session: Session, last: bool) -> None:
    """One request, from its arrival to its end."""
    request, keys = f"request {number}", session.keys
    tier.begin(request, Hints(session.id, session.turn, GAP_US, last))
    tier.touch(request, keys, whole=True)
    found = 0
    while found < len(keys) and tier.lookup(keys[found]) is Lookup.HIT:
        found += 1
    tier.prepare_load(request, keys[:found])
    tier.complete_load(keys[:found])
    plan = tier.prepare_store(request, keys[found:])
    tier.complete_store(plan.store)
    tier.finish(request)


def decisions(tier: Tier) -> int:
    """Blocks stored, evicted and refused so far."""
    counters = tier.counters
    return counters.stored + sum(counters.evicted.values()) + sum(counters.refused.values())


def measure(name: str, resident: int, count: int, shared: int, fits: bool) -> tuple[float, int, Tier]:
    """Seconds of `count` turns, the decisions in them, and the tier; after the tier has filled."""
    live = resident * 9 // 10 // BLOCKS
    capacity = resident + (count + 4 * live) * BLOCKS if fits else resident
    clock = Clock()
    tier = make_tier(name, capacity, clock)
    traffic = enumerate(turns(live, shared, seed=1))

    def run(turns: int) -> None:
        for number, (gap_us, session, last) in islice(traffic, turns):
            clock.now_us += gap_us
            turn(tier, number, session, last)

    run(2 * TURNS * live)
    before = decisions(tier)
    began = time.perf_counter()
    run(count)
    return time.perf_counter() - began, decisions(tier) - before, tier


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description="measure the tier policies against LRU")
    parser.add_argument("--resident", type=int, default=100_000, metavar="N", help="blocks that the tier holds")
    parser.add_argument("--turns", type=int, default=3000, help="turns measured, after the tier has filled")
    parser.add_argument("--shared", type=int, default=0, metavar="N", help="leading blocks that all sessions share")
    parser.add_argument("--fits", action="store_true", help="a tier that holds everything")
    parser.add_argument("--runs", type=int, default=3)
    storing = ",".join(name for name in known_policies() if name != "none")
    parser.add_argument("--policies", default=storing, metavar="P,...")
    args = parser.parse_args()
    names = list(dict.fromkeys(["lru", *args.policies.split(",")]))
    runs: dict[str, list[tuple[float, int, Tier]]] = {name: [] for name in names}
    for _ in range(args.runs):
        for name in names:
            runs[name].append(measure(name, args.resident, args.turns, args.shared, args.fits))
    times = {name: statistics.median(seconds for seconds, _, _ in runs[name]) for name in names}
    print(f"{'policy':24} {'k decisions/s':>13} {'us/turn':>8} {'time / lru':>10} {'stored':>9} {'evicted':>9} "
          f"{'refused':>9} {'resident':>9}")
    for name in names:
        _, made, tier = runs[name][-1]
        counters = tier.counters
        print(f"{name:24} {made / times[name] / 1000:13,.0f} {times[name] / args.turns * 1e6:8,.0f} "
              f"{times[name] / times['lru']:10.2f} {counters.stored:9,} {sum(counters.evicted.values()):9,} "
              f"{sum(counters.refused.values()):9,} {tier.resident:9,}")


if __name__ == "__main__":
    main()
