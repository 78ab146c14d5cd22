"""An object store in memory, for tests: objects by key, no folders of their own, no rename, no append."""

from __future__ import annotations

import posixpath
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from pyarrow.fs import FileInfo, FileSelector, FileSystemHandler, FileType, PyFileSystem

import telemetry.places


class _Upload:
    """A stream whose object appears when it is closed, as in a store."""

    def __init__(self, done: Callable[[bytes], None]) -> None:
        self._parts: list[bytes] = []
        self._done = done
        self.closed = False

    def write(self, data: Any) -> int:
        self._parts.append(bytes(data))
        return len(data)

    def flush(self) -> None:
        pass

    def close(self) -> None:
        if not self.closed:
            self.closed = True
            self._done(b"".join(self._parts))


class MemoryStore(FileSystemHandler):
    """`objects` maps `bucket/key` to bytes; `calls` is what was done to it, in order.

    `broken` maps a kind of call to the error that it raises; `dies_at` ends the process's work at that put.
    """

    def __init__(self) -> None:
        self.objects: dict[str, bytes] = {}
        self.calls: list[tuple[str, str]] = []
        self.broken: dict[str, Exception] = {}
        self.dies_at: str | None = None

    def _did(self, what: str, path: str) -> None:
        self.calls.append((what, path))
        if what in self.broken:
            raise self.broken[what]

    def _info(self, path: str) -> FileInfo:
        path = path.strip("/")
        if path in self.objects:
            return FileInfo(path, FileType.File, size=len(self.objects[path]))
        folder = any(key.startswith(f"{path}/") for key in self.objects)
        return FileInfo(path, FileType.Directory if folder else FileType.NotFound)

    def get_type_name(self) -> str:
        return "memory"

    def normalize_path(self, path: str) -> str:
        return path

    def get_file_info(self, paths: list[str]) -> list[FileInfo]:
        for path in paths:
            self._did("look", path)
        return [self._info(path) for path in paths]

    def get_file_info_selector(self, selector: FileSelector) -> list[FileInfo]:
        self._did("list", selector.base_dir)
        base = selector.base_dir.rstrip("/") + "/"
        below: set[str] = set()
        for key in self.objects:
            if key.startswith(base):
                parts = key.removeprefix(base).split("/")
                depths = range(1, len(parts) + 1) if selector.recursive else (1,)
                below |= {base + "/".join(parts[:depth]) for depth in depths}
        if not below and not selector.allow_not_found:
            raise FileNotFoundError(selector.base_dir)
        return [self._info(path) for path in below]

    def open_input_file(self, path: str) -> Any:
        self._did("get", path)
        if path not in self.objects:
            raise FileNotFoundError(path)
        return pa.PythonFile(pa.BufferReader(self.objects[path]), mode="r")

    open_input_stream = open_input_file

    def open_output_stream(self, path: str, metadata: Any) -> Any:
        self._did("put", path)
        if self.dies_at is not None and path.endswith(self.dies_at):
            raise KeyboardInterrupt
        return pa.PythonFile(_Upload(lambda data: self.objects.update({path: data})), mode="w")

    def delete_file(self, path: str) -> None:
        self._did("delete", path)
        del self.objects[path]

    def delete_dir(self, path: str) -> None:
        self._did("delete", path)
        gone = [key for key in self.objects if key.startswith(f"{path}/")]
        if not gone:
            raise FileNotFoundError(path)
        for key in gone:
            del self.objects[key]

    def _never(self, *args: Any) -> Any:
        raise AssertionError(f"no object store can do this: {args}")

    def create_dir(self, path: str, recursive: bool) -> None:
        self._did("create", path)  # a folder is there when something is in it

    move = copy_file = open_append_stream = delete_dir_contents = delete_root_dir_contents = _never


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> MemoryStore:
    """The store behind every URI."""
    made = MemoryStore()

    def connect(root: str) -> tuple[Any, str]:
        made.calls.append(("connect", root))
        host = root.partition("://")[2].partition("?")[0]
        return PyFileSystem(made), posixpath.normpath(host.rpartition("@")[2])

    monkeypatch.setattr(telemetry.places, "connect", connect)
    return made
