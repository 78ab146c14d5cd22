"""`kvcensus live`: sampled sessions of a call log against a real vLLM server, and what came back, in one command."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.util import find_spec

from pipelines.command import run_command
from pipelines.stop import Stop
from pipelines.streams import tell
from telemetry.errors import EXIT_INPUT, EXIT_OK, UsageError

__all__ = ["main"]


def main(argv: Sequence[str] | None = None, prog: str = "live", *, process: bool | None = None) -> int:
    """Run the command; returns the exit code."""
    return run_command(_run, argv, prog, process=argv is None if process is None else process)


def _run(argv: Sequence[str] | None, prog: str, stop: Stop) -> int:
    if find_spec("kvcensus_gate") is None:
        raise UsageError("the tier policies are a distribution of their own, which is not installed: "
                         "pip install ./replay/gate in the checkout of kvcensus.")
    with stop.held():
        from pipelines.live_options import parse_live
        from pipelines.live_run import run_live
        from pipelines.live_view import as_json, print_live
        from pipelines.priced import print_json
        from replay.live.analysis import analyse
    options = parse_live(argv, prog)
    failed = run_live(options, stop) if options.log or options.workload else []
    found = analyse(options.out, options.control, options.replicates)
    if options.json:
        print_json(as_json(found))
    else:
        print_live(found)
    if failed:
        tell(f"{prog}: {len(failed)} did not finish: {'; '.join(failed)}. The same command tries them again.")
    return EXIT_INPUT if failed else EXIT_OK


if __name__ == "__main__":
    sys.exit(main())
