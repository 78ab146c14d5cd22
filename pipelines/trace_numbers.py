"""What a written trace measures: every metric and the replay, from its Parquet files and nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from metrics.catalogue import EVENT_METRICS, METRICS
from metrics.core.classes import ClassRule
from metrics.core.metric import Findings, Metric, measure
from metrics.core.trace import Trace
from pipelines.config import Config
from pipelines.opening import open_events, open_trace
from replay.residency.budgets import parse_budgets
from replay.residency.cells import Plan, cells_here
from replay.residency.stream_file import extract_stream
from replay.residency.study import study

__all__ = ["event_numbers", "trace_numbers"]

_POLICIES = ("lru", "fnu", "mrr")
_BUDGETS = ("1%", "2%", "5%", "10%", "20%", "40%", "50%", "100%")

Numbers = dict[str, float]
Rows = list[dict[str, Any]]


def trace_numbers(files: Sequence[Path], rules: Sequence[ClassRule], stream_name: str | None, work: Path, *,
                  metrics: Sequence[Metric[Trace]] = METRICS, threads: int = 1,
                  memory_limit: str | None = None) -> Numbers:
    """Every number of a trace by its key; one that has no value is left out.

    Parameters
    ----------
    files : sequence of Path
        Parquet with the columns of the telemetry schema.
    rules : sequence of ClassRule
    stream_name : str or None
        What is replayed: `busiest-hour` or `window`; None: nothing.
    work : Path
        A private folder for scratch.
    metrics : sequence of Metric
        What is measured.
    memory_limit : str or None
        Of the engine; the rest is spilled to `work`.

    Returns
    -------
    dict of str to float
        The keys of the results store; those of its tables that the paper prints, such as
        `class_transition.spine.mid`; and ratios of both, see `_ratios`.
    """
    config = Config(rules=tuple(rules))
    with open_trace(*files, config=config, work=work, threads=threads, memory_limit=memory_limit,
                    strict=True) as trace:
        found = [measure(metric, trace) for metric in metrics]
        if stream_name is not None:
            plan = Plan(stream_name, ("session", "session+deployment"), _POLICIES, parse_budgets(_BUDGETS), "last")
            replayed = extract_stream(trace, stream_name, work / "stream.arrow")
            found.append(study(plan, replayed, cells_here(plan, replayed, trace.settings.beta, threads)))
    numbers = _numbers(found)
    tables = {name: table.to_pylist() for findings in found for name, table in findings.tables.items()}
    return numbers | _of_tables(tables) | _ratios(numbers)


def event_numbers(files: Sequence[Path], work: Path, *, threads: int = 1, memory_limit: str | None = None) -> Numbers:
    """Every number of an event log by its key, as `trace_numbers`."""
    with open_events(*files, work=work, threads=threads, memory_limit=memory_limit, strict=True) as log:
        return _numbers([measure(metric, log) for metric in EVENT_METRICS])


def _numbers(found: Sequence[Findings]) -> Numbers:
    return {key: number.value for findings in found for key, number in findings.numbers.items()
            if isinstance(number.value, int | float)}


def _of_tables(tables: Mapping[str, Rows]) -> Numbers:
    """Numbers that are printed in the paper and stand in a table of the store."""
    numbers: Numbers = {}
    for row in tables.get("class_transition", []):
        if row["mapping"] == "conservative" and row["probability"] is not None:
            numbers[f"class_transition.{row['from_class']}.{row['to_class']}"] = row["probability"]
    for row in tables.get("idle_cap", []):
        for column in ("added_points", "added_intra_points", "inter_share_of_reclaimed"):
            if row[column] is not None:
                numbers[f"idle_cap.{row['theta']}.{column}"] = row[column]
    return numbers


def _ratios(numbers: Numbers) -> Numbers:
    """Ratios that do not depend on the size of the fleet, and sums that the paper prints."""
    ratios: Numbers = {}
    top = numbers.get("ceiling.hold_all_live_bytes")
    if top:
        ratios["ceiling.bytes_per_peak_session"] = top / numbers["ceiling.peak_sessions"]
        for name in ("minute_bins", "hour_bins"):
            ratios[f"ceiling.{name}_ratio"] = numbers[f"ceiling.{name}_bytes"] / top
        for cap in ("15m", "1h"):
            ratios[f"idle_cap.{cap}.ceiling_ratio"] = numbers[f"idle_cap.{cap}.ceiling_bytes"] / top
    light = [numbers.get(f"class_share.conservative.{name}") for name in ("scoped", "fanout")]
    if None not in light:
        ratios["class_share.conservative.scoped_and_fanout"] = sum(share for share in light if share is not None)
    moves = [numbers.get(f"transition.{name}.share") for name in ("cross_deployment", "cross_region")]
    if None not in moves:
        ratios["transition.same_model_moves.share"] = sum(share for share in moves if share is not None)
    return ratios
