"""The command line of `compare`: which results, under which labels, into which page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from figures.compared.spec import MOST_WINDOWS, Compared
from figures.units import clean
from metrics.core.store import Results
from pipelines.arguments import Parser
from telemetry.errors import InputError, UsageError, quoted

__all__ = ["CompareOptions", "parse_compare"]

_OURS = 'content="kvcensus"'  # the generator of every page that we write


@dataclass(frozen=True)
class CompareOptions:
    """What to compare."""

    windows: tuple[Compared, ...]
    out: Path
    name: str
    json: bool


def parse_compare(argv: Sequence[str] | None, prog: str) -> CompareOptions:
    """The options; results are opened.

    Raises
    ------
    UsageError, InputError
    """
    given = _parser(prog).parse_args(argv)
    out = _page(given.out)
    folders = [window for text in given.results for window in _windows(Path(text))]
    if len(folders) < 2:
        raise UsageError("one result is no comparison: name two or more, each the folder of a window or an --out of "
                         "characterize.")
    if len(folders) > MOST_WINDOWS:
        raise UsageError(f"{len(folders)} results are too many to tell apart in a figure: name at most {MOST_WINDOWS}.")
    results = [Results.open(folder) for folder in folders]
    labels = _labels(given.labels, results)
    windows = tuple(Compared(label, found, place)
                    for place, (label, found) in enumerate(zip(labels, results, strict=True)))
    return CompareOptions(windows, out, clean(given.name, 200), given.json)


def _parser(prog: str) -> Parser:
    parser = Parser(prog=prog, allow_abbrev=False,
                    description="Several windows or workloads side by side in one page: their main numbers, what "
                    "differs most, and their figures over each other.")
    parser.add_argument("results", nargs="+", metavar="RESULTS", help="folder of a window (it holds manifest.json), or "
                        "an --out of characterize, for all of its windows")
    parser.add_argument("--out", required=True, metavar="PAGE.html", help="the page to write")
    parser.add_argument("--labels", metavar="A,B,...", help="what the results are called, in their order (default: the "
                        "names of their runs and windows)")
    parser.add_argument("--name", default="Comparison", metavar="TITLE", help="title of the page")
    parser.add_argument("--json", action="store_true", help="print all contrasts as JSON instead of the findings")
    parser.add_argument("--verbose", action="store_true", help="show the whole trace of an error")
    return parser


def _page(text: str) -> Path:
    out = Path(text)
    if out.suffix != ".html":
        raise UsageError(f"--out {quoted(text)}: name a page, such as compare.html.")
    try:
        if out.is_dir():
            raise UsageError(f"--out {quoted(text)} is a folder. Name a page in it, such as compare.html.")
        if out.exists() and _OURS not in out.read_text(encoding="utf-8", errors="replace")[:2000]:
            raise UsageError(f"--out {quoted(text)} is a file that kvcensus did not write. Name another one.")
        if (out.parent / "manifest.json").exists():
            raise UsageError(f"--out {quoted(text)} lies in a result, whose files belong together. Name another place.")
    except OSError as error:
        raise UsageError(f"--out {quoted(text)} cannot be used: {error.strerror or error}.") from error
    return out


def _windows(folder: Path) -> list[Path]:
    """A window, or all windows of a run, in order of their names."""
    if (folder / "manifest.json").is_file():
        return [folder]
    try:
        found = sorted(path.parent for path in folder.glob("*/manifest.json"))
    except OSError as error:
        raise InputError(f"{folder} cannot be read: {error.strerror or error}.") from error
    if not found:
        raise InputError(f"{folder} holds no result: neither it nor a folder in it has a manifest.json. Name the "
                         "folder of a window, or an --out of characterize.")
    return found


def _labels(given: str | None, results: Sequence[Results]) -> list[str]:
    """Told apart: by name, else by window, else by the folder of the run, else by number."""
    if given is not None:
        labels = [clean(part.strip(), 40) for part in given.split(",")]
        if len(labels) != len(results) or not all(labels) or len(set(labels)) < len(labels):
            raise UsageError(f"--labels {quoted(given)}: {len(results)} results need as many labels, each another.")
        return labels
    names = [clean(found.manifest.get("name") or "unnamed", 40) for found in results]
    windows = [_window(found) for found in results]
    repeated = Counter(names)
    labels = [f"{name} {window}".strip() if repeated[name] > 1 else name
              for name, window in zip(names, windows, strict=True)]
    repeated = Counter(labels)
    labels = [f"{label}, {_run(found)}" if repeated[label] > 1 and _run(found) else label
              for label, found in zip(labels, results, strict=True)]
    repeated, seen = Counter(labels), Counter[str]()
    for place, label in enumerate(labels):
        seen[label] += 1
        if repeated[label] > 1:
            labels[place] = f"{label} ({seen[label]})"
    return labels


def _run(found: Results) -> str:
    """The folder that a run wrote; a result lies in it under the name of its window."""
    return clean(found.folder.absolute().parent.name, 40)


def _window(found: Results) -> str:
    window = found.manifest.get("window")
    name = clean(window.get("name") or "", 40) if isinstance(window, Mapping) else ""
    return "" if name in ("all", "window") else name
