"""The Spark session that the metrics run in, and why it is set as it is."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["open_session"]

#: What the numbers depend on: set whatever the user's cluster says.
_FIXED = {
    # Times are integers; no text of a time is ever made by Spark in another zone.
    "spark.sql.session.timeZone": "UTC",
    # A sum that does not fit is an error and no number, as on DuckDB.
    "spark.sql.ansi.enabled": "true",
    # Rows that a task could not read are an error; only the audit may leave out rows.
    "spark.sql.files.ignoreCorruptFiles": "false",
    "spark.sql.files.ignoreMissingFiles": "false",
}

#: What suits the work: set where the user's cluster says nothing.
_USUAL = {
    "spark.app.name": "kvcensus",
    # Few columns of many are read: Arrow moves them between the JVM and Python.
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.parquet.compression.codec": "zstd",
    # A page in a browser is nothing a batch job has to offer.
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}

#: On one machine, where nothing has to be reached from elsewhere.
_LOCAL = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
}


def open_session(*, threads: int | None = None, memory_limit: str | None = None) -> SparkSession:
    """The session of this process; what spark-submit or the cluster's defaults set is kept.

    Parameters
    ----------
    threads : int or None
        Cores of a local session; None takes every one.
    memory_limit : str or None
        Memory of a local session's driver, such as `4g`.
    """
    from pyspark import SparkConf
    from pyspark.sql import SparkSession

    given = SparkConf()
    master = given.get("spark.master", None) or os.environ.get("MASTER") or f"local[{threads or '*'}]"
    settings = {"spark.master": master, **_USUAL}
    if master.startswith("local"):
        cores = threads or os.cpu_count() or 1
        # Every shuffle has at least this many tasks; adaptive execution joins small ones, and splits none.
        settings |= _LOCAL | {"spark.sql.shuffle.partitions": str(2 * cores)}
        # Workers are this Python, and find the packages where this process finds them.
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        settings["spark.executorEnv.PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
        if memory_limit is not None:
            settings["spark.driver.memory"] = memory_limit
    builder = SparkSession.builder
    for name, value in settings.items():
        if not given.contains(name):
            builder = builder.config(name, value)
    for name, value in _FIXED.items():
        builder = builder.config(name, value)
    session: SparkSession = builder.getOrCreate()
    return session
