"""Live results in numbers: each condition's metrics, beside a control, beside the simulator, beside its schedule."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from replay.live.outcomes import LiveCell, read_cells
from replay.live.results import Asked, open_asked
from replay.live.simulated import Coarse, Simulated, found_nothing, found_share, residency, simulated
from replay.tier.fairness import Gains, fairness
from replay.tier.metrics import Summary, nearest_rank, summarize
from replay.tier.record import Outcome
from replay.tier.uncertainty import Spread, hit_interval, spreads
from replay.tier.workload import Pressure, pressure
from telemetry.errors import UsageError, quoted

__all__ = ["Fidelity", "Findings", "FirstTokens", "Paired", "Row", "analyse"]


_CONTROL = "lru"


@dataclass(frozen=True)
class Fidelity:
    """How late turns were sent, in seconds: actual less planned start.

    Attributes
    ----------
    p50_s, p95_s, max_s : float
    percentiles_s : tuple of float
        From the first to the hundredth, nearest rank.
    """

    p50_s: float
    p95_s: float
    max_s: float
    percentiles_s: tuple[float, ...]


@dataclass(frozen=True)
class FirstTokens:
    """Time to first token of the turns of one place in their sessions, counted from 1; in seconds."""

    turn: int
    turns: int
    mean_s: float
    p50_s: float


@dataclass(frozen=True)
class Paired:
    """A condition beside the control, on the turns that both have: same seed, same arrivals.

    Attributes
    ----------
    turns : int
    spread : Spread or None
        None without a bootstrap.
    p95_gain : float
        1 - p95 turn latency / that of the control.
    gains : dict
        Class of sessions -> gains in completion time, up to the last of these turns.
    """

    turns: int
    spread: Spread | None
    p95_gain: float
    gains: dict[str, Gains]


@dataclass(frozen=True)
class Row:
    """A condition over its finished seeds.

    Attributes
    ----------
    seeds : tuple of int
    summary : Summary
        As the simulator's. Hits are those of the turns or, where the server's log is not ours, of its counters.
    errors : int
        Turns that failed; they are in no other number.
    preemptions : int
    hit_interval : (float, float) or None
        Of the tier's hit rate, over sessions; None without a bootstrap, or where turns do not say what they found.
    first_tokens : list of FirstTokens
    coarse : Coarse
    fidelity : Fidelity
    paired : Paired or None
        None where the control has no such seed.
    simulated : Simulated, str or None
        Or why there is none; None: the server's sizes are not known.
    residency : Coarse or None
        None: no tier, or its sizes are not known.
    """

    seeds: tuple[int, ...]
    summary: Summary
    errors: int
    preemptions: int
    hit_interval: tuple[float, float] | None
    first_tokens: list[FirstTokens]
    coarse: Coarse
    fidelity: Fidelity
    paired: Paired | None
    simulated: Simulated | str | None
    residency: Coarse | None


@dataclass(frozen=True)
class Findings:
    """All that is known of a folder.

    Attributes
    ----------
    asked : Asked
    control : str
    rows : dict of Row
        Of conditions with a finished seed.
    unfinished : list of LiveCell
        What is missing of what was asked for, and why.
    pressure : list of Pressure
        A seed each.
    notes : dict
        Counts of what the plans left out or filled in, over all seeds.
    """

    asked: Asked
    control: str
    rows: dict[str, Row]
    unfinished: list[LiveCell]
    pressure: list[Pressure]
    notes: dict[str, int]


def analyse(out: Path, control: str | None, replicates: int) -> Findings:
    """The numbers of whatever is there.

    Parameters
    ----------
    control : str or None
        The condition that differences and gains refer to; None: lru, or the first.
    replicates : int
        Of the bootstrap; 0: none.

    Raises
    ------
    UsageError
        The control was never asked for.
    InputError
        It is no folder of live results, or something in it is damaged.
    """
    asked = open_asked(out)
    if control is None:
        control = _CONTROL if _CONTROL in asked.rows else next(iter(asked.rows))
    if control not in asked.rows:
        raise UsageError(f"--control {quoted(control)} is no condition of these results. Conditions: "
                         f"{', '.join(asked.rows)}.")
    cells = read_cells(out, asked)
    done: dict[str, list[LiveCell]] = {}
    for cell in cells:
        if cell.outcome is not None:
            done.setdefault(cell.label, []).append(cell)
    rows = {label: _row(asked, own, done.get(control, []), replicates) for label, own in done.items()}
    notes: dict[str, int] = {}
    for load in asked.workloads.values():
        for name, count in load.notes.items():
            notes[name] = notes.get(name, 0) + count
    return Findings(asked, control, rows, [cell for cell in cells if cell.outcome is None],
                    [pressure(load) for load in asked.workloads.values()], notes)


def _row(asked: Asked, own: Sequence[LiveCell], control: Sequence[LiveCell], replicates: int) -> Row:
    by_seed, condition = _outcomes(own), asked.rows[own[0].label]
    outcomes = list(by_seed.values())
    loads = {seed: asked.workloads[seed] for seed in by_seed}
    facts = asked.server
    tier = None if facts is None or condition.policy == "none" else condition.tier_bytes
    return Row(tuple(by_seed), _with_hits(summarize(outcomes), own), sum(cell.errors for cell in own),
               sum(cell.counters["preemptions"] for cell in own),
               hit_interval(outcomes, replicates) if replicates and _told(own) else None, _first_tokens(outcomes),
               Coarse(found_share(outcomes), found_nothing(outcomes)), _fidelity(own),
               _paired(by_seed, _outcomes(control), replicates),
               None if facts is None else simulated(loads, by_seed, condition, facts),
               None if facts is None or tier is None else residency(list(loads.values()), tier, facts))


def _outcomes(cells: Iterable[LiveCell]) -> dict[int, Outcome]:
    return {cell.seed: cell.outcome for cell in cells if cell.outcome is not None}


def _with_hits(summary: Summary, cells: Sequence[LiveCell]) -> Summary:
    """The summary; where turns do not say what they found in the tier, hits are the server's, of all its requests."""
    if _told(cells):
        return summary
    names = ("external_hit_tokens", "external_queried_tokens", "device_hit_tokens", "device_queried_tokens")
    hits, queried, device, prompts = (sum(cell.counters[name] for cell in cells) for name in names)
    return replace(summary, tier_hit_rate=hits / queried if queried else 0.0,
                   device_hit_share=device / prompts if prompts else 0.0)


def _told(cells: Iterable[LiveCell]) -> bool:
    """Whether every turn says what it found in the tier."""
    return all(turn.external_tokens is not None for cell in cells for turn in cell.turns if turn.error is None)


def _first_tokens(outcomes: Iterable[Outcome]) -> list[FirstTokens]:
    times: dict[int, list[int]] = {}
    for outcome in outcomes:
        for record in outcome.records:
            times.setdefault(record.turn, []).append(record.first_token_us - record.arrival_us)
    return [FirstTokens(turn + 1, len(own), sum(own) / len(own) / 1e6, nearest_rank(sorted(own), 50) / 1e6)
            for turn, own in sorted(times.items())]


def _fidelity(cells: Iterable[LiveCell]) -> Fidelity:
    late = sorted(turn.start_us - turn.planned_us for cell in cells for turn in cell.turns
                  if not turn.probe and turn.error is None)
    return Fidelity(nearest_rank(late, 50) / 1e6, nearest_rank(late, 95) / 1e6, late[-1] / 1e6,
                    tuple(nearest_rank(late, percent) / 1e6 for percent in range(1, 101)))


def _paired(mine: Mapping[int, Outcome], control: Mapping[int, Outcome], replicates: int) -> Paired | None:
    pairs = [_common(mine[seed], control[seed]) for seed in mine.keys() & control.keys()]
    pairs = [pair for pair in pairs if pair[0].records]
    if not pairs:
        return None
    ours, theirs = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    found = spreads({"control": theirs, "row": ours}, "control", replicates)["row"] if replicates else None
    gain = 1 - summarize(ours).latency_p95_s / summarize(theirs).latency_p95_s
    return Paired(sum(len(outcome.records) for outcome in ours), found, gain, fairness(ours, theirs))


def _common(mine: Outcome, other: Outcome) -> tuple[Outcome, Outcome]:
    """Both, with the turns that both have."""
    both = {record[:2] for record in mine.records} & {record[:2] for record in other.records}
    first, second = (replace(outcome, records=[record for record in outcome.records if record[:2] in both])
                     for outcome in (mine, other))
    return first, second
