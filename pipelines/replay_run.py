"""The replay of streams: from cells that are known and cells that are new to a results store of each."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from importlib import metadata
from typing import Any

import pyarrow as pa

from metrics.core.store import FORMAT_VERSION, StoreWriter
from pipelines.outdir import OutputFolder, ResultSet
from pipelines.progress import Progress
from pipelines.replay_options import ReplayOptions
from pipelines.replay_streams import Given, streams
from pipelines.version import VERSION
from replay.residency.agreement import NOTHING, agreement_study, declared_agreements, no_agreement
from replay.residency.cells import Plan, cells_here
from replay.residency.journal import FileJournal, open_journal
from replay.residency.sampling import GROUPS
from replay.residency.stream_file import StreamFile
from replay.residency.study import declared, study
from telemetry.errors import UsageError

__all__ = ["JOURNAL", "ReplayOutcome", "Window", "replay_streams"]

#: The file of an output folder that keeps cells.
JOURNAL = ".cells"

_VERSIONED = ("numba", "numpy", "pyarrow")


@dataclass(frozen=True)
class Window:
    """What was replayed of one window.

    Attributes
    ----------
    table : Table
        `residency_replay`.
    audit : dict or None
        What became of each row, where calls were read.
    """

    file: StreamFile
    plan: Plan
    table: pa.Table
    audit: dict[str, Any] | None


@dataclass(frozen=True)
class ReplayOutcome:
    """What a run made.

    Attributes
    ----------
    replayed, known : int
        Cells that were replayed, and cells that an earlier run left.
    damaged : int
        Lines of the journal that could not be read.
    """

    windows: tuple[Window, ...]
    replayed: int
    known: int
    damaged: int


def replay_streams(options: ReplayOptions, watch: Callable[[FileJournal], None] | None = None,
                   progress: Progress | None = None) -> ReplayOutcome:
    """Replay every stream of the input.

    Parameters
    ----------
    options : ReplayOptions
    watch : callable, optional
        Is given the journal when cells begin to be kept.
    progress : Progress, optional

    Raises
    ------
    UsageError, InputError
        With a message for the user. The cells that were done are kept.
    """
    started, progress, out = time.time(), progress or Progress(), OutputFolder(options.out)
    for report in options.out.glob("*/report.html"):
        raise UsageError(f"--out {options.out} holds a report of characterize ({report.parent.name}), which would go: "
                         "name another folder.")
    with out.claimed(), streams(options, progress) as given:
        plans = [_plan(options, each.file) for each in given]
        total = sum(_cells(plan) for plan in plans)
        with (out.replaced() as results, progress.pieces("replaying", total, "cells") as done,
              open_journal(options.out / JOURNAL, done) as journal):
            if watch is not None:
                watch(journal)
            windows = [_one(options, each, plan, journal, results, started)
                       for each, plan in zip(given, plans, strict=True)]
    return ReplayOutcome(tuple(windows), journal.added, journal.found, journal.damaged)


def _plan(options: ReplayOptions, file: StreamFile) -> Plan:
    return replace(options.plan, stream=file.which, sample=None if file.drawn is None else file.drawn.sample)


def _cells(plan: Plan) -> int:
    """Cells of a plan; those of a sample are replayed for each of its groups, too, at two budgets."""
    return len(plan.keys) * len(plan.policies) * len(plan.budgets) * (1 if plan.sample is None else 1 + 2 * GROUPS)


def _one(options: ReplayOptions, given: Given, plan: Plan, journal: FileJournal, results: ResultSet,
         started: float) -> Window:
    """One window; its manifest comes last."""
    file, beta = given.file, options.geometry.bytes_per_token
    store = StoreWriter(results.window(file.window), options.command)
    replayed = cells_here(plan, file, beta, options.threads, beside_log=file.reports_cached, journal=journal)
    found = study(plan, file, replayed)
    agreement = agreement_study(plan, replayed) if file.reports_cached else no_agreement(plan, NOTHING)
    population = f"calls with a session id in the stream {plan.stream}"
    store.add(declared(plan), found, population)
    store.add(declared_agreements(plan), agreement, population)
    store.write_numbers()
    if given.audit is not None:
        store.write_audit(given.audit)
    store.write_manifest(_manifest(options, given, plan, started))
    return Window(file, plan, found.tables["residency_replay"], given.audit)


def _manifest(options: ReplayOptions, given: Given, plan: Plan, started: float) -> dict[str, Any]:
    file = given.file
    return {
        "format_version": FORMAT_VERSION,
        "kvcensus_version": VERSION,
        "window": {"name": file.window, "tz": file.tz},
        "input": {**given.about, "stream": {"name": file.which, "hour": file.hour, "calls": file.calls}},
        "configuration": {
            "geometry": {"name": options.geometry.name, "bytes_per_token": options.geometry.bytes_per_token,
                         "source": options.geometry.source},
            "replay": {"stream": plan.stream, "keys": list(plan.keys), "policies": list(plan.policies),
                       "budgets": [budget.label for budget in plan.budgets], "release": plan.release,
                       "bounds": list(plan.bounds),
                       "sample": plan.sample and {"fraction": plan.sample.label, "seed": plan.sample.seed}},
        },
        "versions": {name: metadata.version(name) for name in _VERSIONED},
        "started": datetime.fromtimestamp(started, UTC).isoformat(timespec="seconds"),
        "wall_s": round(time.time() - started, 3),
        "command": options.command,
    }
