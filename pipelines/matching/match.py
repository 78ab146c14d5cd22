"""Measures a log and a trace, compares them, and writes what a figure and a reader need beside the trace."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from figures.matched import matched_figure
from figures.svg import to_svg
from pipelines.call_log import CallLog, opened
from pipelines.matching.compare import Compared, compare, replay_rows
from pipelines.matching.side import BOOTSTRAP, BUDGETS, Side, measure_side
from pipelines.workdir import work_folder
from telemetry.errors import InputError

__all__ = ["FIGURE", "NUMBERS", "match"]

NUMBERS, FIGURE = "matched.json", "matched.svg"
FEWEST = 10  # sessions: two samples of fewer are alike whatever they are

_TITLE = "Rebuilt calls against the memory budget, measured and generated"
_DESCRIPTION = ("One line a policy and a trace: LRU, FNU and MRR with an unbounded tier over the log and over the "
                "generated trace; bars are 95 % intervals of a session bootstrap.")


def match(log: CallLog, generated: CallLog, out: Path, threads: int, memory_limit: str | None = None,
          at: Callable[[str], None] = lambda _: None) -> list[Compared]:
    """Compare; the replays go to `matched.json` and `matched.svg` in `out`.

    Parameters
    ----------
    log, generated : CallLog
    out : Path
        The folder of the trace.
    threads : int
    memory_limit : str or None
        Of the engine; the rest is spilled.
    at : callable
        Is told what is being measured.

    Raises
    ------
    InputError
        A log that cannot be read, or has no sessions.
    """
    sides: list[Side] = []
    for name, each in (("the log", log), ("the trace", generated)):
        at(f"measuring {name}")
        with work_folder(None, out) as work, opened(each, work, threads=threads,
                                                     memory_limit=memory_limit) as trace:
            sides.append(measure_side(trace, work, threads))
            if sides[-1].sessions < FEWEST:
                raise InputError(f"{name} has {sides[-1].sessions:,} sessions: of fewer than {FEWEST} nothing can be "
                                 "told. Compare with a longer log, or generate more sessions.")
    lines, replays = compare(*sides), replay_rows(*sides)
    about = {"budgets": [budget.label for budget in BUDGETS], "replicates": BOOTSTRAP.replicates,
             "seed": BOOTSTRAP.seed, "stream": "window", "object_key": "session", "release": "last"}
    _whole(out / NUMBERS, json.dumps({"about": about, "replays": replays,
                                      "lines": [vars(line) for line in lines]}, indent=1) + "\n")
    _whole(out / FIGURE, to_svg(matched_figure(replays), "matched", _TITLE, _DESCRIPTION) + "\n")
    return lines


def _whole(path: Path, text: str) -> None:
    from pipelines.outdir import write_error

    partial = path.with_name(f".{path.name}.partial")
    try:
        partial.write_text(text, encoding="utf-8")
        partial.replace(path)
    except OSError as error:
        raise write_error(path, error) from error
