"""Which engine computes, and how it is opened for a run."""

from __future__ import annotations

import logging
import os
import signal
import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from metrics.core.engine import Engine
from pipelines.workdir import work_tables
from telemetry.errors import UsageError
from telemetry.places import StorePath

if TYPE_CHECKING:
    from pipelines.options import Options

__all__ = ["ENGINES", "default_engine", "open_engine"]

ENGINES = ("duckdb", "spark")
_LEAST_MB = 512  # Spark itself asks for 450 MiB


def default_engine() -> str:
    """Spark under spark-submit, else DuckDB."""
    return "spark" if "PYSPARK_GATEWAY_PORT" in os.environ else "duckdb"


@contextmanager
def open_engine(options: Options, work: Path) -> Iterator[Engine]:
    """The engine of a run, closed at its end; `work` is a private folder.

    Raises
    ------
    UsageError
        When the engine is not installed, or its workers cannot do the work.
    """
    with _spark(options, work) if options.engine == "spark" else _duckdb(options, work) as engine:
        try:
            with engine.explaining("the run"):  # what fails between stages
                yield engine
        finally:
            engine.close()


@contextmanager
def _duckdb(options: Options, work: Path) -> Iterator[Engine]:
    from metrics.engines.duckdb import DuckEngine

    yield DuckEngine(work, threads=options.threads, memory_limit=options.memory_limit)


@contextmanager
def _spark(options: Options, work: Path) -> Iterator[Engine]:
    """A session that was there stays open; one made here is stopped."""
    try:
        from pyspark.sql import SparkSession

        from metrics.engines.spark import SparkEngine
        from metrics.engines.spark_errors import spark_errors
        from metrics.engines.spark_session import open_session
        from pipelines.executors import probe
    except ImportError as error:
        raise UsageError("--engine spark needs PySpark and Java 17: pip install 'kvcensus[spark]'.") from error
    if options.memory_mb is not None and options.memory_mb < _LEAST_MB:
        raise UsageError(f"--memory-limit {options.memory_limit}: Spark starts with {_LEAST_MB} MiB at least.")
    ours = SparkSession.getActiveSession() is None
    with _tables(options, work) as tables, _quiet():
        with spark_errors("starting Spark"), _own_signals():
            session = open_session(threads=options.threads, memory_mb=options.memory_mb)
        try:
            probe(session)
            yield SparkEngine(session, tables)
        finally:
            if ours:
                with suppress(Exception):  # it may have been stopped already, together with its JVM
                    session.stop()


@contextmanager
def _tables(options: Options, work: Path) -> Iterator[str]:
    """URI of the folder for Spark's tables: the work folder, or where the user has one in a store."""
    if isinstance(options.work, StorePath):
        with work_tables(options.work) as uri:
            yield uri
    else:
        yield work.resolve().as_uri()


@contextmanager
def _quiet() -> Iterator[None]:
    """A stop ends a job in its middle: that the JVM's answers are missing then is no news for stderr."""
    from pyspark import accumulators

    told = logging.root.manager.disable
    logging.disable()
    for server in vars(accumulators).values():
        if isinstance(server, type) and issubclass(server, socketserver.BaseServer):  # its thread loses the JVM, too
            server.handle_error = lambda *_: None  # type: ignore[method-assign]
    try:
        yield
    finally:
        logging.disable(told)


@contextmanager
def _own_signals() -> Iterator[None]:
    """Spark sets a handler for Ctrl-C of its own; ours ends a run as everywhere else."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
