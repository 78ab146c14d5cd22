"""The output folder in a store, where nothing can be renamed: the manifest, written last, makes a result.

A run makes its results on this machine. When all its windows are done, the manifests of earlier results go first,
then their other files; what is new is written, and the new manifests last. A run that is killed in between leaves no
manifest, so no result. The marker names the windows that runs wrote or were writing, so that the next one knows
what of the folder is ours.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from pyarrow.fs import FileSelector, FileType

from pipelines.outdir import ADVICE, INDEX, MARK, OutputFolder, ResultSet
from pipelines.workdir import work_folder
from telemetry.errors import InputError, UsageError, shorten
from telemetry.places import StorePath, why
from telemetry.sources import OUTPUT_MARKER

__all__ = ["OutputStore"]

_MANIFEST: Final = "manifest.json"
#: Without its type a browser saves a page instead of showing it. Other stores than these refuse such a word.
_TYPED: Final = ("s3", "gcs")
_TYPES: Final = {".html": "text/html; charset=utf-8", ".json": "application/json"}


class OutputStore:
    """The folder of a store named by --out.

    Raises
    ------
    UsageError
        When it holds things that kvcensus did not write, or is a file.
    InputError
        When the store refuses or does not answer.
    """

    def __init__(self, place: StorePath) -> None:
        if not place.key.strip("/"):
            raise UsageError(f"--out {place.shown} is a whole bucket. Name a folder in it.")
        self._place = place.below(place.key.strip("/"))
        self._system, self._path = self._place.located()
        with self._place.explained():
            [info] = self._system.get_file_info([self._path])
            if info.type == FileType.File:
                raise UsageError(f"--out {self.shown} is a file. {ADVICE}")
            names = [entry.base_name for entry in self._listed()]
        if names and OUTPUT_MARKER not in names:
            raise UsageError(f"--out {self.shown} holds files that kvcensus did not write. {ADVICE}")

    @property
    def shown(self) -> str:
        """Its URI, without credentials."""
        return self._place.shown

    def show(self, name: str) -> str:
        """The URI of what lies in it."""
        return f"{self.shown}/{name}"

    @contextmanager
    def claimed(self) -> Iterator[None]:
        """A store has no locks: two runs that write to one folder at once are the user's to prevent."""
        yield

    @contextmanager
    def replaced(self) -> Iterator[ResultSet]:
        """Results to write; at the end of the block they are made on this machine, and copied to the store."""
        with self._writing():
            self._mark(self._ours())  # a store that cannot be written to is met before the work, not after it
        with work_folder(None, None) as scratch:
            local = OutputFolder(scratch / "out")
            with local.replaced() as results:
                yield results
            with self._writing():
                self._upload(local.path)

    def _upload(self, made: Path) -> None:
        files = sorted(path.relative_to(made).as_posix() for path in made.rglob("*") if path.is_file())
        new = [name for name in files if name != OUTPUT_MARKER]
        windows = sorted({name.partition("/")[0] for name in new if "/" in name})
        before = self._ours()
        self._mark(sorted({*before, *windows}))
        self._clear(before)
        try:
            for name in sorted(new, key=lambda name: name.endswith(f"/{_MANIFEST}")):
                self._put(name, (made / name).read_bytes())
        except BaseException:
            with suppress(Exception):  # without a manifest it is no result, but neither is it of use
                self._clear(windows)
            raise
        self._mark(windows)

    def _clear(self, windows: Sequence[str]) -> None:
        """Remove the manifests of windows, then all else of them, and the index."""
        for kind, remove in ((FileType.File, self._system.delete_file), (FileType.Directory, self._system.delete_dir)):
            places = [f"{self._path}/{name}" for name in windows]
            if kind == FileType.File:
                places = [f"{place}/{_MANIFEST}" for place in places] + [f"{self._path}/{INDEX}"]
            for info in self._system.get_file_info(places) if places else ():
                if info.type == kind:
                    remove(info.path)

    def _ours(self) -> list[str]:
        """Names of the windows that earlier runs wrote here, also where one was killed before its manifests."""
        found = [entry for entry in self._listed() if entry.type == FileType.Directory]
        manifests = self._system.get_file_info([f"{entry.path}/{_MANIFEST}" for entry in found]) if found else []
        marked = self._marked()
        return sorted(entry.base_name for entry, manifest in zip(found, manifests, strict=True)
                      if manifest.type == FileType.File or entry.base_name in marked)

    def _listed(self) -> list[Any]:
        entries: list[Any] = self._system.get_file_info(FileSelector(self._path, allow_not_found=True))
        # A folder that was made by hand can be listed as an object without a name.
        return [entry for entry in entries if entry.base_name and entry.path.rstrip("/") != self._path]

    def _marked(self) -> set[str]:
        [info] = self._system.get_file_info([f"{self._path}/{OUTPUT_MARKER}"])
        if info.type != FileType.File:
            return set()
        with self._system.open_input_file(info.path) as stream:
            text: bytes = stream.read()
        return {*text.decode("utf-8", "replace").splitlines()[1:]}

    def _mark(self, windows: Sequence[str]) -> None:
        self._put(OUTPUT_MARKER, b"\n".join([MARK, *(name.encode() for name in windows), b""]))

    def _put(self, name: str, content: bytes) -> None:
        """Write one object, which appears when it is whole."""
        typed = _TYPES.get(Path(name).suffix) if self._system.type_name in _TYPED else None
        how = {"metadata": {"Content-Type": typed}} if typed is not None else {}
        with self._system.open_output_stream(f"{self._path}/{name}", **how) as stream:
            stream.write(content)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise InputError(f"cannot write to {shorten(self.shown, 200)}: {why(error, self._place)}. Check the "
                             "permissions, the credentials and the network, and run again.") from None
