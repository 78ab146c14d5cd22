"""`kvcensus fit`: a profile of a call log, for `kvcensus generate`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pipelines.command import run_command
from pipelines.stop import Stop
from pipelines.streams import say, tell
from pipelines.version import VERSION
from telemetry.errors import EXIT_OK

if TYPE_CHECKING:
    from pipelines.fit_options import FitOptions

__all__ = ["main"]

_MOST_TOLD = 12


def main(argv: Sequence[str] | None = None, prog: str = "fit", *, process: bool | None = None) -> int:
    """Run the command; returns the exit code."""
    return run_command(_run, argv, prog, process=argv is None if process is None else process)


def _run(argv: Sequence[str] | None, prog: str, stop: Stop) -> int:
    with stop.held():
        from pipelines.call_log import opened
        from pipelines.fit_options import parse_fit
        from pipelines.fitting.fit import fit_profile
        from pipelines.progress import Progress
        from pipelines.workdir import work_folder
        from tracesim.measured_text import profile_text
    options = parse_fit(argv, prog)
    progress = Progress(1)
    with progress.stage("fitting"), work_folder(None, None) as work, opened(options.log, work,
                                                                            threads=options.threads) as trace:
        profile, pooled = fit_profile(trace, options.k)
    _write(options.out, profile_text(profile, _about(options)))
    for line in pooled[:_MOST_TOLD] if not options.verbose else pooled:
        tell(f"pooled: {line}.")
    if len(pooled) > _MOST_TOLD and not options.verbose:
        tell(f"pooled: {len(pooled) - _MOST_TOLD} parameters more; --verbose tells all.")
    say(f"profile: {options.out}")
    return EXIT_OK


def _about(options: FitOptions) -> list[str]:
    """The head of the file: how it was made, and what it tells."""
    return [f"Fitted by kvcensus {VERSION} to a call log: kvcensus generate --profile THIS.toml makes one like it.",
            f"Every number rests on {options.k} sessions or more of the log; names are made up. It tells the number of",
            "sessions, the hour of the first and of the last start, and the distributions below."]


def _write(out: Path, text: str) -> None:
    """The file, in place when all of it is there."""
    from pipelines.outdir import write_error

    partial = out.absolute().with_name(f".{out.name}.partial")
    try:
        out.absolute().parent.mkdir(parents=True, exist_ok=True)
        partial.write_text(text, encoding="utf-8")
        partial.replace(out)
    except OSError as error:
        partial.unlink(missing_ok=True)
        raise write_error(out, error) from error


if __name__ == "__main__":
    sys.exit(main())
