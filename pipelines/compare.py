"""`kvcensus compare RESULTS... --out PAGE.html`: several windows or workloads side by side in one page."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from pipelines.command import run_command
from pipelines.stop import Stop
from pipelines.streams import say
from telemetry.errors import EXIT_OK

if TYPE_CHECKING:
    from pipelines.compare_options import CompareOptions

__all__ = ["main"]


def main(argv: Sequence[str] | None = None, prog: str = "compare", *, process: bool | None = None) -> int:
    """Run the command; returns the exit code.

    Parameters
    ----------
    process : bool or None
        Whether the process ends with the command; None: when `argv` is that of the process.
    """
    return run_command(_run, argv, prog, process=argv is None if process is None else process)


def _run(argv: Sequence[str] | None, prog: str, stop: Stop) -> int:
    with stop.held():
        from figures.compared.registry import FIGURES
        from metrics.core.contrast import contrasts
        from pipelines.compare_notes import notes
        from pipelines.compare_options import parse_compare
        from report_templates.compared import render_comparison
    options = parse_compare(argv, prog)
    windows = options.windows
    found = contrasts([window.results for window in windows])
    differing = notes(windows)
    page = render_comparison(options.name, windows, found, differing)
    _write(options, page)
    if options.json:
        from pipelines.compare_json import as_json

        say(as_json(windows, found))
        return EXIT_OK
    for note in differing:
        say(note)
    for figure in FIGURES:
        say(f"{figure.question} {figure.finding(windows).plain()}")
    say(f"page: {options.out}")
    return EXIT_OK


def _write(options: CompareOptions, page: str) -> None:
    """The page, whole or not at all."""
    from pipelines.outdir import write_error

    partial = options.out.with_name(f".{options.out.name}.{os.getpid()}.partial")
    try:
        options.out.parent.mkdir(parents=True, exist_ok=True)
        partial.write_text(page, encoding="utf-8")
        partial.replace(options.out)
    except OSError as error:
        raise write_error(options.out, error) from error
    finally:
        with suppress(OSError):
            partial.unlink(missing_ok=True)


if __name__ == "__main__":
    sys.exit(main())
