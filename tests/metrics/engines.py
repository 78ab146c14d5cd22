"""The engines that tests run on."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest

from metrics.core.engine import Engine
from metrics.engines.duckdb import DuckEngine

__all__ = ["ENGINES"]


@contextmanager
def _duckdb(scratch: Path) -> Iterator[Engine]:
    engine = DuckEngine(scratch, threads=1)
    try:
        yield engine
    finally:
        engine.close()


@contextmanager
def _spark(scratch: Path) -> Iterator[Engine]:
    sys.path.append(str(Path(__file__).resolve().parents[1] / "spark"))
    from cluster import QUICK, missing

    lacking = missing()
    if lacking is not None:
        pytest.skip(lacking)
    from metrics.engines.spark import SparkEngine
    from metrics.engines.spark_session import LOGGING, open_session

    session = open_session(threads=1, memory_mb=1024, settings={
        "spark.driver.extraJavaOptions": f"{LOGGING} {QUICK}", "spark.sql.warehouse.dir": str(scratch / "warehouse")})
    engine = SparkEngine(session, scratch.as_uri())
    try:
        yield engine
    finally:
        engine.close()
        session.stop()


ENGINES: dict[str, Callable[[Path], AbstractContextManager[Engine]]] = {"duckdb": _duckdb, "spark": _spark}
