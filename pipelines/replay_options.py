"""The command line of `replay`, parsed and checked."""

from __future__ import annotations

import argparse
import os
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from metrics.core.clock import Clock, find_zone
from metrics.core.geometry import Geometry, find_geometry
from pipelines.arguments import Parser, threads
from pipelines.call_log import format_help
from pipelines.options import BOUNDS, Options, add_plan, add_reading, parsed, plan_of, shared_words
from replay.residency.cells import Plan
from replay.residency.clock_hour import HOUR, check_hour
from replay.residency.routing.options import DEFAULT_ROUTING
from replay.residency.stream_file import STREAMS
from telemetry.errors import InputError, UsageError, quoted
from telemetry.places import StorePath, parse_place

__all__ = ["ReplayOptions", "parse_replay"]

_EPILOG = """\
exit codes: 0 done, 2 usage, 3 input or data, 1 our fault, 130 stopped

Cells are kept in DIR as they finish. A run that was stopped goes on from there, and a run with more policies, budgets
or keys replays what is new.

examples:
  kvcensus replay sample_data/calls.csv.gz --format calls --policies lru,mrr --budgets 5%,10%,1TB --out cells
  kvcensus characterize sample_data/calls.csv.gz --format calls --out report --work work
  kvcensus replay work --policies lru,mrr_q40 --budgets 1%,2%,5% --out cells
"""

#: Options on how calls are read, and what they are where nobody gives them.
_READING = {"window": None, "tz": "UTC", "config": None, "arrivals": None, "strict": False, "work": None,
            "memory_limit": None}
#: What `characterize` has beside.
_ELSEWHERE = {"name": None, "split": None, "names": False, "engine": "duckdb", "routing": "none", "load_limit": None,
              "replica_memory": DEFAULT_ROUTING.division, "bootstrap": "0", "hours": False,
              "live": None}


@dataclass(frozen=True)
class ReplayOptions:
    """What a user asked for, checked.

    Attributes
    ----------
    inputs : tuple of str
        Calls; or work folders and stream files.
    calls : Options or None
        How calls are read; None where streams are given.
    plan : Plan
        Of streams: with the stream and the sample that were asked for, see `stream`.
    stream : str or None
        The stream that was named.
    command : str
        The command that gives the same numbers, with INPUT and OUT in place of paths.
    """

    inputs: tuple[str, ...]
    calls: Options | None
    out: Path
    plan: Plan
    stream: str | None
    geometry: Geometry
    threads: int
    json: bool
    command: str


def parse_replay(argv: Sequence[str] | None = None, prog: str = "replay") -> ReplayOptions:
    """Parse and check a command line.

    Raises
    ------
    UsageError
        An unknown option or name, a value that does not parse, options that exclude each other.
    """
    given = _parser(prog).parse_args(argv)
    out, stream = _folder(given.out), given.stream
    _check_stream(stream, given.tz)
    if given.format is None:
        _check_no_reading(given)
    given.stream = stream or STREAMS[0]
    plan = plan_of(given)
    command = _command(given, plan, stream)
    calls = None if given.format is None else parsed(given, plan, command)
    return ReplayOptions(tuple(given.inputs), calls, out, plan, stream, find_geometry(given.geometry),
                         given.threads or os.cpu_count() or 1, given.json, command)


def _parser(prog: str) -> argparse.ArgumentParser:
    parser = Parser(prog=prog, description="What residency policies miss under memory budgets.", epilog=_EPILOG,
                    formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False)
    parser.add_argument("inputs", nargs="+", metavar="INPUT", help="calls, with --format; or work folders that "
                        "characterize or replay left (--work), or stream files of them (.arrow)")
    parser.add_argument("--format", help=f"INPUT is calls. {format_help()}")
    parser.add_argument("--out", required=True, metavar="DIR", help="where results go, and cells as they finish")
    parser.add_argument("--stream", metavar="S", help=f"what is replayed: {', '.join(STREAMS)}, or a clock hour such "
                        f"as hour:2026-01-31T13 (default: {STREAMS[0]} of calls; of a work folder the only one in it)")
    add_plan(parser)
    parser.add_argument("--bounds", choices=BOUNDS, default="none",
                        help="bounds on what any policy misses, computed anew by each run (default: none)")
    add_reading(parser)
    parser.add_argument("--work", metavar="DIR", help="private folder for scratch and replay streams of calls "
                        "(default: a temporary one)")
    parser.add_argument("--threads", type=threads, metavar="N", help="cells at once (default: as many as cores)")
    parser.add_argument("--memory-limit", metavar="8GB", help="memory to read calls with; the rest is spilled to disk")
    parser.add_argument("--json", action="store_true", help="print the results as JSON")
    parser.add_argument("--verbose", action="store_true", help="show the whole trace of an error")
    parser.set_defaults(**_ELSEWHERE)
    return parser


def _check_stream(stream: str | None, tz: str) -> None:
    if stream is None or stream in STREAMS:
        return
    if not stream.startswith(HOUR):
        raise UsageError(f"--stream {quoted(stream)}: known streams are {', '.join(STREAMS)}, and clock hours such as "
                         "hour:2026-01-31T13.")
    check_hour(stream, Clock(find_zone(tz)))


def _check_no_reading(given: argparse.Namespace) -> None:
    for name, default in _READING.items():
        if getattr(given, name) != default:
            raise UsageError(f"--{name.replace('_', '-')} is about how calls are read: with it, name their --format. A "
                             "replay stream is what it was when the calls were read.")


def _folder(text: str) -> Path:
    try:
        out = parse_place(text)
    except InputError as error:
        raise UsageError(f"--out {error}") from None
    if isinstance(out, StorePath):
        raise UsageError(f"--out {out.shown}: cells are kept as they finish, which needs a folder of this machine. "
                         "Write them there, and copy the folder.")
    return out


def _command(given: argparse.Namespace, plan: Plan, stream: str | None) -> str:
    """The options that decide the numbers; paths are left out, as they can hold identifiers."""
    words = ["kvcensus", "replay", "INPUT", *(["--format", given.format] if given.format is not None else []), "--out",
             "OUT", *(["--stream", stream] if stream is not None else [])]
    return shlex.join(words + shared_words(given, plan, ("window", "tz", "arrivals", "key", "budgets", "policies",
                                                         "bounds", "release", "geometry")))
