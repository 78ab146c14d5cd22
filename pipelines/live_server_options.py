"""Options of `live` on the server: a model that is served here, or an address."""

from __future__ import annotations

import argparse
import re
import shlex
from dataclasses import dataclass

from metrics.core.geometry import GEOMETRIES, find_geometry
from pipelines.policy_options import NUMBER, count
from replay.live.http import parse_address
from replay.tier.platform import load_server, servers
from telemetry.errors import UsageError, quoted

__all__ = ["TINY", "ServerOptions", "add_server", "seconds", "server_options"]

#: The model that is made on the spot.
TINY = "tiny"


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


def add_server(parser: argparse.ArgumentParser) -> None:
    """Add them."""
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


def server_options(given: argparse.Namespace) -> ServerOptions:
    """The server that a command line names.

    Raises
    ------
    UsageError
        A value that does not parse, options that exclude each other.
    """
    if given.server_url is not None and given.serve != TINY:
        raise UsageError("--server-url and --serve exclude each other: choose one.")
    if given.server_url is not None:
        parse_address(given.server_url)
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
        seconds("--ready-timeout", given.ready_timeout))


def seconds(option: str, text: str) -> float:
    """A time."""
    if not re.fullmatch(NUMBER, text) or float(text) == 0:
        raise UsageError(f"{option} {quoted(text)}: write seconds above 0.")
    return float(text)
