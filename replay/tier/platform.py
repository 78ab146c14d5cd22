"""A server for the tier simulator: rates and sizes, from a TOML file in which every value says where it comes from.

Shipped files lie in `platforms/`; `--platform` takes the name of one or a path to another.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

from replay.facts import Fact, FactsFile, find_file
from telemetry.errors import UsageError, escaped

__all__ = ["Server", "ServerFile", "load_server", "servers"]

_FOLDER = Path(__file__).parent / "platforms"
_TEXTS = ("gpu", "model", "geometry")
#: Name of a value -> what it is; whole numbers.
_VALUES = {
    "prefill_tokens_per_s": "tokens that are prefilled in a second near the start of a context",
    "attention_tokens": "position in a context at which attention costs as much as the weights",
    "step_floor_us": "microseconds in which a step reads every weight",
    "step_overhead_us": "microseconds of scheduling and launches in a step",
    "decode_kv_bytes_per_s": "KV bytes that decoding reads in a second",
    "device_kv_bytes": "device memory for KV",
    "link_bytes_per_s": "KV bytes a second between device and host, one way",
    "max_batched_tokens": "tokens of a step, prefill and decode together",
    "max_seqs": "requests that may hold KV on the device at a time",
    "block_tokens": "tokens of a block of either pool",
}


@dataclass(frozen=True)
class Server:
    """What the simulator knows of a server; see `_VALUES` for what each is.

    Attributes
    ----------
    kv_bytes_per_token : int
    prefill_tokens_per_s, attention_tokens : int
        A token at position p is prefilled in (1 + p / attention_tokens) / prefill_tokens_per_s seconds.
    step_floor_us, step_overhead_us : int
    decode_kv_bytes_per_s, device_kv_bytes, link_bytes_per_s : int
    max_batched_tokens, max_seqs, block_tokens : int
    """

    kv_bytes_per_token: int
    prefill_tokens_per_s: int
    attention_tokens: int
    step_floor_us: int
    step_overhead_us: int
    decode_kv_bytes_per_s: int
    device_kv_bytes: int
    link_bytes_per_s: int
    max_batched_tokens: int
    max_seqs: int
    block_tokens: int

    @property
    def block_bytes(self) -> int:
        """Bytes of a block."""
        return self.block_tokens * self.kv_bytes_per_token

    @property
    def device_blocks(self) -> int:
        """Blocks of the device pool, rounded down."""
        return self.device_kv_bytes // self.block_bytes


@dataclass(frozen=True)
class ServerFile:
    """A platform file, read.

    Attributes
    ----------
    name : str
        Of a shipped file, or the stem of a file of the user's own.
    gpu, model : str
    facts : dict
        Every value by name, with its source.
    server : Server
    """

    name: str
    gpu: str
    model: str
    facts: dict[str, Fact]
    server: Server

    def with_device(self, size: int) -> ServerFile:
        """The same with another device memory for KV, in bytes."""
        fact = Fact(Fraction(size), "assumed", "given on the command line")
        return replace(self, facts=self.facts | {"device_kv_bytes": fact},
                       server=replace(self.server, device_kv_bytes=size))


def servers() -> dict[str, Path]:
    """Shipped platforms by name."""
    return {path.stem: path for path in sorted(_FOLDER.glob("*.toml"))}


def load_server(text: str) -> ServerFile:
    """The shipped platform called `text`, or that of the file at `text`.

    Raises
    ------
    UsageError
        An unknown name; a file with a key or a value that cannot be used: the message names key and line; a device
        that holds no block.
    InputError
        A file that cannot be read.
    """
    shipped = servers()
    path = find_file(text, shipped)
    file = FactsFile(path, _TEXTS, _VALUES, (), ", ".join(shipped))
    words, facts = file.content()
    server = Server(file.geometry().bytes_per_token, **{name: int(fact.value) for name, fact in facts.items()})
    if not server.device_blocks:
        raise UsageError(f"--platform {escaped(str(path))}: device_kv_bytes = {server.device_kv_bytes:,} holds no "
                         f"block of {server.block_bytes:,} bytes. Give it more, or make block_tokens smaller.")
    return ServerFile(path.stem, words["gpu"], words["model"], facts, server)
