"""The command line of `fit`, parsed and checked."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pipelines.arguments import Parser, threads, whole
from pipelines.call_log import CallLog, add_log, call_log
from telemetry.errors import InputError, UsageError
from telemetry.places import StorePath, parse_place

__all__ = ["FitOptions", "parse_fit"]

_EPILOG = """\
exit codes: 0 done, 1 our fault, 2 usage, 3 input or data

examples:
  kvcensus fit logs/*.parquet --format calls --out profile.toml
  kvcensus generate --profile profile.toml --out trace --check logs/*.parquet
"""


@dataclass(frozen=True)
class FitOptions:
    """What a user asked for, checked.

    Attributes
    ----------
    log : CallLog
    out : Path
    k : int
        Sessions that every parameter rests on, at least.
    threads : int or None
    verbose : bool
    """

    log: CallLog
    out: Path
    k: int
    threads: int | None
    verbose: bool


def parse_fit(argv: Sequence[str] | None = None, prog: str = "fit") -> FitOptions:
    """Parse and check a command line.

    Raises
    ------
    UsageError
        An unknown option or format, a value that does not parse, an output that cannot be a profile.
    """
    given = _parser(prog).parse_args(argv)
    return FitOptions(call_log(given.inputs, given), _out(given.out), given.least_sessions, given.threads,
                      given.verbose)


def _parser(prog: str) -> argparse.ArgumentParser:
    parser = Parser(prog=prog, description="A profile of a call log, from which a log like it can be generated.",
                    epilog=_EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False)
    parser.add_argument("inputs", nargs="+", metavar="CALLS", help="files, folders or globs of one format")
    add_log(parser)
    parser.add_argument("--out", required=True, metavar="FILE", help="the profile: a file that ends with .toml")
    parser.add_argument("--least-sessions", type=whole(2, 10**6), default=10, metavar="K",
                        help="sessions that every number rests on, at least (default 10)")
    parser.add_argument("--threads", type=threads, metavar="N", help="cores to use (default: all)")
    parser.add_argument("--verbose", action="store_true", help="tell all that was pooled, and the trace of an error")
    return parser


def _out(text: str) -> Path:
    try:
        out = parse_place(text)
    except InputError as error:
        raise UsageError(f"--out {error}") from None
    if isinstance(out, StorePath):
        raise UsageError(f"--out {out.shown}: a profile is written to a file of this machine.")
    if out.suffix != ".toml" or out.is_dir():
        raise UsageError(f"--out {out}: name a file that ends with .toml; generate --profile takes no other.")
    if out.is_symlink() or out.exists():
        raise UsageError(f"--out {out} exists. Name a new file, or remove it.")
    return out
