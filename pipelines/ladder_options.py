"""The command line of `ladder`, parsed and checked."""

from __future__ import annotations

import argparse
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kvcensus_gate import GateError
from pipelines.arguments import Parser
from pipelines.call_log import CallLog, add_declared, call_log, format_help
from pipelines.policy_options import NUMBER, count, each, settings_of
from replay.residency.budgets import parse_budget
from replay.tier.condition import Condition
from replay.tier.platform import ServerFile, load_server, servers
from replay.tier.studies import STUDIES, of_policies, study
from replay.tier.workload import REFERENCES
from telemetry.errors import UsageError, quoted

__all__ = ["LadderOptions", "parse_ladder"]

_EPILOG = """\
exit codes: 0 done, 2 usage, 3 input or data, 1 our fault, 130 stopped

examples:
  kvcensus ladder --workload swe --platform h100-tenure --dram 8GB --rate 0.5 --seeds 3
  kvcensus ladder --workload swe --dram 4GB,8GB,16GB,32GB,64GB --policies lru,gate
  kvcensus ladder --workload swe --rate 0.25,0.5,0.75,1 --policies none,lru,gate
  kvcensus ladder --workload swe --study attribution,hints
  kvcensus ladder calls.csv --format calls --rate 0.5 --device 40GB --policies lru,gate
  kvcensus ladder --workload continuum-d --platform h200-continuum-d --dram 8GB,40GB --study warm
"""
#: Options on calls, and what they are where nobody gives them.
_READING = {"format": None, "config": None, "arrivals": None, "sessions": "100"}
_MOST_SEEDS = 100
_MOST_SESSIONS = 100_000
_MOST_REPLICATES = 100_000


@dataclass(frozen=True)
class LadderOptions:
    """What a user asked for, checked.

    Attributes
    ----------
    workload : str
        A reference workload, or what calls are called.
    calls : CallLog or None
        None for a reference workload.
    sessions : int
        Of calls: how many a seed draws.
    file : ServerFile
    tiers : tuple of (str, int)
        As written, and in bytes.
    rates : tuple of float
        Arrivals a second.
    seeds : int
    rows : dict
        Bytes of the tier -> conditions by label.
    control : str
    replicates : int
    turns : Path or None
        Where a line for every turn goes.
    command : str
        The command that gives the same numbers.
    """

    workload: str
    calls: CallLog | None
    sessions: int
    file: ServerFile
    tiers: tuple[tuple[str, int], ...]
    rates: tuple[float, ...]
    seeds: int
    rows: dict[int, dict[str, Condition]]
    control: str
    replicates: int
    turns: Path | None
    json: bool
    command: str


def parse_ladder(argv: Sequence[str] | None = None, prog: str = "ladder") -> LadderOptions:
    """Parse and check a command line.

    Raises
    ------
    UsageError
        An unknown option or name, a value that does not parse, options that exclude each other.
    InputError
        A platform file that cannot be read.
    """
    given = _parser(prog).parse_args(argv)
    _check_workload(given)
    file = load_server(given.platform)
    if given.device is not None:
        file = file.with_device(_size("--device", given.device, file))
    tiers = tuple((text, _size("--dram", text, file)) for text in each("--dram", given.dram))
    rates = (REFERENCES[given.workload][1],) if given.rate is None else tuple(map(_rate, each("--rate", given.rate)))
    rows = {size: _rows(given, size) for _, size in tiers}
    for conditions in rows.values():
        if given.control not in conditions:
            raise UsageError(f"--control {quoted(given.control)} is no row of this ladder. Rows: "
                             f"{', '.join(conditions)}.")
    calls = call_log(given.inputs, given) if given.inputs else None
    return LadderOptions(given.workload or given.format, calls, count("--sessions", given.sessions, 1, _MOST_SESSIONS),
                         file, tiers, rates, count("--seeds", given.seeds, 1, _MOST_SEEDS), rows,
                         given.control, count("--bootstrap", given.bootstrap, 0, _MOST_REPLICATES), _turns(given.turns),
                         given.json, _command(given, rates))


def _parser(prog: str) -> argparse.ArgumentParser:
    parser = Parser(prog=prog, description="Policies of a DRAM tier side by side on simulated sessions.",
                    epilog=_EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False)
    parser.add_argument("inputs", nargs="*", metavar="INPUT", help="calls, with --format, whose sessions are drawn "
                        "whole; in place of --workload")
    parser.add_argument("--workload", metavar="W", help=f"a reference workload: {', '.join(REFERENCES)}")
    parser.add_argument("--format", help=f"INPUT is calls. {format_help()}")
    parser.add_argument("--sessions", default="100", metavar="N", help="sessions of INPUT that a seed draws (default: "
                        "100)")
    add_declared(parser)
    parser.add_argument("--platform", default="h100-tenure", metavar="P",
                        help=f"the server: {', '.join(servers())}, or a path to a .toml file (default: h100-tenure)")
    parser.add_argument("--device", metavar="SIZE", help="device memory for KV, in place of the platform's")
    parser.add_argument("--dram", default="8GB", metavar="SIZE,...", help="sizes of the tier (default: 8GB)")
    parser.add_argument("--rate", metavar="R,...", help="sessions that arrive a second (default: as published, "
                        + ", ".join(f"{rate:g} for {name}" for name, (_, rate) in REFERENCES.items()) + ")")
    parser.add_argument("--seeds", default="3", metavar="N", help="seeds 1 to N, pooled (default: 3)")
    parser.add_argument("--study", metavar="S,...", help="rows: " + "; ".join(
        f"{name}: {about}" for name, (about, _) in STUDIES.items()) + " (default: ladder)")
    parser.add_argument("--policies", metavar="P,...", help="rows: these policies, in place of a study")
    parser.add_argument("--set", action="append", default=[], metavar="POLICY.NAME=VALUE",
                        help="a parameter of one of --policies, such as gate.slack_s=10; may be repeated")
    parser.add_argument("--control", default="lru", metavar="ROW",
                        help="the row that differences and gains refer to (default: lru)")
    parser.add_argument("--bootstrap", default="1000", metavar="N",
                        help="replicates behind the intervals; 0: no intervals (default: 1000)")
    parser.add_argument("--turns", type=Path, metavar="FILE", help="write a JSON line for every turn")
    parser.add_argument("--json", action="store_true", help="print JSON in place of tables")
    parser.add_argument("--verbose", action="store_true", help="show the whole trace of an error")
    return parser


def _turns(path: Path | None) -> Path | None:
    """Where turns are written: a new file, in nothing's place."""
    if path is not None and (not path.name or path.is_symlink() or path.exists()):
        raise UsageError(f"--turns {quoted(str(path))} is no new file. Name one, or remove what is there.")
    return path


def _check_workload(given: argparse.Namespace) -> None:
    if (given.workload is None) == (not given.inputs):
        raise UsageError("Name either a --workload or INPUT with calls.")
    if given.inputs:
        if given.format is None or given.rate is None:
            raise UsageError("INPUT needs the --format of its calls, and the --rate at which its sessions arrive.")
        return
    for name, default in _READING.items():
        if getattr(given, name) != default:
            raise UsageError(f"--{name} is about calls: it needs INPUT in place of --workload.")
    if given.workload not in REFERENCES:
        raise UsageError(f"--workload {quoted(given.workload)} is not known. Known: {', '.join(REFERENCES)}.")


def _rows(given: argparse.Namespace, size: int) -> dict[str, Condition]:
    if given.policies is None:
        if given.set:
            raise UsageError("--set is for --policies: a study sets its own parameters.")
        rows: dict[str, Condition] = {}
        for name in each("--study", given.study or "ladder"):
            rows |= study(name, size)
        return rows
    if given.study is not None:
        raise UsageError("--study and --policies exclude each other: choose one.")
    names = each("--policies", given.policies)
    try:
        return of_policies(names, size, settings_of(given.set, names, "--policies"))
    except GateError as error:
        raise UsageError(str(error)) from error


def _size(option: str, text: str, file: ServerFile) -> int:
    size = parse_budget(text).bytes
    if size is None or size < file.server.block_bytes:
        raise UsageError(f"{option} {quoted(text)}: write a size such as 8GB, of at least a block of the platform, "
                         f"{file.server.block_bytes:,} bytes.")
    return size


def _rate(text: str) -> float:
    if not re.fullmatch(NUMBER, text) or float(text) == 0:
        raise UsageError(f"--rate {quoted(text)}: write sessions a second above 0, such as 0.5.")
    return float(text)


def _command(given: argparse.Namespace, rates: Sequence[float]) -> str:
    """The options that decide the numbers; a platform file of one's own by its name, INPUT in place of paths."""
    shown: dict[str, Any] = {"format": given.format, "sessions": given.sessions if given.inputs else None,
                             "arrivals": given.arrivals,
                             "config": None if given.config is None else "CONFIG", "workload": given.workload,
                             "platform": Path(given.platform).name, "device": given.device, "dram": given.dram,
                             "rate": ",".join(f"{rate:g}" for rate in rates), "seeds": given.seeds,
                             "policies": given.policies, "study": given.study, "control": given.control,
                             "bootstrap": given.bootstrap}
    words = ["kvcensus", "ladder", *(["INPUT"] if given.inputs else [])]
    for name, value in shown.items():
        words += [] if value is None else [f"--{name}", str(value)]
    return shlex.join(words + [word for text in given.set for word in ("--set", text)])
