"""`kvcensus replay`: what residency policies miss under memory budgets, over calls or over a stream that was kept."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from pipelines.command import run_command
from pipelines.stop import Stop
from pipelines.streams import say, tell
from telemetry.errors import EXIT_OK

if TYPE_CHECKING:
    from replay.residency.journal import FileJournal

__all__ = ["main"]


def main(argv: Sequence[str] | None = None, prog: str = "replay", *, process: bool | None = None) -> int:
    """Run the command; returns the exit code.

    Parameters
    ----------
    process : bool or None
        Whether the process ends with the command; None: when `argv` is that of the process.
    """
    return run_command(_run, argv, prog, process=argv is None if process is None else process)


def _run(argv: Sequence[str] | None, prog: str, stop: Stop) -> int:
    with stop.held():
        from pipelines.replay_options import parse_replay
        from pipelines.replay_run import replay_streams
        from pipelines.replay_shown import as_json, as_text, notes, whats_left
    options = parse_replay(argv, prog)

    def watch(journal: FileJournal) -> None:
        stop.leaves = lambda: whats_left(options, journal)

    outcome = replay_streams(options, watch)
    for note in notes(options, outcome):
        tell(note)
    say(as_json(options, outcome) if options.json else as_text(options, outcome))
    return EXIT_OK


if __name__ == "__main__":
    sys.exit(main())
