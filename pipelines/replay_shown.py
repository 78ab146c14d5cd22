"""What `replay` prints: rates by policy and budget, or JSON; and what became of its cells."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from figures.units import format_value
from pipelines.replay_options import ReplayOptions
from pipelines.replay_run import JOURNAL, ReplayOutcome, Window
from replay.residency.journal import FileJournal

__all__ = ["as_json", "as_text", "notes", "whats_left"]


def as_text(options: ReplayOptions, outcome: ReplayOutcome) -> str:
    """A table a window and object key: the share of calls that miss."""
    lines = [line for window in outcome.windows for line in _window(window)]
    return "\n".join([*lines, f"results: {options.out}"])


def as_json(options: ReplayOptions, outcome: ReplayOutcome) -> str:
    """The rows of every `residency_replay`, and what became of the cells."""
    return json.dumps({
        "out": str(options.out),
        "cells": {"replayed": outcome.replayed, "known": outcome.known, "damaged_lines": outcome.damaged},
        "windows": [{"window": window.file.window, "tz": window.file.tz, "stream": window.file.which,
                     "hour": window.file.hour, "residency_replay": window.table.to_pylist()}
                    for window in outcome.windows],
    }, indent=1, allow_nan=False)


def notes(options: ReplayOptions, outcome: ReplayOutcome) -> Iterable[str]:
    """What became of the rows that were read, and of the cells."""
    for window in outcome.windows:
        if window.audit is not None:
            read, used = window.audit["rows_read"], window.audit["rows_used"]
            reasons = (f"{count:,} {reason}" for reason, count in window.audit["rows_excluded"].items() if count)
            yield f"rows: {read:,} read, {used:,} used, {', '.join(reasons) or 'none'} set aside."
    if outcome.damaged:
        yield (f"{_counted(outcome.damaged, 'line')} of {options.out / JOURNAL} could not be read and {_was(outcome)} "
               "taken out; what was kept there is replayed when it is asked for.")
    yield (f"{_counted(outcome.replayed + outcome.known, 'cell')}: {outcome.replayed:,} replayed, {outcome.known:,} "
           "known before.")


def whats_left(options: ReplayOptions, journal: FileJournal) -> str:
    """What a run that is stopped leaves."""
    return (f"{_counted(journal.added, 'finished cell')} of this run and those of earlier ones are kept in "
            f"{options.out}, and the same command goes on from there")


def _was(outcome: ReplayOutcome) -> str:
    return "was" if outcome.damaged == 1 else "were"


def _counted(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def _window(window: Window) -> Iterable[str]:
    file, plan = window.file, window.plan
    rows = window.table.to_pylist()
    hour = "" if file.hour is None else f" from {file.hour}"
    sample = "" if plan.sample is None else f", a sample of the sessions ({plan.sample})"
    yield f"{file.window}, {file.which}{hour}: {_counted(file.calls, 'call')}{sample}; misses / calls"
    each = len(plan.policies) * len(plan.budgets)
    for place, key in enumerate(plan.keys):
        some = rows[place * each:(place + 1) * each]
        yield (f"  {key}: {_counted(some[0]['objects'], 'object')}, K* "
               f"{format_value(some[0]['kstar_bytes'], 'bytes')}, first touches "
               f"{format_value(some[0]['first_touch_floor'], 'share')}")
        yield from _grid([budget.label for budget in plan.budgets],
                         [(policy, [format_value(row["reconstruction_rate"], "share")
                                    for row in some[at * len(plan.budgets):(at + 1) * len(plan.budgets)]])
                          for at, policy in enumerate(plan.policies)])


def _grid(head: Sequence[str], lines: Sequence[tuple[str, Sequence[str]]]) -> Iterable[str]:
    first = max(len("policy"), *(len(name) for name, _ in lines))
    wide = [max(len(title), *(len(cells[place]) for _, cells in lines)) for place, title in enumerate(head)]
    for name, cells in [("policy", head), *lines]:
        row = (cell.rjust(size) for cell, size in zip(cells, wide, strict=True))
        yield "    " + "  ".join([name.ljust(first), *row])
