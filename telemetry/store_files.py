"""The files that a URI of a store names, by the rules that hold for folders and patterns of this machine."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterator, Sequence
from typing import Final

from pyarrow.fs import FileInfo, FileSelector, FileSystem, FileType

from telemetry.errors import InputError, shorten
from telemetry.places import StorePath

__all__ = ["OUTPUT_MARKER", "files_of_store"]

#: A folder that holds a file of this name holds results of ours, which are never input.
OUTPUT_MARKER: Final = ".kvcensus"
_MAGIC: Final = frozenset("*[")  # a ? begins the options of a URI


def files_of_store(place: StorePath, suffixes: tuple[str, ...]) -> list[StorePath]:
    """The files that a URI names, in order; keys with `*`, `**` and `[...]` are patterns.

    A key that is there is that file or folder, whatever is in its name. Names are as they stand: `%20` in a key is
    three characters.

    Raises
    ------
    InputError
        When nothing is there or matches, and when the store refuses.
    """
    system, path = place.located()
    key = place.key.rstrip("/")
    base = path.removesuffix(key) if key else f"{path.rstrip('/')}/"
    with place.explained():
        found = _found(system, path, base, place, suffixes)
    return [place.below(info.path.removeprefix(base), info.size or 0) for info in found]


def _found(system: FileSystem, path: str, base: str, place: StorePath, suffixes: tuple[str, ...]) -> list[FileInfo]:
    shown, looked_for = shorten(place.shown, 200), f"Looked for files that end with {', '.join(suffixes)}"
    [info] = system.get_file_info([path])
    if info.type == FileType.File:
        return [info]
    if info.type == FileType.Directory:
        if _is_ours(system, path):
            raise InputError(f"{shown}: the folder holds results of kvcensus, which are never input. Name the folder "
                             "of the call logs.")
        files = _walk(system, path, suffixes)
        if not files:
            raise InputError(f"{shown}: the folder holds no matching file. {looked_for}; names that start with . or "
                             "_ are skipped. Check the folder, or another --format.")
        return files
    if not _MAGIC & set(place.key):
        raise InputError(f"{shown}: no such file or folder. Check the URI.")
    matches = list(_matches(system, base, place.key.rstrip("/").split("/")))
    files = []
    for match in matches:
        if match.type == FileType.Directory:
            files += [] if _is_ours(system, match.path) else _walk(system, match.path, suffixes)
        elif match.base_name.lower().endswith(suffixes) and not place.key.endswith("/"):
            files.append(match)
    if not files:
        raise InputError(f"{shown}: the pattern matches no file ({len(matches)} other names). {looked_for}. Check the "
                         "pattern, and quote it so that the shell leaves it alone.")
    return sorted(files, key=lambda info: str(info.path))


def _walk(system: FileSystem, folder: str, suffixes: tuple[str, ...]) -> list[FileInfo]:
    """Files below a folder, by their path below it, from one listing."""
    prefix = f"{folder.rstrip('/')}/"
    everything = system.get_file_info(FileSelector(folder, recursive=True))
    listed = {info.path.removeprefix(prefix): info for info in everything if info.type == FileType.File}
    ours = {key.rpartition("/")[0] for key in listed if key.rpartition("/")[2] == OUTPUT_MARKER}
    return [info for key, info in sorted(listed.items())
            if key.lower().endswith(suffixes) and not _skipped(key.split("/"), ours)]


def _skipped(parts: Sequence[str], ours: set[str]) -> bool:
    """Whether a name on the way to a file is hidden, or a folder on it holds results of ours."""
    return any(part[:1] in ("", ".", "_") for part in parts) or any(
        "/".join(parts[:depth]) in ours for depth in range(1, len(parts)))


def _matches(system: FileSystem, folder: str, pattern: Sequence[str]) -> Iterator[FileInfo]:
    """What matches the parts of a pattern below a folder, as `glob` does it; only what can match is listed."""
    head, *rest = pattern
    if head == "**":
        yield from _matches(system, folder, rest) if rest else ()
        for info in _listed(system, folder):
            if info.base_name[:1] != ".":
                if not rest:
                    yield info
                if info.type == FileType.Directory:
                    yield from _matches(system, info.path, pattern)
        return
    if _MAGIC & set(head):
        below = [info for info in _listed(system, folder) if fnmatch.fnmatchcase(info.base_name, head)
                 and (info.base_name[:1] != "." or head[:1] == ".")]
    else:
        below = system.get_file_info([f"{folder.rstrip('/')}/{head}" if folder else head])
    for info in below:
        if not rest:
            if info.type != FileType.NotFound:
                yield info
        elif info.type == FileType.Directory:
            yield from _matches(system, info.path, rest)


def _listed(system: FileSystem, folder: str) -> list[FileInfo]:
    return sorted(system.get_file_info(FileSelector(folder.rstrip("/") or folder)), key=lambda info: str(info.path))


def _is_ours(system: FileSystem, folder: str) -> bool:
    """Whether a folder holds results of kvcensus."""
    [info] = system.get_file_info([f"{folder.rstrip('/')}/{OUTPUT_MARKER}"])
    return bool(info.type == FileType.File)
