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

from metrics.core.geometry import GEOMETRIES, find_geometry
from pipelines.arguments import Parser
from pipelines.call_log import CallLog, add_log, call_log
from pipelines.live_conditions import CONDITIONS_HELP, parse_conditions
from pipelines.policy_options import NUMBER, count, settings_of
from replay.live.client import Limits
from replay.live.plan import Scale
from replay.residency.budgets import parse_budget
from replay.tier.condition import Condition
from replay.tier.platform import load_server, servers
from telemetry.errors import UsageError, quoted

__all__ = ["LiveOptions", "ServerOptions", "TINY", "parse_live"]

_EPILOG = """\
exit codes: 0 done, 2 usage, 3 input or data, or a condition that did not finish, 1 our fault, 130 stopped

A run that was stopped goes on where it was: finished conditions are kept, the one that was under way begins anew.

examples:
  kvcensus live calls.csv --sessions 30 --token-scale 0.02 --time-scale 0.05 --conditions none,lru,gate --out live
  kvcensus live --out live --control lru
  kvcensus live calls.csv --conditions lru,gate,gate:gap=noise50,gate:last=blinded,job_aware:warm=500ms --out live
  kvcensus live calls.csv --server-url http://127.0.0.1:8000 --conditions lru --out live
"""
#: The model that is made on the spot.
TINY = "tiny"
_MOST_SESSIONS = 10_000
_MOST_SEEDS = 100
_MOST_REPLICATES = 100_000
_LOG = "log"


@dataclass(frozen=True)
class ServerOptions:
    """The server as a user names it; see `Launch`.

    Attributes
    ----------
    serve : str
        `tiny`, or a model.
    url : str or None
        Of a server that runs, in place of that.
    model : str or None
        What requests to it call the model.
    python : str or None
        Interpreter of the environment with vLLM.
    geometry : str or None
        KV bytes of a token, for a model other than tiny.
    vocabulary : int
        Token ids below this are used, for a model other than tiny.
    platform : str
        Of the simulator.
    ready_s : float
    """

    serve: str
    url: str | None
    model: str | None
    python: str | None
    geometry: str | None
    vocabulary: int
    platform: str
    block_tokens: int
    device_blocks: int
    max_seqs: int
    max_batched_tokens: int
    arguments: tuple[str, ...]
    ready_s: float


@dataclass(frozen=True)
class LiveOptions:
    """What a user asked for, checked.

    Attributes
    ----------
    log : CallLog or None
        None: nothing is run, what is there is analysed.
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
    server = _server(given)
    return LiveOptions(
        call_log(given.inputs, given) if given.inputs else None, given.format, given.out,
        count("--sessions", given.sessions, 1, _MOST_SESSIONS), count("--seed", given.seed, 0, 999_999),
        count("--seeds", given.seeds, 1, _MOST_SEEDS), _rate(given.rate),
        Scale(_factor("--token-scale", given.token_scale), _factor("--time-scale", given.time_scale)),
        {"tokens": given.token_scale, "time": given.time_scale}, _rows(given, server), server,
        Limits(_seconds("--turn-timeout", given.turn_timeout)), given.control,
        count("--bootstrap", given.bootstrap, 0, _MOST_REPLICATES), given.json, _command(given))


def _parser(prog: str) -> argparse.ArgumentParser:
    parser = Parser(prog=prog, description="Sampled sessions of a call log against a real vLLM server, under policies "
                    "of a DRAM tier. Without INPUT: the numbers of what lies in --out.", epilog=_EPILOG,
                    formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False)
    parser.add_argument("inputs", nargs="*", metavar="INPUT", help="calls: files, folders or globs of one format")
    parser.add_argument("--out", required=True, type=Path, metavar="DIR", help="where raw results lie")
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
    _add_server(parser)
    parser.add_argument("--turn-timeout", default="120", metavar="S", help="seconds after which a turn without an end "
                        "means that the server hangs (default: 120)")
    parser.add_argument("--control", metavar="C", help="the condition that differences and gains refer to (default: "
                        "lru, or the first)")
    parser.add_argument("--bootstrap", default="1000", metavar="N",
                        help="replicates behind the intervals; 0: no intervals (default: 1000)")
    parser.add_argument("--json", action="store_true", help="print JSON in place of tables")
    parser.add_argument("--verbose", action="store_true", help="show the whole trace of an error")
    return parser


def _add_server(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("server").add_argument
    add("--serve", default=TINY, metavar="MODEL", help="start a server of this model for every condition and seed: a "
        f"folder, a name, or {TINY}, which is made on the spot (default: {TINY})")
    add("--server-url", metavar="URL", help="use a server that runs, in place of --serve; it has a tier of its own, "
        "and --conditions says what that is")
    add("--model", metavar="NAME", help="what requests to --server-url call the model (default: its first)")
    add("--python", metavar="FILE", help="interpreter of the environment with vLLM (default: that of `make live-env`)")
    add("--geometry", metavar="G", help=f"KV geometry of --serve, if not {TINY}: {', '.join(GEOMETRIES)}, or bytes a "
        "token")
    add("--vocabulary", default="30000", metavar="N", help=f"token ids from 256 to N - 1 are sent, if not to {TINY} "
        "(default: 30000)")
    add("--block-size", default="32", metavar="N", help="tokens of a block (default: 32)")
    add("--device-blocks", default="64", metavar="N", help="blocks of the device pool (default: 64)")
    add("--max-seqs", default="8", metavar="N", help="requests at a time (default: 8)")
    add("--max-batched-tokens", default="2048", metavar="N", help="tokens of a step (default: 2048)")
    add("--server-args", default="", metavar="WORDS", help="more of the server's command line, such as '--dtype "
        "bfloat16 --load-format dummy'; what comes later wins")
    add("--ready-timeout", default="300", metavar="S", help="seconds that a server may take to start (default: 300)")
    add("--platform", default="cpu-tiny", metavar="P", help="rates of the simulator that stands beside: "
        f"{', '.join(servers())}, or a path to a .toml file (default: cpu-tiny)")


def _server(given: argparse.Namespace) -> ServerOptions:
    if given.server_url is not None and given.serve != TINY:
        raise UsageError("--server-url and --serve exclude each other: choose one.")
    if given.server_url is None and given.serve != TINY and given.geometry is None:
        raise UsageError(f"--serve {quoted(given.serve)} needs the --geometry of its KV cache.")
    if given.geometry is not None:
        find_geometry(given.geometry)
    load_server(given.platform)
    try:
        arguments = tuple(shlex.split(given.server_args))
    except ValueError as error:
        raise UsageError(f"--server-args {quoted(given.server_args)}: {error}.") from error
    return ServerOptions(
        given.serve, given.server_url, given.model, given.python, given.geometry,
        count("--vocabulary", given.vocabulary, 257, 999_999), given.platform,
        count("--block-size", given.block_size, 1, 4096), count("--device-blocks", given.device_blocks, 2, 999_999),
        count("--max-seqs", given.max_seqs, 1, 4096),
        count("--max-batched-tokens", given.max_batched_tokens, 1, 999_999), arguments,
        _seconds("--ready-timeout", given.ready_timeout))


def _rows(given: argparse.Namespace, server: ServerOptions) -> dict[str, Condition]:
    size = parse_budget(given.tier).bytes
    if size is None:
        raise UsageError(f"--tier {quoted(given.tier)}: write a size such as 8GB.")
    policies = [part.strip().split(":")[0] for part in given.conditions.split(",")]
    rows = parse_conditions(given.conditions, size, settings_of(given.set, policies, "--conditions"))
    if given.inputs and given.control is not None and given.control not in rows:
        raise UsageError(f"--control {quoted(given.control)} is none of --conditions: {', '.join(rows)}.")
    if server.url is not None and len({condition.policy for condition in rows.values()}) > 1:
        raise UsageError("--server-url has one tier: --conditions may differ in hints and probes, not in the policy.")
    return rows


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


def _seconds(option: str, text: str) -> float:
    if not re.fullmatch(NUMBER, text) or float(text) == 0:
        raise UsageError(f"{option} {quoted(text)}: write seconds above 0.")
    return float(text)


def _command(given: argparse.Namespace) -> str:
    """The options that decide what is measured; INPUT, OUT and CONFIG in place of paths, of a model its last part."""
    shown: dict[str, Any] = {
        "format": given.format, "config": None if given.config is None else "CONFIG", "arrivals": given.arrivals,
        "sessions": given.sessions, "seed": given.seed, "seeds": given.seeds, "rate": given.rate,
        "token-scale": given.token_scale, "time-scale": given.time_scale, "conditions": given.conditions,
        "tier": given.tier, "serve": None if given.server_url else Path(given.serve).name,
        "server-url": "URL" if given.server_url else None, "geometry": given.geometry,
        "block-size": given.block_size, "device-blocks": given.device_blocks, "max-seqs": given.max_seqs,
        "max-batched-tokens": given.max_batched_tokens, "server-args": given.server_args or None,
        "platform": Path(given.platform).name}
    words = ["kvcensus", "live", "INPUT", "--out", "OUT"]
    for name, value in shown.items():
        words += [] if value is None else [f"--{name}", str(value)]
    return shlex.join(words + [word for text in given.set for word in ("--set", text)])
