"""From the options of `live` to raw results: sessions sampled, plans made, every condition run or kept."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from pipelines.call_log import CallLog, opened
from pipelines.live_options import LiveOptions
from pipelines.live_serve import Serving, served, vocabulary_of
from pipelines.locks import lock
from pipelines.progress import Progress
from pipelines.session_calls import calls_of, hashed_sessions, tell_unsessioned
from pipelines.stop import Stop
from pipelines.streams import tell
from pipelines.version import VERSION
from pipelines.workdir import work_folder
from replay.live.cell_run import Cell, run_cell
from replay.live.cells import CellFolder
from replay.live.plan import Plan, plan_reference, plan_sessions
from replay.live.results import Asked, write_asked
from replay.live.serving import own_versions
from replay.tier.workload import Call, reference
from telemetry.errors import InputError, UsageError, escaped

__all__ = ["run_live"]

_LOCK = ".kvcensus-live"


def run_live(options: LiveOptions, stop: Stop) -> list[str]:
    """Run what is not finished; returns what did not finish now, and why.

    Raises
    ------
    UsageError, InputError
        With a message for the user.
    """
    plans = _plans(options)
    with served(options.server, list(plans.values())) as serving, _locked(options):
        asked = Asked(options.command, options.rows, {seed: plan.workload for seed, plan in plans.items()},
                      {seed: plan.places for seed, plan in plans.items()}, serving.facts, options.scale_words)
        write_asked(options.out, asked)
        stop.leaves = lambda: "finished conditions are kept, and the same command goes on from there"
        return _run_cells(options, plans, serving)


def _plans(options: LiveOptions) -> dict[int, Plan]:
    """A plan a seed."""
    seeds, words = range(1, options.seeds + 1), vocabulary_of(options.server)
    if options.log is None:
        assert options.workload is not None, "there is something to run"
        return {seed: plan_reference(reference(options.workload, seed, options.rate), options.sessions, seed,
                                     options.scale, words) for seed in seeds}
    sessions = _sample(options, options.log)
    return {seed: plan_sessions(options.name, sessions, seed, options.rate, options.scale, words) for seed in seeds}


def _sample(options: LiveOptions, log: CallLog) -> list[list[Call]]:
    with work_folder(None, None) as work, opened(log, work) as trace:
        tell_unsessioned(trace)
        sample = hashed_sessions(trace, options.sample_seed, options.sessions)
        if not sample:
            raise InputError(f"{options.name} has no session with a call that has a context: there is nothing to send.")
        if len(sample) < options.sessions:
            tell(f"--sessions {options.sessions:,}: the log has {len(sample):,}, and all are sent.")
        calls = calls_of(trace, sample, prefixes=True)
    return [calls[session] for session in sample]


@contextmanager
def _locked(options: LiveOptions) -> Iterator[None]:
    """One run at a time in a folder."""
    path = options.out / _LOCK
    try:
        options.out.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    except OSError as error:
        raise InputError(f"--out {escaped(str(options.out))} cannot be written: {error.strerror or error}.") from error
    try:
        if not lock(descriptor):
            raise UsageError(f"another run writes to --out {escaped(str(options.out))}. Wait for its end, or name "
                             "another folder.")
        yield
    finally:
        os.close(descriptor)


def _run_cells(options: LiveOptions, plans: dict[int, Plan], serving: Serving) -> list[str]:
    about = {"kvcensus": VERSION, "versions": own_versions(serving.served), "model": serving.served.model}
    cells = [(label, seed, CellFolder.of(options.out, condition, seed)) for seed in plans
             for label, condition in options.rows.items()]
    for label, seed, folder in cells:
        damage = folder.damage
        if damage is not None:
            tell(f"{label}, seed {seed}, is run again: {damage}")
    todo = [cell for cell in cells if not cell[2].done]
    if len(todo) < len(cells):
        tell(f"{len(cells) - len(todo)} of {len(cells)} are finished and kept.")
    progress, failed = Progress(len(todo), sys.stderr), []
    for label, seed, folder in todo:
        try:
            with progress.stage("replaying", f"{label}, seed {seed}"):
                why = run_cell(folder, Cell(label, options.rows[label], seed, plans[seed]), serving.served,
                               options.limits, about)
        except OSError as error:
            raise InputError(f"{escaped(str(folder.path))} cannot be written: {error.strerror or error}. What is "
                             "finished is kept; free space and run the same command again.") from error
        if why is not None:
            tell(f"{label}, seed {seed}, did not finish: {why}")
            failed.append(f"{label}, seed {seed}")
    return failed
