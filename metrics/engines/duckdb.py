"""DuckDB: everything on one machine, spilling to a scratch folder when memory runs short."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from types import FrameType
from typing import Any

import duckdb
import pyarrow as pa

from telemetry.errors import InputError, KvcensusError

__all__ = ["DuckDialect", "DuckEngine"]


class DuckDialect:
    """How DuckDB spells what engines spell differently."""

    name = "duckdb"
    hash_names_session = False  # sorting by a number of 20 bits is cheaper than by one of 64
    sums_in_buckets = False  # one process; its streaming window is several times faster than partitions

    def div(self, numerator: str, denominator: str | int) -> str:
        return f"(({numerator}) // ({denominator}))"

    def hash64(self, expression: str) -> str:
        return f"hash({expression})"

    def explode(self, expression: str) -> str:
        return f"unnest({expression})"

    def element(self, expression: str, index: str) -> str:
        return f"list_extract({expression}, {index})"

    def length(self, expression: str) -> str:
        return f"len({expression})"

    def last_known(self, value: str) -> str:
        return f"lag({value} ignore nulls)"


class DuckEngine:
    """One DuckDB connection.

    Parameters
    ----------
    scratch : Path
        An existing private folder for what does not fit in memory.
    threads : int or None
        None lets DuckDB take every core.
    memory_limit : str or None
        Such as `8GB`: the engine's own memory, the rest is spilled.
    """

    def __init__(self, scratch: Path, *, threads: int | None = None, memory_limit: str | None = None) -> None:
        self.dialect = DuckDialect()
        self._scratch = scratch
        config: dict[str, Any] = {
            "temp_directory": str(scratch / "spill"),
            # Order is stated in every query that needs it; keeping it elsewhere costs memory.
            "preserve_insertion_order": "false",
            # Nothing is fetched or loaded behind the user's back.
            "autoinstall_known_extensions": "false",
            "autoload_known_extensions": "false",
        }
        if threads is not None:
            config["threads"] = threads
        if memory_limit is not None:
            config["memory_limit"] = memory_limit
        self._connection = duckdb.connect(":memory:", config=config)
        self._connection.execute("set timezone = 'UTC'")

    def load(self, name: str, schema: pa.Schema, batches: Iterable[pa.RecordBatch], columns: str = "*") -> None:
        failure: list[BaseException] = []

        def guarded() -> Iterator[pa.RecordBatch]:
            # An exception that crosses the C stream loses its type; it is raised again below.
            try:
                yield from batches
            except GeneratorExit:  # the engine has closed the stream
                raise
            except BaseException as error:
                failure.append(error)
                raise

        reader = pa.RecordBatchReader.from_batches(schema, guarded())
        self._connection.register("incoming", reader)
        try:
            self._execute(f"create or replace table {name} as select {columns} from incoming")
        except Exception:
            if failure:
                raise failure[0] from None
            raise
        finally:
            self._connection.unregister("incoming")

    def put(self, name: str, table: pa.Table) -> None:
        self.load(name, table.schema, table.to_batches())

    def create(self, name: str, query: str) -> None:
        self._execute(f"create or replace table {name} as {query}")

    def number(self, name: str, query: str, column: str) -> None:
        self.create(name, f"select *, row_number() over () as {column} from ({query}) as rows_to_number")

    def view(self, name: str, query: str) -> None:
        self._execute(f"create or replace view {name} as {query}")

    def drop(self, name: str) -> None:
        kind = self._connection.execute(
            "select table_type from information_schema.tables where table_name = ?", [name]
        ).fetchone()
        if kind is not None:
            self._execute(f"drop {'view' if kind[0] == 'VIEW' else 'table'} {name}")

    def fetch(self, query: str) -> pa.Table:
        return self._guard(lambda: self._connection.sql(query).to_arrow_table())

    def rows(self, query: str) -> list[dict[str, Any]]:
        result: list[dict[str, Any]] = self.fetch(query).to_pylist()
        return result

    def row(self, query: str) -> dict[str, Any]:
        rows = self.rows(query)
        if len(rows) != 1:
            raise RuntimeError(f"expected one row, got {len(rows)}: {query}")
        return rows[0]

    def explaining(self, doing: str) -> AbstractContextManager[None]:
        return nullcontext()  # every query is explained where it runs

    def close(self) -> None:
        self._connection.close()

    def _execute(self, statement: str) -> None:
        self._guard(lambda: self._connection.execute(statement))

    def _guard(self, action: Any) -> Any:
        """Run, unless it is stopped; DuckDB turns the KeyboardInterrupt of a handler into an error of its own."""
        with _interrupting(self._connection) as stopped:
            try:
                result = self._translated(action)
            except Exception:
                if stopped:
                    raise KeyboardInterrupt from None
                raise
        if stopped:
            raise KeyboardInterrupt
        return result

    def _translated(self, action: Any) -> Any:
        """Run; what a user can act on (memory, disk) becomes an error that says how."""
        try:
            return action()
        except duckdb.OutOfMemoryException as error:
            raise InputError(
                f"the engine ran out of memory or scratch space in {self._scratch} ({_first_line(error)}). Give it "
                "more with --memory-limit, or a --work folder on a disk with more room."
            ) from error
        except duckdb.IOException as error:
            raise InputError(
                f"the engine could not use its scratch space in {self._scratch} ({_first_line(error)}). "
                "Choose a --work folder on a disk with room."
            ) from error
        except duckdb.OutOfRangeException as error:
            raise KvcensusError(f"an exact integer result does not fit: {_first_line(error)}") from error


@contextmanager
def _interrupting(connection: Any) -> Iterator[list[int]]:
    """Let handlers of SIGINT and SIGTERM that raise end the query too; gives the signals that did.

    On its own DuckDB runs a query to its end before it raises.
    """
    stopped: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield stopped
        return
    handlers = {which: signal.getsignal(which) for which in (signal.SIGINT, signal.SIGTERM)}

    def stop(signum: int, frame: FrameType | None) -> None:
        before = handlers[signal.Signals(signum)]
        try:
            if callable(before):
                before(signum, frame)
        except BaseException:
            stopped.append(signum)
            connection.interrupt()
            raise

    ours = [which for which, before in handlers.items() if callable(before)]
    try:
        for which in ours:
            signal.signal(which, stop)
        yield stopped
    finally:
        for which in ours:
            signal.signal(which, handlers[which])


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0]
