"""From raw turns to the outcomes that the simulator's metrics are computed on: one definition for both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from replay.live.cells import COUNTERS, PARTIAL, CellFolder, read_json
from replay.live.counted import counted
from replay.live.results import Asked
from replay.live.scrape import Scrape
from replay.live.turns import LiveTurn, read_turns
from replay.tier.record import Outcome, TurnRecord
from telemetry.errors import InputError, escaped

__all__ = ["LiveCell", "outcome_of", "read_cells"]


@dataclass(frozen=True)
class LiveCell:
    """A condition and a seed.

    Attributes
    ----------
    label : str
    seed : int
    problem : str or None
        Why it has no outcome; None: it is finished.
    seen : int
        Turns of an unfinished one that had ended well.
    planned : int
        Turns that were to end.
    turns : list of LiveTurn
        Of a finished one.
    counters : dict
        Of the server, as `counted`.
    outcome : Outcome or None
        None also where every turn failed.
    """

    label: str
    seed: int
    problem: str | None
    seen: int
    planned: int
    turns: list[LiveTurn]
    counters: Mapping[str, Any]
    outcome: Outcome | None

    @property
    def errors(self) -> int:
        """Turns that failed, probes not among them."""
        return sum(turn.error is not None and not turn.probe for turn in self.turns)


def read_cells(out: Path, asked: Asked) -> list[LiveCell]:
    """Every cell that was asked for, with what is there of it."""
    return [_cell(label, seed, folder, asked.workloads[seed].turns) for label, seed, folder in asked.cells(out)]


def _cell(label: str, seed: int, folder: CellFolder, planned: int) -> LiveCell:
    if not folder.done:
        problem = folder.damage or folder.failure or "not finished"
        partial = folder.path / PARTIAL
        try:
            turns, torn = read_turns(partial) if partial.is_file() else ([], False)
        except InputError as error:
            turns, torn, problem = [], False, f"{problem}; {error}"
        seen = sum(turn.error is None and not turn.probe for turn in turns)
        if torn:
            problem += "; the last line of its turns is torn"
        return LiveCell(label, seed, problem, seen, planned, [], {}, None)
    turns, _ = read_turns(folder.turns)
    counters = _counters(folder.path / COUNTERS)
    done = any(turn.error is None and not turn.probe for turn in turns)
    return LiveCell(label, seed, None, planned, planned, turns, counters, outcome_of(turns, counters) if done else None)


def _counters(path: Path) -> dict[str, Any]:
    """What `counted` has written."""
    found = read_json(path)
    counts = counted(Scrape({}), Scrape({}))
    if set(found) != set(counts) or not all(_alike(found[name], value) for name, value in counts.items()):
        raise InputError(f"{escaped(str(path))} is damaged: it lacks counters, or has others. Remove the folder that "
                         "it lies in, and run the same command again.")
    return found


def _alike(value: object, counted: object) -> bool:
    if isinstance(counted, dict):
        return isinstance(value, dict) and all(type(each) is int for each in value.values())
    return type(value) is int


def outcome_of(turns: Sequence[LiveTurn], counters: Mapping[str, Any]) -> Outcome:
    """The turns that did not fail, as the simulator has them. A turn comes when it is sent."""
    records = sorted((turn.probe, turn.end_us, _record(turn)) for turn in turns if turn.error is None)
    ended, probes = ([record for warm, _, record in records if warm == probe] for probe in (False, True))
    return Outcome(ended, probes, max(turn.end_us for turn in turns), dict(counters),
                   {turn.session: turn.arrival_us for turn in turns})


def _record(turn: LiveTurn) -> TurnRecord:
    assert turn.ttft_us is not None, "a turn that did not fail had a first token"
    cached, external = turn.cached_tokens or 0, turn.external_tokens or 0
    return TurnRecord(turn.session, turn.turn, turn.start_us, turn.start_us, turn.start_us + turn.ttft_us, turn.end_us,
                      turn.prompt_tokens, turn.output_tokens, cached - external, external, turn.prompt_tokens - cached)
