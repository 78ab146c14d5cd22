"""A call log as a user names it: files of one format, and how they are read."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from metrics.core.trace import Trace
from pipelines.config import Config, load_config
from pipelines.opening import check_rows, open_trace
from telemetry.adapter import Adapter, Arrivals, ReadOptions
from telemetry.errors import UsageError, quoted
from telemetry.registry import adapters, find_adapter
from telemetry.schema import CALLS

__all__ = ["CallLog", "add_declared", "add_log", "call_log", "format_help", "opened"]


@dataclass(frozen=True)
class CallLog:
    """A call log.

    Attributes
    ----------
    inputs : tuple of str
        Files, folders or globs.
    adapter : Adapter
    config : Config
    read : ReadOptions
    strict : bool
        Any bad row is an error.
    """

    inputs: tuple[str, ...]
    adapter: Adapter
    config: Config
    read: ReadOptions
    strict: bool = False


def format_help() -> str:
    """What --format says."""
    return f"source format: {', '.join(f'{a.name} ({a.description})' for a in adapters().values())}"


def add_log(parser: argparse.ArgumentParser) -> None:
    """The options that say how a call log is read; its format is `calls` unless another is named."""
    parser.add_argument("--format", default="calls", help=format_help())
    add_declared(parser)


def add_declared(parser: argparse.ArgumentParser) -> None:
    """What a user declares of a call log."""
    parser.add_argument("--config", type=Path, metavar="FILE", help="TOML: column names, timestamps, model classes")
    parser.add_argument("--arrivals", metavar="poisson:RATE[:SEED]",
                        help="synthetic arrivals for formats without: RATE sessions a second")


def call_log(inputs: Sequence[str], given: argparse.Namespace, *, or_events: bool = False) -> CallLog:
    """The call log of a command line that has the options of `add_log`; or an event log, where that will do.

    Raises
    ------
    UsageError
        An unknown format, one that holds no calls, a configuration that cannot be used, arrivals that are missing or
        too many.
    """
    adapter, config = find_adapter(given.format), load_config(given.config)
    if not or_events:
        check_rows(adapter, CALLS)
    arrivals = None if given.arrivals is None else _arrivals(given.arrivals)
    if adapter.needs_arrivals and arrivals is None:
        raise UsageError(f"sessions of the format {adapter.name} have no place in time. Place them with "
                         "--arrivals poisson:RATE[:SEED], RATE in sessions a second.")
    if arrivals is not None and not adapter.needs_arrivals:
        raise UsageError(f"--arrivals: the format {adapter.name} has arrivals of its own.")
    return CallLog(tuple(inputs), adapter, config, config.read(arrivals))


def _arrivals(text: str) -> Arrivals:
    match = re.fullmatch(r"poisson:([0-9]{1,9}(?:\.[0-9]{1,9})?)(?::([0-9]{1,18}))?", text)
    if match is None or float(match[1]) == 0:
        raise UsageError(f"--arrivals {quoted(text)}: write poisson:RATE[:SEED], RATE sessions a second above 0.")
    return Arrivals(float(match[1]), int(match[2] or 0))


@contextmanager
def opened(log: CallLog, work: Path, *, threads: int | None = None,
           memory_limit: str | None = None) -> Iterator[Trace]:  # fmt: skip
    """The whole log as a trace on DuckDB, ready to be measured; `work` is a private folder.

    Raises
    ------
    InputError
        A file that cannot be read, a log in which nothing can be used.
    """
    with open_trace(*log.inputs, format=log.adapter.name, config=log.config, arrivals=log.read.arrivals, work=work,
                    threads=threads, memory_limit=memory_limit, strict=log.strict) as trace:
        yield trace
