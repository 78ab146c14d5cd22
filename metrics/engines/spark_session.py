"""The Spark session that the metrics run in, and why it is set as it is."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["LOGGING", "open_session"]

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

#: What suits the work: set where neither the user nor the cluster says anything.
_USUAL = {
    "spark.app.name": "kvcensus",
    # A batch job has its own progress, and a page in a browser is one more open port.
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    # Each query is code that runs once: what the JVM compiles in small methods is fast sooner. A second, smaller
    # hash table before each aggregate is more code, and of little use where groups are few or very many.
    "spark.sql.codegen.methodSplitThreshold": "200",
    "spark.sql.codegen.aggregate.map.twolevel.enabled": "false",
}

#: On one machine nothing has to be reached from elsewhere.
_LOCAL = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    # What is shuffled does not travel: it is read from where it was written, mostly from memory.
    "spark.shuffle.compress": "false",
}
_MOST_HEAP = 8 << 30

#: Nobody waits for a single answer, so pauses of the collector do not matter, and its total cost does. Code that runs
#: for a second or two is compiled for less: inlined and unrolled as usual, compiling takes as long as the work itself.
_JVM = ("-XX:+IgnoreUnrecognizedVMOptions -XX:+UseParallelGC -XX:FreqInlineSize=100 -XX:InlineSmallCode=1000 "
        "-XX:MaxInlineLevel=9 -XX:LoopUnrollLimit=10 -XX:-PartialPeelLoop -XX:-UseSuperWord")

#: For the JVM: errors come back as exceptions, and its log says nothing more.
LOGGING = f"-Dlog4j2.configurationFile={Path(__file__).with_name('log4j2.properties').as_uri()}"


def open_session(*, threads: int | None = None, memory_mb: int | None = None,
                 settings: Mapping[str, str] | None = None) -> SparkSession:
    """The session of this process; what spark-submit or the cluster's defaults set is kept.

    Parameters
    ----------
    threads : int or None
        Cores of a local session; None takes every one.
    memory_mb : int or None
        Heap of a local session in MiB; None takes two fifths of the machine's memory, at most 8 GiB.
    settings : mapping of str to str
        More of them, as usual ones.
    """
    from pyspark import SparkConf, SparkContext
    from pyspark.sql import SparkSession

    submitted = "PYSPARK_GATEWAY_PORT" in os.environ
    if submitted:  # only a conf made after this sees what spark-submit was given
        SparkContext._ensure_initialized()
    given = SparkConf()
    master = given.get("spark.master", None) or f"local[{threads or '*'}]"
    wanted = {"spark.master": master, **_USUAL, **(settings or {})}
    if master.startswith("local"):
        wanted = {**_local(threads, memory_mb), **wanted}
    for name, value in wanted.items():
        given.setIfMissing(name, value)
    for name, value in _FIXED.items():
        given.set(name, value)
    session: SparkSession = SparkSession.builder.config(conf=given).getOrCreate()
    if submitted:  # the JVM runs already, with a log of its own
        session.sparkContext.setLogLevel("OFF")
    return session


def _local(threads: int | None, memory_mb: int | None) -> dict[str, str]:
    # Workers are this Python, and find the packages where this process finds them.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    heap = memory_mb or min(_MOST_HEAP, _memory() * 2 // 5) >> 20
    return {
        **_LOCAL,
        "spark.driver.memory": f"{heap}m",
        "spark.driver.extraJavaOptions": f"{LOGGING} {_JVM}",
        "spark.executorEnv.PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
        # As many tasks as cores, until a table needs more. To adapt them at run time costs each query a third of
        # its time.
        "spark.sql.shuffle.partitions": str(threads or os.cpu_count() or 1),
        "spark.sql.adaptive.enabled": "false",
    }


def _memory() -> int:
    """The machine's memory in bytes."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
