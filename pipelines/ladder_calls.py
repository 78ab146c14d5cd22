"""Sessions of a call log for the tier simulator: drawn whole, a draw a seed."""

from __future__ import annotations

from collections.abc import Callable

from pipelines.call_log import CallLog, opened
from pipelines.session_calls import calls_of, known_sessions, tell_unsessioned
from pipelines.workdir import work_folder
from replay.tier.workload import Workload, drawn, from_calls

__all__ = ["drawn_sessions"]


def drawn_sessions(log: CallLog, name: str, seeds: int, count: int) -> Callable[[float], list[Workload]]:
    """From a rate to a workload a seed; calls are read once.

    Raises
    ------
    UsageError, InputError
        With a message for the user; among them that no call has a session and a context.
    """
    with work_folder(None, None) as work, opened(log, work) as trace:
        tell_unsessioned(trace)
        known = known_sessions(trace)
        draws = [drawn(known, seed, count) for seed in range(1, seeds + 1)]
        calls = calls_of(trace, sorted({session for draw in draws for session in draw}))
    return lambda rate: [from_calls(name, [calls[session] for session in draw], seed, rate)
                         for seed, draw in enumerate(draws, start=1)]
