"""A look at the executors before the job: can they run our code, and is it the code of the driver?

A package that executors lack would end the job somewhere in its middle with a trace of Java and Python. The
look costs one task a core, and what it imports stays loaded for the tasks that follow.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any, TypedDict

from metrics.engines.spark_errors import EXECUTOR_PYTHON, spark_errors
from telemetry.errors import UsageError

__all__ = ["OURS", "PACKAGES", "probe"]

#: What executors import; versions must be those of the driver, as the same bytes are promised on each engine.
PACKAGES = ("numpy", "numba", "pyarrow")
#: Our own packages, compared by the bytes of their sources.
OURS = ("telemetry", "metrics", "replay", "pipelines")

_GROUP = "kvcensus-probe"
_NOBODY = ("no executor came in {seconds:.0f} s: the cluster has no free cores, or no worker with as much memory as is "
           "asked for. Look at what runs on it, or ask for less with --total-executor-cores and --executor-memory of "
           "spark-submit.")


class _Seen(TypedDict):
    """What one Python found: its host and version, package -> version, and what it lacks."""

    host: str
    python: str
    versions: dict[str, str]
    sources: str
    problems: list[str]


def probe(spark: Any, seconds: float = 120) -> tuple[str, ...]:
    """Run a small job on every executor that is there; returns their hosts.

    Parameters
    ----------
    spark : SparkSession
    seconds : float
        How long to wait until there is an executor. One that is slow to unpack its files is waited for.

    Raises
    ------
    UsageError
        When no executor comes; when one lacks a package, or has another version of Python (major.minor), of a
        package, or of ours than the driver. The message says which host lacks what, and what to do.
    """
    look = _looker(PACKAGES, OURS)
    here = next(look([]))
    context = spark.sparkContext
    slots = max(int(context.defaultParallelism), 1)

    def job() -> list[_Seen]:
        context.setJobGroup(_GROUP, "look at the executors", interruptOnCancel=True)
        seen: list[_Seen] = context.parallelize(range(slots), slots).mapPartitions(look).collect()
        return seen

    with spark_errors("looking at the executors"), ThreadPoolExecutor(1) as pool:
        try:
            seen = _result(pool.submit(job), context, seconds)
        except BaseException:
            context.cancelJobGroup(_GROUP)
            raise
    problems = _problems(seen, here)
    if problems:
        raise UsageError(f"the executors cannot run kvcensus as the driver does. {' '.join(problems)} "
                         f"{EXECUTOR_PYTHON}.")
    return tuple(sorted({one["host"] for one in seen}))


def _result(job: Future[list[_Seen]], context: Any, seconds: float) -> list[_Seen]:
    """The job's result, as long as anybody works on it: Spark itself would wait for an executor for ever."""
    end = time.monotonic() + seconds
    while not wait([job], timeout=1).done:
        if time.monotonic() > end and not _executors(context):
            raise UsageError(_NOBODY.format(seconds=seconds))
    return job.result()


def _executors(context: Any) -> int:
    """How many executors there are; the driver counts when it is one."""
    known = int(context._jsc.sc().getExecutorMemoryStatus().size())
    return known if context.master.startswith("local") else known - 1


def _problems(seen: Iterable[_Seen], here: _Seen) -> list[str]:
    """A sentence a host that differs from the driver."""
    by_host: dict[str, list[str]] = {}
    for one in seen:
        known = by_host.setdefault(one["host"], [])
        known += [problem for problem in _differences(one, here) if problem not in known]
    return [f"On {host}: {', '.join(problems)}." for host, problems in sorted(by_host.items()) if problems]


def _differences(one: _Seen, here: _Seen) -> Iterator[str]:
    yield from one["problems"]
    if one["python"] != here["python"]:
        yield f"Python {one['python']} where the driver has {here['python']}"
    for package, version in one["versions"].items():
        if version != here["versions"].get(package, version):
            yield f"{package} {version} where the driver has {here['versions'][package]}"
    if one["sources"] and one["sources"] != here["sources"]:
        yield "kvcensus in another version than the driver's"


def _looker(packages: Sequence[str], ours: Sequence[str]) -> Any:
    """The function that looks; nested, as Spark sends such a one by value: it must run where we are not installed."""

    def look(_: Iterable[int]) -> Iterator[_Seen]:
        import hashlib
        import importlib
        import socket
        import sys
        from importlib import resources

        versions, problems, absent = {}, [], []
        for package in packages:
            try:
                versions[package] = str(importlib.import_module(package).__version__)
            except ModuleNotFoundError as error:
                problems.append(f"{package} is missing" if error.name == package else f"{package} lacks {error.name}")
            except Exception as error:  # a library that does not load, versions that do not go together
                problems.append(f"{package} cannot be imported ({type(error).__name__}: {error})")
        digest = hashlib.sha256()
        for package in ours:
            try:
                folders = [resources.files(package)]
            except ModuleNotFoundError:
                absent.append(package)
                continue
            while folders:
                entries = sorted(folders.pop().iterdir(), key=lambda entry: entry.name)
                for entry in entries:
                    if entry.name.endswith(".py"):
                        digest.update(entry.name.encode() + entry.read_bytes())
                # Packages only: another distribution may have its place in a folder of ours.
                folders += [entry for entry in entries if entry.joinpath("__init__.py").is_file()]
        if absent:
            problems.append(f"kvcensus itself is missing ({', '.join(absent)})")
        yield {"host": socket.gethostname(), "python": f"{sys.version_info.major}.{sys.version_info.minor}",
               "versions": versions, "sources": "" if absent else digest.hexdigest(), "problems": problems}

    return look
