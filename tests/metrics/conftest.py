"""The engine is a fixture: every test body runs on DuckDB, and those marked `both_engines` on Spark, too.

One engine serves all tests, as starting one takes longer than most tests do; each trace replaces the tables of
the one before. A statement takes Spark a good part of a second whatever its size, so it runs one or two tests of
each metric, and whole random traces in tests/spark.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from engines import ENGINES
from metrics_rows import Census

from metrics.core.engine import Engine


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "engine" in metafunc.fixturenames:
        marker = metafunc.definition.get_closest_marker("both_engines")
        names = ["duckdb"] if marker is None or marker.kwargs.get("duckdb", True) else []
        metafunc.parametrize("engine", [*names, *(["spark"] if marker is not None else [])], indirect=True,
                             scope="package")


@pytest.fixture(scope="package")
def engine(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    with ENGINES[request.param](tmp_path_factory.mktemp(request.param)) as made:
        yield made


@pytest.fixture(scope="package")
def census(engine: Engine) -> Census:
    return Census(engine)
