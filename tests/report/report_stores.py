"""Three synthetic results stores: a deep agentic trace, a shallow chat, and one that knows hardly anything.

The numbers are typed, not derived: what the figures and the report make of them is under test, not
how they come about. The two traces are opposite in everything that a sentence can say.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa
from report_live import live_numbers, live_tables
from report_samples import BUDGETS, CAPS, DIVIDED, FLOORS, HOST, KSTAR, LEAST, NUMBERS, RATES, ROUTES, THETAS
from report_tables import sized, tables

from metrics.core.metric import Findings
from replay.cost import size_table

COMMAND = "kvcensus characterize --format calls trace.parquet"


@dataclass(frozen=True)
class Number:
    """As `metrics.core.store.Number`: the fields that figures and report read."""

    value: Any
    unit: str = "count"
    lo: Any = None
    hi: Any = None
    population: str = "calls with a session id"
    n: int | None = 176_007
    method: str = "exact count"
    command: str = COMMAND
    why: str | None = None


@dataclass
class Store:
    """As `metrics.core.store.Results`, in memory."""

    numbers: dict[str, Number] = field(default_factory=dict)
    tables: dict[str, pa.Table] = field(default_factory=dict)
    audit: Mapping[str, Any] = field(default_factory=dict)
    manifest: Mapping[str, Any] = field(default_factory=dict)

    def has_table(self, name: str) -> bool:
        return name in self.tables

    def table(self, name: str) -> pa.Table:
        return self.tables[name]

    @property
    def window(self) -> Mapping[str, Any]:
        found: Mapping[str, Any] = self.manifest["window"]
        return found


def numbers(kind: str) -> dict[str, Number]:
    """All numbers of a trace, keys sorted as in the store."""
    deep = kind == "deep"
    found = {
        key: Number(
            pair[0 if deep else 1],
            unit,
            why=None
            if pair[0 if deep else 1] is not None
            else "no call switches model: the trace has one model",
        )
        for unit, group in NUMBERS.items()
        for key, pair in group.items()
    }
    for theta, (rebuilt, ceiling, reduction, *_) in CAPS[kind].items():
        found[f"idle_cap.{theta}.reconstruction"] = Number(
            rebuilt, "share", method="exact replay of an idle cap"
        )
        found[f"idle_cap.{theta}.ceiling_bytes"] = Number(ceiling, "bytes")
        found[f"idle_cap.{theta}.reduction"] = Number(reduction, "ratio")
    for objects, floor in FLOORS[kind].items():
        base = f"replay.busiest-hour.{objects}"
        found[f"{base}.floor"] = Number(floor, "share")
        found[f"{base}.kstar_bytes"] = Number(KSTAR[kind], "bytes")
        for policy, rates in RATES[kind].items():
            for budget, rate in zip(BUDGETS, rates, strict=True):
                found[f"{base}.{policy}.b{budget * 100:g}"] = Number(
                    max(rate, floor),
                    "share",
                    lo=max(rate, floor) - 0.004,
                    hi=max(rate, floor) + 0.004,
                    method="exact replay; interval by session-clustered bootstrap",
                )
        for bound, rates in LEAST[kind].items():
            for budget, rate in zip(BUDGETS, rates, strict=True):
                found[f"{base}.{bound}.b{budget * 100:g}"] = Number(max(rate, floor), "share")
        for policy, rates in RATES[kind].items():
            least = LEAST[kind]["pfoo_l_q32" if policy == "mrr" else "pfoo_l"]
            for budget, rate, low in zip(BUDGETS, rates, least, strict=True):
                above = max(rate, floor) - max(low, floor)
                found[f"{base}.above_bound.{policy}.b{budget * 100:g}"] = Number(above, "share")
        found |= sizes(kind, objects)
        found[f"{base}.order_differs"] = Number(2 if deep else 0, n=len(BUDGETS))
        for policy, (rate, down, up) in HOST[kind].items():
            found[f"{base}.{policy}.b10"] = Number(max(rate, floor), "share")
            for way, moved in {"down": down, "up": up, "moved": down + up}.items():
                found[f"{base}.{way}_bytes_per_s.{policy}.b10"] = Number(moved, "bytes/s")
    found |= {
        "replay.busiest-hour.bootstrap.replicates": Number(200, "replicates", n=9_486),
        "replay.busiest-hour.bootstrap.seed": Number(0, "seed", n=9_486),
        "replay.busiest-hour.bootstrap.sessions": Number(9_486, "sessions", n=9_486),
        "replay.busiest-hour.session.ratio.mrr.b10": Number(0.41, "ratio", lo=0.39, hi=0.44),
        "replay.hours.compared": Number(20, "hours", n=24),
        "replay.hours.session.floor": Number(FLOORS[kind]["session"], "share", n=20),
        "replay.hours.session.kstar_bytes": Number(KSTAR[kind], "bytes", n=20),
    }
    rate = max(RATES[kind]["lru"][BUDGETS.index(0.1)], FLOORS[kind]["session"])
    found["replay.hours.session.lru.b10"] = Number(
        rate, "share", lo=rate - (0.2 if deep else 0.01), hi=rate + 0.01, n=20
    )
    for route, (floor, load, moved) in ROUTES[kind].items():
        base = f"replay.busiest-hour.routing.{route}"
        found[f"{base}.floor"] = Number(floor, "share")
        found[f"{base}.load_max"] = Number(load, "ratio")
        if moved is not None:
            found[f"{base}.moved_bytes"] = Number(moved, "bytes")
    for memory, rate in DIVIDED[kind].items():
        found[f"replay.busiest-hour.routing.as_logged.{memory}.lru.b10"] = Number(rate, "share")
    found["trace.sessions_cut_left"] = replace(
        found["trace.sessions_cut_left"], lo=4_700 if deep else 10, hi=4_730 if deep else 14
    )
    found |= {"gap.idle_p50_s": Number(None, "s", n=None, why="no durations in the trace")}
    found |= {
        f"audit.{k}": Number(v, "rows", population="rows of the input", n=None)
        for k, v in {"rows_read": 17_010_000, "rows_used": 17_008_715}.items()
    }
    found |= {key: Number(value, unit, lo, hi, n=n) for key, (value, unit, lo, hi, n) in live_numbers(kind).items()}
    return dict(sorted(found.items()))


def sizes(kind: str, objects: str) -> dict[str, Number]:
    """The budgets that targets need, as the table has them."""
    base, findings = f"replay.busiest-hour.{objects}", Findings()
    rows = [row for row in sized(kind) if row["object_key"] == objects]
    size_table.publish(findings, base, RATES[kind], rows, 176_007)
    return {key: Number(each.value, "bytes", each.low, each.high, why=each.why)
            for key, each in findings.numbers.items()}


def manifest(name: str) -> dict[str, Any]:
    return {
        "format_version": 1,
        "kvcensus_version": "0.1.0",
        "name": name,
        "window": {
            "name": "all",
            "start": "2026-07-01T00:00:00+00:00",
            "end": "2026-07-09T00:00:00+00:00",
            "tz": "UTC",
        },
        "input": {"format": "calls", "files": 3, "bytes": 912_345_678, "sha256": "ab" * 32},
        "configuration": {
            "geometry": {"name": "llama-2-70b", "bytes_per_token": 327_680, "source": "as the paper"},
            "caps": [t for t, _ in THETAS],
            "replay": {"release": "last", "budgets": list(BUDGETS)},
        },
        "versions": {"python": "3.11.7", "duckdb": "2.0.0"},
        "started": "2026-07-10T08:00:00+00:00",
        "wall_s": 42.1,
        "notes": [],
        "derived": {},
        "labels": {},
    }


AUDIT: dict[str, Any] = {
    "rows_read": 17_010_000,
    "rows_used": 17_008_715,
    "files": 3,
    "rows_excluded": {"duplicate": 1_200, "bad_tokens": 85},
    "flags": {"unsessioned": 0, "zero_context": 17},
    "examples": {"bad_tokens": ["context_tokens = '-5' in part-1.csv, row 17"]},
    "reasons": {
        "duplicate": "the same call recorded again",
        "bad_tokens": "context tokens missing or negative",
    },
    "flag_meanings": {"unsessioned": "no session id", "zero_context": "a context of 0 tokens"},
}


def deep() -> Store:
    return Store(numbers("deep"), tables("deep") | live_tables("deep"), AUDIT, manifest("research"))


def shallow() -> Store:
    notes = ["Arrivals are synthetic: times follow a Poisson process with 2 calls/s."]
    return Store(
        numbers("shallow"),
        tables("shallow") | live_tables("shallow"),
        AUDIT,
        manifest("chat")
        | {
            "notes": notes,
            "derived": {"turn_id": "from the position of the call"},
            "labels": {"adapter": "schema only, not verified on the data"},
        },
    )


def unknown() -> Store:
    """Nearly everything is null: a trace without sessions."""
    reason = "no row has a session id (0 of 250 rows)"
    found = {
        key: replace(number, value=None, lo=None, hi=None, n=None, why=reason)
        for key, number in numbers("deep").items()
    }
    found["trace.calls"] = Number(250)
    return Store(found, {}, {"rows_read": 250, "rows_used": 250}, {"name": "bare", "window": {"name": "all"}})
