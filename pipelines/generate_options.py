"""The command line of `generate`, parsed and checked."""

from __future__ import annotations

import argparse
import math
import os
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from pipelines.arguments import Parser, memory_limit, threads, whole
from pipelines.call_log import CallLog, add_log, call_log
from pipelines.published import published_profiles
from telemetry.errors import InputError, UsageError
from telemetry.places import StorePath, parse_place
from tracesim.events.profile import EventProfile
from tracesim.profile import Profile
from tracesim.profile_file import load_profile, profiles

__all__ = ["GenerateOptions", "parse_generate"]

_EPILOG = """\
exit codes: 0 done, 1 a check does not hold, or our fault, 2 usage, 3 input or data

examples:
  kvcensus generate --profile research --sessions 50000 --seed 1 --out trace --check
  kvcensus generate --profile chat --days 1 --rate 20 --out trace
  kvcensus generate --profile mine.toml --out trace --check logs/*.parquet
  kvcensus characterize trace --format calls --config trace/classes.toml --out report
  kvcensus generate --profile code --seed 1 --out events
  kvcensus characterize events --format events --out report
"""
_MOST_SEED = 2**64 - 1


@dataclass(frozen=True)
class GenerateOptions:
    """What a user asked for, checked.

    Attributes
    ----------
    profile : Profile or EventProfile
        With every knob applied.
    independent : bool
        Only marginals: without what ties the components together.
    published : str or None
        The published numbers to check the trace against; None: no such check.
    log : CallLog or None
        The call log to compare the trace with; None: no comparison.
    memory_limit : str or None
        Of the engine that checks; None: its own.
    command : str
        The command that gives the same trace, with OUT in place of a path.
    """

    profile: Profile | EventProfile
    seed: int
    out: Path
    threads: int
    independent: bool
    published: str | None
    log: CallLog | None
    memory_limit: str | None
    command: str


def parse_generate(argv: Sequence[str] | None = None, prog: str = "generate") -> GenerateOptions:
    """Parse and check a command line.

    Raises
    ------
    UsageError
        An unknown option or profile, a value that does not parse, options that exclude each other.
    """
    given = _parser(prog).parse_args(argv)
    if given.sessions is not None and given.rate is not None:
        raise UsageError("--sessions and --rate exclude each other: choose how many sessions, or how many a second.")
    if given.memory_limit is not None and given.check is None:
        raise UsageError("--memory-limit is that of the check: generating takes little memory. Leave it out, or add "
                         "--check.")
    published = given.check is not None and not given.check
    if published and given.profile not in published_profiles():
        raise UsageError("--check without a call log needs a profile whose numbers are published: "
                         f"{', '.join(published_profiles())}. For another, name the log: --check CALLS.")
    if not given.check and (given.format, given.config, given.arrivals) != ("calls", None, None):
        raise UsageError("--format, --config and --arrivals say how the log of --check CALLS is read: name it, too.")
    profile = load_profile(given.profile).with_window(given.sessions, given.days, given.rate)
    if given.classes is not None:
        profile = profile.with_classes(given.classes)
    if isinstance(profile, EventProfile):
        _check_events(given, profile)
    profile = profile.with_effectiveness(given.cache_effectiveness).with_stickiness(given.stickiness)
    return GenerateOptions(profile, given.seed, _folder(given.out), given.threads or os.cpu_count() or 1,
                           given.independent, given.profile if published else None,
                           call_log(given.check, given) if given.check else None, memory_limit(given.memory_limit),
                           _command(given))


def _check_events(given: argparse.Namespace, profile: EventProfile) -> None:
    """What has no meaning where events are generated."""
    for option, asked in (("--independent", given.independent), ("--check CALLS", given.check)):
        if asked:
            raise UsageError(f"{option}: the profile {profile.name} is of an event log, which holds no calls. Leave it "
                             "out.")


def _parser(prog: str) -> argparse.ArgumentParser:
    parser = Parser(prog=prog, description="A synthetic call or event log with the statistics of a published trace.",
                    epilog=_EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False)
    parser.add_argument("--profile", required=True, metavar="P", help=f"{', '.join(profiles())}, or a .toml file")
    parser.add_argument("--out", required=True, metavar="DIR", help="a folder that is new or empty")
    parser.add_argument("--seed", type=whole(0, _MOST_SEED), default=0, metavar="N",
                        help="the same profile, knobs and seed give the same trace (default 0)")
    parser.add_argument("--sessions", type=whole(1, 10**10), metavar="N",
                        help="sessions that start in the window (default: as the profile)")
    parser.add_argument("--rate", type=_number(1e-6, 1e6), metavar="R",
                        help="sessions a second, in place of --sessions")
    parser.add_argument("--days", type=_number(1e-3, 3650), metavar="D", help="length of the window")
    parser.add_argument("--cache-effectiveness", type=_number(0, 1), default=1.0, metavar="E",
                        help="chance that a call finds what it would find in the cache (default 1)")
    parser.add_argument("--classes", type=whole(1, 4), metavar="N", help="keep the first N model classes only")
    parser.add_argument("--stickiness", type=_number(0, 1), default=0.0, metavar="S",
                        help="share of the moves between deployments that do not happen (default 0; 1 = no moves)")
    parser.add_argument("--threads", type=threads, metavar="N", help="cores to use (default: all)")
    parser.add_argument("--independent", action="store_true",
                        help="the marginals only, without what ties them together: a baseline")
    parser.add_argument("--check", nargs="*", metavar="CALLS",
                        help="measure what was written, and print published against generated numbers; with CALLS, "
                        "compare it with the call log that the profile was fitted to")
    add_log(parser)
    parser.add_argument("--memory-limit", metavar="8GB",
                        help="memory of the check's engine; the rest is spilled to disk")
    parser.add_argument("--verbose", action="store_true", help="show the whole trace of an error")
    return parser


def _number(low: float, high: float) -> Callable[[str], float]:
    def parse(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not low <= value <= high:
            raise argparse.ArgumentTypeError(f"{text!r} is no number from {low:g} to {high:g}")
        return value
    return parse


def _folder(text: str) -> Path:
    """Where a trace goes: a folder of this machine, and nothing's place is taken.

    A URI of a store would be written as a folder called `s3:`.
    """
    try:
        out = parse_place(text)
    except InputError as error:
        raise UsageError(f"--out {error}") from None
    if isinstance(out, StorePath):
        raise UsageError(f"--out {out.shown}: a trace is written to a folder of this machine. Write it there, and "
                         "copy it.")
    try:
        if out.is_symlink() or (out.exists() and (not out.is_dir() or any(out.iterdir()))):
            raise UsageError(f"--out {out} exists and is no empty folder. Name a folder that is new or empty.")
    except OSError as error:
        raise UsageError(f"--out {out} cannot be used: {error.strerror or error}. Name another folder.") from error
    return out


def _command(given: argparse.Namespace) -> str:
    """The options that decide the calls; a path is left out."""
    profile = "PROFILE.toml" if given.profile not in profiles() else given.profile
    words = ["kvcensus", "generate", "--profile", profile, "--seed", str(given.seed)]
    for option, default in (("sessions", None), ("rate", None), ("days", None), ("cache_effectiveness", 1.0),
                            ("classes", None), ("stickiness", 0.0)):
        value = getattr(given, option)
        if value != default:
            words += [f"--{option.replace('_', '-')}", str(value)]
    words += ["--independent"] if given.independent else []
    return shlex.join([*words, "--out", "OUT"])
