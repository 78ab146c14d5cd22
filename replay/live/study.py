"""What is published of live results: numbers and tables of a results store."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pyarrow as pa

from metrics.core.metric import Column, Findings, Number, TableSpec
from replay.live import analysis
from replay.live.analysis import Row
from replay.live.simulated import Simulated

__all__ = ["declared_live", "live_study"]

_POPULATION = "turns that were sent to a real server and did not fail, of the seeds that are finished"
#: What is not counted in turns that did not fail.
_POPULATIONS = {
    "errors": "turns that were sent to a real server, of the seeds that are finished",
    "late_ttft_mean_s": f"second and later {_POPULATION}",
    "jct_mean_s": f"sessions with {_POPULATION}", "jct_p90_s": f"sessions with {_POPULATION}",
    "improved": "sessions that have turns under the control, too; of the seeds that are finished",
}
_NOBODY = "no condition is finished"
_NOT_SIMULATED = "nothing is simulated where the server's sizes are not known"
_MOST_TURNS = 100


def _simulated(row: Row) -> Simulated | None:
    return row.simulated if isinstance(row.simulated, Simulated) else None


def _simulated_rate(row: Row) -> float | None:
    simulated = _simulated(row)
    return None if simulated is None else simulated.summary.tier_hit_rate


def _rate_at_starts(row: Row) -> float | None:
    simulated = _simulated(row)
    return None if simulated is None else simulated.at_starts.tier_hit_rate


def _improved(row: Row) -> float | None:
    return None if row.paired is None else row.paired.gains["all"].improved


#: Name -> unit, method, and the value of a condition.
_OF: dict[str, tuple[str, str, Callable[[Row], float | None]]] = {
    "turns": ("turns", "turns that did not fail", lambda row: row.summary.turns),
    "errors": ("turns", "turns that failed", lambda row: row.errors),
    "tier_hit_rate": ("share", "tokens found in the tier / tokens asked of it, which are prompt tokens not found on "
                      "the device; 0 under none, which has no tier; 2.5 to 97.5 % of bootstrap replicates over whole "
                      "sessions",
                      lambda row: row.summary.tier_hit_rate),
    "device_hit_share": ("share", "prompt tokens found on the device / prompt tokens",
                         lambda row: row.summary.device_hit_share),
    "ttft_mean_s": ("s", "mean time from a turn's start to its first token", lambda row: row.summary.ttft_mean_s),
    "late_ttft_mean_s": ("s", "the same, of second and later turns", lambda row: row.summary.late_ttft_mean_s),
    "latency_p95_s": ("s", "p95 of the time from a turn's start to its last token; 2.5 to 97.5 % of bootstrap "
                      "replicates over whole sessions", lambda row: row.summary.latency_p95_s),
    "jct_mean_s": ("s", "mean time from a session's arrival to its last end", lambda row: row.summary.jct_mean_s),
    "jct_p90_s": ("s", "p90 of the same", lambda row: row.summary.jct_p90_s),
    "turns_per_s": ("turns/s", "turns / time until the last one ended", lambda row: row.summary.turns_per_s),
    "stored_bytes": ("bytes", "bytes stored in the tier", lambda row: row.summary.stored_bytes),
    "reloaded_bytes": ("bytes", "bytes loaded from the tier", lambda row: row.summary.reloaded_bytes),
    "stored_per_reloaded": ("ratio", "bytes stored / bytes reloaded", lambda row: row.summary.stored_per_reloaded),
    "improved": ("share", "sessions whose completion time is below that under the control",
                 _improved),
    "simulated_hit_rate": ("share", "tokens found in the tier / tokens asked of it, in the simulator on the same plan",
                           _simulated_rate),
    "late_start_p95_s": ("s", "p95 of actual less planned start of a turn", lambda row: row.fidelity.p95_s),
}

_CONDITIONS = TableSpec("live_conditions", "one condition on a real server", (
    Column("condition", pa.string(), "policy, and what differs of hints, end bits and probes"),
    Column("seeds", pa.int64(), "seeds that are finished"),
    Column("turns", pa.int64(), "turns that did not fail"),
    Column("errors", pa.int64(), "turns that failed"),
    Column("tier_hit_rate", pa.float64(), "tokens found in the tier / tokens asked of it"),
    Column("tier_hit_lo", pa.float64(), "2.5 % of bootstrap replicates over whole sessions"),
    Column("tier_hit_hi", pa.float64(), "97.5 % of them"),
    Column("simulated_hit_rate", pa.float64(), "the same in the simulator on the same plan; null: not simulated"),
    Column("at_starts_hit_rate", pa.float64(), "the same in the simulator, with turns at the times they came live"),
    Column("device_hit_share", pa.float64(), "prompt tokens found on the device / prompt tokens"),
    Column("found_share", pa.float64(), "prompt tokens found on the device or in the tier / prompt tokens"),
    Column("residency_found_share", pa.float64(), "the same by the residency replay at the tier's size; null: no tier"),
    Column("stored_bytes", pa.int64(), "bytes stored in the tier"),
    Column("reloaded_bytes", pa.int64(), "bytes loaded from the tier"),
    Column("refused_blocks", pa.int64(), "blocks whose store was refused"),
    Column("evicted_blocks", pa.int64(), "blocks that were evicted"),
    Column("ttft_mean_s", pa.float64(), "mean time to first token"),
    Column("late_ttft_mean_s", pa.float64(), "the same, of second and later turns"),
    Column("latency_p95_s", pa.float64(), "p95 of the time from a turn's start to its last token"),
    Column("jct_mean_s", pa.float64(), "mean time from a session's arrival to its last end"),
))
_TTFT = TableSpec("live_ttft", "the turns of one place in their sessions, under one condition", (
    Column("condition", pa.string(), "as in live_conditions"),
    Column("turn", pa.int64(), "place of the turn in its session, from 1"),
    Column("turns", pa.int64(), "turns"),
    Column("mean_s", pa.float64(), "mean time to first token"),
    Column("p50_s", pa.float64(), "nearest-rank median of it"),
))
_SCHEDULE = TableSpec("live_schedule", "a percentile of how late turns were sent, under one condition", (
    Column("condition", pa.string(), "as in live_conditions"),
    Column("percentile", pa.int64(), "1 to 100, nearest rank"),
    Column("late_s", pa.float64(), "actual less planned start"),
))


def declared_live(found: analysis.Findings) -> tuple[Number, ...]:
    """Every number of live results."""
    return tuple(_declared(found))


def _declared(found: analysis.Findings) -> Iterator[Number]:
    control = f"under the control, {found.control}"
    best = "under the condition with the highest hit rate of the tier"
    yield Number("live.conditions", "conditions", "conditions with a finished seed", "conditions that were asked for")
    yield Number("live.unfinished", "cells", "conditions and seeds that were asked for and are not finished",
                 "conditions and seeds that were asked for")
    yield Number("live.control", "name", "the condition that differences refer to", _POPULATION)
    yield Number("live.best", "name", "the condition with the highest hit rate of the tier", _POPULATION)
    for name, where in (("control", control), ("best", best)):
        for metric, (unit, method, _) in _OF.items():
            yield Number(f"live.{name}.{metric}", unit, f"{method}, {where}",
                         _POPULATIONS.get(metric, _POPULATION))
    yield Number("live.simulated.most_points", "share", "largest difference in the tier's hit rate between server and "
                 "simulator, over conditions with a tier", _POPULATION)
    yield Number("live.simulated.most_points_at_starts", "share", "the same, with every turn at the time that it came "
                 "live", _POPULATION)
    for label in found.rows:
        for metric, (unit, method, _) in _OF.items():
            yield Number(f"live.of.{label}.{metric}", unit, f"{method}, under {label}",
                         _POPULATIONS.get(metric, _POPULATION))


def live_study(found: analysis.Findings) -> Findings:
    """What live results say."""
    told = Findings()
    told.set("live.conditions", len(found.rows), len(found.asked.rows))
    told.set("live.unfinished", len(found.unfinished), len(found.asked.rows) * len(found.asked.workloads))
    best = max(found.rows, key=lambda label: found.rows[label].summary.tier_hit_rate, default=None)
    names = {"control": found.control if found.control in found.rows else None, "best": best}
    for name, label in names.items():
        row = None if label is None else found.rows[label]
        told.set(f"live.{name}", label, None if row is None else row.summary.turns, why=_NOBODY)
        _set(told, f"live.{name}", row)
    for label, row in found.rows.items():
        _set(told, f"live.of.{label}", row)
    _errors(told, found)
    told.table(_CONDITIONS, [_condition(label, row) for label, row in found.rows.items()])
    told.table(_TTFT, [{"condition": label, **vars(each)} for label, row in found.rows.items()
                       for each in row.first_tokens[:_MOST_TURNS]])
    told.table(_SCHEDULE, [{"condition": label, "percentile": percent, "late_s": late}
                           for label, row in found.rows.items()
                           for percent, late in enumerate(row.fidelity.percentiles_s, 1)])
    return told


def _set(told: Findings, prefix: str, row: Row | None) -> None:
    if row is None:
        told.missing(_NOBODY, *(f"{prefix}.{metric}" for metric in _OF))
        return
    spread = None if row.paired is None else row.paired.spread
    bounds: dict[str, tuple[float, float] | None] = {
        "tier_hit_rate": row.hit_interval,
        "latency_p95_s": None if spread is None else (spread.by_session.lo, spread.by_session.hi)}
    for metric, (_, _, value) in _OF.items():
        low, high = bounds.get(metric) or (None, None)
        told.set(f"{prefix}.{metric}", value(row), _counted(row, metric), low=low, high=high,
                 why="there is nothing to compare with, or to divide by")


def _counted(row: Row, metric: str) -> int:
    """How many a number rests on: turns, or what `_POPULATIONS` says."""
    if metric == "errors":
        return row.summary.turns + row.errors
    if metric == "late_ttft_mean_s":
        return sum(each.turns for each in row.first_tokens if each.turn > 1)
    if metric.startswith("jct"):
        return row.summary.sessions
    if metric == "improved":
        return 0 if row.paired is None else row.paired.gains["all"].sessions
    return row.summary.turns


def _errors(told: Findings, found: analysis.Findings) -> None:
    tiered = [row for row in found.rows.values() if row.residency is not None]
    for name, rate in (("most_points", _simulated_rate), ("most_points_at_starts", _rate_at_starts)):
        off = [abs(value - row.summary.tier_hit_rate) for row in tiered if (value := rate(row)) is not None]
        told.set(f"live.simulated.{name}", max(off, default=None), len(off), why=_NOT_SIMULATED)


def _condition(label: str, row: Row) -> dict[str, object]:
    s = row.summary
    low, high = row.hit_interval or (None, None)
    return {
        "condition": label, "seeds": len(row.seeds), "turns": s.turns, "errors": row.errors,
        "tier_hit_rate": s.tier_hit_rate, "tier_hit_lo": low, "tier_hit_hi": high,
        "simulated_hit_rate": _simulated_rate(row), "at_starts_hit_rate": _rate_at_starts(row),
        "device_hit_share": s.device_hit_share, "found_share": row.coarse.found_share,
        "residency_found_share": None if row.residency is None else row.residency.found_share,
        "stored_bytes": s.stored_bytes, "reloaded_bytes": s.reloaded_bytes, "refused_blocks": sum(s.refused.values()),
        "evicted_blocks": sum(s.evicted.values()), "ttft_mean_s": s.ttft_mean_s,
        "late_ttft_mean_s": s.late_ttft_mean_s, "latency_p95_s": s.latency_p95_s, "jct_mean_s": s.jct_mean_s}
