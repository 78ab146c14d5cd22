"""The findings of `live` for a reader and for a machine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from pipelines.priced import aligned
from pipelines.streams import say
from replay.live.analysis import Findings
from replay.live.simulated import Simulated
from replay.tier.uncertainty import Interval

__all__ = ["as_json", "print_live"]

_NONE = "-"
_MB = 1_000_000


def print_live(found: Findings) -> None:
    """Tables on stdout, of whatever is there."""
    asked = found.asked
    say(f"{asked.command}\n")
    load = next(iter(asked.workloads.values()))
    turns = ", ".join(f"{each.turns:,} of seed {seed}" for seed, each in asked.workloads.items())
    say(f"{len(load.sessions):,} sessions a seed; turns: {turns}; tokens times {asked.scale['tokens']}, gaps times "
        f"{asked.scale['time']}; {load.rate:g} sessions/s")
    live, tokens = ([getattr(each, name) for each in found.pressure] for name in ("live_sessions", "live_tokens"))
    say(f"if turns took no time, at p95 over time {_span(live)} sessions would be live with {_span(tokens)} tokens")
    counted = [f"{name.replace('_', ' ')} {count:,}" for name, count in found.notes.items() if count]
    if counted:
        say(f"counted over the seeds: {', '.join(counted)}")
    if found.rows:
        for table in (_latency(found), _first_token(found), _tier(found), _fairness(found), _beside(found),
                      _coarse(found), _schedule(found)):
            if len(table) > 1:
                say("")
                for line in aligned(table):
                    say(line)
        _say_remarks(found)
    for cell in found.unfinished:
        say(f"\nnot finished: {cell.label}, seed {cell.seed}, {cell.seen:,} of {cell.planned:,} turns: "
            f"{cell.problem or 'every turn failed'}")


def _latency(found: Findings) -> list[list[str]]:
    rows = [["p95 of turns, s", "seeds", "value", "over turns", "over sessions", f"less {found.control}", "over turns",
             "over sessions", "gain", "turns paired"]]
    for label, row in found.rows.items():
        paired = row.paired
        cells = [label, str(len(row.seeds)), f"{row.summary.latency_p95_s:.3f}"]
        spread = None if paired is None else paired.spread
        if spread is None:
            cells += [_NONE] * 5
        else:
            cells += [_interval(spread.by_turn), _interval(spread.by_session), f"{spread.delta_s:+.3f}",
                      _interval(spread.delta_by_turn), _interval(spread.delta_by_session)]
        cells += [_NONE] * 2 if paired is None else [f"{paired.p95_gain:+.1%}", f"{paired.turns:,}"]
        rows.append(cells)
    return rows


def _first_token(found: Findings) -> list[list[str]]:
    rows = [["time to first token, s", "mean", "p50", "p95", "p99", "mean of later turns"]]
    for label, row in found.rows.items():
        s = row.summary
        late = _NONE if s.late_ttft_mean_s is None else f"{s.late_ttft_mean_s:.4f}"
        rows.append([label, *(f"{value:.4f}" for value in (s.ttft_mean_s, s.ttft_p50_s, s.ttft_p95_s, s.ttft_p99_s)),
                     late])
    return rows


def _tier(found: Findings) -> list[list[str]]:
    rows = [["tier and service", "hit", "over sessions", "device", "turns/s", "stored MB", "reloaded MB", "ratio",
             "refused", "probes", "errors", "preempted", "evicted"]]
    for label, row in found.rows.items():
        s = row.summary
        between = _NONE if row.hit_interval is None else "{:.1%} to {:.1%}".format(*row.hit_interval)
        rows.append([label, f"{s.tier_hit_rate:.1%}", between, f"{s.device_hit_share:.1%}", f"{s.turns_per_s:.2f}",
                     f"{s.stored_bytes / _MB:,.2f}", f"{s.reloaded_bytes / _MB:,.2f}",
                     _NONE if s.stored_per_reloaded is None else f"{s.stored_per_reloaded:.2f}",
                     f"{sum(s.refused.values()):,}", f"{s.probes:,}", f"{row.errors:,}", f"{row.preemptions:,}",
                     ", ".join(f"{word} {count:,}" for word, count in s.evicted.items()) or _NONE])
    return rows


def _fairness(found: Findings) -> list[list[str]]:
    rows = [[f"completion time against {found.control}", "mean s", "p90 s", "sessions", "better", "median",
             "worst decile"]]
    for label, row in found.rows.items():
        head = [f"{row.summary.jct_mean_s:.2f}", f"{row.summary.jct_p90_s:.2f}"]
        if row.paired is None:
            rows.append([label, *head, *[_NONE] * 4])
            continue
        for group, gains in row.paired.gains.items():
            if label == found.control and group != "all":
                continue
            whole = group == "all"
            rows.append([label if whole else f"  {group}", *(head if whole else ["", ""]), str(gains.sessions),
                         f"{gains.improved:.0%}", f"{gains.median:+.1%}", f"{gains.worst_decile:+.1%}"])
    return rows


def _beside(found: Findings) -> list[list[str]]:
    """Measured; simulated, with the error in points; simulated with every turn at the time that it came live."""
    rows = [["live beside simulated", "hit", "sim", "points", "at starts", "points", "device", "sim", "refused", "sim",
             "stored MB", "sim", "reloaded MB", "sim"]]
    for label, row in found.rows.items():
        live, tier = row.summary, row.residency is not None
        sim = row.simulated if isinstance(row.simulated, Simulated) else None
        if sim is None:
            continue
        closed, starts = sim.summary, sim.at_starts
        cells = [label, f"{live.tier_hit_rate:.1%}"]
        for each in (closed, starts):
            cells += [f"{each.tier_hit_rate:.1%}", f"{100 * (each.tier_hit_rate - live.tier_hit_rate):+.1f}"]
        cells += [f"{live.device_hit_share:.1%}", f"{closed.device_hit_share:.1%}"]
        pairs = [[f"{sum(each.refused.values()):,}" for each in (live, closed)]]
        pairs += [[f"{getattr(each, name) / _MB:,.2f}" for each in (live, closed)]
                  for name in ("stored_bytes", "reloaded_bytes")]
        rows.append(cells + [cell if tier else _NONE for pair in pairs for cell in pair])
    return rows


def _coarse(found: Findings) -> list[list[str]]:
    rows = [["found by any cache", "tokens", "sim", "residency", "turns that found nothing", "sim", "residency"]]
    for label, row in found.rows.items():
        models = (row.coarse, row.simulated.coarse if isinstance(row.simulated, Simulated) else None, row.residency)
        rows.append([label, *(_NONE if each is None else f"{each.found_share:.1%}" for each in models),
                     *(_NONE if each is None else f"{each.found_nothing:.1%}" for each in models)])
    return rows


def _schedule(found: Findings) -> list[list[str]]:
    rows = [["late starts, ms", "p50", "p95", "most"]]
    for label, row in found.rows.items():
        rows.append([label, *(f"{1000 * value:.1f}" for value in (row.fidelity.p50_s, row.fidelity.p95_s,
                                                                   row.fidelity.max_s))])
    return rows


def _say_remarks(found: Findings) -> None:
    for label, row in found.rows.items():
        if isinstance(row.simulated, str):
            say(f"\n{label} is not simulated: {row.simulated}")
    if found.asked.server is None:
        say("\nThe server is somebody else's: its sizes are not known, so nothing is simulated; what was found in the "
            "tier is known of all requests together, probes among them.")


def _span(values: Sequence[int]) -> str:
    low, high = f"{min(values):,}", f"{max(values):,}"
    return low if low == high else f"{low} to {high}"


def _interval(interval: Interval) -> str:
    return f"{interval.lo:.3f} to {interval.hi:.3f}"


def as_json(found: Findings) -> dict[str, Any]:
    """The same for machines, and more."""
    asked = found.asked
    return {
        "command": asked.command, "control": found.control, "notes": found.notes,
        "pressure": [each._asdict() for each in found.pressure],
        "server": None if asked.server is None else asdict(asked.server),
        "seeds": {str(seed): {"sessions": len(load.sessions), "turns": load.turns, "rate": load.rate}
                  for seed, load in asked.workloads.items()},
        "rows": {label: asdict(row) for label, row in found.rows.items()},
        "unfinished": [{"label": cell.label, "seed": cell.seed, "seen": cell.seen, "planned": cell.planned,
                        "problem": cell.problem} for cell in found.unfinished],
    }
