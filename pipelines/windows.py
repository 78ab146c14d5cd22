"""Which windows a run reports on."""

from __future__ import annotations

import bisect

from metrics.core.clock import Window
from metrics.core.engine import Engine
from metrics.core.ingest import Ingested
from pipelines.options import Options
from telemetry.errors import UsageError

__all__ = ["MOST_WINDOWS", "windows_of"]

MOST_WINDOWS = 1_000


def windows_of(options: Options, engine: Engine, ingested: Ingested) -> tuple[list[Window], list[str]]:
    """The windows to report on, and the names of windows of a split that hold no call.

    Raises
    ------
    UsageError
        When a split makes too many.
    """
    step_us = options.split_us
    if step_us is None:
        return [options.window or Window("all")], []
    count = (ingested.last_us - ingested.first_us) // step_us + 1
    if count > MOST_WINDOWS:
        raise UsageError(f"--split makes {count:,} windows of this input, a report for each; {MOST_WINDOWS:,} are the "
                         "most. Choose a longer one.")
    windows = options.clock.split(ingested.first_us, ingested.last_us, step_us)
    full = _with_calls(windows, engine, ingested.first_us, step_us)
    return ([window for place, window in enumerate(windows) if place in full],
            [window.name for place, window in enumerate(windows) if place not in full])


def _with_calls(windows: list[Window], engine: Engine, first_us: int, step_us: int) -> set[int]:
    """Places of the windows that may hold calls, from one query.

    Calls are grouped by steps from the first one. A window is as long as a step, but for days when
    clocks change, so all windows from the first to the last call of a group are taken.
    """
    starts = [window.start_us or 0 for window in windows]
    step = engine.dialect.div(f"t_us - ({first_us})", step_us)
    groups = engine.rows(f"select min(t_us) as first_us, max(t_us) as last_us from usable group by {step}")
    return {place for group in groups
            for place in range(bisect.bisect_right(starts, group["first_us"]) - 1,
                               bisect.bisect_right(starts, group["last_us"]))}
