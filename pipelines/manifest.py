"""What a result says on itself: input, window, configuration, versions.

Model names and the column names of an export are published with --names only.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib import metadata
from typing import Any

from metrics.core.classes import DEFAULT_RULES
from metrics.core.clock import iso
from metrics.core.event_log import EventLog
from metrics.core.store import FORMAT_VERSION
from metrics.core.trace import Trace
from pipelines.options import Options
from pipelines.version import VERSION
from telemetry.adapter import ReadOptions, Source

__all__ = ["manifest"]

_VERSIONED = ("numba", "numpy", "pyarrow", "matplotlib")
_PACKAGE = {"duckdb": "duckdb", "spark": "pyspark"}  # of an engine


def manifest(options: Options, log: Trace | EventLog, sources: Sequence[Source], digest: str, started: float,
             *, live: bool = False) -> dict[str, Any]:
    """The manifest of one window.

    Parameters
    ----------
    digest : str
        SHA-256 of the input.
    started : float
        Seconds since 1970.
    live : bool
        Whether live results are shown as well.
    """
    zone, adapter = options.clock.zone, options.adapter
    start, end = log.window.start_us, log.window.end_us
    return {
        "format_version": FORMAT_VERSION,
        "kvcensus_version": VERSION,
        "name": options.name,
        "window": {
            "name": log.window.name, "tz": zone.key,
            "start": iso(log.profile.first_us if start is None else start, zone),
            "end": iso(log.profile.last_us if end is None else end, zone),
            "first_call": iso(log.profile.first_us, zone), "last_call": iso(log.profile.last_us, zone),
        },
        "input": {"format": adapter.name, "rows": adapter.rows.name, "files": len(sources), "sha256": digest,
                  "bytes": sum(source.size for source in sources)},
        "configuration": _configuration(options),
        "engine": options.engine,
        "versions": {name: metadata.version(name) for name in (_PACKAGE[options.engine], *_VERSIONED)},
        "started": datetime.fromtimestamp(started, UTC).isoformat(timespec="seconds"),
        "command": options.command,
        "notes": [*adapter.notes, *_arrival_notes(options), *_sample_notes(options), *_live_notes(live)],
        "derived": dict(adapter.derived),
    }


def _configuration(options: Options) -> dict[str, Any]:
    timestamp, plan, routing = options.read.timestamp, options.plan, options.routing
    return {
        "columns": dict(options.read.columns) if options.names else sorted(options.read.columns),
        "timestamp": {"unit": timestamp.unit, "zone": timestamp.zone, "epoch_us": timestamp.epoch_us},
        "context_excludes_cached": options.read.context_excludes_cached,
        "whole_sessions": options.config.whole_sessions or options.adapter.whole_sessions,
        "classes": _classes(options),
        **_tool_events(options),
        "geometry": {"name": options.geometry.name, "bytes_per_token": options.geometry.bytes_per_token,
                     "source": options.geometry.source},
        "replay": {"stream": plan.stream, "keys": list(plan.keys), "policies": list(plan.policies),
                   "budgets": [budget.label for budget in plan.budgets], "release": plan.release,
                   "bounds": list(plan.bounds),
                   "bootstrap": plan.bootstrap and {"replicates": plan.bootstrap.replicates,
                                                    "seed": plan.bootstrap.seed},
                   "hours": plan.hours,
                   "sample": plan.sample and {"fraction": plan.sample.label, "seed": plan.sample.seed},
                   "routing": {"routes": list(routing.routes), "division": routing.division,
                               "load_limit": f"{float(routing.load_limit):g}"}},
        "names": options.names, "strict": options.strict,
    }


def _tool_events(options: Options) -> dict[str, object]:
    """How an event log calls the execution of a tool; of a user's own words, without --names, only how many."""
    words = options.read.tool_events
    if options.adapter.rows.name != "events":
        return {}
    return {"tool_events": list(words) if options.names or words == ReadOptions.tool_events else len(words)}


def _classes(options: Options) -> object:
    """The rules that give models their classes; of a user's own, without --names, only how many and a hash."""
    rules = [[rule.substring, rule.conservative, rule.broad] for rule in options.config.rules]
    if options.names or options.config.rules == DEFAULT_RULES:
        return rules
    return {"rules": len(rules), "sha256": hashlib.sha256(json.dumps(rules).encode()).hexdigest()}


def _arrival_notes(options: Options) -> list[str]:
    arrivals = options.read.arrivals
    if arrivals is None:
        return []
    return [f"Arrivals are synthetic: sessions start as a Poisson process of {arrivals.rate:g} a second, seed "
            f"{arrivals.seed}. How many sessions live at once, every ceiling and every replay depend on this rate; "
            "within a session all times are as recorded."]


def _live_notes(live: bool) -> list[str]:
    if not live:
        return []
    return ["The live results are of sessions and sizes of their own, which need not be those of this log: the command "
            "that measured them stands under How it was made."]


def _sample_notes(options: Options) -> list[str]:
    sample = options.plan.sample
    if sample is None:
        return []
    return [f"The residency replay reads a sample of the sessions ({sample}), each with all its calls. Its budgets are "
            "shares of what the sample alone would hold, and its rates have an error, which stands beside them. All "
            "other numbers count every call."]
