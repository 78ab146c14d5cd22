"""`python pipelines/characterize.py INPUT... --format F --out DIR`: from a call log to a report.

The same as `kvcensus characterize`. What takes long to load is loaded inside of `main`, so that a
stop in that time ends as any other.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from pipelines.command import run_command
from pipelines.stop import Stop
from pipelines.streams import say, tell
from telemetry.errors import EXIT_OK

if TYPE_CHECKING:
    from metrics.core.store import Results
    from pipelines.run import Outcome

__all__ = ["main"]

_MOST_EMPTY = 10
_SUMMARY = (
    ("trace.calls", "calls"), ("trace.sessions", "sessions"), ("depth.p50", "median depth"),
    ("reuse.aggregate", "reuse"), ("working_set.p50_gib", "median working set"),
    ("ceiling.hold_all_live_bytes", "hold-all-live ceiling"), ("idle_cap.1h.reduction", "1 h idle cap lowers it by"),
)

_EVENT_SUMMARY = (
    ("events.count", "events"), ("events.sessions", "sessions"), ("events.depth_p50", "median depth"),
    ("events.tool_share", "tool executions"), ("events.tool_cadence_p50_s", "median tool cadence"),
    ("events.reuse", "reuse"), ("events.context_to_output", "context to output"),
)


def main(argv: Sequence[str] | None = None, prog: str = "characterize", *, process: bool | None = None) -> int:
    """Run the command; returns the exit code.

    Parameters
    ----------
    process : bool or None
        Whether the process ends with the command; None: when `argv` is that of the process.
    """
    return run_command(_run, argv, prog, process=argv is None if process is None else process)


def _run(argv: Sequence[str] | None, prog: str, stop: Stop) -> int:
    with stop.held():
        from pipelines.options import parse
        from pipelines.run import characterize
    _report(characterize(parse(argv, prog)))
    return EXIT_OK


def _report(outcome: Outcome) -> None:
    """The summary: results on stdout, what to look at on stderr."""
    for reason, examples in sorted(outcome.log.examples.items()):
        tell(f"set aside or flagged, {reason}, for example: {'; '.join(examples)}")
    if outcome.empty:
        more = len(outcome.empty) - _MOST_EMPTY
        tell(f"windows without a call, left out: {', '.join(outcome.empty[:_MOST_EMPTY])}"
             + (f" and {more:,} more" if more > 0 else ""))
    for results in outcome.windows:
        say("\n".join(_summary(results)))
    say(f"report: {outcome.page}")


def _summary(results: Results) -> list[str]:
    from figures.units import format_value
    from report_templates.context import heading

    head = heading(results.manifest)
    lines = [f"{head['name']}, {head['span']}"]
    for key, title in _EVENT_SUMMARY if "events.count" in results.numbers else _SUMMARY:
        number = results.numbers[key]
        value = f"not known: {number.why}" if number.value is None else format_value(number.value, number.unit)
        lines.append(f"  {title + ':':28} {value}")
    audit = results.audit
    lines.append(f"  {'rows:':28} {audit['rows_read']:,} read, {audit['rows_used']:,} used, "
                 f"{audit['rows_read'] - audit['rows_used']:,} set aside")
    return lines


if __name__ == "__main__":
    sys.exit(main())
