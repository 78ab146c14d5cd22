"""The engine is a fixture: every test body runs on each engine named here."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from metrics_rows import Census

from metrics.core.engine import Engine
from metrics.engines.duckdb import DuckEngine


def _duckdb(scratch: Path) -> Engine:
    return DuckEngine(scratch, threads=2)


ENGINES = {"duckdb": _duckdb}


@pytest.fixture(params=sorted(ENGINES))
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Engine]:
    made = ENGINES[request.param](tmp_path)
    try:
        yield made
    finally:
        made.close()


@pytest.fixture
def census(engine: Engine) -> Census:
    return Census(engine)
