"""From the options of `ladder` to its cells."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from pipelines.ladder_calls import drawn_sessions
from pipelines.ladder_options import LadderOptions
from pipelines.progress import Progress
from replay.tier.ladder import Cell, climb
from replay.tier.record import Outcome, as_lines
from replay.tier.workload import Workload, reference
from telemetry.errors import InputError, escaped

__all__ = ["run_ladder"]

_Seen = Callable[[dict[str, object], Outcome], None]


def run_ladder(options: LadderOptions) -> list[Cell]:
    """A cell for every rate and tier.

    Raises
    ------
    InputError
        A turn that does not fit the device; a file of turns that cannot be written.
    """
    progress = Progress(len(options.rates) * len(options.tiers), sys.stderr)
    make = _workloads(options)
    cells = []
    with _lines(options.turns) as seen:
        for rate in options.rates:
            workloads = make(rate)
            for text, size in options.tiers:
                about = {"workload": options.workload, "platform": options.file.name, "rate": rate, "tier_bytes": size}

                def tell_of(row: str, seed: int, outcome: Outcome, about: dict[str, object] = about) -> None:
                    seen({**about, "row": row, "seed": seed}, outcome)

                with progress.stage("simulating", f"{rate:g} sessions/s, {text}"):
                    cells.append(climb(workloads, options.file, options.rows[size], size, options.control,
                                       options.replicates, tell_of))
    return cells


def _workloads(options: LadderOptions) -> Callable[[float], list[Workload]]:
    """From a rate to a workload a seed."""
    if options.calls is not None:
        return drawn_sessions(options.calls, options.workload, options.seeds, options.sessions)
    return lambda rate: [reference(options.workload, seed, rate) for seed in range(1, options.seeds + 1)]


@contextmanager
def _lines(path: Path | None) -> Iterator[_Seen]:
    """Where turns go: a file that appears when the last line is in it; warm probes have `probe` true."""
    if path is None:
        yield lambda about, outcome: None
        return
    partial = path.with_name(f".{path.name}.partial")
    try:
        with partial.open("w", encoding="utf-8") as file:
            def write(about: dict[str, object], outcome: Outcome) -> None:
                for probe, records in ((False, outcome.records), (True, outcome.probes)):
                    for line in as_lines(records, {**about, "probe": probe}):
                        file.write(line + "\n")

            yield write
        partial.replace(path)
    except OSError as error:
        raise InputError(f"--turns {escaped(str(path))} cannot be written: {error.strerror or error}.") from error
    finally:
        with suppress(OSError):
            partial.unlink(missing_ok=True)
