"""Typed live results of the two opposite traces: a gate that pays, and a tier in which everything fits."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

# Condition: hit, simulated, at live starts, stored bytes, reloaded bytes, late TTFT, p95 of turns, better.
_ROWS: dict[str, dict[str, tuple[Any, ...]]] = {
    "deep": {
        "none": (0.0, 0.0, 0.0, 0, 0, 1.9, 3.1, 0.2),
        "lru": (0.019, 0.020, 0.019, 709_660_000, 14_780_000, 1.8, 3.0, 0.0),
        "gate:gap=noise50": (0.221, 0.225, 0.222, 22_000_000, 160_000_000, 1.1, 2.2, 0.8),
        "gate": (0.234, 0.240, 0.236, 20_280_000, 176_650_000, 1.0, 2.0, 0.9),
    },
    "shallow": {
        "none": (0.0, 0.0, 0.0, 0, 0, 0.31, 0.6, 0.5),
        "lru": (0.510, 0.590, 0.540, 90_000_000, 30_000_000, 0.30, 0.5, 0.0),
        "gate": (0.514, 0.596, 0.541, 90_000_000, 30_200_000, 0.30, 0.5, 0.4),
    },
}
_TURNS = 1_104


def live_numbers(kind: str) -> dict[str, tuple[Any, str, Any, Any, int]]:
    """Key -> value, unit, lo, hi, n."""
    rows = _ROWS[kind]
    found: dict[str, tuple[Any, str, Any, Any, int]] = {
        "live.conditions": (len(rows), "conditions", None, None, len(rows)),
        "live.unfinished": (1 if kind == "deep" else 0, "cells", None, None, 2 * len(rows)),
        "live.simulated.most_points": (0.006 if kind == "deep" else 0.082, "share", None, None, len(rows) - 1),
        "live.simulated.most_points_at_starts": (0.002 if kind == "deep" else 0.03, "share", None, None, len(rows) - 1),
    }
    for name, label in (("control", "lru"), ("best", "gate")):
        hit, simulated, _, stored, reloaded, late, p95, better = rows[label]
        found[f"live.{name}"] = (label, "name", None, None, _TURNS)
        found |= {f"live.{name}.{metric}": (value, unit, lo, hi, _TURNS) for metric, value, unit, lo, hi in (
            ("tier_hit_rate", hit, "share", hit - 0.01, hit + 0.01),
            ("simulated_hit_rate", simulated, "share", None, None), ("stored_bytes", stored, "bytes", None, None),
            ("reloaded_bytes", reloaded, "bytes", None, None),
            ("stored_per_reloaded", stored / reloaded, "ratio", None, None),
            ("late_ttft_mean_s", late, "s", None, None), ("latency_p95_s", p95, "s", p95 - 0.1, p95 + 0.1),
            ("improved", better, "share", None, None), ("late_start_p95_s", 0.0026, "s", None, None))}
    return found


def live_tables(kind: str) -> dict[str, pa.Table]:
    """The tables of live results."""
    rows = _ROWS[kind]
    return {
        "live_conditions": pa.Table.from_pylist([
            {"condition": label, "seeds": 2, "turns": _TURNS, "errors": 0, "tier_hit_rate": hit,
             "tier_hit_lo": None if label == "none" else hit - 0.01,
             "tier_hit_hi": None if label == "none" else hit + 0.01, "simulated_hit_rate": simulated,
             "at_starts_hit_rate": starts, "stored_bytes": stored, "reloaded_bytes": reloaded}
            for label, (hit, simulated, starts, stored, reloaded, *_) in rows.items()]),
        "live_ttft": pa.Table.from_pylist([
            {"condition": label, "turn": turn, "turns": 120 - 8 * turn, "mean_s": row[5] * (1 + turn / 20),
             "p50_s": row[5]}
            for label, row in rows.items() for turn in range(1, 15)]),
        "live_schedule": pa.Table.from_pylist([
            {"condition": label, "percentile": percent, "late_s": percent**2 * 1e-6}
            for label in rows for percent in range(1, 101)]),
    }
