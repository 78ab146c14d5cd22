"""A ladder: conditions side by side on the same sessions, with what the sources of the workload print beside them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from replay.tier.condition import Condition
from replay.tier.fairness import Gains, fairness
from replay.tier.metrics import Summary, summarize
from replay.tier.platform import ServerFile
from replay.tier.published import Printed, printed
from replay.tier.record import Outcome
from replay.tier.simulate import simulate
from replay.tier.uncertainty import Spread, spreads
from replay.tier.workload import Pressure, Workload, pressure

__all__ = ["Cell", "Row", "climb"]


@dataclass(frozen=True)
class Row:
    """A condition.

    Attributes
    ----------
    summary : Summary
    spread : Spread or None
        None without a bootstrap.
    p95_gain : float
        1 - p95 turn latency / that of the control.
    gains : dict
        Class of sessions -> gains in completion time over the control.
    printed : dict
        Metric -> what a source prints.
    """

    summary: Summary
    spread: Spread | None
    p95_gain: float
    gains: dict[str, Gains]
    printed: dict[str, Printed]


@dataclass(frozen=True)
class Cell:
    """A ladder at one arrival rate and one tier.

    Attributes
    ----------
    rate : float
    tier_bytes : int
    control : str
    pressure : list of Pressure
        A seed each.
    notes : dict
        Of calls: what was left out or filled in, over all draws.
    printed : dict
        Metric of the sessions themselves -> what a source prints.
    rows : dict of Row
    """

    rate: float
    tier_bytes: int
    control: str
    pressure: list[Pressure]
    notes: dict[str, int]
    printed: dict[str, Printed]
    rows: dict[str, Row]


def climb(workloads: Sequence[Workload], file: ServerFile, conditions: Mapping[str, Condition], tier_bytes: int,
          control: str, replicates: int, seen: Callable[[str, int, Outcome], None]) -> Cell:
    """Run every condition on every workload.

    Parameters
    ----------
    workloads : sequence of Workload
        One a seed, of the same name and rate; the seeds are 1, 2, ...
    control : str
        The condition that differences and gains refer to.
    replicates : int
        Of the bootstrap; 0: none.
    seen : callable
        Is given (condition, seed, outcome) of each run as it ends.

    Raises
    ------
    InputError, GateError
        As `simulate`.
    """
    runs: dict[str, list[Outcome]] = {}
    for name, condition in conditions.items():
        runs[name] = []
        for seed, workload in enumerate(workloads, start=1):
            outcome = simulate(workload, file.server, condition, seed)
            seen(name, seed, outcome)
            runs[name].append(outcome)
    summaries = {name: summarize(outcomes) for name, outcomes in runs.items()}
    spread = spreads(runs, control, replicates) if replicates else {}
    known = printed(workloads[0].name, file.name, tier_bytes, workloads[0].rate)
    rows = {}
    for name, summary in summaries.items():
        gain = 1 - summary.latency_p95_s / summaries[control].latency_p95_s
        rows[name] = Row(summary, spread.get(name), gain, fairness(runs[name], runs[control]),
                         _of(known, name))
    return Cell(workloads[0].rate, tier_bytes, control, [pressure(each) for each in workloads],
                _together(workloads), _of(known, "workload"), rows)


def _of(known: Mapping[tuple[str, str], Printed], row: str) -> dict[str, Printed]:
    return {metric: value for (name, metric), value in known.items() if name == row}


def _together(workloads: Sequence[Workload]) -> dict[str, int]:
    found: dict[str, int] = {}
    for workload in workloads:
        for name, count in workload.notes.items():
            found[name] = found.get(name, 0) + count
    return found
