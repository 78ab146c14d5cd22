"""The files of an input: found, put in order, told apart by content."""

from __future__ import annotations

import errno
import glob
import hashlib
import os
import stat
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Final
from urllib.parse import unquote

from telemetry.adapter import Source
from telemetry.errors import InputError, escaped, shorten
from telemetry.places import StorePath, parse_place
from telemetry.store_files import OUTPUT_MARKER, files_of_store

__all__ = ["OUTPUT_MARKER", "content_hash", "expand"]

_BLOCK: Final = 1 << 20
#: What Hive writes in place of a null.
_NO_PARTITION: Final = "__HIVE_DEFAULT_PARTITION__"


def expand(inputs: Sequence[str], suffixes: Sequence[str]) -> list[Source]:
    """The files that a user's inputs name.

    Parameters
    ----------
    inputs : sequence of str
        Files (of any suffix), folders (searched recursively) and globs, here or as URIs of a store.
        Names that start with `.` or `_` inside a folder are skipped, as engines write their own
        records there, and so are output folders of kvcensus.
    suffixes : sequence of str
        What a file's name in a folder or under a glob must end with; case does not matter.

    Returns
    -------
    list of Source
        Inputs in lexicographic order, the files of each by their path below it; `rank` is the
        position. A file reached twice appears once; one whose bytes and partition are those of
        an earlier file names it in `repeats`.

    Raises
    ------
    InputError
        For an input that is missing or holds no such file, for a file that is empty, is not a
        regular file, or cannot be read, for a name that is not UTF-8, as Arrow opens none, and for
        a store that refuses or does not answer.
    """
    if not inputs:
        raise InputError("no input was given. Name a file, a folder or a glob.")
    found: dict[str | StorePath, tuple[str, Path | StorePath, int]] = {}
    wanted = tuple(suffix.lower() for suffix in suffixes)
    for name in sorted(set(inputs)):
        for shown, path in _files_anywhere(name, wanted):
            _check_name(shown)
            size = _size(shown, path) if isinstance(path, Path) else _full(shown, path.size)
            found.setdefault(os.path.realpath(path) if isinstance(path, Path) else path, (shown, path, size))
    _check_told_apart([shown for shown, path, _ in found.values() if isinstance(path, StorePath)])
    # A backslash is doubled, so that two files never share a name.
    sources = [Source(rank, path, escaped(shown.replace("\\", "\\\\")), None, _partition(shown))
               for rank, (shown, path, _) in enumerate(found.values())]
    repeats = _repeats(sources, [size for _, _, size in found.values()])
    return [replace(source, repeats=repeats.get(source.rank)) for source in sources]


def content_hash(sources: Sequence[Source]) -> str:
    """SHA-256, in hexadecimal, over the bytes of the sources in order of rank.

    Names do not enter, so that a moved or renamed input keeps its hash. Reads every file once,
    in blocks; fit for a background thread.

    Raises
    ------
    InputError
        When a file can no longer be read.
    """
    total = hashlib.sha256()
    digests: dict[str, bytes] = {}
    for source in sorted(sources, key=lambda source: source.rank):
        digest = digests.get(source.repeats) if source.repeats is not None else None
        digests[source.name] = digest = digest or _digest(source)
        total.update(digest)
    return total.hexdigest()


def _files_anywhere(name: str, suffixes: tuple[str, ...]) -> list[tuple[str, Path | StorePath]]:
    """The files of one input, here or in a store, each with the name for messages, in order."""
    place = parse_place(name)
    if isinstance(place, Path):
        return [*_files(str(place) if name.lower().startswith("file:/") else name, suffixes)]
    _check_name(name)
    return [(file.shown, file) for file in files_of_store(place, suffixes)]


def _check_told_apart(names: Sequence[str]) -> None:
    """The same URI with other credentials or options may be another file: names do not show which."""
    for name, count in Counter(names).items():
        if count > 1:
            raise InputError(f"{shorten(name, 200)}: given with two sets of credentials or options, which messages "
                             "do not show. Give it once.")


def _files(name: str, suffixes: tuple[str, ...]) -> list[tuple[str, Path]]:
    """The files of one input, each with the name for messages, in order."""
    path = Path(name)
    looked_for = f"Looked for files that end with {', '.join(suffixes)}"
    if _is_folder(name, path):
        if _is_ours(path):
            raise InputError(f"{shorten(name, 200)}: the folder holds results of kvcensus, which are never input. "
                             "Name the folder of the call logs.")
        files = _walk(path, suffixes)
        if not files:
            raise InputError(f"{shorten(name, 200)}: the folder holds no matching file. {looked_for}; names "
                             "that start with . or _ are skipped. Check the folder, or another --format.")
        return files
    if os.path.lexists(path):
        return [(path.as_posix(), path)]
    if not glob.has_magic(name):
        raise InputError(f"{shorten(name, 200)}: no such file or folder. Check the path; a relative one "
                         "starts at the current folder.")
    matches = sorted(glob.glob(name, recursive=True))
    files = []
    for match in matches:
        below = Path(match)
        if _is_folder(match, below):
            files += [] if _is_ours(below) else _walk(below, suffixes)
        elif below.name.lower().endswith(suffixes):
            files.append((below.as_posix(), below))
    if not files:
        raise InputError(f"{shorten(name, 200)}: the pattern matches no file ({len(matches)} other names). "
                         f"{looked_for}. Check the pattern, and quote it so that the shell leaves it alone.")
    return sorted(files)


def _check_name(name: str) -> None:
    try:
        name.encode("utf-8")
    except UnicodeEncodeError:
        raise InputError(f"{shorten(name, 200)}: the name is not UTF-8. Rename the file or folder.") from None


def _is_folder(name: str, path: Path) -> bool:
    """Whether a folder is there; an error where that may not be known, unless `name` can be a pattern."""
    why: object
    try:
        return stat.S_ISDIR(path.stat().st_mode)
    except OSError as error:
        if glob.has_magic(name) or error.errno in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP):
            return False
        why = error.strerror
    except ValueError as error:  # a zero byte; a surrogate that stands for no byte
        why = error
    raise InputError(f"{shorten(name, 200)}: cannot be looked up ({why}). Check the name, and the permissions of "
                     "its folder.")


def _walk(root: Path, suffixes: tuple[str, ...]) -> list[tuple[str, Path]]:
    """Files below a folder, by their path below it. A folder is entered once: links may loop."""
    seen = {os.path.realpath(root)}
    below: list[str] = []
    for folder, folders, files in os.walk(root, followlinks=True, onerror=_unlistable):
        kept = []
        for name in sorted(folders):
            real = os.path.realpath(os.path.join(folder, name))
            if name[0] not in "._" and real not in seen and not _is_ours(Path(real)):
                seen.add(real)
                kept.append(name)
        folders[:] = kept
        place = Path(folder).relative_to(root)
        below += [(place / name).as_posix() for name in files
                  if name[0] not in "._" and name.lower().endswith(suffixes)]
    return [((root / name).as_posix(), root / name) for name in sorted(below)]


def _is_ours(folder: Path) -> bool:
    """Whether a folder holds results of kvcensus."""
    return os.path.isfile(folder / OUTPUT_MARKER)


def _unlistable(error: OSError) -> None:
    raise InputError(f"{shorten(error.filename, 200)}: the folder cannot be read ({error.strerror}). "
                     "Check its permissions.") from None


def _size(name: str, path: Path) -> int:
    """Size in bytes of a file that can be read."""
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise InputError(f"{shorten(name, 200)}: not a regular file. Copy the data into a file first.")
        with path.open("rb"):
            pass
    except OSError as error:
        raise InputError(f"{shorten(name, 200)}: the file cannot be read ({error.strerror}). "
                         "Check the link or the permissions.") from None
    return _full(name, status.st_size)


def _full(name: str, size: int) -> int:
    if size == 0:
        raise InputError(f"{shorten(name, 200)}: the file is empty (0 bytes). Export it again, or leave it "
                         "out.")
    return size


def _repeats(sources: list[Source], sizes: list[int]) -> dict[int, str]:
    """Rank of a file -> name of the first one with the same bytes and partition: equal rows."""
    alike: dict[tuple[int, frozenset[tuple[str, str]]], list[Source]] = {}
    for source, size in zip(sources, sizes, strict=True):
        alike.setdefault((size, frozenset(source.partition.items())), []).append(source)
    repeats: dict[int, str] = {}
    for group in alike.values():
        first: dict[bytes, str] = {}
        for source in group if len(group) > 1 else []:
            owner = first.setdefault(_digest(source), source.name)
            if owner != source.name:
                repeats[source.rank] = owner
    return repeats


def _digest(source: Source) -> bytes:
    """SHA-256 of a file's bytes."""
    try:
        digest = hashlib.sha256()
        for block in _blocks(source):
            digest.update(block)
    except OSError as error:
        raise InputError(f"{source.name}: the file cannot be read to its end ({error.strerror}). "
                         "Check that nothing writes or removes it.") from None
    return digest.digest()


def _blocks(source: Source) -> Iterator[bytes]:
    with source.open() as file:
        while block := file.read(_BLOCK):
            yield block


def _partition(name: str) -> dict[str, str]:
    """Columns in the folders of a Hive tree: `region=eu%20west/day=2026-01-01/part.parquet`."""
    pairs = (part.split("=", 1) for part in PurePosixPath(name).parts[:-1] if "=" in part)
    return {unquote(key): unquote(value) for key, value in pairs if key and value != _NO_PARTITION}
