"""`kvcensus ladder`: policies of a DRAM tier side by side on simulated sessions, with what their sources print."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.util import find_spec

from pipelines.command import run_command
from pipelines.stop import Stop
from telemetry.errors import EXIT_OK, UsageError

__all__ = ["main"]


def main(argv: Sequence[str] | None = None, prog: str = "ladder", *, process: bool | None = None) -> int:
    """Run the command; returns the exit code."""
    return run_command(_run, argv, prog, process=argv is None if process is None else process)


def _run(argv: Sequence[str] | None, prog: str, stop: Stop) -> int:
    if find_spec("kvcensus_gate") is None:
        raise UsageError("the tier policies are a distribution of their own, which is not installed: "
                         "pip install ./replay/gate in the checkout of kvcensus.")
    with stop.held():
        from pipelines.ladder_options import parse_ladder
        from pipelines.ladder_run import run_ladder
        from pipelines.ladder_view import as_json, print_ladder
        from pipelines.priced import print_json
    options = parse_ladder(argv, prog)
    cells = run_ladder(options)
    if options.json:
        print_json(as_json(options, cells))
    else:
        print_ladder(options, cells)
    return EXIT_OK


if __name__ == "__main__":
    sys.exit(main())
