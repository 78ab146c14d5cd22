"""`kvcensus generate`: a synthetic call log, or event log, and a check of it against what is published."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from pipelines.command import run_command
from pipelines.stop import Stop
from pipelines.streams import say, tell
from pipelines.version import VERSION
from telemetry.errors import EXIT_OK, EXIT_OURS

if TYPE_CHECKING:
    from pipelines.call_log import CallLog
    from pipelines.generate_options import GenerateOptions
    from pipelines.progress import Progress
    from tracesim.events.profile import EventProfile
    from tracesim.profile import Profile

__all__ = ["main"]

CALLS = "calls.parquet"
EVENTS = "events.parquet"
CLASSES = "classes.toml"
ABOUT = "trace.json"


def main(argv: Sequence[str] | None = None, prog: str = "generate", *, process: bool | None = None) -> int:
    """Run the command; returns the exit code."""
    return run_command(_run, argv, prog, process=argv is None if process is None else process)


def _run(argv: Sequence[str] | None, prog: str, stop: Stop) -> int:
    with stop.held():
        from pipelines.generate_options import parse_generate
        from pipelines.progress import Progress
    options = parse_generate(argv, prog)
    progress = Progress(2 if options.published or options.log else 1)
    if options.log is not None:
        from telemetry.sources import expand

        expand(options.log.inputs, options.log.adapter.suffixes)  # a log that is not there is told before the work
    _write(options, progress)
    say(f"trace: {options.out}")
    if options.log is not None:
        return _match(options, options.log, progress)
    return EXIT_OK if options.published is None else _check(options, options.published, progress)


def _write(options: GenerateOptions, progress: Progress) -> None:
    """The trace and what belongs to it, in place when all of it is there."""
    from tracesim.events.profile import EventProfile

    profile = options.profile
    about = {"profile": profile.name, "seed": str(options.seed), "command": options.command, "kvcensus": VERSION}
    with progress.stage("generating", f"{profile.window.sessions:,} sessions"), _whole(options.out) as folder:
        if isinstance(profile, EventProfile):
            _write_events(options, profile, folder, about, progress)
        else:
            _write_calls(options, profile, folder, about, progress)
        (folder / ABOUT).write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8")


def _write_calls(options: GenerateOptions, profile: Profile, folder: Path, about: dict[str, str],
                 progress: Progress) -> None:
    from tracesim.timeline import Timeline
    from tracesim.writer import TraceWriter

    timeline = Timeline(profile, options.seed, threads=options.threads, independent=options.independent)
    with TraceWriter(folder / CALLS, profile, about) as writer:
        for done, calls in timeline.pieces():
            writer.add(calls)
            progress.at(f"generating {done:,} of {timeline.units:,}")
    (folder / CLASSES).write_text(_rules(profile), encoding="utf-8")
    about["calls_after_the_window"] = str(timeline.cut_calls)
    tell(f"{writer.rows:,} calls; {timeline.cut_calls:,} more would start after the window and were left out.")


def _write_events(options: GenerateOptions, profile: EventProfile, folder: Path, about: dict[str, str],
                  progress: Progress) -> None:
    from tracesim.events.timeline import EventTimeline
    from tracesim.events.writer import EventWriter

    timeline = EventTimeline(profile, options.seed, threads=options.threads)
    with EventWriter(folder / EVENTS, profile, about) as writer:
        for done, events in timeline.pieces():
            writer.add(events)
            progress.at(f"generating {done:,} of {timeline.units:,}")
    tell(f"{writer.rows:,} records of events, some of them logged twice.")


@contextmanager
def _whole(out: Path) -> Iterator[Path]:
    """A hidden folder beside `out` that becomes it at the end of the block."""
    from pipelines.outdir import write_error

    partial = out.absolute().with_name(f".{out.absolute().name}.partial")
    try:
        out.absolute().parent.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(partial, ignore_errors=True)  # what a killed run left
        partial.mkdir()
        try:
            yield partial
            partial.rename(out)
        except BaseException:
            shutil.rmtree(partial, ignore_errors=True)
            raise
    except OSError as error:
        raise write_error(out, error) from error


def _rules(profile: Profile) -> str:
    """The classes of the trace's models, as `characterize --config` reads them."""
    lines = [f"# Model classes of a trace of the profile {json.dumps(profile.name)}: --config of kvcensus "
             "characterize.", "", "[source]", "whole_sessions = false"]
    for model in profile.classes.models:
        lines += ["", "[[classes]]", f"match = {json.dumps(model.name)}", f'conservative = "{model.conservative}"',
                  f'broad = "{model.broad}"']
    return "\n".join(lines) + "\n"


def _check(options: GenerateOptions, name: str, progress: Progress) -> int:
    """Measure what was written and print the check; the exit code says whether it holds."""
    from pipelines.config import load_config
    from pipelines.published import load_published
    from pipelines.trace_check import check_numbers, check_table, residual_notes, small_fleet_note
    from pipelines.trace_numbers import event_numbers, trace_numbers
    from pipelines.workdir import work_folder

    published = load_published(name)
    with progress.stage("checking"), work_folder(None, options.out) as work:
        if published.stream is None:
            numbers = event_numbers([options.out / EVENTS], work, threads=options.threads,
                                    memory_limit=options.memory_limit)
        else:
            rules = load_config(options.out / CLASSES).rules
            numbers = trace_numbers([options.out / CALLS], rules, published.stream, work, threads=options.threads,
                                    memory_limit=options.memory_limit)
    lines = check_numbers(published, numbers)
    say(f"{options.command}\n\n{check_table(lines)}")
    for note in filter(None, [small_fleet_note(int(numbers[published.counted]), published), *residual_notes(lines)]):
        say(f"\n{note}")
    return _held([line.key for line in lines if line.failed])


def _match(options: GenerateOptions, log: CallLog, progress: Progress) -> int:
    """Compare what was written with a call log; the exit code says whether it is alike."""
    from pipelines.call_log import CallLog
    from pipelines.config import load_config
    from pipelines.matching.compare import compared_table
    from pipelines.matching.match import match
    from telemetry.adapter import ReadOptions
    from telemetry.registry import find_adapter

    written = CallLog((str(options.out / CALLS),), find_adapter("calls"), load_config(options.out / CLASSES),
                      ReadOptions(), strict=True)
    with progress.stage("comparing"):
        lines = match(log, written, options.out, options.threads, options.memory_limit, progress.at)
    say(f"{options.command}\n\n{compared_table(lines)}")
    return _held([line.what for line in lines if line.failed])


def _held(failed: list[str]) -> int:
    if not failed:
        return EXIT_OK
    tell(f"the check does not hold: {', '.join(failed)}.")
    return EXIT_OURS


if __name__ == "__main__":
    sys.exit(main())
