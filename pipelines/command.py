"""How every command runs: stops, errors and exit codes."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable, Sequence

from pipelines.stop import Stop, stoppable
from pipelines.streams import flush, tell
from telemetry.errors import EXIT_OURS, KvcensusError, trace_of

__all__ = ["run_command"]

_INTERRUPTED = 130

#: (argv, prog, stop) -> exit code; raises KvcensusError with a message for the user.
Body = Callable[[Sequence[str] | None, str, Stop], int]


def run_command(body: Body, argv: Sequence[str] | None, prog: str, *, process: bool) -> int:
    """Run a command; returns the exit code.

    Parameters
    ----------
    body : callable
    argv : sequence of str or None
        None: that of the process.
    prog : str
        How messages call the command.
    process : bool
        Whether the process ends with the command.
    """
    with stoppable(keep=process) as stop:
        code = _guarded(body, argv, prog, stop)
    if process and code == _INTERRUPTED:
        os._exit(code)  # threads that still work on the stopped run are not waited for
    return code


def _guarded(body: Body, argv: Sequence[str] | None, prog: str, stop: Stop) -> int:
    try:
        code = body(argv, prog, stop)
        flush()
    except KvcensusError as error:
        if stop.asked:  # what a stop ended elsewhere, such as Spark's process, fails here
            return _stopped(prog, stop)
        if "--verbose" in (sys.argv[1:] if argv is None else argv):
            tell(trace_of(error), end="")
        tell(f"{prog}: {error}")
        return error.exit_code
    except KeyboardInterrupt:
        return _stopped(prog, stop)
    except Exception:
        tell(traceback.format_exc(), end="")
        tell(f"{prog}: this is a fault of kvcensus; please report it with the lines above.")
        return EXIT_OURS
    return code


def _stopped(prog: str, stop: Stop) -> int:
    stop.over()
    tell(f"{prog}: stopped; {stop.leaves()}.")
    return _INTERRUPTED
