"""A call log, or an event log, as the relations that metrics read, for SQL of one's own in a notebook or a script.

    with open_trace("sample_data/research", config="sample_data/research/classes.toml") as trace:
        trace.rows("select calls, count(*) as sessions from sessions group by calls order by calls")
        measure(DEPTH, trace).numbers["depth.p50"].value

`calls` is every used call, `steps` every call of a session beside its neighbours there, `sessions` one row a session,
`models` the names and classes of models (metrics/core/steps.py and metrics/core/names.py say each column). An event log
has `events`, `event_steps` and `event_sessions` in their place (metrics/core/event_steps.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from metrics.core.clock import Window
from metrics.core.event_log import EventLog
from metrics.core.geometry import GEOMETRIES, Geometry
from metrics.core.ingest import Ingested, ingest
from metrics.core.loading import stream
from metrics.core.log import Settings
from metrics.core.trace import Trace
from metrics.engines.duckdb import DuckEngine
from pipelines.config import Config, load_config
from pipelines.streams import tell
from pipelines.workdir import work_folder
from telemetry.adapter import Adapter, Arrivals, DefectLog
from telemetry.errors import UsageError
from telemetry.registry import adapters, find_adapter
from telemetry.schema import CALLS, EVENTS, Rows
from telemetry.sources import expand

__all__ = ["check_rows", "open_events", "open_trace"]

_ALL = Window("all")


@contextmanager
def open_trace(*inputs: str | Path, format: str = "calls", config: Config | Path | str | None = None,
               window: Window = _ALL, geometry: Geometry = GEOMETRIES["llama-2-70b"], arrivals: Arrivals | None = None,
               work: Path | None = None, threads: int | None = None, memory_limit: str | None = None,
               strict: bool = False) -> Iterator[Trace]:
    """A window of a call log on DuckDB, in memory; closed at the end of the block.

    Parameters
    ----------
    inputs : str or Path
        Files, folders or globs, as `kvcensus characterize` takes them.
    format : str
        Of the inputs.
    config : Config, Path, str or None
        What `--config` declares, or its file.
    window : Window
        The calls that are looked at; all by default.
    geometry : Geometry
        Bytes of a token, for the metrics that count bytes.
    arrivals : Arrivals or None
        For a format whose sessions have no place in time.
    work : Path or None
        An existing private folder for what does not fit in memory; None: a temporary one, removed at the end.
    threads : int or None
        None: every core.
    memory_limit : str or None
        Of the engine, such as `8GB`; the rest is spilled to `work`. None: four fifths of the machine's.
    strict : bool
        A record that cannot be used is an error. Otherwise it is set aside, as repeats are in any case, and stderr
        says how many and why.

    Raises
    ------
    UsageError, InputError
        As `kvcensus characterize`, with a message for the user.
    """
    adapter = find_adapter(format)
    check_rows(adapter, CALLS)
    if adapter.needs_arrivals and arrivals is None:
        raise UsageError(f"sessions of the format {adapter.name} have no place in time. Place them with arrivals.")
    known = config if isinstance(config, Config) else load_config(None if config is None else Path(config))
    settings = Settings(geometry, rules=known.rules, whole_sessions=adapter.whole_sessions or known.whole_sessions)
    with _read(inputs, adapter, known, arrivals, work, threads, memory_limit, strict) as (engine, ingested):
        with engine.explaining("reading"):
            trace = Trace(engine, ingested, window, settings)
            trace.derive()
        with engine.explaining("measuring"):
            yield trace


@contextmanager
def open_events(*inputs: str | Path, format: str = "events", config: Config | Path | str | None = None,
                window: Window = _ALL, work: Path | None = None, threads: int | None = None,
                memory_limit: str | None = None, strict: bool = False) -> Iterator[EventLog]:
    """A window of an event log on DuckDB, in memory; closed at the end of the block. As `open_trace`."""
    adapter = find_adapter(format)
    check_rows(adapter, EVENTS)
    known = config if isinstance(config, Config) else load_config(None if config is None else Path(config))
    settings = Settings(whole_sessions=adapter.whole_sessions or known.whole_sessions)
    with _read(inputs, adapter, known, None, work, threads, memory_limit, strict) as (engine, ingested):
        with engine.explaining("reading"):
            log = EventLog(engine, ingested, window, settings)
            log.derive()
        with engine.explaining("measuring"):
            yield log


def check_rows(adapter: Adapter, rows: Rows) -> None:
    """Raise UsageError where a format holds other rows than are asked for."""
    if adapter.rows.name != rows.name:
        others = ", ".join(name for name, other in adapters().items() if other.rows.name == rows.name)
        raise UsageError(f"the format {adapter.name} holds {adapter.rows.name}, and {rows.name} are needed here. "
                         f"Formats that hold {rows.name}: {others}. kvcensus characterize reads both.")


@contextmanager
def _read(inputs: Sequence[str | Path], adapter: Adapter, known: Config, arrivals: Arrivals | None, work: Path | None,
          threads: int | None, memory_limit: str | None, strict: bool) -> Iterator[tuple[DuckEngine, Ingested]]:
    """The rows of an input in an engine of their own."""
    log, sources = DefectLog(strict=strict), expand([str(path) for path in inputs], adapter.suffixes)
    with _scratch(work) as scratch, closing(DuckEngine(scratch, threads=threads, memory_limit=memory_limit)) as engine:
        with engine.explaining("reading"):
            loaded = stream(engine, adapter.batches(sources, known.read(arrivals), log), adapter.rows)
            ingested = ingest(engine, loaded, known.rules, adapter.rows)
        if ingested.defects:
            tell("set aside: " + ", ".join(f"{count:,} {reason}" for reason, count in sorted(ingested.defects.items()))
                 + f", of {ingested.rows:,} records.")
        yield engine, ingested


@contextmanager
def _scratch(work: Path | None) -> Iterator[Path]:
    if work is not None:
        yield work
        return
    with work_folder(None, None) as folder:
        yield folder
