"""What a folder of live results was asked for: conditions, seeds, plans, server; and which of it is there.

`run.json` is written before the first server starts. It holds arrivals, token counts and gaps of the sampled sessions,
and no identifier.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from replay.live.cells import CellFolder, read_json, write_json
from replay.tier.condition import Condition
from replay.tier.hints import HintPlan
from replay.tier.workload import Session, Turn, Workload
from telemetry.errors import InputError, KvcensusError, UsageError, escaped

__all__ = ["RUN", "Asked", "ServerFacts", "open_asked", "write_asked"]

RUN = "run.json"
_FORMAT = 1


@dataclass(frozen=True)
class ServerFacts:
    """Sizes of a server that was started here; see `Launch`.

    Attributes
    ----------
    platform : str
        The simulator's file of its rates.
    kv_bytes_per_token, block_tokens, device_blocks, max_seqs, max_batched_tokens, max_model_len : int
    """

    platform: str
    kv_bytes_per_token: int
    block_tokens: int
    device_blocks: int
    max_seqs: int
    max_batched_tokens: int
    max_model_len: int


@dataclass(frozen=True)
class Asked:
    """What was asked for.

    Attributes
    ----------
    command : str
        The command that asks for the same, or several, a line each, with INPUT and OUT in place of paths.
    rows : dict of Condition
        By label.
    workloads : dict of Workload
        By seed.
    places : dict of tuple of int
        By seed: for each session its place in the sample.
    server : ServerFacts or None
        None: somebody else's.
    scale : dict
        Factors of tokens and of time, as written.
    """

    command: str
    rows: dict[str, Condition]
    workloads: dict[int, Workload]
    places: dict[int, tuple[int, ...]]
    server: ServerFacts | None
    scale: Mapping[str, str]

    def cells(self, out: Path) -> list[tuple[str, int, CellFolder]]:
        """Label, seed and folder of every cell: all conditions of a seed before the next."""
        return [(label, seed, CellFolder.of(out, condition, seed)) for seed in self.workloads
                for label, condition in self.rows.items()]


def write_asked(out: Path, asked: Asked) -> Asked:
    """Write what is asked for, with what the folder was asked for before; returns both together.

    Raises
    ------
    UsageError
        The folder holds results of other sessions, another server or another scale.
    InputError
        It cannot be written, or what is there cannot be read.
    """
    path = out / RUN
    if path.is_file():
        before = open_asked(out)
        common = before.workloads.keys() & asked.workloads.keys()
        if (before.server, before.scale) != (asked.server, asked.scale) or any(
                (before.workloads[seed], before.places[seed]) != (asked.workloads[seed], asked.places[seed])
                for seed in common):
            raise UsageError(f"--out {escaped(str(out))} holds results of other sessions, arrivals, sizes or scales: "
                             f"its {RUN} says which. Name another folder.")
        for label in before.rows.keys() & asked.rows.keys():
            if before.rows[label] != asked.rows[label]:
                raise UsageError(f"--out {escaped(str(out))} holds another condition called {label!r}. Name another "
                                 "folder.")
        asked = Asked(_commands(before, asked), before.rows | asked.rows, before.workloads | asked.workloads,
                      before.places | asked.places, asked.server, asked.scale)
    try:
        out.mkdir(parents=True, exist_ok=True)
        write_json(path, _as_json(asked), None)
    except OSError as error:
        raise InputError(f"--out {escaped(str(out))} cannot be written: {error.strerror or error}.") from error
    return asked


def _commands(before: Asked, asked: Asked) -> str:
    """The command that asks for all that two ask for; both, a line each, where neither does."""
    if asked.rows.keys() <= before.rows.keys() and asked.workloads.keys() <= before.workloads.keys():
        return before.command
    if before.rows.keys() <= asked.rows.keys() and before.workloads.keys() <= asked.workloads.keys():
        return asked.command
    return f"{before.command}\n{asked.command}"


def open_asked(out: Path) -> Asked:
    """What a folder was asked for.

    Raises
    ------
    InputError
        It is no folder of live results, or one of another version.
    """
    if not (out / RUN).is_file():
        raise InputError(f"{escaped(str(out))} holds no live results: it has no {RUN}.")
    found = read_json(out / RUN)
    if found.get("format") != _FORMAT:
        raise InputError(f"{escaped(str(out / RUN))} is of another version of kvcensus. Run kvcensus live again.")
    try:
        return _from_json(found)
    except (KeyError, TypeError, ValueError, KvcensusError) as error:
        raise InputError(f"{escaped(str(out / RUN))} is damaged: {type(error).__name__}: {error}.") from error


def _as_json(asked: Asked) -> dict[str, Any]:
    return {
        "format": _FORMAT, "command": asked.command, "scale": dict(asked.scale),
        "server": None if asked.server is None else vars(asked.server),
        "rows": [{"label": label, "policy": row.policy, "tier_bytes": row.tier_bytes, "gap": row.hints.gap,
                  "last": row.hints.last, "parameters": dict(row.parameters) if row.parameters else None,
                  "warm_lead_us": row.warm_lead_us} for label, row in asked.rows.items()],
        "seeds": [{"seed": seed, "name": load.name, "rate": load.rate, "notes": load.notes,
                   "sessions": [{"arrival_us": session.arrival_us, "sampled": place,
                                 "turns": [list(turn) for turn in session.turns]}
                                for session, place in zip(load.sessions, asked.places[seed], strict=True)]}
                  for seed, load in asked.workloads.items()],
    }


def _from_json(found: Mapping[str, Any]) -> Asked:
    rows = {row["label"]: Condition(row["policy"], row["tier_bytes"], HintPlan(row["gap"], row["last"]),
                                    row["parameters"], row["warm_lead_us"]) for row in found["rows"]}
    server, scale = found["server"], found["scale"]
    if not rows or not found["seeds"] or {*scale} != {"tokens", "time"}:
        raise ValueError("it asks for no condition, no seed, or no scale")
    return Asked(found["command"], rows, {each["seed"]: _workload(each) for each in found["seeds"]},
                 {each["seed"]: tuple(session["sampled"] for session in each["sessions"]) for each in found["seeds"]},
                 None if server is None else ServerFacts(**server), scale)


def _workload(found: Mapping[str, Any]) -> Workload:
    sessions: Sequence[Mapping[str, Any]] = found["sessions"]
    return Workload(found["name"], found["rate"], tuple(
        Session(session["arrival_us"], tuple(Turn(*turn) for turn in session["turns"])) for session in sessions),
        found["notes"])
