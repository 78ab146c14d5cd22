"""Sessions of a call log for the tier simulator: drawn whole, a draw a seed."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pyarrow as pa

from metrics.core.engine import Engine
from pipelines.call_log import CallLog, opened
from pipelines.streams import tell
from pipelines.workdir import work_folder
from replay.tier.workload import Call, Workload, drawn, from_calls

__all__ = ["drawn_sessions"]


def drawn_sessions(log: CallLog, name: str, seeds: int, count: int) -> Callable[[float], list[Workload]]:
    """From a rate to a workload a seed; calls are read once.

    Raises
    ------
    UsageError, InputError
        With a message for the user; among them that no call has a session and a context.
    """
    with work_folder(None, None) as work, opened(log, work) as trace:
        total, sessioned = (trace.row(f"select count(*) as n from {table}")["n"] for table in ("calls", "steps"))
        if sessioned < total:
            tell(f"{total - sessioned:,} of {total:,} calls have no session id and are left out.")
        known = [int(row["session"]) for row in trace.rows(
            "select session from steps where x > 0 group by session order by session")]
        draws = [drawn(known, seed, count) for seed in range(1, seeds + 1)]
        calls = _calls(trace.engine, sorted({session for draw in draws for session in draw}))
    return lambda rate: [from_calls(name, [calls[session] for session in draw], seed, rate)
                         for seed, draw in enumerate(draws, start=1)]


def _calls(engine: Engine, sessions: Sequence[int]) -> dict[int, list[Call]]:
    """The calls of some sessions, in the order of time."""
    engine.put("drawn_sessions", pa.table({"session": pa.array(sessions, pa.int64())}))
    found: dict[int, list[Call]] = {session: [] for session in sessions}
    for row in engine.rows("""
            select s.session as session, s.t_us as t_us, s.x as x, s.o as o, s.duration_us as duration_us
            from steps s join drawn_sessions d on s.session = d.session order by s.session, s.call_index"""):
        found[row["session"]].append(Call(row["t_us"], row["x"], row["o"], row["duration_us"]))
    return found
