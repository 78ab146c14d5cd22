"""The cells of `ladder` for a reader and for a machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from pipelines.ladder_options import LadderOptions
from pipelines.priced import aligned
from pipelines.streams import say
from replay.tier.ladder import Cell
from replay.tier.orderings import orderings
from replay.tier.published import Printed
from replay.tier.uncertainty import Interval

__all__ = ["as_json", "print_ladder"]

_NONE = "-"


def print_ladder(options: LadderOptions, cells: Sequence[Cell]) -> None:
    """Tables on stdout. A column `printed` has what the workload's source prints, or implies, for that before it."""
    file = options.file
    say(f"{options.command}\n")
    say(f"{options.workload} on {file.name}: {file.gpu}, serving {file.model}; {_seeds(options.seeds)}; "
        f"blocks of {file.server.block_tokens} tokens")
    for (text, size), cell in zip(list(options.tiers) * len(options.rates), cells, strict=True):
        assert size == cell.tier_bytes, "cells come by rate, then by tier"
        live = [each.live_sessions for each in cell.pressure]
        held = [each.live_tokens * file.server.kv_bytes_per_token / 1e9 for each in cell.pressure]
        say(f"\n{cell.rate:g} sessions/s, a tier of {text}; if turns took no time, at p95 over time "
            f"{_span(live, '.0f')} sessions would be live (printed: {_printed(cell.printed, 'live_sessions', '.0f')}) "
            f"with {_span(held, '.1f')} GB (printed: {_printed(cell.printed, 'live_gb', '.1f')})")
        counted = [f"{name.replace('_', ' ')} {count:,}" for name, count in cell.notes.items() if count]
        if counted:
            say(f"counted over the draws: {', '.join(counted)}")
        for table in (_latency(cell), _first_token(cell), _tier(cell), _fairness(cell)):
            say("")
            for line in aligned(table):
                say(line)
        for each in orderings(cell):
            say(f"\n{'holds' if each.holds else 'DOES NOT HOLD'}: {each.claim} ({each.source})\n  {each.numbers}")
    if len(cells) > 1:
        say("\nenvelope: gain in p95 over " + options.control)
        for line in aligned(_envelope(cells), left=(2,)):
            say(line)
    say("\nplatform values")
    for line in aligned([[name, f"{int(fact.value):,}", fact.kind, fact.source] for name, fact in file.facts.items()],
                        left=(0, 2, 3)):
        say(line)


def _seeds(count: int) -> str:
    return "seed 1" if count == 1 else f"seeds 1 to {count}, pooled"


def _latency(cell: Cell) -> list[list[str]]:
    rows = [["p95 of turns, s", "value", "over turns", "over sessions", "printed", f"less {cell.control}",
             "over turns", "over sessions", "gain", "printed"]]
    for name, row in cell.rows.items():
        spread = row.spread
        own = [_NONE] * 2 if spread is None else [_interval(spread.by_turn), _interval(spread.by_session)]
        less = [_NONE] * 3 if spread is None else [f"{spread.delta_s:+.2f}", _interval(spread.delta_by_turn),
                                                   _interval(spread.delta_by_session)]
        rows.append([name, f"{row.summary.latency_p95_s:.2f}", *own, _printed(row.printed, "latency_p95_s", ".2f"),
                     *less, f"{row.p95_gain:+.1%}", _printed(row.printed, "p95_gain", ".1%")])
    return rows


def _first_token(cell: Cell) -> list[list[str]]:
    rows = [["time to first token, s", "mean", "p50", "p95", "p99", "mean of later turns", "printed"]]
    for name, row in cell.rows.items():
        s = row.summary
        rows.append([name, f"{s.ttft_mean_s:.4f}", f"{s.ttft_p50_s:.4f}", f"{s.ttft_p95_s:.4f}", f"{s.ttft_p99_s:.4f}",
                     _NONE if s.late_ttft_mean_s is None else f"{s.late_ttft_mean_s:.4f}",
                     _printed(row.printed, "late_ttft_mean_s", ".4f")])
    return rows


def _tier(cell: Cell) -> list[list[str]]:
    rows = [["tier and service", "hit", "printed", "device", "turns/s", "printed", "stored GB",
             "reloaded GB", "ratio", "printed", "refused", "probes", "evicted"]]
    for name, row in cell.rows.items():
        s = row.summary
        rows.append([name, f"{s.tier_hit_rate:.1%}", _printed(row.printed, "tier_hit_rate", ".1%"),
                     f"{s.device_hit_share:.1%}", f"{s.turns_per_s:.2f}", _printed(row.printed, "turns_per_s", ".2f"),
                     f"{s.stored_bytes / 1e9:,.1f}", f"{s.reloaded_bytes / 1e9:,.1f}",
                     _NONE if s.stored_per_reloaded is None else f"{s.stored_per_reloaded:.2f}",
                     _printed(row.printed, "stored_per_reloaded", ".2f"), f"{sum(s.refused.values()):,}",
                     f"{s.probes:,}", ", ".join(f"{word} {count:,}" for word, count in s.evicted.items()) or _NONE])
    return rows


def _fairness(cell: Cell) -> list[list[str]]:
    rows = [[f"completion time against {cell.control}", "mean s", "p90 s", "sessions", "better", "printed",
             "median", "printed", "worst decile", "printed"]]
    for name, row in cell.rows.items():
        for group, gains in row.gains.items():
            if name == cell.control and group != "all":
                continue
            whole = group == "all"
            beside = row.printed if whole else {}
            rows.append([name if whole else f"  {group}", f"{row.summary.jct_mean_s:.1f}" if whole else "",
                         f"{row.summary.jct_p90_s:.1f}" if whole else "", str(gains.sessions), f"{gains.improved:.0%}",
                         _printed(beside, "improved", ".0%"), f"{gains.median:+.1%}",
                         _printed(beside, "median", "+.1%"), f"{gains.worst_decile:+.1%}",
                         _printed(beside, "worst_decile", "+.1%")])
    return rows


def _envelope(cells: Sequence[Cell]) -> list[list[str]]:
    control = cells[0].control
    rows = [["sessions/s", "tier GB", "row", "hit", f"{control} hit", "gain", "printed", f"less {control}, s",
             "over sessions"]]
    for cell in cells:
        for name, row in cell.rows.items():
            if name != control:
                spread = row.spread
                rows.append([f"{cell.rate:g}", f"{cell.tier_bytes / 1e9:g}", name, f"{row.summary.tier_hit_rate:.1%}",
                             f"{cell.rows[control].summary.tier_hit_rate:.1%}", f"{row.p95_gain:+.1%}",
                             _printed(row.printed, "p95_gain", ".1%"),
                             *([_NONE] * 2 if spread is None
                               else [f"{spread.delta_s:+.2f}", _interval(spread.delta_by_session)])])
    return rows


def _printed(beside: Mapping[str, Printed], metric: str, form: str) -> str:
    found = beside.get(metric)
    return _NONE if found is None else _span([found.low, found.high], form)


def _span(values: Sequence[float], form: str) -> str:
    low, high = format(min(values), form), format(max(values), form)
    return low if low == high else f"{low} to {high}"


def _interval(interval: Interval) -> str:
    return f"{interval.lo:.2f} to {interval.hi:.2f}"


def as_json(options: LadderOptions, cells: Sequence[Cell]) -> dict[str, Any]:
    """The same for machines, and more."""
    file = options.file
    return {
        "command": options.command, "workload": options.workload, "seeds": options.seeds,
        "platform": {"name": file.name, "gpu": file.gpu, "model": file.model,
                     "kv_bytes_per_token": file.server.kv_bytes_per_token,
                     "values": {name: {"value": int(fact.value), "kind": fact.kind, "source": fact.source}
                                for name, fact in file.facts.items()}},
        "cells": [{"rate": cell.rate, "tier_bytes": cell.tier_bytes, "control": cell.control,
                   "notes": cell.notes, "pressure": [each._asdict() for each in cell.pressure],
                   "printed": {name: asdict(value) for name, value in cell.printed.items()},
                   "rows": {name: asdict(row) for name, row in cell.rows.items()},
                   "orderings": [asdict(each) for each in orderings(cell)]} for cell in cells],
    }
