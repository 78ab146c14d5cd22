"""Spark: the same SQL on one machine or a cluster, every table a folder of files.

A table is written once and read from there: a lost executor costs the tasks that it ran and changes
no number, and memory does not grow with the calls.
"""

from __future__ import annotations

import itertools
import re
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.fs
import pyarrow.parquet as pq

from metrics.core.engine import Sink
from telemetry.places import locate

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["SparkDialect", "SparkEngine"]

Part = TypeVar("Part")
Result = TypeVar("Result")

#: The format of what Spark itself writes.
_OF_THE_JVM = "orc"

#: Bytes of a table for which a shuffle gets one task more, where nothing adapts it at run time: what is sorted
#: stays near the processor, and does not spill.
_A_TASK = 1 << 26
#: Rows of a row group.
_ROWS_AT_ONCE = 1 << 18


class SparkDialect:
    """How Spark spells what engines spell differently."""

    name = "spark"
    hash_names_session = True  # a number would take a join, and so a shuffle of all calls
    sums_in_buckets = True  # a window without partitions runs in one task

    def div(self, numerator: str, denominator: str | int) -> str:
        return f"(({numerator}) div ({denominator}))"

    def hash64(self, expression: str) -> str:
        return f"xxhash64({expression})"

    def explode(self, expression: str) -> str:
        return f"explode({expression})"

    def element(self, expression: str, index: str) -> str:
        return f"get({expression}, cast({index} as int) - 1)"

    def length(self, expression: str) -> str:
        return f"size({expression})"

    def last_known(self, value: str) -> str:
        return f"lag({value}) ignore nulls"


class SparkEngine:
    """One Spark session.

    Parameters
    ----------
    session : SparkSession
        Made by `metrics.engines.spark_session`; it stays open when the engine closes.
    work : str
        URI of an existing private folder that the driver and every executor can read and write.
    """

    def __init__(self, session: SparkSession, work: str) -> None:
        self.dialect = SparkDialect()
        self.session = session
        self._root = f"{work.rstrip('/')}/tables"
        self._folders: dict[str, str] = {}
        self._serial = itertools.count()
        self._adapts = session.conf.get("spark.sql.adaptive.enabled") == "true"

    def load(self, name: str, schema: pa.Schema, batches: Iterable[pa.RecordBatch], columns: str = "*") -> None:
        folder = self._new(name)
        with _writer(folder, 0, schema) as write:
            for batch in batches:
                write(batch)
        self._adopt(name, self.session.read.parquet(_pattern(folder)).selectExpr(*_select_list(columns)), folder)

    def put(self, name: str, table: pa.Table) -> None:
        self.drop(name)
        self.session.createDataFrame(table).createOrReplaceTempView(name)

    def spread(self, tables: Mapping[str, pa.Schema], parts: Sequence[Part],
               read: Callable[[Part, Mapping[str, Sink]], Result]) -> list[Result]:
        folders = {name: self._new(name) for name in tables}

        def run(place: int, part: Part) -> Result:
            with ExitStack() as files:
                return read(part, {name: files.enter_context(_writer(folder, place, tables[name]))
                                   for name, folder in folders.items()})

        results = self._tasks(parts, run)
        for name, folder in folders.items():
            self._adopt(name, self.session.read.parquet(_pattern(folder)), folder)
        return results

    def files(self, name: str) -> list[str]:
        folder = self._folders[name]
        names = (entry.base_name for entry in _entries(folder))
        return sorted(f"{folder}/{name}" for name in names if name.startswith("part-"))

    def scatter(self, parts: Sequence[Part], work: Callable[[Part, Path], Result], file: Path) -> list[Result]:
        self.session.sparkContext.addFile(str(file))
        name = file.name

        def run(_: int, part: Part) -> Result:
            from pyspark import SparkFiles

            return work(part, Path(SparkFiles.get(name)))

        return self._tasks(parts, run)

    def create(self, name: str, query: str) -> None:
        self._write(name, self.session.sql(query))

    def number(self, name: str, query: str, column: str) -> None:
        # Distinct in every task that may write a part; which row gets which number is nobody's business.
        self._write(name, self.session.sql(query).selectExpr("*", f"monotonically_increasing_id() as {column}"))

    def view(self, name: str, query: str) -> None:
        self.session.sql(query).createOrReplaceTempView(name)

    def drop(self, name: str) -> None:
        self.session.catalog.dropTempView(name)
        folder = self._folders.pop(name, None)
        if folder is not None:
            self._remove(folder)

    def fetch(self, query: str) -> pa.Table:
        table: pa.Table = self.session.sql(query).toArrow()
        return table

    def rows(self, query: str) -> list[dict[str, Any]]:
        result: list[dict[str, Any]] = self.fetch(query).to_pylist()
        return result

    def row(self, query: str) -> dict[str, Any]:
        rows = self.rows(query)
        if len(rows) != 1:
            raise RuntimeError(f"expected one row, got {len(rows)}: {query}")
        return rows[0]

    def explaining(self, doing: str) -> AbstractContextManager[None]:
        from metrics.engines.spark_errors import spark_errors

        return spark_errors(doing)

    def close(self) -> None:
        self._folders.clear()
        self._remove(self._root)

    def _tasks(self, parts: Sequence[Part], run: Callable[[int, Part], Result]) -> list[Result]:
        """A task a part; results in order of the parts."""
        tasks = self.session.sparkContext.parallelize(list(enumerate(parts)), max(len(parts), 1))
        results: list[Result] = tasks.map(lambda task: run(*task)).collect()
        return results

    def _write(self, name: str, frame: DataFrame) -> None:
        folder = self._new(name)
        # The JVM writes ORC in two thirds of the time that it takes for Parquet, and reads both as fast.
        frame.write.format(_OF_THE_JVM).option("compression", "none").save(_literal(folder))
        self._adopt(name, self.session.read.format(_OF_THE_JVM).schema(frame.schema).load(_pattern(folder)), folder)

    def _new(self, name: str) -> str:
        """A folder of its own for each table that was ever made: a query may read what it replaces."""
        return f"{self._root}/{name}-{next(self._serial)}"

    def _adopt(self, name: str, seen: DataFrame, folder: str) -> None:
        """Name what a folder holds, and remove what had the name before."""
        before = self._folders.get(name)
        seen.createOrReplaceTempView(name)
        self._folders[name] = folder
        if not self._adapts:
            self._fit(sum(entry.size for entry in _entries(folder)))
        if before is not None:
            self._remove(before)

    def _fit(self, size: int) -> None:
        """As many tasks a shuffle as a table of this many bytes takes; never fewer than before."""
        name, wanted = "spark.sql.shuffle.partitions", -(-size // _A_TASK)
        if wanted > int(self.session.conf.get(name) or 0):
            self.session.conf.set(name, wanted)

    def _remove(self, folder: str) -> None:
        """By Arrow, as the JVM may be gone when an engine is closed."""
        system, path = locate(folder)
        with suppress(FileNotFoundError):
            system.delete_dir(path)


@contextmanager
def _writer(folder: str, place: int, schema: pa.Schema) -> Iterator[Sink]:
    """A sink into one file of a table's folder.

    Arrow writes the file itself, several times as fast as rows through the JVM; only the time has statistics, as
    only it is filtered by. The file gets its name when it is whole: a task that is run twice writes the same rows
    twice, and the later one replaces the earlier.
    """
    system, path = locate(folder)
    system.create_dir(path, recursive=True)
    partial = f"{path}/_{place}-{uuid.uuid4().hex}"
    # A file without rows still has its columns.
    with pq.ParquetWriter(partial, schema, filesystem=system, compression="snappy", use_dictionary=_repetitive(schema),
                          write_statistics=[name for name in schema.names if name == "t_us"]) as writer:
        waiting: list[pa.RecordBatch] = []

        def write(batch: pa.RecordBatch) -> None:
            waiting.append(batch)
            if sum(len(held) for held in waiting) >= _ROWS_AT_ONCE:
                flush()

        def flush() -> None:
            writer.write_table(pa.Table.from_batches(waiting, schema))
            waiting.clear()

        yield write
        flush()
    _rename(system, partial, f"{path}/part-{place:06d}.parquet")


def _repetitive(schema: pa.Schema) -> list[str]:
    """Columns with few values, or the same ones again and again; 64-bit numbers are times, places and amounts."""
    return [f"{item.name}.list.element" if pa.types.is_list(item.type) else item.name
            for item in schema if item.type != pa.int64()]


def _rename(system: pa.fs.FileSystem, before: str, after: str) -> None:
    """Where a store cannot rename, a copy appears as a whole too."""
    try:
        system.move(before, after)
    except NotImplementedError:
        system.copy_file(before, after)
        system.delete_file(before)


def _literal(folder: str) -> str:
    """A folder as Hadoop takes it: without the escapes that a URI of this machine has."""
    return unquote(folder) if folder.startswith("file:") else folder


def _pattern(folder: str) -> str:
    """The same where Hadoop would take some characters for a pattern."""
    return re.sub(r"([\\{}\[\]*?])", r"\\\1", _literal(folder))


def _entries(folder: str) -> list[pa.fs.FileInfo]:
    system, path = locate(folder)
    found: list[pa.fs.FileInfo] = system.get_file_info(pa.fs.FileSelector(path))
    return found


def _select_list(columns: str) -> list[str]:
    return [part.strip() for part in columns.split(",")]
