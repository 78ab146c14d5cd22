"""The command line of `live`, parsed and checked."""

from __future__ import annotations

import argparse
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from pipelines.arguments import Parser
from pipelines.call_log import CallLog, add_log, call_log
from pipelines.live_conditions import CONDITIONS_HELP, parse_conditions
from pipelines.live_server_options import ServerOptions, add_server, seconds, server_options
from pipelines.policy_options import NUMBER, count, settings_of
from replay.live.client import Limits
from replay.live.plan import Scale
from replay.residency.budgets import parse_budget
from replay.tier.condition import Condition
from replay.tier.workload import REFERENCES
from telemetry.errors import UsageError, quoted

__all__ = ["LiveOptions", "parse_live"]

_EPILOG = """\
exit codes: 0 done, 2 usage, 3 input or data, or a condition that did not finish, 1 our fault, 130 stopped

A run that was stopped goes on where it was: finished conditions are kept, the one that was under way begins anew.

examples:
  kvcensus live calls.csv --sessions 30 --token-scale 0.02 --time-scale 0.05 --conditions none,lru,gate --out live
  kvcensus live --out live --control lru
  kvcensus live --workload swe --token-scale 0.05 --time-scale 0.2 --rate 2.5 --device-blocks 72 --tier 3MB --out live
  kvcensus live calls.csv --conditions lru,gate,gate:gap=noise50,gate:last=blinded,job_aware:warm=500ms --out live
  kvcensus live calls.csv --server-url http://127.0.0.1:8000 --conditions lru --out live
"""
_MOST_SESSIONS = 10_000
_MOST_SEEDS = 100
_MOST_REPLICATES = 100_000
_LOG = "log"


@dataclass(frozen=True)
class LiveOptions:
    """What a user asked for, checked.

    Attributes
    ----------
    log : CallLog or None
        Whose sessions are sampled.
    workload : str or None
        A reference workload in place of a log. Neither: nothing is run, what is there is analysed.
    name : str
        What messages call either.
    sessions, sample_seed, seeds : int
    rate : float or None
        None: the log's own arrivals.
    scale : Scale
    scale_words : dict
        As written.
    rows : dict of Condition
    server : ServerOptions
    limits : Limits
    control : str or None
        None: lru, or the first condition.
    replicates : int
    command : str
        The command that asks for the same, with INPUT and OUT in place of paths.
    """

    log: CallLog | None
    workload: str | None
    name: str
    out: Path
    sessions: int
    sample_seed: int
    seeds: int
    rate: float | None
    scale: Scale
    scale_words: dict[str, str]
    rows: dict[str, Condition]
    server: ServerOptions
    limits: Limits
    control: str | None
    replicates: int
    json: bool
    command: str


def parse_live(argv: Sequence[str] | None = None, prog: str = "live") -> LiveOptions:
    """Parse and check a command line.

    Raises
    ------
    UsageError
        An unknown option or name, a value that does not parse, options that exclude each other.
    """
    given = _parser(prog).parse_args(argv)
    server = server_options(given)
    if given.workload is not None:
        _check_workload(given)
    return LiveOptions(
        call_log(given.inputs, given) if given.inputs else None, given.workload, given.workload or given.format,
        given.out,
        count("--sessions", given.sessions, 1, _MOST_SESSIONS), count("--seed", given.seed, 0, 999_999),
        count("--seeds", given.seeds, 1, _MOST_SEEDS), _rate(given.rate),
        Scale(_factor("--token-scale", given.token_scale), _factor("--time-scale", given.time_scale)),
        {"tokens": given.token_scale, "time": given.time_scale}, _rows(given, server), server,
        Limits(seconds("--turn-timeout", given.turn_timeout)), given.control,
        count("--bootstrap", given.bootstrap, 0, _MOST_REPLICATES), given.json, _command(given))


def _parser(prog: str) -> argparse.ArgumentParser:
    parser = Parser(prog=prog, description="Sampled sessions of a call log against a real vLLM server, under policies "
                    "of a DRAM tier. Without INPUT: the numbers of what lies in --out.", epilog=_EPILOG,
                    formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False)
    parser.add_argument("inputs", nargs="*", metavar="INPUT", help="calls: files, folders or globs of one format")
    parser.add_argument("--out", required=True, type=Path, metavar="DIR", help="where raw results lie")
    parser.add_argument("--workload", metavar="W",
                        help=f"a reference workload in place of INPUT: {', '.join(REFERENCES)}")
    add_log(parser)
    parser.add_argument("--sessions", default="30", metavar="N", help="sessions that are sampled, whole, by hashing "
                        "their ids (default: 30)")
    parser.add_argument("--seed", default="1", metavar="N", help="of the sample (default: 1)")
    parser.add_argument("--seeds", default="3", metavar="N", help="seeds 1 to N of arrivals, order, tokens and noise "
                        "(default: 3)")
    parser.add_argument("--rate", default="1", metavar="R", help="sessions that arrive a second, Poisson; or log: the "
                        "log's own arrivals, scaled (default: 1)")
    parser.add_argument("--token-scale", default="1", metavar="F", help="factor of all token counts (default: 1)")
    parser.add_argument("--time-scale", default="1", metavar="F", help="factor of gaps (default: 1)")
    parser.add_argument("--conditions", default="none,lru,gate", metavar="C,...",
                        help=f"{CONDITIONS_HELP} (default: none,lru,gate)")
    parser.add_argument("--set", action="append", default=[], metavar="POLICY.NAME=VALUE",
                        help="a parameter of a policy, such as gate.slack_s=10; may be repeated")
    parser.add_argument("--tier", default="4MiB", metavar="SIZE", help="host memory of the tier (default: 4MiB)")
    add_server(parser)
    parser.add_argument("--turn-timeout", default="120", metavar="S", help="seconds after which a turn without an end "
                        "means that the server hangs (default: 120)")
    parser.add_argument("--control", metavar="C", help="the condition that differences and gains refer to (default: "
                        "lru, or the first)")
    parser.add_argument("--bootstrap", default="1000", metavar="N",
                        help="replicates behind the intervals; 0: no intervals (default: 1000)")
    parser.add_argument("--json", action="store_true", help="print JSON in place of tables")
    parser.add_argument("--verbose", action="store_true", help="show the whole trace of an error")
    return parser


def _rows(given: argparse.Namespace, server: ServerOptions) -> dict[str, Condition]:
    size = parse_budget(given.tier).bytes
    if size is None:
        raise UsageError(f"--tier {quoted(given.tier)}: write a size such as 8GB.")
    policies = [part.strip().split(":")[0] for part in given.conditions.split(",")]
    rows = parse_conditions(given.conditions, size, settings_of(given.set, policies, "--conditions"))
    runs = given.inputs or given.workload
    if runs and given.control is not None and given.control not in rows:
        raise UsageError(f"--control {quoted(given.control)} is none of --conditions: {', '.join(rows)}.")
    if server.url is not None and len({condition.policy for condition in rows.values()}) > 1:
        raise UsageError("--server-url has one tier: --conditions may differ in hints and probes, not in the policy.")
    return rows


def _check_workload(given: argparse.Namespace) -> None:
    if given.inputs:
        raise UsageError("--workload and INPUT exclude each other: name either.")
    if given.workload not in REFERENCES:
        raise UsageError(f"--workload {quoted(given.workload)} is not known. Known: {', '.join(REFERENCES)}.")
    if given.rate == _LOG:
        raise UsageError(f"--rate {_LOG} is for INPUT: a reference workload has no arrivals of its own.")


def _rate(text: str) -> float | None:
    if text == _LOG:
        return None
    if not re.fullmatch(NUMBER, text) or float(text) == 0:
        raise UsageError(f"--rate {quoted(text)}: write sessions a second above 0, such as 0.5, or {_LOG}.")
    return float(text)


def _factor(option: str, text: str) -> Fraction:
    if not re.fullmatch(NUMBER, text) or not Fraction(text):
        raise UsageError(f"{option} {quoted(text)}: write a factor above 0, such as 0.05.")
    return Fraction(text)


def _command(given: argparse.Namespace) -> str:
    """The options that decide what is measured; INPUT, OUT and CONFIG in place of paths, of a model its last part."""
    shown: dict[str, Any] = {
        "workload": given.workload, "format": None if given.workload else given.format,
        "config": None if given.config is None else "CONFIG", "arrivals": given.arrivals,
        "sessions": given.sessions, "seed": None if given.workload else given.seed,
        "seeds": given.seeds, "rate": given.rate,
        "token-scale": given.token_scale, "time-scale": given.time_scale, "conditions": given.conditions,
        "tier": given.tier, "serve": None if given.server_url else Path(given.serve).name,
        "server-url": "URL" if given.server_url else None, "geometry": given.geometry,
        "block-size": given.block_size, "device-blocks": given.device_blocks, "max-seqs": given.max_seqs,
        "max-batched-tokens": given.max_batched_tokens, "server-args": given.server_args or None,
        "platform": Path(given.platform).name}
    words = ["kvcensus", "live", *([] if given.workload else ["INPUT"]), "--out", "OUT"]
    for name, value in shown.items():
        words += [] if value is None else [f"--{name}", str(value)]
    return shlex.join(words + [word for text in given.set for word in ("--set", text)])
