"""The main job: from an input to a results store and a report for each window."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from metrics.catalogue import EVENT_METRICS, METRICS
from metrics.core.audit import Audit, audit, audit_events, audit_numbers
from metrics.core.clock import Window, iso
from metrics.core.engine import Engine, SpreadingEngine
from metrics.core.event_log import NO_CALLS, EventLog
from metrics.core.ingest import Ingested
from metrics.core.log import Settings
from metrics.core.metric import Findings, Number, measure, withheld
from metrics.core.store import Results, StoreWriter
from metrics.core.trace import Trace
from pipelines.manifest import manifest
from pipelines.options import Options
from pipelines.outdir import OutputFolder, ResultSet
from pipelines.outstore import OutputStore
from pipelines.progress import Progress
from pipelines.reading import read_calls, write_stream
from pipelines.windows import windows_of
from pipelines.workdir import work_folder, written
from replay.cost.sensitivity import TABLE as SENSITIVITY
from replay.cost.sensitivity import sensitivity_rows
from replay.residency.agreement import agreement_study, declared_agreements, no_agreement
from replay.residency.bootstrap import Resampled, resampled_here, resampled_spread
from replay.residency.cells import Plan, cells_here, cells_spread
from replay.residency.hours import hours_here, hours_of, hours_spread
from replay.residency.routing.fleet import fleet_of
from replay.residency.routing.options import Routing
from replay.residency.routing.routed import routed_here, routed_spread
from replay.residency.routing.study import declared_routes, no_routes, routing_study, unroutable
from replay.residency.sampling import EmptySampleError
from replay.residency.stream_file import StreamFile, extract_range
from replay.residency.study import declared, no_study, study
from replay.residency.study_hours import declared_hours, hours_study, no_hours
from report_templates.render import render_index, render_report
from telemetry.adapter import DefectLog, Source
from telemetry.errors import InputError, UsageError
from telemetry.schema import EVENTS
from telemetry.sources import expand

__all__ = ["Outcome", "characterize"]

_STAGES_A_WINDOW = 4
#: Of the bootstrap behind live results.
_LIVE_REPLICATES = 1000


@dataclass(frozen=True)
class Outcome:
    """What a run made: the results of each window, the windows without rows, the page to open.

    The results are for their numbers: their tables have moved, to beside the page.
    """

    windows: tuple[Results, ...]
    empty: tuple[str, ...]
    page: str
    seconds: dict[str, float]
    log: DefectLog


@dataclass(frozen=True)
class _Live:
    """What is published of live results, and the command that measures them anew."""

    numbers: tuple[Number, ...]
    findings: Findings
    command: str


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
    live: _Live | None

    @contextmanager
    def stage(self, name: str, shown: str) -> Iterator[None]:
        with self.progress.stage(name, shown), self.engine.explaining(name):
            yield

    def window(self, window: Window) -> Trace | EventLog:
        """One window of the log."""
        kind = EventLog if self.options.adapter.rows is EVENTS else Trace
        return kind(self.engine, self.ingested, window, self.settings)

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
    progress = progress or Progress()
    out = OutputFolder(options.out) if isinstance(options.out, Path) else OutputStore(options.out)
    sources = expand(options.inputs, options.adapter.suffixes)
    log, live = DefectLog(strict=options.strict), None if options.live is None else _analysed(options.live)
    here = options.work if isinstance(options.work, Path) else None  # else only tables are in a store
    with (out.claimed(), work_folder(here, options.out) as work,
          read_calls(options, sources, log, work, progress) as read):
        job = _Job(options, read.engine, sources, log, read.ingested, read.settings, work, read.digest, started,
                   progress, live)
        windows, empty = windows_of(options, read.engine, read.ingested)
        with out.replaced() as results:
            done = _windows(job, windows, results)
            found = tuple(Results.open(results.partial(name)) for name in done)
    page = "index.html" if options.split_us is not None else f"{done[0]}/report.html"
    skipped = (*empty, *(window.name for window in windows if window.name not in done))
    return Outcome(found, tuple(sorted(skipped)), out.show(page), progress.seconds, log)


def _analysed(folder: Path) -> _Live:
    """Live results in numbers; they need the tier policies."""
    if find_spec("kvcensus_gate") is None:
        raise UsageError("--live needs the tier policies, which are a distribution of their own: pip install "
                         "./replay/gate in the checkout of kvcensus.")
    from replay.live.analysis import analyse
    from replay.live.study import declared_live, live_study

    found = analyse(folder, None, _LIVE_REPLICATES)
    return _Live(declared_live(found), live_study(found), found.asked.command)


def _windows(job: _Job, windows: Sequence[Window], results: ResultSet) -> list[str]:
    """Every window with a row, then the index of a split; returns their names."""
    options, done = job.options, []
    rows = options.adapter.rows
    stages = _STAGES_A_WINDOW + (options.plan.bootstrap is not None) + options.plan.hours
    job.progress.expect(1 + stages * len(windows))
    for window in windows:
        log = job.window(window)
        if not log.empty:
            _one(job, log, results)
            done.append(window.name)
    if not done:
        raise InputError(f"no {rows.one} lies in the window; the input's {rows.name} start from "
                         f"{iso(job.ingested.first_us)} to {iso(job.ingested.last_us)}.")
    if options.split_us is not None:
        lines = [(name, f"{name}/report.html", Results.open(results.partial(name))) for name in done]
        results.index(render_index(options.name, lines))
    return done


def _one(job: _Job, log: Trace | EventLog, results: ResultSet) -> None:
    """One window, from its rows to its report; the manifest comes last."""
    options, name = job.options, log.window.name
    shown = f"of {name}" if options.split_us is not None else ""
    folder = results.window(name)
    store = StoreWriter(folder, options.command)
    with job.stage(f"ordering {options.adapter.rows.name}", shown):
        log.derive()
    with job.stage("metrics", shown):
        account = _calls(job, log, store) if isinstance(log, Trace) else _events(job, log, store)
        store.add(audit_numbers(account.rows), account.findings(), "records of the input")
        store.write_audit(account.as_json())
    with job.stage("replays", shown):
        _replays(job, log, store)
    if isinstance(log, Trace):
        _sensitivity(job, store)
    if job.live is not None:
        store.add(job.live.numbers, job.live.findings, "", command=job.live.command)
    store.write_numbers()
    with job.stage("report", shown):
        made = manifest(options, log, job.sources, job.digest.result(), job.started, live=job.live is not None)
        page = render_report(Results.preview(folder, made))
        (folder / "report.html").write_text(page, encoding="utf-8")
    store.write_manifest({**made, "wall_s": round(time.time() - job.started, 3)})


def _calls(job: _Job, trace: Trace, store: StoreWriter) -> Audit:
    for metric in METRICS:
        store.add(metric.numbers, measure(metric, trace), metric.population)
    return audit(trace, job.ingested, job.log, len(job.sources))


def _events(job: _Job, log: EventLog, store: StoreWriter) -> Audit:
    """What is counted over events, and why nothing else is."""
    for metric in EVENT_METRICS:
        store.add(metric.numbers, measure(metric, log), metric.population)
    for other in METRICS:
        store.add(other.numbers, withheld(other, NO_CALLS), other.population)
    return audit_events(log, job.ingested, job.log, len(job.sources))


def _replays(job: _Job, log: Trace | EventLog, store: StoreWriter) -> None:
    """Policies under budgets, how they agree with the log, and routes."""
    plan, routing = job.options.plan, job.options.routing
    found = _replayed(job, log, plan, routing) if isinstance(log, Trace) else _nothing(plan, routing, NO_CALLS)
    population = f"calls with a session id in the stream {plan.stream}"
    numbers = declared(plan), declared_agreements(plan), declared_routes(plan, routing), declared_hours(plan)
    for those, findings in zip(numbers, found, strict=True):
        store.add(those, findings, population)


def _replayed(job: _Job, trace: Trace, plan: Plan, routing: Routing) -> tuple[Findings, ...]:
    why = trace.lacks("sessioned")
    try:
        return _nothing(plan, routing, why) if why is not None else _studies(job, trace, plan)
    except EmptySampleError as error:
        if job.options.split_us is None:
            raise
        return _nothing(plan, routing, str(error).rstrip("."))  # other windows of the split may have some


def _sensitivity(job: _Job, store: StoreWriter) -> None:
    """Every byte figure under every geometry: of all that was published before."""
    found, replayed = Findings(), store.table("residency_replay")
    rows = [] if replayed is None else replayed.to_pylist()
    found.table(SENSITIVITY, sensitivity_rows(store.numbers, rows, job.settings.beta))
    store.add((), found, "")


def _nothing(plan: Plan, routing: Routing, why: str) -> tuple[Findings, ...]:
    return no_study(plan, why), no_agreement(plan, why), no_routes(plan, routing, why), no_hours(plan, why)


def _studies(job: _Job, trace: Trace, plan: Plan) -> tuple[Findings, ...]:
    beta, unlogged = job.settings.beta, trace.lacks("cached")
    path, stream = write_stream(trace, plan, job.work)
    if isinstance(job.engine, SpreadingEngine):
        replayed = cells_spread(job.engine, plan, path, beta, beside_log=unlogged is None)
    else:
        replayed = cells_here(plan, stream, beta, job.threads, beside_log=unlogged is None)
    agreement = agreement_study(plan, replayed) if unlogged is None else no_agreement(plan, unlogged)
    resampled = _resampled(job, path, stream)
    return (study(plan, stream, replayed, resampled), agreement, _routes(job, plan, path, stream),
            _hours(job, trace, path, stream))


def _resampled(job: _Job, path: Path, stream: StreamFile) -> Resampled | None:
    plan, beta = job.options.plan, job.settings.beta
    if plan.bootstrap is None:
        return None
    with job.stage("bootstrap", f"of {stream.calls:,} calls, {plan.bootstrap}"):
        if isinstance(job.engine, SpreadingEngine):
            return resampled_spread(job.engine, plan, path, beta)
        return resampled_here(plan, stream, beta, job.threads, lambda done, count:
                              job.progress.at(f"bootstrap {done:,} of {count:,} replicates"))


def _hours(job: _Job, trace: Trace, path: Path, stream: StreamFile) -> Findings:
    """Each hour of the day; the stream of a window holds them all."""
    plan, beta = job.options.plan, job.settings.beta
    if not plan.hours:
        return Findings()
    with job.stage("hours", "of the day"):
        hours = hours_of(trace)
        if plan.stream != "window":
            path = path.with_name(f"hours-{path.name}")
            with written(path):
                stream = extract_range(trace, "hours", hours.start_us, hours.end_us, path, plan.sample)
        if isinstance(job.engine, SpreadingEngine):
            replayed = hours_spread(job.engine, plan, path, hours, beta)
        else:
            replayed = hours_here(plan, stream, hours, beta, job.threads)
    return hours_study(plan, hours, replayed, trace.settings.clock.zone)


def _routes(job: _Job, plan: Plan, path: Path, stream: StreamFile) -> Findings:
    routing, beta = job.options.routing, job.settings.beta
    if not routing.routes:
        return Findings()
    fleet = None if plan.sample is not None else fleet_of(stream)
    why = unroutable(plan, fleet)
    if why is not None or fleet is None:
        return no_routes(plan, routing, why or "")
    if isinstance(job.engine, SpreadingEngine):
        routed = routed_spread(job.engine, plan, routing, path, beta)
    else:
        routed = routed_here(plan, routing, stream, beta, job.threads)
    return routing_study(plan, routing, fleet, routed, beta)
