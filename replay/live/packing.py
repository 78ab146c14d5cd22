"""Live results made small, to be kept: what every number comes from, without the logs."""

from __future__ import annotations

import gzip
import shutil
from pathlib import Path

from replay.live.cells import ABOUT, COUNTERS, DONE, PACKED, CellFolder, read_bytes
from replay.live.results import RUN, open_asked
from telemetry.errors import InputError

__all__ = ["pack"]


def pack(out: Path, to: Path) -> list[CellFolder]:
    """Copy the finished cells of `out` to `to`, which is made anew; returns them.

    Raises
    ------
    InputError
        A cell is not finished: what is kept should be whole.
    """
    cells = open_asked(out).cells(out)
    for label, seed, folder in cells:
        if not folder.done:
            raise InputError(f"{label}, seed {seed}, is not finished: run the same command again.")
    shutil.rmtree(to, ignore_errors=True)
    to.mkdir(parents=True)
    shutil.copy(out / RUN, to / RUN)
    packed = []
    for _, _, folder in cells:
        there = CellFolder(to / folder.path.relative_to(out))
        there.path.mkdir(parents=True)
        for name in (ABOUT, COUNTERS, DONE):
            shutil.copy(folder.path / name, there.path / name)
        # No name and no time in the header: equal turns give equal bytes.
        (there.path / PACKED).write_bytes(gzip.compress(read_bytes(folder.turns), mtime=0))
        packed.append(there)
    return packed
