"""The main job: from an input to a results store and a report for each window."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

from metrics.catalogue import METRICS
from metrics.core import audit as audits
from metrics.core.clock import Window, iso
from metrics.core.engine import Engine
from metrics.core.ingest import Ingested, ingest
from metrics.core.metric import measure
from metrics.core.store import FORMAT_VERSION, Results, StoreWriter
from metrics.core.trace import Settings, Trace
from metrics.engines.duckdb import DuckEngine
from pipelines.options import Options
from pipelines.outdir import OutputFolder, write_error
from pipelines.progress import Progress
from replay.residency.stream_file import extract_stream
from replay.residency.study import declared, study
from report_templates.render import render_index, render_report
from telemetry.adapter import DefectLog, Source
from telemetry.errors import InputError
from telemetry.sources import content_hash, expand

__all__ = ["Outcome", "characterize"]

_VERSIONED = ("duckdb", "numba", "numpy", "pyarrow", "matplotlib")
_STAGES_A_WINDOW = 4


@dataclass(frozen=True)
class Outcome:
    """What a run made: the folder of each window, the windows without calls, the page to open."""

    windows: tuple[Path, ...]
    empty: tuple[str, ...]
    page: Path
    seconds: dict[str, float]
    log: DefectLog


@dataclass(frozen=True)
class _Job:
    """What every window of a run shares."""

    options: Options
    engine: Engine
    sources: list[Source]
    log: DefectLog
    ingested: Ingested
    settings: Settings
    work: Path
    digest: Future[str]
    started: float
    progress: Progress

    @property
    def threads(self) -> int:
        return self.options.threads or os.cpu_count() or 1


def characterize(options: Options, progress: Progress | None = None) -> Outcome:
    """Run the main job.

    Raises
    ------
    UsageError, InputError
        With a message for the user; nothing half-written is left.
    """
    started = time.time()
    progress = progress or Progress(2 + _STAGES_A_WINDOW)
    out = OutputFolder(options.out)
    sources = expand(options.inputs, options.adapter.suffixes)
    log = DefectLog(strict=options.strict)
    with _work_folder(options.work) as work, ThreadPoolExecutor(1) as pool:
        digest = pool.submit(content_hash, sources)
        engine = DuckEngine(work, threads=options.threads, memory_limit=options.memory_limit)
        try:
            with progress.stage("reading", f"{len(sources)} file{'s' if len(sources) != 1 else ''}"):
                batches = progress.counted(options.adapter.read(sources, options.read, log))
                ingested = ingest(engine, batches, options.config.rules, event_log=options.adapter.event_log)
            job = _Job(options, engine, sources, log, ingested, _settings(options), work, digest, started, progress)
            out.prepare()
            return _windows(job, out)
        finally:
            engine.close()


def _settings(options: Options) -> Settings:
    whole = options.adapter.whole_sessions or options.config.whole_sessions
    return Settings(options.geometry, options.clock, options.config.rules, whole_sessions=whole, names=options.names)


def _windows(job: _Job, out: OutputFolder) -> Outcome:
    """Every window, then the index of a split."""
    options, ingested = job.options, job.ingested
    windows = [options.window or Window("all")]
    if options.split_us is not None:
        windows = options.clock.split(ingested.first_us, ingested.last_us, options.split_us)
    done, empty = [], []
    for window in windows:
        trace = Trace(job.engine, window, job.settings)
        if trace.empty:
            empty.append(window.name)
            continue
        _one(job, trace, out)
        done.append(window.name)
    if not done:
        raise InputError(f"no call lies in the window; the input's calls start from {iso(ingested.first_us)} to "
                         f"{iso(ingested.last_us)}.")
    page = out.path / done[0] / "report.html"
    if options.split_us is not None:
        lines = [(name, f"{name}/report.html", Results.open(out.path / name)) for name in done]
        out.write("index.html", render_index(options.name, lines))
        page = out.path / "index.html"
    return Outcome(tuple(out.path / name for name in done), tuple(empty), page, job.progress.seconds, job.log)


def _one(job: _Job, trace: Trace, out: OutputFolder) -> None:
    """One window, from its calls to its report; the manifest comes last."""
    options, name = job.options, trace.window.name
    shown = f"of {name}" if options.split_us is not None else ""
    with out.window(name) as folder:
        store = StoreWriter(folder, options.command)
        with job.progress.stage("ordering calls", shown):
            trace.derive()
        with job.progress.stage("metrics", shown):
            for metric in METRICS:
                store.add(metric.numbers, measure(metric, trace), metric.population)
            account = audits.audit(trace, job.ingested, job.log, len(job.sources))
            store.add(audits.NUMBERS, account.findings(), "records of the input")
            store.write_audit(account.as_json())
        with job.progress.stage("replays", shown):
            _replays(job, trace, store)
        store.write_numbers()
        with job.progress.stage("report", shown):
            manifest = _manifest(job, trace)
            page = render_report(Results.preview(folder, manifest))
            (folder / "report.html").write_text(page, encoding="utf-8")
        store.write_manifest({**manifest, "wall_s": round(time.time() - job.started, 3)})


def _replays(job: _Job, trace: Trace, store: StoreWriter) -> None:
    plan = job.options.plan
    why = trace.lacks("sessioned")
    stream = None
    if why is None:
        stream = extract_stream(trace, plan.stream, job.work / f"stream-{trace.window.name}-{plan.stream}.arrow")
    found = study(plan, stream, job.settings.beta, job.threads, why or "")
    store.add(declared(plan), found, f"calls with a session id in the stream {plan.stream}")


def _manifest(job: _Job, trace: Trace) -> dict[str, Any]:
    options, zone, adapter = job.options, job.settings.clock.zone, job.options.adapter
    start, end = trace.window.start_us, trace.window.end_us
    return {
        "format_version": FORMAT_VERSION,
        "kvcensus_version": metadata.version("kvcensus"),
        "name": options.name,
        "window": {
            "name": trace.window.name, "tz": zone.key,
            "start": iso(trace.profile.first_us if start is None else start, zone),
            "end": iso(trace.profile.last_us if end is None else end, zone),
        },
        "input": {"format": adapter.name, "files": len(job.sources), "sha256": job.digest.result(),
                  "bytes": sum(source.path.stat().st_size for source in job.sources)},
        "configuration": _configuration(options),
        "versions": {name: metadata.version(name) for name in _VERSIONED},
        "started": datetime.fromtimestamp(job.started, UTC).isoformat(timespec="seconds"),
        "command": options.command,
        "notes": [*adapter.notes, *_arrival_notes(options)],
        "derived": dict(adapter.derived),
    }


def _configuration(options: Options) -> dict[str, Any]:
    timestamp, plan = options.read.timestamp, options.plan
    return {
        "columns": dict(options.read.columns),
        "timestamp": {"unit": timestamp.unit, "zone": timestamp.zone, "epoch_us": timestamp.epoch_us},
        "context_excludes_cached": options.read.context_excludes_cached,
        "whole_sessions": options.config.whole_sessions or options.adapter.whole_sessions,
        "classes": [[rule.substring, rule.conservative, rule.broad] for rule in options.config.rules],
        "geometry": {"name": options.geometry.name, "bytes_per_token": options.geometry.bytes_per_token,
                     "source": options.geometry.source},
        "replay": {"stream": plan.stream, "keys": list(plan.keys), "policies": list(plan.policies),
                   "budgets": [budget.label for budget in plan.budgets], "release": plan.release},
        "names": options.names, "strict": options.strict,
    }


def _arrival_notes(options: Options) -> list[str]:
    arrivals = options.read.arrivals
    if arrivals is None:
        return []
    return [f"Arrivals are synthetic: sessions start as a Poisson process of {arrivals.rate:g} a second, seed "
            f"{arrivals.seed}. How many sessions live at once, every ceiling and every replay depend on this rate; "
            "within a session all times are as recorded."]


@contextmanager
def _work_folder(path: Path | None) -> Iterator[Path]:
    """A private folder: the user's, kept, or a temporary one, removed."""
    try:
        if path is None:
            temporary = Path(tempfile.mkdtemp(prefix="kvcensus-"))
            try:
                yield temporary
            finally:
                shutil.rmtree(temporary, ignore_errors=True)
            return
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.chmod(0o700)
    except OSError as error:
        raise write_error(path or Path(tempfile.gettempdir()), error) from error
    yield path
