"""The engine is a fixture: every test body runs on each engine named here.

One engine serves all tests, as starting one takes longer than most tests do; each trace replaces the tables of
the one before.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from metrics_rows import Census

from metrics.core.engine import Engine
from metrics.engines.duckdb import DuckEngine


def _duckdb(scratch: Path) -> Engine:
    return DuckEngine(scratch, threads=1)


def _spark(scratch: Path) -> Engine:
    pytest.importorskip("pyspark", reason="pip install 'kvcensus[spark]' to test on Spark")
    from metrics.engines.spark import SparkEngine
    from metrics.engines.spark_session import open_session

    return SparkEngine(open_session(threads=2), scratch.as_uri())


ENGINES = {"duckdb": _duckdb, "spark": _spark}


@pytest.fixture(scope="session", params=sorted(ENGINES))
def engine(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    made = ENGINES[request.param](tmp_path_factory.mktemp(request.param))
    try:
        yield made
    finally:
        made.close()


@pytest.fixture(scope="session")
def census(engine: Engine) -> Census:
    return Census(engine)
