"""Where the raw results of a condition and a seed lie, and whether they are whole.

A folder's name carries the whole condition. While a replay runs, its turns are in `turns.partial.jsonl`; a replay that
has ended well leaves `turns.jsonl`, and then `done.json`, which says how many bytes that has and their hash; one that
was given up leaves `failed.json`, which says why. A folder with neither is half done. In results that are kept for good
the turns are compressed, `turns.jsonl.gz`, and the logs are gone.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from replay.tier.condition import Condition
from telemetry.errors import InputError, escaped

__all__ = ["ABOUT", "COUNTERS", "DECISIONS", "DONE", "METRICS_AFTER", "METRICS_BEFORE", "PACKED", "PARTIAL",
           "SERVER_LOG", "TURNS", "CellFolder", "cell_name", "read_bytes", "read_json", "write_json"]

ABOUT, COUNTERS, DECISIONS, SERVER_LOG = "about.json", "counters.json", "decisions.jsonl", "server.log"
METRICS_BEFORE, METRICS_AFTER = "metrics_before.txt", "metrics_after.txt"
TURNS, PARTIAL, PACKED = "turns.jsonl", "turns.partial.jsonl", "turns.jsonl.gz"
DONE, _FAILED = "done.json", "failed.json"
_CELLS = "cells"


def cell_name(condition: Condition, seed: int) -> str:
    """The whole condition as the name of a folder."""
    warm = "no" if condition.warm_lead_us is None else f"{condition.warm_lead_us / 1000:g}ms"
    words = [condition.policy, f"tier={condition.tier_bytes}", f"gap={condition.hints.gap}",
             f"last={condition.hints.last}", f"warm={warm}"]
    words += [f"{name}={value}" for name, value in sorted((condition.parameters or {}).items())]
    return ",".join([*words, f"seed={seed}"])


@dataclass(frozen=True)
class CellFolder:
    """The folder of a condition and a seed in a folder of results."""

    path: Path

    @classmethod
    def of(cls, out: Path, condition: Condition, seed: int) -> CellFolder:
        """That of a condition."""
        return cls(out / _CELLS / cell_name(condition, seed))

    def clear(self) -> None:
        """Make it an empty folder; nothing in it is a folder."""
        self.path.mkdir(parents=True, exist_ok=True)
        for each in self.path.iterdir():
            each.unlink()

    def finish(self) -> None:
        """Say that the turns are whole."""
        write_json(self.path / DONE, self._digest())

    def fail(self, why: str) -> None:
        """Say why it was given up."""
        write_json(self.path / _FAILED, {"why": why})

    @property
    def damage(self) -> str | None:
        """What is wrong with a cell that was finished: its turns are not those that were written."""
        if not (self.path / DONE).is_file() or read_json(self.path / DONE) == self._digest():
            return None
        return f"{escaped(str(self.turns))} is not what was written there: it was cut off or changed."

    @property
    def done(self) -> bool:
        """Whether it is finished, and whole."""
        return (self.path / DONE).is_file() and self.damage is None

    @property
    def failure(self) -> str | None:
        """Why it was given up."""
        path = self.path / _FAILED
        return str(read_json(path).get("why")) if path.is_file() else None

    @property
    def turns(self) -> Path:
        """The file of its turns."""
        packed = self.path / PACKED
        return packed if packed.is_file() else self.path / TURNS

    def _digest(self) -> dict[str, object]:
        try:
            content = read_bytes(self.turns)
        except (OSError, EOFError, zlib.error):
            return {}
        return {"turns_bytes": len(content), "turns_sha256": hashlib.sha256(content).hexdigest()}


def read_bytes(path: Path) -> bytes:
    """A file, decompressed if its name ends in .gz."""
    content = path.read_bytes()
    return gzip.decompress(content) if path.suffix == ".gz" else content


def write_json(path: Path, content: Mapping[str, object], indent: int | None = 1) -> None:
    """Write a small file whole, by rename."""
    partial = path.with_name(f".{path.name}.partial")
    partial.write_text(json.dumps(content, indent=indent) + "\n", encoding="utf-8")
    partial.replace(path)


def read_json(path: Path) -> dict[str, Any]:
    """A JSON object of ours.

    Raises
    ------
    InputError
        A file that is missing, or is none.
    """
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{escaped(str(path))} cannot be read: {error.strerror or error}.") from error
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise InputError(f"{escaped(str(path))} is damaged: it is no JSON object. Remove it "
                         "and run the same command again.")
    return found
