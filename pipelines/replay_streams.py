"""The streams that `replay` replays: made of calls, or found in work folders."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from metrics.core import audit as audits
from metrics.core.clock import iso
from metrics.core.trace import Trace
from pipelines.options import Options
from pipelines.progress import Progress
from pipelines.reading import Read, read_calls, write_stream
from pipelines.replay_options import ReplayOptions
from pipelines.windows import windows_of
from pipelines.workdir import PRIVATE, work_folder
from replay.residency.stream_file import StreamFile
from telemetry.adapter import DefectLog
from telemetry.errors import InputError, UsageError, escaped, quoted
from telemetry.sources import expand

__all__ = ["Given", "streams"]


@dataclass(frozen=True)
class Given:
    """A stream to replay.

    Attributes
    ----------
    file : StreamFile
    about : dict
        What the manifest says of its source.
    audit : dict or None
        What became of each row, where calls were read.
    """

    file: StreamFile
    about: dict[str, Any] = field(default_factory=dict)
    audit: dict[str, Any] | None = None


@contextmanager
def streams(options: ReplayOptions, progress: Progress) -> Iterator[list[Given]]:
    """The streams of a run, one a window; their files stay until the end of the block.

    Raises
    ------
    UsageError, InputError
        With a message for the user.
    """
    if options.calls is not None:
        with _of_calls(options.calls, progress) as given:
            yield [given]
    else:
        yield [Given(file) for file in _chosen(options, _files(options.inputs))]


@contextmanager
def _of_calls(options: Options, progress: Progress) -> Iterator[Given]:
    sources, log = expand(options.inputs, options.adapter.suffixes), DefectLog(strict=options.strict)
    place = options.work if isinstance(options.work, Path) else None
    progress.expect(3)
    with work_folder(place, options.out) as work:
        with (read_calls(options, sources, log, work, progress) as read, progress.stage("ordering calls"),
              read.engine.explaining("ordering calls")):
            trace = _trace(options, read)
            audit = audits.audit(trace, read.ingested, log, len(sources)).as_json()
            _, file = write_stream(trace, options.plan, work)
            about = {"format": options.adapter.name, "files": len(sources), "sha256": read.digest.result(),
                     "bytes": sum(source.size for source in sources)}
        yield Given(file, about, audit)  # the engine is closed: its memory is for the replay


def _trace(options: Options, read: Read) -> Trace:
    """The calls of the window, in the order of their sessions."""
    [window], _ = windows_of(options, read.engine, read.ingested)
    trace = Trace(read.engine, read.ingested, window, read.settings)
    if trace.empty:
        raise InputError("no call lies in the window; the input's calls start from "
                         f"{iso(read.ingested.first_us)} to {iso(read.ingested.last_us)}.")
    why = trace.lacks("sessioned")
    if why is not None:
        raise InputError(f"there is nothing to replay: {why}.")
    trace.derive()
    return trace


def _files(inputs: Sequence[str]) -> list[Path]:
    """The stream files that the inputs name."""
    found: list[Path] = []
    for text in inputs:
        path = Path(text)
        try:
            if path.is_dir():
                found += _of_folder(path)
            elif path.suffix == ".arrow" and path.is_file():
                found.append(path)
            elif path.exists():
                raise UsageError(f"{escaped(text)} is no work folder and no stream file (.arrow). If it holds calls, "
                                 "name their --format.")
            else:
                raise InputError(f"{escaped(text)}: no such file or folder. Check the path, or name the --format of "
                                 "calls that lie elsewhere.")
        except (OSError, ValueError) as error:
            raise InputError(f"{quoted(text)} cannot be looked up: {error}.") from error
    return list(dict.fromkeys(found))


def _of_folder(folder: Path) -> list[Path]:
    """In a folder that others may enter, runs use a private one."""
    for place in (folder, folder / PRIVATE):
        found = sorted(place.glob("stream-*.arrow"))
        if found:
            return found
    raise UsageError(f"{escaped(str(folder))} holds no replay stream. Name a folder that was the --work of a run that "
                     "came to its end, or name the --format of calls.")


def _chosen(options: ReplayOptions, paths: Sequence[Path]) -> list[StreamFile]:
    """Those that were asked for, which must be of one kind and of different windows."""
    files = [StreamFile.open(path) for path in paths]
    sample = options.plan.sample
    fitting = [file for file in files if options.stream in (None, file.which)
               and (sample is None or (file.drawn is not None and file.drawn.sample == sample))]
    kinds = sorted({_kind(file) for file in fitting})
    there = f"there is: {', '.join(sorted({_kind(file) for file in files}))}"
    if not fitting:
        raise UsageError(f"no stream of INPUT is what --stream or --sample-sessions ask for; {there}. Name one of "
                         "these, or name calls.")
    if len(kinds) > 1:
        raise UsageError(f"INPUT has streams of several kinds; {there}. Choose one with --stream, --sample-sessions "
                         "and --sample-seed, or name its file.")
    windows = [file.window for file in fitting]
    if len(set(windows)) < len(windows):
        raise UsageError("INPUT has two streams of the same window. Name one of them.")
    if any(not file.calls for file in fitting):
        raise InputError("a stream of INPUT holds no call: there is nothing to replay.")
    return fitting


def _kind(file: StreamFile) -> str:
    return file.which + (f", a sample ({file.drawn.sample})" if file.drawn is not None else "")
