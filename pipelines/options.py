"""The command line of `characterize`, parsed and checked."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from metrics.core.clock import Clock, Window, find_zone, parse_duration, parse_window
from metrics.core.geometry import GEOMETRIES, Geometry, find_geometry
from pipelines.arguments import Parser, memory_limit, memory_mb, threads
from pipelines.call_log import add_declared, call_log, format_help
from pipelines.config import Config
from pipelines.engines import ENGINES, default_engine
from pipelines.workdir import check_apart, check_store
from replay.residency.bounds.grid import KINDS
from replay.residency.budgets import DEFAULT_BUDGETS, parse_budgets
from replay.residency.cells import Plan
from replay.residency.policy import default_policies, find_policy, policies
from replay.residency.resampling import parse_bootstrap
from replay.residency.routing.options import DEFAULT_ROUTING, DIVISIONS, ROUTES, Routing, find_routes, parse_load_limit
from replay.residency.sampling import Sample, parse_sample
from replay.residency.stream import Release
from replay.residency.stream_file import OBJECT_KEYS, STREAMS, check_keys
from telemetry.adapter import Adapter, ReadOptions
from telemetry.errors import InputError, UsageError, quoted
from telemetry.places import StorePath, parse_place
from telemetry.schema import CALLS

__all__ = ["BOUNDS", "Options", "add_plan", "add_reading", "parse", "parsed", "plan_of",
           "shared_words"]

_EPILOG = """\
exit codes: 0 done, 2 usage, 3 input or data, 1 our fault, 130 stopped

examples:
  kvcensus characterize sample_data/calls.csv.gz --format calls --out report
  kvcensus characterize logs/*.parquet --format calls --config export.toml --split 1d --out july
  kvcensus characterize traces --format weka --arrivals poisson:0.05:1 --out coding
  kvcensus characterize events.jsonl --format events --out code
"""


#: Options on replays that are asked for by hand, and what they are where nobody did.
_OF_REPLAYS = {"sample_sessions": None, "bootstrap": "0", "hours": False, "bounds": None, "routing": None,
               "load_limit": None}
#: What --bounds asks for.
BOUNDS = {"all": tuple(KINDS), "lower": ("pfoo_l",), "none": ()}


@dataclass(frozen=True)
class Options:
    """What a user asked for, checked.

    Attributes
    ----------
    live : Path or None
        A folder of live results, which the report shows as well.
    command : str
        The command that gives the same numbers, with INPUT and OUT in place of paths.
    """

    inputs: tuple[str, ...]
    adapter: Adapter
    out: Path | StorePath
    name: str
    window: Window | None
    split_us: int | None
    clock: Clock
    config: Config
    read: ReadOptions
    plan: Plan
    routing: Routing
    geometry: Geometry
    work: Path | StorePath | None
    engine: str
    threads: int | None
    memory_limit: str | None
    names: bool
    strict: bool
    live: Path | None
    command: str

    @property
    def memory_mb(self) -> int | None:
        """`memory_limit` in MiB."""
        return memory_mb(self.memory_limit)


def parse(argv: Sequence[str] | None = None, prog: str = "characterize") -> Options:
    """Parse and check a command line.

    Raises
    ------
    UsageError
        An unknown option or name, a value that does not parse, options that exclude each other.
    """
    given = _parser(prog).parse_args(argv)
    plan = plan_of(given)
    options = parsed(given, plan, _command(given, plan), or_events=True)
    if options.adapter.rows.name != CALLS.name:
        _check_no_replay(given)
    return options


def parsed(given: argparse.Namespace, plan: Plan, command: str, *, or_events: bool = False) -> Options:
    """What was parsed, checked; of calls, or of events where these will do.

    Raises
    ------
    UsageError
        As `parse`.
    """
    log = call_log(given.inputs, given, or_events=or_events)
    clock = Clock(find_zone(given.tz))
    if given.window is not None and given.split is not None:
        raise UsageError("--window and --split exclude each other: choose one range, or a report for each.")
    out, engine = _place("--out", given.out), given.engine or default_engine()
    return Options(
        inputs=log.inputs, adapter=log.adapter, out=out,
        name=_whole(given.name) or f"{log.adapter.name} trace",
        window=None if given.window is None else parse_window(given.window, clock.zone),
        split_us=None if given.split is None else parse_duration(given.split),
        clock=clock, config=log.config, read=log.read,
        plan=plan, routing=_routing(given), geometry=find_geometry(given.geometry), work=_work(given.work, out, engine),
        engine=engine,
        threads=given.threads, memory_limit=memory_limit(given.memory_limit), names=given.names, strict=given.strict,
        live=given.live,
        command=command,
    )


def _check_no_replay(given: argparse.Namespace) -> None:
    """What is asked of the calls that a log replays has no answer where it holds none."""
    for option, default in _OF_REPLAYS.items():
        if getattr(given, option) != default:
            raise UsageError(f"--{option.replace('_', '-')}: calls are replayed, and the format {given.format} holds "
                             "none. Leave it out.")


def _parser(prog: str) -> argparse.ArgumentParser:
    parser = Parser(prog=prog, description="From a call log of LLM serving to a report on its KV cache.",
                    epilog=_EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False)
    parser.add_argument("inputs", nargs="+", metavar="INPUT",
                        help="files, folders or globs of one format, here or as URIs of a store")
    parser.add_argument("--format", required=True, help=format_help())
    parser.add_argument("--out", required=True, metavar="DIR", help="where results and report go; or a URI of a store")
    parser.add_argument("--name", help="title of the report")
    add_reading(parser)
    parser.add_argument("--split", metavar="1d", help="one report a window of this length, and an index")
    parser.add_argument("--stream", choices=STREAMS, default="busiest-hour", help="what is replayed")
    add_plan(parser)
    parser.add_argument("--bounds", choices=BOUNDS, help="bounds on what any policy misses: lower, feasible schedules "
                        "as well (all), or none (default: all; lower with --stream window, where schedules take longer "
                        "than replays)")
    parser.add_argument("--bootstrap", default="0", metavar="N[:SEED]", help="say how sure the replayed rates are, "
                        "from N replays of resampled sessions, such as 200 (default: 0, none)")
    parser.add_argument("--hours", action="store_true", help="replay each clock hour of the busiest hour's day as "
                        "well; takes as long as replaying the day")
    parser.add_argument("--routing", metavar="R,...",
                        help=f"routes to replay, or none: {', '.join(ROUTES)} (default: all; none with --stream "
                        "window, where routes take longer than replays)")
    parser.add_argument("--load-limit", metavar="F", help="under sticky_limit a deployment takes at most F times its "
                        f"fair share of calls in any minute (default: {float(DEFAULT_ROUTING.load_limit):g})")
    parser.add_argument("--replica-memory", choices=tuple(DIVISIONS), default=DEFAULT_ROUTING.division,
                        help="what a replica's part of a budget is in proportion to: its own K* (peak), its calls, or "
                        f"nothing (default: {DEFAULT_ROUTING.division})")
    parser.add_argument("--live", type=Path, metavar="DIR", help="show the results of kvcensus live as well")
    parser.add_argument("--work", metavar="DIR", help="private folder for scratch and replay streams (default: a "
                        "temporary one); with --engine spark also a URI of a store, for Spark's tables")
    parser.add_argument("--engine", choices=ENGINES, help=f"what computes (default: {default_engine()} here)")
    parser.add_argument("--threads", type=threads, metavar="N", help="cores to use (default: all)")
    parser.add_argument("--memory-limit", metavar="8GB", help="memory of the engine; the rest is spilled to disk")
    parser.add_argument("--names", action="store_true", help="publish model and deployment names instead of labels")
    parser.add_argument("--verbose", action="store_true", help="show the whole trace of an error")
    return parser


def add_reading(parser: argparse.ArgumentParser) -> None:
    """Options on how calls are read."""
    parser.add_argument("--window", metavar="START/END", help="only calls in this range, ISO-8601, END not included")
    parser.add_argument("--tz", default="UTC", help="time zone of days and hours (default UTC)")
    add_declared(parser)
    parser.add_argument("--strict", action="store_true", help="make any bad row an error, and any repeated call")


def add_plan(parser: argparse.ArgumentParser) -> None:
    """Options on what is replayed."""
    parser.add_argument("--sample-sessions", metavar="0.05",
                        help="replay the calls of this share of the sessions only; budgets are shares of their K*")
    parser.add_argument("--sample-seed", metavar="N", help="which sessions are sampled (default: 0)")
    parser.add_argument("--key", default=",".join(OBJECT_KEYS), metavar="K,...",
                        help=f"what a KV object belongs to: {', '.join(OBJECT_KEYS)} (default: all)")
    parser.add_argument("--budgets", default=",".join(b.label for b in DEFAULT_BUDGETS), metavar="B,...",
                        help="memory budgets: shares of K* or sizes, such as 10%%,4.7TB")
    chosen = ",".join(default_policies())
    parser.add_argument("--policies", default=chosen, metavar="P,...",
                        help=f"residency policies: {', '.join(policies())} (default: {chosen})")
    parser.add_argument("--release", choices=("last", "never"), default="last",
                        help="whether an object leaves after its last access (default: last)")
    parser.add_argument("--geometry", default="llama-2-70b", metavar="G",
                        help=f"KV geometry: {', '.join(GEOMETRIES)}, or bytes a token")


def plan_of(given: argparse.Namespace) -> Plan:
    """The plan that options name.

    Raises
    ------
    UsageError
        For an unknown name, and a value that does not parse.
    """
    release: Release = given.release
    names = _list("--policies", given.policies)
    for name in names:
        find_policy(name)
    return Plan(given.stream, check_keys(_list("--key", given.key)), names,
                parse_budgets(_list("--budgets", given.budgets)), release, _sample(given),
                BOUNDS[given.bounds or ("lower" if given.stream == "window" else "all")],
                parse_bootstrap(given.bootstrap), given.hours)


def _routing(given: argparse.Namespace) -> Routing:
    asked = given.routing or ("none" if given.stream == "window" else ",".join(ROUTES))
    routes = () if asked.strip() == "none" else find_routes(_list("--routing", asked))
    limit = DEFAULT_ROUTING.load_limit if given.load_limit is None else parse_load_limit(given.load_limit)
    return Routing(routes, given.replica_memory, limit)


def _sample(given: argparse.Namespace) -> Sample | None:
    if given.sample_sessions is not None:
        return parse_sample(given.sample_sessions, given.sample_seed or "0")
    if given.sample_seed is not None:
        raise UsageError("--sample-seed chooses a sample of --sample-sessions: give both.")
    return None


def _list(option: str, text: str) -> tuple[str, ...]:
    parts = tuple(part.strip() for part in text.split(","))
    if not all(parts) or len(set(parts)) < len(parts):
        raise UsageError(f"{option} {quoted(text)}: name each once, separated by commas.")
    return parts


def _whole(text: str | None) -> str:
    """A text with escapes for bytes that were no UTF-8."""
    return (text or "").encode("utf-8", "backslashreplace").decode("utf-8")


def _place(option: str, text: str) -> Path | StorePath:
    try:
        return parse_place(text)
    except InputError as error:
        raise UsageError(f"{option} {error}") from None


def _work(text: str | None, out: Path | StorePath, engine: str) -> Path | StorePath | None:
    work = None if text is None else _place("--work", text)
    if isinstance(work, StorePath):
        check_store(work, engine)
    if work is not None:
        check_apart(work, out)
    return work


def _command(given: argparse.Namespace, plan: Plan) -> str:
    """The options that decide the numbers; paths are left out, as they can hold identifiers."""
    words = ["kvcensus", "characterize", "INPUT", "--format", given.format, "--out", "OUT"]
    words += shared_words(given, plan, ("window", "split", "tz", "arrivals", "stream", "key", "budgets", "policies",
                                        "bounds", "release", "routing", "load-limit", "replica-memory", "geometry"))
    if plan.bootstrap is not None:
        words += ["--bootstrap", f"{plan.bootstrap.replicates}:{plan.bootstrap.seed}"]
    words += ["--hours"] if plan.hours else []
    words += ["--names"] if given.names else []
    words += [] if given.live is None else ["--live", "LIVE"]
    return shlex.join(words)


def shared_words(given: argparse.Namespace, plan: Plan, options: Sequence[str]) -> list[str]:
    """Those of the options that were given, and what every command has."""
    words = []
    for option in options:
        value = getattr(given, option.replace("-", "_"))
        if value is not None and (option, value) != ("tz", "UTC"):
            words += [f"--{option}", str(value)]
    if plan.sample is not None:
        words += ["--sample-sessions", plan.sample.label, "--sample-seed", str(plan.sample.seed)]
    return words + (["--config", "CONFIG"] if given.config is not None else [])
