"""`kvcensus`: one command for everything a person does."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence

from pipelines.streams import say, tell
from pipelines.version import VERSION
from telemetry.errors import EXIT_OK, EXIT_USAGE, KvcensusError, quoted

__all__ = ["main"]

#: Command, the module of `pipelines` that runs it, and what it does.
_COMMANDS = {
    "characterize": ("characterize", "from a call log to a report on its KV cache"),
    "replay": ("replaying", "what residency policies miss under memory budgets, over calls or a stream that was kept"),
    "cost": ("cost", "what misses cost in GPU-seconds and money, from results of characterize"),
    "size": ("size", "which memory budget a target needs, from results of characterize"),
    "ladder": ("ladder", "policies of a DRAM tier side by side on simulated sessions"),
    "live": ("live", "sampled sessions against a real vLLM server, under policies of a DRAM tier"),
    "compare": ("compare", "several results side by side in one page"),
    "fit": ("fit", "a profile of a call log, for generate"),
    "generate": ("generate", "a synthetic call log with the statistics of a profile"),
}
_HELP = "usage: kvcensus COMMAND ...\n\ncommands:\n" + "".join(
    f"  {name:14} {about}\n" for name, (_, about) in _COMMANDS.items()
) + "\n`kvcensus COMMAND --help` tells more; `kvcensus --version` tells the version.\n"


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; returns the exit code."""
    words = list(sys.argv[1:] if argv is None else argv)
    if words and words[0] in _COMMANDS:
        module, _ = _COMMANDS[words[0]]
        command = importlib.import_module(f"pipelines.{module}")  # what takes long to load only where it is needed
        return int(command.main(words[1:], prog=f"kvcensus {words[0]}", process=argv is None))
    try:
        return _about(words)
    except KvcensusError as error:
        tell(f"kvcensus: {error}")
        return error.exit_code


def _about(words: Sequence[str]) -> int:
    """Help, version, or what is wrong with the words."""
    if not words:
        tell(_HELP, end="")
        return EXIT_USAGE
    if words[0] in ("-h", "--help"):
        say(_HELP, end="")
        return EXIT_OK
    if words[0] == "--version":
        say(f"kvcensus {VERSION}")
        return EXIT_OK
    tell(f"kvcensus: unknown command {quoted(words[0])}. Known commands: {', '.join(_COMMANDS)}.")
    return EXIT_USAGE


if __name__ == "__main__":
    sys.exit(main())
