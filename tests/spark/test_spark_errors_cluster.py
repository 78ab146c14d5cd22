"""What a failing job says when the failure crosses processes: executors of a cluster."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cluster import Cluster

pytest.importorskip("pyspark", reason="pyspark is not installed: pip install -c constraints.txt -e '.[spark]'")

from metrics.engines.spark_errors import spark_errors
from telemetry.errors import InputError, KvcensusError


@pytest.fixture(scope="module")
def spark(driver: Any, cluster: Cluster) -> Iterator[Any]:
    from pyspark import cloudpickle

    cloudpickle.register_pickle_by_value(sys.modules[__name__])  # executors cannot import a test
    with driver.session(cluster.url, {"spark.executor.memory": "512m"}) as session:
        yield session
    cloudpickle.unregister_pickle_by_value(sys.modules[__name__])


def failure(spark: Any, function: Any) -> KvcensusError:
    """The error of a job of one task."""
    with pytest.raises(KvcensusError) as raised, spark_errors("replays"):
        spark.sparkContext.parallelize([0], 1).map(function).collect()
    assert "\n" not in str(raised.value)
    return raised.value


def test_an_error_of_ours(spark: Any) -> None:
    def bad(_: object) -> None:
        raise InputError("calls.csv, row 3: wrong. Mend it.")
    error = failure(spark, bad)
    assert type(error) is InputError
    assert str(error) == "calls.csv, row 3: wrong. Mend it."


def test_a_file_that_executors_do_not_see(spark: Any, tmp_path: Path) -> None:
    place = tmp_path / "calls"
    spark.range(10).coalesce(1).write.parquet(str(place))
    frame = spark.read.parquet(str(place))
    for part in place.glob("part-*"):
        part.unlink()
    with pytest.raises(InputError) as raised, spark_errors("reading"):
        frame.collect()
    assert str(raised.value).startswith("reading: a file or folder is not there, or not for the executors (")
    assert f"{place}/part-00000" in str(raised.value)


def test_out_of_memory(spark: Any) -> None:
    with pytest.raises(InputError) as raised, spark_errors("metrics"):
        spark.sql("select length(repeat('x', 1000000000 + cast(id as int))) from range(1)").collect()
    assert str(raised.value).startswith("metrics: Spark ran out of memory (OutOfMemoryError")
    assert "--executor-memory" in str(raised.value)


def test_an_executor_that_is_lost(spark: Any) -> None:
    def kill(_: object) -> None:
        with open(f"/proc/{os.getppid()}/stat") as stat:
            os.kill(int(stat.read().rpartition(")")[2].split()[1]), signal.SIGKILL)
    error = failure(spark, kill)
    assert type(error) is InputError
    assert str(error).startswith("replays: executors were lost (ExecutorLostFailure (executor ")
