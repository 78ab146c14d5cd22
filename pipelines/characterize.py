"""`python pipelines/characterize.py INPUT... --format F --out DIR`: from a call log to a report.

The same as `kvcensus characterize`.
"""

from __future__ import annotations

import signal
import sys
import threading
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import FrameType

from metrics.core.store import Results
from pipelines.options import parse
from pipelines.run import Outcome, characterize
from telemetry.errors import EXIT_OK, EXIT_OURS, KvcensusError

__all__ = ["main"]

_INTERRUPTED = 130
_SUMMARY = (
    ("trace.calls", "calls"), ("trace.sessions", "sessions"), ("depth.p50", "median depth"),
    ("reuse.aggregate", "reuse"), ("working_set.p50_gib", "median working set"),
    ("ceiling.hold_all_live_bytes", "hold-all-live ceiling"), ("idle_cap.1h.reduction", "1 h idle cap lowers it by"),
)


def main(argv: Sequence[str] | None = None, prog: str = "characterize") -> int:
    """Run the command; returns the exit code."""
    with _stoppable():
        return _run(argv, prog)


def _run(argv: Sequence[str] | None, prog: str) -> int:
    try:
        _report(characterize(parse(argv, prog)))
    except KvcensusError as error:
        print(f"{prog}: {error}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print(f"{prog}: stopped; nothing half-written was left.", file=sys.stderr)
        return _INTERRUPTED
    except Exception:
        traceback.print_exc()
        print(f"{prog}: this is a fault of kvcensus; please report it with the lines above.", file=sys.stderr)
        return EXIT_OURS
    return EXIT_OK


@contextmanager
def _stoppable() -> Iterator[None]:
    """Let SIGTERM end the run as Ctrl-C does, so that it clears up; the caller's handler comes back."""
    def stop(signum: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _report(outcome: Outcome) -> None:
    """The summary: results on stdout, what to look at on stderr."""
    for folder in outcome.windows:
        results = Results.open(folder)
        print(f"{results.manifest['name']}, window {results.manifest['window']['name']}")
        for key, title in _SUMMARY:
            number = results.numbers[key]
            value = f"not known: {number.why}" if number.value is None else _shown(number.value, number.unit)
            print(f"  {title + ':':28} {value}")
        audit = results.audit
        print(f"  {'rows:':28} {audit['rows_read']:,} read, {audit['rows_used']:,} used, "
              f"{audit['rows_read'] - audit['rows_used']:,} set aside")
    for reason, examples in sorted(outcome.log.examples.items()):
        print(f"set aside or flagged, {reason}, for example: {'; '.join(examples)}", file=sys.stderr)
    if outcome.empty:
        print(f"windows without a call, left out: {', '.join(outcome.empty)}", file=sys.stderr)
    print(f"report: {outcome.page}")


def _shown(value: float, unit: str) -> str:
    from figures.units import format_value

    return format_value(value, unit)


if __name__ == "__main__":
    sys.exit(main())
