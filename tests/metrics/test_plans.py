"""What Spark does with our SQL: nothing in Python, and nothing large in one place.

Every query of a whole window is run, and the plan that was executed is inspected, with the number of rows that
went through each exchange. Small tables may be brought together; what grows with the calls may not.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from metrics_rows import Census, call

from metrics.catalogue import METRICS
from metrics.core.audit import audit
from metrics.core.metric import measure
from telemetry.adapter import DefectLog

CALLS, SESSIONS = 3000, 150
#: Rows that may meet in one task: hours, days, models, deployments, partial sums.
FEW = 100
_PYTHON = ("Python", "Arrow", "Pandas")


def nodes(plan: Any) -> Iterator[Any]:
    """A physical plan and all below it, subqueries included."""
    yield plan
    for children in (plan.children(), plan.subqueries()):
        for place in range(children.size()):
            yield from nodes(children.apply(place))


def rows_through(node: Any) -> int:
    return int(node.metrics().apply("shuffleRecordsWritten").value())


@pytest.fixture
def several_tasks(census: Census) -> Iterator[None]:
    """As on a cluster: in one task everything would be together anyway."""
    conf = census.engine.session.conf  # type: ignore[attr-defined]
    names = ("spark.sql.shuffle.partitions", "spark.sql.files.minPartitionNum")
    before = {name: conf.get(name, None) for name in names}
    for name in before:
        conf.set(name, "3")
    yield
    for name, value in before.items():
        conf.set(name, value) if value is not None else conf.unset(name)


@pytest.mark.both_engines(duckdb=False)
@pytest.mark.usefixtures("several_tasks")
def test_every_query_of_a_window(census: Census, monkeypatch: pytest.MonkeyPatch) -> None:
    session, engine = census.engine.session, type(census.engine)  # type: ignore[attr-defined]
    ran: list[tuple[str, Any]] = []

    def run(frame: Any, query: str) -> Any:
        table = frame.toArrow()
        ran.append((query, frame._jdf.queryExecution().executedPlan()))
        return table

    write = engine._write

    def written(self: Any, name: str, frame: Any) -> None:
        run(frame, name)
        write(self, name, frame)

    monkeypatch.setattr(engine, "fetch", lambda _, query: run(session.sql(query), query))
    monkeypatch.setattr(engine, "_write", written)
    ingested = census.ingest(
        call(f"s{n % SESSIONS}" if n % 50 else None, n * 7 % 100_003, 100 + n % 900, cached=n % 100, output=n % 9,
             model=("opus", "mini", "reason")[n % 3], turn=str(n // 400), region="rs"[n % 2],
             deployment="de"[n // 7 % 2], seconds=n % 40, id=str(n // 2 if n < 100 else n))
        for n in range(CALLS))
    trace = census.derived(ingested)
    for metric in METRICS:
        measure(metric, trace)
    audit(trace, ingested, DefectLog(), 1)

    assert len(ran) > 60
    stages = [(query, node.nodeName()) for query, plan in ran for node in nodes(plan)]
    assert [(query, name) for query, name in stages if any(word in name for word in _PYTHON)] == []
    single = [(query, rows_through(node)) for query, plan in ran for node in nodes(plan)
              if node.nodeName() == "Exchange" and node.outputPartitioning().toString() == "SinglePartition"]
    assert len(single) > 20  # totals of partial sums: the check can see one
    assert [(query, rows) for query, rows in single if rows > FEW] == []
