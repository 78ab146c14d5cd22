"""The idle-cap sweep in SQL is the replay of that cap under a budget that never bites.

Both count the same calls: a session's first one, and each that follows a gap longer than the cap. Under `last` an
object leaves after its last call, which nobody misses; under `never` it stays, and K*, the budget, has room for it. So
the two agree under both.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from metrics_rows import DAY, HOUR, MINUTE, Census, Row, call

from metrics.core.classes import DEFAULT_RULES
from metrics.core.clock import Window
from metrics.core.ingest import ingest
from metrics.core.loading import stream
from metrics.core.metric import measure
from metrics.core.trace import Settings, Trace
from metrics.idle_cap import CAPS, METRIC
from replay.residency.budgets import parse_budgets
from replay.residency.replay import replay
from replay.residency.stream_file import extract_stream
from telemetry.adapter import DefectLog, ReadOptions
from telemetry.registry import find_adapter
from telemetry.sources import expand

SECOND_US = 1_000_000
SAMPLE = Path(__file__).parents[2] / "sample_data" / "calls.csv.gz"
#: Cap -> policy; without a cap it is LRU.
POLICIES = {name: "lru" if cap is None else f"ttl_{name}" for name, cap in CAPS.items()}


def agree(trace: Trace) -> dict[str, float]:
    """The reconstruction rate by cap, after both have given the same."""
    found = measure(METRIC, trace)
    runs = {row["theta"]: row["runs"] for row in found.tables["idle_cap"].to_pylist()}
    with tempfile.TemporaryDirectory() as folder:
        calls = extract_stream(trace, "window", Path(folder) / "stream.arrow").stream("session")
        for release in ("last", "never"):
            cells = replay(calls, list(POLICIES.values()), parse_budgets(["100%"]), release, beta=1)
            assert {name: cell.misses for name, cell in zip(POLICIES, cells, strict=True)} == runs
            rates = {name: cell.reconstruction_rate for name, cell in zip(POLICIES, cells, strict=True)}
            assert rates == {name: found.numbers[f"idle_cap.{name}.reconstruction"].value for name in CAPS}
    return rates


def at_gaps(session: str, gaps_us: Sequence[int], start: float = 0) -> list[Row]:
    """Calls of a session with these gaps."""
    rows = [call(session, start, 10)]
    for gap in gaps_us:
        rows.append(call(session, 0, 10) | {"t_us": rows[-1]["t_us"] + gap})
    return rows


def test_gaps_as_long_as_the_caps_and_a_microsecond_longer(census: Census) -> None:
    caps = [cap for cap in CAPS.values() if cap is not None]
    assert caps == [seconds * SECOND_US for seconds in (MINUTE, 5 * MINUTE, 15 * MINUTE, HOUR, 6 * HOUR, DAY)]
    # 8 + 7 calls of two sessions: of the second, gap i is as long as cap i; of the first it is longer by 1 us.
    rows = at_gaps("a", [0, *(cap + 1 for cap in caps)]) + at_gaps("b", caps, start=5)
    assert agree(census.trace(rows)) == {
        "1m": (7 + 6) / 15, "5m": (6 + 5) / 15, "15m": (5 + 4) / 15, "1h": (4 + 3) / 15, "6h": (3 + 2) / 15,
        "1d": (2 + 1) / 15, "inf": 2 / 15}


def test_many_sessions_at_a_time(census: Census) -> None:
    # a leaves after 60 s of idling while b goes on; c comes once, at the time of another call, with nothing.
    rows = [call("a", 0, 10), call("b", 0, 3), call("b", 60, 4), call("a", 61, 5), call("b", 61, 1), call("c", 61, 0)]
    assert agree(census.trace(rows)) == {"1m": 4 / 6, **dict.fromkeys(list(CAPS)[1:], 3 / 6)}


GAPS = st.one_of(st.integers(0, 2 * DAY * SECOND_US),
                 *(st.integers(cap - 1, cap + 1) for cap in CAPS.values() if cap is not None))


@given(st.lists(st.tuples(st.lists(GAPS, max_size=8), st.integers(0, 7200)), min_size=1, max_size=5))
@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_random_sessions(census: Census, sessions: list[tuple[list[int], int]]) -> None:
    agree(census.trace([row for place, (gaps, start) in enumerate(sessions)
                        for row in at_gaps(f"s{place}", gaps, start)]))


@pytest.mark.slow
def test_the_sample(census: Census) -> None:
    adapter = find_adapter("calls")
    batches = adapter.batches(expand([str(SAMPLE)], adapter.suffixes), ReadOptions(), DefectLog())
    ingested = ingest(census.engine, stream(census.engine, batches), DEFAULT_RULES)
    trace = Trace(census.engine, ingested, Window("all"), Settings())
    trace.derive()
    rates = agree(trace)
    assert list(rates) == list(CAPS)
    assert sorted(rates.values(), reverse=True) == list(rates.values())
    assert rates["1m"] > rates["1h"] > rates["inf"] > 0
