"""`kvcensus`: one command for everything a person does."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import metadata

from telemetry.errors import EXIT_OK, EXIT_USAGE, shorten

__all__ = ["main"]

_HELP = """\
usage: kvcensus COMMAND ...

commands:
  characterize   from a call log to a report on its KV cache

`kvcensus COMMAND --help` tells more; `kvcensus --version` tells the version.
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; returns the exit code."""
    words = list(sys.argv[1:] if argv is None else argv)
    if not words or words[0] in ("-h", "--help"):
        print(_HELP, end="", file=sys.stdout if words else sys.stderr)
        return EXIT_OK if words else EXIT_USAGE
    if words[0] == "--version":
        print(f"kvcensus {metadata.version('kvcensus')}")
        return EXIT_OK
    if words[0] == "characterize":
        from pipelines.characterize import main as characterize

        return characterize(words[1:], prog="kvcensus characterize")
    print(f"kvcensus: unknown command {shorten(words[0])!r}. Known commands: characterize.", file=sys.stderr)
    return EXIT_USAGE


if __name__ == "__main__":
    sys.exit(main())
