"""What the tests of Spark share; each is skipped by name where Java or pyspark is missing.

A Java process takes long to start, so tests share two: the cluster, and the driver in this process, whose sessions
come and go. Where a test is about a process (its exit code, what it prints), it submits one.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from cluster import HOST, LOGGING, Cluster, jvm_options, missing, standalone_cluster, without_spark


@pytest.fixture(scope="session")
def spark_here() -> None:
    """Skips, saying what to install, where Spark cannot run."""
    lacking = missing()
    if lacking is not None:
        pytest.skip(lacking)


@pytest.fixture(scope="session")
def cluster(spark_here: None) -> Iterator[Cluster]:
    with standalone_cluster() as made:
        yield made


class Driver:
    """Sessions in this process, one at a time."""

    def __init__(self, folder: Path, patch: pytest.MonkeyPatch) -> None:
        for name in os.environ.keys() - without_spark().keys():
            patch.delenv(name)
        (folder / "log4j2.properties").write_text(LOGGING.format(level="off"), encoding="utf-8")
        patch.setenv("SPARK_CONF_DIR", str(folder))
        patch.setenv("SPARK_LOCAL_IP", HOST)
        self._folder, self._patch = folder, patch

    @contextmanager
    def session(self, master: str, settings: Mapping[str, str] | None = None, *,
                python: str | Path = sys.executable) -> Iterator[Any]:
        """A session; `python` is that of its executors."""
        from pyspark.sql import SparkSession

        path = [*sys.path]
        self._patch.setenv("PYSPARK_PYTHON", str(python))
        fixed = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false",
                 "spark.driver.bindAddress": HOST, "spark.driver.host": HOST, "spark.sql.shuffle.partitions": "2",
                 "spark.driver.extraJavaOptions": jvm_options(self._folder),
                 "spark.executor.extraJavaOptions": jvm_options(self._folder),
                 "spark.sql.warehouse.dir": str(self._folder / "warehouse"), "spark.local.dir": str(self._folder),
                 "spark.task.maxFailures": "1",
                 "spark.scheduler.minRegisteredResourcesRatio": "1.0",
                 "spark.scheduler.maxRegisteredResourcesWaitingTime": "10s"}
        made = SparkSession.builder.master(master).config(map={**fixed, **(settings or {})}).getOrCreate()
        try:
            yield made
        finally:
            made.stop()
            sys.path[:] = path  # files that a session brings go with it


@pytest.fixture(scope="session")
def driver(spark_here: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Driver]:
    with pytest.MonkeyPatch.context() as patch:
        yield Driver(tmp_path_factory.mktemp("driver"), patch)


@pytest.fixture(scope="session")
def bare_python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of an environment with nothing in it."""
    folder = tmp_path_factory.mktemp("bare")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    return folder / "bin" / "python"
