"""The work folder: private, as it holds identifiers, and gone or locked when the run is over.

A temporary one holds a lock file; one whose lock nobody holds is what a killed run left.
"""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from pipelines.locks import lock
from pipelines.outdir import write_error
from pipelines.streams import tell
from telemetry.errors import UsageError
from telemetry.places import StorePath, locate

__all__ = ["PRIVATE", "check_apart", "check_store", "work_folder", "work_tables", "written"]

_PREFIX = "kvcensus-"
_LOCK = ".kvcensus-scratch"
#: Made in a work folder that others may enter, and used in its place.
PRIVATE = "kvcensus-work"
_WITHIN = "--work {work} lies inside --out {out}, but it holds identifiers. Choose another place."


def check_store(work: StorePath, engine: str) -> None:
    """Only Spark's tables can lie in a store, and Spark is told of credentials and options elsewhere.

    Raises
    ------
    UsageError
        For another engine, for a URI that says more than a place, and for a whole bucket.
    """
    if engine != "spark":
        raise UsageError(f"--work {work.shown}: the engine {engine} needs a folder of this machine. Name one, or "
                         "choose --engine spark.")
    if not work.plain:
        raise UsageError(f"--work {work.shown}: Spark's tables cannot have credentials or options in their URI. Give "
                         "them to Spark in its configuration, and in the environment of the driver and the executors.")
    if not work.key.strip("/"):
        raise UsageError(f"--work {work.shown} is a whole bucket. Name a folder in it.")


def check_apart(work: Path | StorePath, out: Path | StorePath) -> None:
    """The work folder must not lie in what is published.

    Raises
    ------
    UsageError
        When it does, and when a path leads nowhere.
    """
    if isinstance(work, StorePath) and isinstance(out, StorePath) and work.lies_in(out):
        raise UsageError(_WITHIN.format(work=work.shown, out=out.shown))
    if isinstance(work, StorePath) or isinstance(out, StorePath):
        return
    try:
        inner, outer = work.resolve(), out.resolve()
    except (OSError, RuntimeError) as error:
        raise UsageError(f"--work {work} cannot be used: its path or that of --out leads in a circle or is too "
                         "long. Name another folder.") from error
    if inner == outer or outer in inner.parents:
        raise UsageError(_WITHIN.format(work=work, out=out))


@contextmanager
def work_folder(path: Path | None, out: Path | StorePath | None) -> Iterator[Path]:
    """The user's private folder, kept, or a temporary one, removed; `out` is what is published."""
    if path is None:
        with _temporary() as folder:
            yield folder
        return
    folder = _private(path)
    if out is not None:
        check_apart(folder, out)
    descriptor = _locked(folder)
    if descriptor is None:
        raise UsageError(f"another run uses --work {folder}. Wait for its end, or name another folder.")
    try:
        yield folder
    finally:
        os.close(descriptor)


@contextmanager
def work_tables(place: StorePath) -> Iterator[str]:
    """URI of a folder of its own in a store, removed at the end with all that is in it."""
    uri = f"{place.shown.rstrip('/')}/{_PREFIX}{uuid.uuid4().hex}"
    try:
        yield uri
    finally:
        with place.explained(), suppress(FileNotFoundError):
            system, path = locate(uri)
            system.delete_dir(path)


@contextmanager
def _temporary() -> Iterator[Path]:
    place = Path(tempfile.gettempdir())
    _sweep(place)
    folder, descriptor = None, None
    try:
        try:
            folder = Path(tempfile.mkdtemp(prefix=_PREFIX))
            descriptor = _locked(folder)
        except OSError as error:
            raise write_error(place, error) from error
        yield folder
    finally:
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)
        if descriptor is not None:
            os.close(descriptor)


def _sweep(place: Path) -> None:
    """Remove the temporary folders of our own runs that were killed."""
    with suppress(OSError):
        for folder in place.glob(f"{_PREFIX}*"):
            with suppress(OSError):
                _remove_dead(folder)


def _remove_dead(folder: Path) -> None:
    about = folder.lstat()
    if not stat.S_ISDIR(about.st_mode) or about.st_uid != os.geteuid():
        return
    descriptor = os.open(folder / _LOCK, os.O_RDWR | os.O_NOFOLLOW)
    try:
        if lock(descriptor):
            shutil.rmtree(folder, ignore_errors=True)
    finally:
        os.close(descriptor)


def _locked(folder: Path) -> int | None:
    """A descriptor that holds the folder's lock until it is closed, or None where another run has it.

    A new lock file is locked before it gets its name, so that nobody finds it free.
    """
    path, new = folder / _LOCK, folder / f"{_LOCK}-{os.getpid()}"
    try:
        fresh = not path.exists()
        descriptor = os.open(new if fresh else path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        if not lock(descriptor):
            os.close(descriptor)
            return None
        if fresh:
            new.rename(path)
    except OSError as error:
        raise write_error(folder, error) from error
    return descriptor


def _private(path: Path) -> Path:
    """The folder itself where it is new or private, or else a private one in it: we change no mode of others."""
    try:
        path.mkdir(mode=0o700, parents=True)
        return path
    except FileExistsError:
        if not path.is_dir():
            raise UsageError(f"--work {path} is no folder. Name a folder.") from None
    except OSError as error:
        raise write_error(path, error) from error
    if _is_private(path):
        return path
    below = path / PRIVATE
    try:
        below.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise write_error(path, error) from error
    if below.is_symlink() or not _is_private(below):
        raise UsageError(f"--work {path}: others may enter {below}, which would hold identifiers. Name another "
                         "folder.")
    tell(f"others may enter --work {path}, so {below} is used.")
    return below


def _is_private(path: Path) -> bool:
    about = path.stat()
    return about.st_uid == os.geteuid() and not about.st_mode & 0o077


@contextmanager
def written(path: Path) -> Iterator[None]:
    """While a file is written under `.partial`: what went wrong is told, and what is half written goes."""
    try:
        yield
    except OSError as error:
        with suppress(OSError):
            path.with_suffix(".partial").unlink(missing_ok=True)
        raise write_error(path.parent, error) from error
