"""`kvcensus cost`: what the misses of each policy cost, in calls, tokens, GPU-seconds and money."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from pipelines.command import run_command
from pipelines.stop import Stop
from telemetry.errors import EXIT_OK

__all__ = ["main"]

_EPILOG = """\
exit codes: 0 done, 2 usage, 3 input or data, 1 our fault

examples:
  kvcensus cost report/all
  kvcensus cost report/all --platform h200-llama-3.1-8b --key all --json
"""


def main(argv: Sequence[str] | None = None, prog: str = "cost", *, process: bool | None = None) -> int:
    """Run the command; returns the exit code."""
    return run_command(_run, argv, prog, process=argv is None if process is None else process)


def _run(argv: Sequence[str] | None, prog: str, stop: Stop) -> int:
    with stop.held():
        from pipelines.arguments import Parser
        from pipelines.cost_view import cost_json, print_cost
        from pipelines.priced import add_priced, open_priced, print_json, tell_priced
    parser = Parser(prog=prog, description="What misses cost: calls, tokens, GPU-seconds, money; and memory beside it.",
                    epilog=_EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False)
    add_priced(parser)
    given = parser.parse_args(argv)
    priced = open_priced(given)
    if given.json:
        print_json(cost_json(priced))
    else:
        print_cost(priced)
        tell_priced(priced)
    return EXIT_OK


if __name__ == "__main__":
    sys.exit(main())
