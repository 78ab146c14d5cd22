"""Where a file or folder lies: a path of this machine, or a URI of a store that Arrow reads.

A store (S3, Google Cloud Storage, Azure, HDFS) is reached through `pyarrow.fs`. What is kept of a place is text, so
that it can be sent to other machines; each process connects by itself, once a store. Credentials and options of a
URI (`s3://key:secret@bucket`, `?endpoint_override=...`) are used and never shown.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path, PurePosixPath
from typing import IO, Any, Final, cast
from urllib.parse import quote, unquote

import pyarrow as pa
import pyarrow.fs

from telemetry.errors import InputError, shorten

__all__ = ["StorePath", "connect", "locate", "open_file", "parse_place", "size_of", "why"]

_URI: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://([^/?]*)([^?]*)(?:\?(.*))?", re.DOTALL)
_FILE: Final = re.compile(r"file:(?://(?:localhost)?(?=/)|(?=/(?!/)))", re.IGNORECASE)
#: A scheme -> how Arrow calls it. Those of Hadoop's S3 clients are what Spark's users write.
_SCHEMES: Final = {"s3": "s3", "s3a": "s3", "s3n": "s3", "gs": "gs", "gcs": "gs", "abfs": "abfs", "abfss": "abfss",
                   "hdfs": "hdfs", "viewfs": "viewfs"}
_AZURE: Final = ("abfs", "abfss")  # container@account: what stands before the @ is no user
_BUFFER: Final = 4 << 20
_ADVICE: Final = "Check the name, the permissions, the credentials and the network"
_HADOOP: Final = "Check the name, the permissions, and that JAVA_HOME, HADOOP_HOME and CLASSPATH are set for libhdfs"


@dataclass(frozen=True)
class StorePath:
    """A file or folder of a store.

    Attributes
    ----------
    root : str
        URI of the bucket, container or file system, with credentials and options, for Arrow.
    key : str
        The path below it, as it stands: nothing in it is an escape.
    scheme : str
        As the user wrote it.
    size : int
        Bytes, of a file that was listed.
    """

    root: str = field(repr=False)
    key: str
    scheme: str
    size: int = 0

    @property
    def shown(self) -> str:
        """Its URI without credentials and options."""
        authority = _URI.fullmatch(self.root)
        return f"{self.scheme}://{_public(self.scheme, authority[2] if authority else '')}/{self.key}"

    @property
    def plain(self) -> bool:
        """Whether `shown` is all that the URI says."""
        said = self.root.partition("://")[2]
        return "?" not in said and _public(self.scheme, said) == said

    def lies_in(self, other: StorePath) -> bool:
        """Whether it is the other place or below it."""
        mine, theirs = (place.shown.partition("://")[2].rstrip("/") + "/" for place in (self, other))
        return mine.startswith(theirs)

    @property
    def name(self) -> str:
        return PurePosixPath(self.key).name

    @property
    def suffix(self) -> str:
        return PurePosixPath(self.key).suffix

    @property
    def suffixes(self) -> list[str]:
        return PurePosixPath(self.key).suffixes

    def below(self, key: str, size: int = 0) -> StorePath:
        """Another place of the same store, by its key."""
        return StorePath(self.root, key, self.scheme, size)

    def located(self) -> tuple[pa.fs.FileSystem, str]:
        """The file system and the path in it; InputError where the store cannot be reached."""
        with self.explained():
            system, top = connect(self.root)
        path = f"{top.rstrip('/')}/{self.key}".rstrip("/") if self.key else top
        return system, path.lstrip("/") if self.scheme in _AZURE else path

    @contextmanager
    def explained(self) -> Iterator[None]:
        """Errors of the store in the block, as one that says what, where and what to do."""
        try:
            yield
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):  # their text repeats the URI, with its credentials
            raise InputError(f"{shorten(self.shown, 200)}: the URI or an option behind its ? cannot be used. Check "
                             "both; a ? is no pattern in a URI, and a secret is better kept in the environment."
                             ) from None
        except OSError as error:
            advice = _HADOOP if self.scheme in ("hdfs", "viewfs") else _ADVICE
            raise InputError(f"{shorten(self.shown, 200)}: the store refuses or does not answer "
                             f"({why(error, self)}). {advice}.") from None


@cache
def connect(root: str) -> tuple[pa.fs.FileSystem, str]:
    """The file system of a root, and the path of the root in it; raises what Arrow raises."""
    found: tuple[pa.fs.FileSystem, str] = pa.fs.FileSystem.from_uri(root)
    return found


def parse_place(text: str) -> Path | StorePath:
    """A path or URI as a user writes it; `file://` is a path of this machine.

    Raises
    ------
    InputError
        For a scheme that is not known, and for an authority that cannot be told from credentials.
    """
    local = _FILE.match(text)
    if local is not None:
        return Path(unquote(text[local.end():]))
    uri = _URI.fullmatch(text)
    if uri is None:
        return Path(text)
    scheme, authority, key, options = uri[1].lower(), uri[2], uri[3].removeprefix("/"), uri[4]
    if scheme not in _SCHEMES:
        raise InputError(f"{shorten(scheme)}://...: a URI of a kind that is not known here. Known kinds: file, "
                         f"{', '.join(sorted(_SCHEMES))}.")
    host = authority.rpartition("@")[2]
    if not re.fullmatch(r"[^:@]*(:[0-9]+)?", host) or (_SCHEMES[scheme] in ("s3", "gs") and (not host or ":" in host)):
        raise InputError(f"{scheme}://...: the URI names no bucket or host that can be read. In a key or secret / is "
                         "written %2F and ? is written %3F; better keep them in the environment.")
    root = f"{_SCHEMES[scheme]}://{authority}/" + (f"?{options}" if options else "")
    return StorePath(root, key, scheme)


def locate(uri: str) -> tuple[pa.fs.FileSystem, str]:
    """The file system and path of a complete URI; a `file://` one is as `Path.as_uri` writes it."""
    place = parse_place(uri)
    return (pa.fs.LocalFileSystem(), str(place)) if isinstance(place, Path) else place.located()


def open_file(place: Path | StorePath, buffered: bool = True) -> IO[bytes]:
    """A stream of a file's bytes that can be sought in.

    Raises
    ------
    OSError
        For a path that cannot be opened.
    InputError
        For a store that does not give the file, then and at every read.
    """
    if isinstance(place, Path):
        return place.open("rb")
    raw = _StoreStream(place)
    return cast("IO[bytes]", io.BufferedReader(raw, _BUFFER) if buffered else raw)


def size_of(place: Path | StorePath) -> int:
    """Size of a file in bytes; OSError for a path that is not there."""
    return place.stat().st_size if isinstance(place, Path) else place.size


def why(error: Exception, place: StorePath) -> str:
    """The first line of a store's error, without what the URI keeps secret."""
    text = str(error).strip().partition("\n")[0] or type(error).__name__
    for secret in sorted(_secrets(place.root), key=len, reverse=True):
        text = text.replace(secret, "...")
    return shorten(text, 200)


class _StoreStream(io.RawIOBase):
    """A file of a store. An error of the store is not one of the data, and says so: readers know only the latter."""

    def __init__(self, place: StorePath) -> None:
        self._place = place
        system, path = place.located()
        with place.explained():
            self._file = system.open_input_file(path)

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        with self._place.explained():
            data: bytes = self._file.read(None if size < 0 else size)
        return data

    def readinto(self, buffer: Any) -> int:
        data = self.read(len(buffer))
        buffer[:len(data)] = data
        return len(data)

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        position: int = self._file.seek(offset, whence)
        return position

    def tell(self) -> int:
        position: int = self._file.tell()
        return position

    def close(self) -> None:
        if not self.closed and hasattr(self, "_file"):
            self._file.close()
        super().close()


def _public(scheme: str, authority: str) -> str:
    """An authority without a user and password."""
    user, at, host = authority.rpartition("@")
    return f"{user.partition(':')[0]}{at}{host}" if scheme in _AZURE and user.partition(":")[0] else host


def _secrets(root: str) -> set[str]:
    """What of a root may never be shown, as written and decoded."""
    uri = _URI.fullmatch(root)
    if uri is None:
        return set()
    user, _, password = uri[2].rpartition("@")[0].partition(":")
    options = (part.partition("=")[2] for part in (uri[4] or "").split("&"))
    given = {password, "" if uri[1] in _AZURE else user, *options}
    return {form for value in given for form in (value, unquote(value), quote(unquote(value), safe="")) if form}
