"""Routes, agreement with the log, resampled sessions and hours, on an engine's workers: the same as in this process."""

from __future__ import annotations

from pathlib import Path

import pytest
from metrics_rows import Census, call

from metrics.core.engine import SpreadingEngine
from replay.residency.bootstrap import resampled_here, resampled_spread
from replay.residency.budgets import parse_budgets
from replay.residency.cells import Plan, cells_here, cells_spread
from replay.residency.comparison import Agreement
from replay.residency.hours import hours_here, hours_of, hours_spread
from replay.residency.resampling import Bootstrap
from replay.residency.routing.options import DEFAULT_ROUTING
from replay.residency.routing.routed import routed_here, routed_spread
from replay.residency.stream_file import extract_stream


@pytest.mark.both_engines(duckdb=False)
def test_workers_replay_what_this_process_does(census: Census, tmp_path: Path) -> None:
    trace = census.trace(
        call(f"s{n % 23}", n * 97 % 9001, 50 + n * n % 40, cached=None if n % 7 == 0 else n % 3, model="ab"[n % 2],
             deployment=None if n % 11 == 0 else "wxyz"[n // 3 % 4]) for n in range(200))
    path = tmp_path / "stream.arrow"
    stream = extract_stream(trace, "window", path)
    plan = Plan("window", ("session", "session+model"), ("lru", "mrr"), parse_budgets(["20%", "50%"]), "last",
                bootstrap=Bootstrap(3, 5))
    assert isinstance(census.engine, SpreadingEngine)
    routed = routed_here(plan, DEFAULT_ROUTING, stream, 3, threads=1)
    assert routed_spread(census.engine, plan, DEFAULT_ROUTING, path, 3) == routed
    assert len({route.unlimited.misses for route in routed}) > 1
    here = cells_here(plan, stream, 3, threads=1, beside_log=True)
    assert cells_spread(census.engine, plan, path, 3, beside_log=True) == here
    agreed = [Agreement.total((cell.beside_log or {}).values()) for cell in [*here.cells["session"],
                                                                              *here.cells["session+model"]]]
    assert len(agreed) == 8
    assert {cell.calls for cell in agreed} == {171}
    resampled = resampled_here(plan, stream, 3, threads=1)
    assert resampled_spread(census.engine, plan, path, 3) == resampled
    assert len({replicate.misses for some in resampled.bootstrap.values() for replicate in some}) > 1
    hours = hours_of(trace)
    replayed = hours_here(plan, stream, hours, 3, threads=1)
    assert hours_spread(census.engine, plan, path, hours, 3) == replayed
    assert [hour.calls for hour in replayed] == [hour.cells["session+model"][1].calls for hour in replayed]
    assert len(replayed) == 3
