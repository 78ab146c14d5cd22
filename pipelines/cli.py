"""`kvcensus`: one command for everything a person does."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from pipelines.streams import say, tell
from pipelines.version import VERSION
from telemetry.errors import EXIT_OK, EXIT_USAGE, KvcensusError, quoted

__all__ = ["main"]

_HELP = """\
usage: kvcensus COMMAND ...

commands:
  characterize   from a call log to a report on its KV cache
  fit            a profile of a call log
  generate       a synthetic call log with the statistics of a profile

`kvcensus COMMAND --help` tells more; `kvcensus --version` tells the version.
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; returns the exit code."""
    words = list(sys.argv[1:] if argv is None else argv)
    if words and words[0] == "characterize":
        from pipelines.characterize import main as characterize

        return characterize(words[1:], prog="kvcensus characterize", process=argv is None)
    if words and words[0] == "fit":
        from pipelines.fit import main as fit

        return fit(words[1:], prog="kvcensus fit", process=argv is None)
    if words and words[0] == "generate":
        from pipelines.generate import main as generate

        return generate(words[1:], prog="kvcensus generate", process=argv is None)
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
    tell(f"kvcensus: unknown command {quoted(words[0])}. Known commands: characterize, fit, generate.")
    return EXIT_USAGE


if __name__ == "__main__":
    sys.exit(main())
