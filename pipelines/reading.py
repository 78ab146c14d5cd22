"""From the files of an input to its rows in an engine, and from calls to the stream that is replayed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from metrics.core.engine import Engine, SpreadingEngine
from metrics.core.ingest import Ingested, first_repeat, ingest
from metrics.core.loading import Loaded, spread, stream
from metrics.core.log import Settings
from metrics.core.trace import Trace
from pipelines.engines import open_engine
from pipelines.options import Options
from pipelines.progress import Progress
from pipelines.workdir import written
from replay.residency.cells import Plan
from replay.residency.sampling import draw_sample
from replay.residency.stream_file import StreamFile, extract_stream
from telemetry.adapter import DefectLog, Source
from telemetry.errors import InputError, escaped
from telemetry.sources import content_hash

__all__ = ["Read", "read_calls", "write_stream"]


@dataclass(frozen=True)
class Read:
    """An input that was read.

    Attributes
    ----------
    engine : Engine
        Holds its calls, or events.
    ingested : Ingested
    settings : Settings
    digest : Future of str
        Its hash, which is still computed.
    """

    engine: Engine
    ingested: Ingested
    settings: Settings
    digest: Future[str]


@contextmanager
def read_calls(options: Options, sources: list[Source], log: DefectLog, work: Path,
               progress: Progress) -> Iterator[Read]:
    """Read an input into an engine, which is closed at the end of the block; `work` is a private folder.

    Raises
    ------
    UsageError, InputError
        With a message for the user.
    """
    with _background() as pool:
        digest = pool.submit(content_hash, sources)
        with open_engine(options, work) as engine:
            files = f"{len(sources)} file{'s' if len(sources) != 1 else ''}"
            with progress.stage("reading", files), engine.explaining("reading"):
                loaded = _load(engine, options, sources, log, progress)
                ingested = ingest(engine, loaded, options.config.rules, options.adapter.rows)
                if options.plan.sample is not None:
                    draw_sample(engine, ingested.identity, options.plan.sample)
            if options.strict and not options.adapter.repeats_calls and ingested.defects.get("duplicate"):
                raise _repeats(engine, ingested, sources)
            yield Read(engine, ingested, _settings(options), digest)


def write_stream(trace: Trace, plan: Plan, work: Path) -> tuple[Path, StreamFile]:
    """The stream of a window to replay, in the work folder.

    Raises
    ------
    InputError
        As `extract_stream`, and when it cannot be written.
    """
    drawn = "" if plan.sample is None else f"-sample-{plan.sample.label}-{plan.sample.seed}"
    path = work / f"stream-{trace.window.name}-{plan.stream.replace(':', '-')}{drawn}.arrow"
    with written(path):
        return path, extract_stream(trace, plan.stream, path, plan.sample)


def _load(engine: Engine, options: Options, sources: list[Source], log: DefectLog, progress: Progress) -> Loaded:
    """Read the input where the engine reads best."""
    if isinstance(engine, SpreadingEngine) and options.adapter.pieces is not None:
        return spread(engine, options.adapter, sources, options.read, log)
    return stream(engine, progress.counted(options.adapter.batches(sources, options.read, log)), options.adapter.rows)


def _repeats(engine: Engine, ingested: Ingested, sources: Sequence[Source]) -> InputError:
    """Duplicates as an error of a strict run: only the whole input shows them."""
    rank, row = first_repeat(engine)
    source, count = sources[rank], ingested.defects["duplicate"]
    return InputError(f"{escaped(source.name)}, {source.row(row)}: duplicate, the same call recorded again ({count:,} "
                      "such in all). Take the repeats out, or run without --strict to set such rows aside.")


@contextmanager
def _background() -> Iterator[ThreadPoolExecutor]:
    """A thread beside the run; a run that fails does not wait for it."""
    pool = ThreadPoolExecutor(1)
    try:
        yield pool
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _settings(options: Options) -> Settings:
    whole = options.adapter.whole_sessions or options.config.whole_sessions
    return Settings(options.geometry, options.clock, options.config.rules, whole_sessions=whole, names=options.names)
