"""One condition under one seed: a server, the clients, and what both leave, in a folder of its own."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from replay.live.cells import (
    ABOUT,
    COUNTERS,
    DECISIONS,
    METRICS_AFTER,
    METRICS_BEFORE,
    PARTIAL,
    SERVER_LOG,
    TURNS,
    CellFolder,
    write_json,
)
from replay.live.client import Clients, Limits, drive
from replay.live.counted import counted
from replay.live.decisions import read_decisions
from replay.live.http import parse_address
from replay.live.plan import Plan
from replay.live.scrape import metrics_text, parse_metrics
from replay.live.server import Launch
from replay.live.serving import Running, Served, shown_line, started
from replay.live.turns import LiveTurn, as_line, read_turns
from replay.tier.condition import Condition
from replay.tier.hints import hints_of
from telemetry.errors import InputError

__all__ = ["Cell", "run_cell"]

#: Without it a server that says of no answer what it found may have found something.
_HITS = "vllm:prefix_cache_hits_total"

#: A server that has answered everything may still store: its counters are read when they stand still, or after so long.
_SETTLE_S = 5.0
_LOOK_S = 0.5
#: Between the last sign of a server and the end of its process, if that is what has ended.
_DEATH_S = 1.0


@dataclass(frozen=True)
class Cell:
    """What is run in a cell.

    Attributes
    ----------
    label : str
        What a user calls the condition.
    condition : Condition
    seed : int
    plan : Plan
        Of the seed.
    """

    label: str
    condition: Condition
    seed: int
    plan: Plan


def run_cell(folder: CellFolder, cell: Cell, served: Served, limits: Limits, about: Mapping[str, Any]) -> str | None:
    """Run a cell from the start; returns None, or why it was given up.

    Parameters
    ----------
    about : mapping
        What the folder says of the run beyond the cell.

    Raises
    ------
    OSError
        The folder cannot be written.
    """
    folder.clear()
    write_json(folder.path / ABOUT, {"label": cell.label, "seed": cell.seed, "condition": asdict(cell.condition),
                                     "launch": shown_line(served, cell.condition), **about})
    try:
        why = _served(folder.path, cell, served, limits)
        if why is None:
            _join(folder.path, served.launch)
    except InputError as error:  # a server that does not start among them
        why = str(error)
    if why is not None:
        folder.fail(why)
        return why
    folder.finish()
    (folder.path / PARTIAL).unlink()
    return None


def _served(path: Path, cell: Cell, served: Served, limits: Limits) -> str | None:
    with started(served, cell.condition, path / DECISIONS, path / SERVER_LOG) as running:
        try:
            (path / METRICS_BEFORE).write_text(metrics_text(running.url), encoding="utf-8")
            why = _driven(path, cell, served.model, running, limits)
            if why is None:
                (path / METRICS_AFTER).write_text(_settled(running.url), encoding="utf-8")
        except InputError as error:  # its metrics
            why = str(error)
        return None if why is None else _dead(running) or why + running.last_lines()


def _dead(running: Running) -> str | None:
    """That the server has died, if it has: connections end a moment before their process."""
    deadline = time.monotonic() + _DEATH_S
    while (why := running.lost()) is None and time.monotonic() < deadline:
        time.sleep(_LOOK_S / 10)
    return why


def _driven(path: Path, cell: Cell, model: str, running: Running, limits: Limits) -> str | None:
    clients = Clients(cell.plan, hints_of(cell.plan.workload, cell.condition.hints, cell.seed),
                      cell.condition.warm_lead_us, cell.label, cell.seed, parse_address(running.url), model,
                      uuid.uuid4().hex if running.server is None else None)
    with (path / PARTIAL).open("w", encoding="utf-8", buffering=1) as file:
        return drive(clients, limits, lambda turn: _write(file.write, turn), running.lost)


def _write(write: Any, turn: LiveTurn) -> None:
    write(as_line(turn))


def _settled(url: str) -> str:
    """The metrics, once they stand still."""
    deadline, before = time.monotonic() + _SETTLE_S, None
    while True:
        text = metrics_text(url)
        counts = {name: [sample.value for sample in samples] for name, samples in parse_metrics(text).samples.items()
                  if name.endswith("_bytes_total") or "kvcensus_tier" in name}
        if counts == before or time.monotonic() > deadline:
            return text
        before = counts
        time.sleep(_LOOK_S)


def _join(path: Path, launch: Launch | None) -> None:
    """Write the tier's counters, and the turns whole: with the tokens that each found in the tier."""
    before, after = (parse_metrics((path / name).read_text(encoding="utf-8"))
                     for name in (METRICS_BEFORE, METRICS_AFTER))
    write_json(path / COUNTERS, counted(before, after))
    turns, torn = read_turns(path / PARTIAL)
    assert not torn, "every line was written"
    loaded = _loaded(path / DECISIONS, launch)
    told = any(turn.cached_tokens is not None for turn in turns)
    if not told and (_HITS not in after or after.total(_HITS) > before.total(_HITS)):
        raise InputError("no answer of the server says how many tokens of its prompt were found. Start it with "
                         "--enable-prompt-tokens-details.")
    with (path / TURNS).open("w", encoding="utf-8") as file:
        file.writelines(as_line(_joined(turn, told, loaded)) for turn in turns)


def _loaded(path: Path, launch: Launch | None) -> Callable[[str], int | None]:
    """From a request to the tokens that it loaded; None where a server that is not ours did."""
    if launch is None:
        return lambda request: None
    blocks = read_decisions(path).loaded if path.is_file() else {}
    return lambda request: blocks.get(request, 0) * launch.block_tokens


def _joined(turn: LiveTurn, told: bool, loaded: Callable[[str], int | None]) -> LiveTurn:
    if turn.error is not None:
        return turn
    cached = 0 if told and turn.cached_tokens is None else turn.cached_tokens
    return turn._replace(cached_tokens=cached, external_tokens=loaded(turn.request))
