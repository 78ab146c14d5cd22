"""One side of a comparison: what is measured of a log, or of a generated trace."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from metrics.class_transition import METRIC as CLASS_TRANSITION
from metrics.core.metric import measure
from metrics.core.trace import Trace
from pipelines.fitting.rows import Rows, read_rows
from pipelines.matching.replicates import Replicates, replicates
from replay.residency.budgets import Budget, parse_budgets
from replay.residency.replay import Cell, replay
from replay.residency.resampling import Bootstrap
from replay.residency.stream_file import extract_stream

__all__ = ["BOOTSTRAP", "BUDGETS", "POLICIES", "Side", "measure_side"]

POLICIES = ("lru", "fnu", "mrr_unbounded")
BUDGETS: tuple[Budget, ...] = parse_budgets(("1%", "2%", "5%", "10%", "20%", "50%"))
BOOTSTRAP = Bootstrap(100, 0)

_QUANTILES = ("0.5", "0.9", "0.99")


@dataclass(frozen=True)
class Side:
    """What is compared.

    Attributes
    ----------
    rows : Rows
    peaks : mapping of str to int
        Quantiles of the largest context of a session, by their share.
    transitions : mapping of (str, str) to float
        P(next class | class).
    cells : list of Cell
        POLICIES x BUDGETS over the whole stream, objects by session.
    replicates : Replicates
    """

    rows: Rows
    peaks: Mapping[str, int]
    transitions: Mapping[tuple[str, str], float]
    cells: list[Cell]
    replicates: Replicates

    @property
    def sessions(self) -> int:
        return self.rows.sessions

    def cell(self, policy: int, budget: int) -> Cell:
        return self.cells[policy * len(BUDGETS) + budget]


def measure_side(trace: Trace, work: Path, threads: int) -> Side:
    """Measure a derived trace; InputError when it has no sessions."""
    rows = read_rows(trace)
    stream = extract_stream(trace, "window", work / "matched.arrow").stream("session")
    beta = trace.settings.beta
    peaks = trace.quantiles("sessions", "peak_x", *_QUANTILES)
    assert peaks is not None, "there are sessions"
    table = measure(CLASS_TRANSITION, trace).tables.get("class_transition")
    transitions = {(row["from_class"], row["to_class"]): row["probability"]
                   for row in (table.to_pylist() if table is not None else ())
                   if row["mapping"] == "conservative" and row["probability"] is not None}
    return Side(rows, {p: peaks[p] for p in _QUANTILES}, transitions,
                replay(stream, POLICIES, BUDGETS, beta=beta, threads=threads),
                replicates(stream, POLICIES, BUDGETS, beta=beta, asked=BOOTSTRAP, threads=threads))
