"""From the options on a server to how servers are had, and what is known of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from metrics.core.geometry import find_geometry
from pipelines.live_server_options import TINY, ServerOptions
from pipelines.workdir import work_folder
from replay.live.plan import Plan
from replay.live.results import ServerFacts
from replay.live.server import Launch, live_python
from replay.live.serving import Served, told_model
from replay.live.tiny_model import TinyLlama, write_tiny_model
from replay.tier.workload import Workload
from telemetry.errors import UsageError

__all__ = ["Serving", "served", "vocabulary_of"]

#: Below, tokenizers keep bytes and special tokens.
_FIRST_TOKEN = 256


@dataclass(frozen=True)
class Serving:
    """How servers are had, and their sizes; None of one that somebody else runs."""

    served: Served
    facts: ServerFacts | None


def vocabulary_of(options: ServerOptions) -> range:
    """The token ids that prompts are made of."""
    if options.url is None and options.serve == TINY:
        shape = TinyLlama()
        return range(shape.first_word, shape.vocabulary)
    return range(_FIRST_TOKEN, options.vocabulary)


@contextmanager
def served(options: ServerOptions, plans: Sequence[Plan]) -> Iterator[Serving]:
    """How servers are had, for the length of a block; the tiny model lies in a temporary folder.

    Raises
    ------
    UsageError
        No environment with vLLM; a turn that does not fit the device.
    InputError
        A server that should run does not answer.
    """
    if options.url is not None:
        yield Serving(Served(options.model or told_model(options.url), url=options.url.rstrip("/")), None)
        return
    facts = _facts(options, [plan.workload for plan in plans])
    python = live_python(options.python)
    with work_folder(None, None) as folder:
        local = Path(options.serve)
        model: Path | str = options.serve
        if options.serve == TINY:
            model = write_tiny_model(folder / TINY)
        elif local.exists():
            model = local.resolve()
        launch = Launch(python, model, _name(options.serve), facts.max_model_len, facts.block_tokens,
                        facts.device_blocks, facts.max_seqs, facts.max_batched_tokens, arguments=options.arguments)
        yield Serving(Served(launch.name, launch, ready_s=options.ready_s), facts)


def _facts(options: ServerOptions, workloads: Sequence[Workload]) -> ServerFacts:
    size = options.block_tokens
    longest = max(turn.prompt_tokens + turn.output_tokens for workload in workloads for session in workload.sessions
                  for turn in session.turns)
    # vLLM keeps a block of the pool for itself.
    room = (options.device_blocks - 1) * size
    length = -(-longest // size) * size
    if length > room:
        raise UsageError(f"the longest turn has {longest:,} tokens, to scale, and {options.device_blocks:,} blocks of "
                         f"{size:,} hold {room:,}. Give --device-blocks more, or --token-scale less.")
    kv_bytes = TinyLlama().kv_bytes_per_token if options.serve == TINY else _geometry(options)
    return ServerFacts(options.platform, kv_bytes, size, options.device_blocks, options.max_seqs,
                       options.max_batched_tokens, length)


def _geometry(options: ServerOptions) -> int:
    assert options.geometry is not None, "the command line asks for it"
    return find_geometry(options.geometry).bytes_per_token


def _name(serve: str) -> str:
    """What requests call the model: no path."""
    return Path(serve).name
