"""Whole random traces on both engines: every number, table, count and replay stream is the same."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from engines import ENGINES
from hypothesis import HealthCheck, given, settings
from metrics_rows import Census, Row, call
from test_against_reference import differences, traces

from metrics.catalogue import METRICS
from metrics.core.audit import audit
from metrics.core.metric import measure
from replay.residency.stream_file import extract_stream
from telemetry.adapter import DefectLog

_SPARK = pytest.mark.both_engines(duckdb=False)


@pytest.fixture(scope="module")
def duckdb(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Census]:
    with ENGINES["duckdb"](tmp_path_factory.mktemp("beside")) as engine:
        yield Census(engine)


def everything(census: Census, rows: list[Row], folder: Path) -> dict[str, Any]:
    """All that a window of these rows publishes, and the stream that is replayed."""
    ingested = census.ingest(rows)
    trace = census.derived(ingested)
    found: dict[str, Any] = {"audit": audit(trace, ingested, DefectLog(), 1).as_json()}
    for metric in METRICS:
        findings = measure(metric, trace)
        found |= findings.numbers | {name: table.to_pylist() for name, table in findings.tables.items()}
    if trace.profile.sessioned:
        stream = extract_stream(trace, "window", folder / f"{census.engine.dialect.name}.arrow").table
        # Which number a model or a deployment got is nobody's business.
        found["stream"] = stream.drop_columns(["model", "deployment"]).to_pydict()
    return found


@_SPARK
@settings(max_examples=2, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
@given(rows=traces().filter(lambda rows: len(rows) > 15 and any(row["defect"] is None for row in rows)))
def test_random_traces(census: Census, duckdb: Census, tmp_path: Path, rows: list[Row]) -> None:
    theirs, ours = everything(duckdb, rows, tmp_path), everything(census, rows, tmp_path)
    assert {key: (ours.get(key), value) for key, value in theirs.items() if ours.get(key) != value} == {}
    assert ours.keys() == theirs.keys()


@_SPARK
def test_a_trace_with_everything_against_the_reference(census: Census) -> None:
    rows = [
        call(None if n % 13 == 0 else "abcdef"[n * n % 6], n // 3 * 40 + n % 2 * n * n, 100 + 37 * (n % 11) ** 2,
             cached=None if n % 7 == 0 else 90 * (n % 4), output=n % 5,
             model=(None, "opus", "llama", "reason", "opus")[n * n % 5],
             turn=None if n % 9 == 0 else str(n // 8), region=None if n % 10 == 0 else "rs"[n // 20 % 2],
             deployment=None if n % 8 == 0 else "de"[n // 6 % 2], seconds=None if n % 17 == 0 else n % 60,
             id=None if n % 3 else str(n // 9), failed=None)
        for n in range(1, 120)]
    assert len({row["call_id"] for row in rows}) < 40  # repeats
    assert differences([{"source_rank": 0, "source_row": place, "defect": None, "parent_session_id": None,
                         "prefix_keys": None, "block_size": None, "user_initiated": None, **row}
                        for place, row in enumerate(rows, start=1)], census) == {}


@_SPARK
def test_two_sessions_that_share_a_hash_are_two(census: Census, monkeypatch: pytest.MonkeyPatch) -> None:
    # Of all ids: then sessions are numbered, as on DuckDB.
    monkeypatch.setattr(type(census.engine.dialect), "hash64", lambda _, text: f"cast(length({text}) as bigint)")
    trace = census.trace([call("a", 0), call("b", 1), call("a", 2), call("cc", 3)])
    assert sorted(row["calls"] for row in trace.rows("select calls from sessions")) == [1, 1, 2]
    assert trace.rows("select count(distinct session) as n from steps") == [{"n": 3}]
