"""`kvcensus size`: which memory budget a target needs under each policy, in bytes, GPUs and money."""

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
  kvcensus size report/all --target-miss 10%
  kvcensus size report/all --target-miss 5% --target missed-tokens --platform my-gpus.toml --json
"""


def main(argv: Sequence[str] | None = None, prog: str = "size", *, process: bool | None = None) -> int:
    """Run the command; returns the exit code."""
    return run_command(_run, argv, prog, process=argv is None if process is None else process)


def _run(argv: Sequence[str] | None, prog: str, stop: Stop) -> int:
    with stop.held():
        from pipelines.arguments import Parser
        from pipelines.priced import add_priced, open_priced, print_json, tell_priced
        from pipelines.size_view import print_size, size_json
        from replay.cost.curves import MEASURES
        from replay.cost.size import parse_target
    parser = Parser(prog=prog, description="Which memory budget a target needs: bytes, GPUs and money, by policy.",
                    epilog=_EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False)
    add_priced(parser)
    parser.add_argument("--target-miss", required=True, metavar="SHARE",
                        help="at most this share may miss, such as 10%%")
    parser.add_argument("--target", choices=MEASURES, default="misses",
                        help="what the share is of: calls that miss, or context tokens of these (default: misses)")
    given = parser.parse_args(argv)
    target, measure = parse_target(given.target_miss), MEASURES[given.target]
    priced = open_priced(given)
    if given.json:
        print_json(size_json(priced, measure, target))
    else:
        print_size(priced, measure, target)
        tell_priced(priced)
    return EXIT_OK


if __name__ == "__main__":
    sys.exit(main())
