"""Event logs by the definitions of METHODOLOGY.md in plain Python: slow and obvious."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import chain, groupby, pairwise
from typing import Any

from reference import Numbers, Row, quantile, share

COUNTERS = ("cumulative_context_tokens", "cumulative_cached_tokens", "cumulative_output_tokens")


def used_of(rows: list[Row]) -> tuple[list[Row], int]:
    """Events that are none again, and how many are."""
    sound = [row for row in rows if row["defect"] is None]
    kept: list[Row] = []
    for row in sound:
        twins = [other for other in sound if row["event_id"] is not None and other["event_id"] == row["event_id"]]

        def rank(other: Row) -> tuple[int, int]:
            output = other["cumulative_output_tokens"]
            return (-1 if output is None else output, other["source_row"])

        if not twins or max(twins, key=rank) is row:
            kept.append(row)
    last = {tuple(value for name, value in row.items() if name != "source_row"): row for row in kept}
    once = [row for row in kept if any(row is other for other in last.values())]
    return once, len(sound) - len(once)


def numbers_of(used: list[Row]) -> Numbers:
    """What is published over events, of one window; keys without a value are None."""
    sessions: dict[str, list[Row]] = {}
    for row in used:
        if row["session_id"] is not None:
            sessions.setdefault(row["session_id"], []).append(row)
    for events in sessions.values():
        events.sort(key=lambda row: (row["t_us"], row["source_row"]))
    depths = [len(events) for events in sessions.values()]
    known = [row["tool_event"] for row in used if row["tool_event"] is not None]
    tools = [[row["t_us"] for row in events if row["tool_event"]] for events in sessions.values()]
    sure = [len(times) for times, events in zip(tools, sessions.values(), strict=True)
            if all(row["tool_event"] is not None for row in events)]
    gaps = [later - earlier for times in tools for earlier, later in pairwise(times)]
    runs = [_runs(events) for events in sessions.values()]
    reuse = _ratio_parts(runs, COUNTERS[1], COUNTERS[0])
    volume = _ratio_parts(runs, COUNTERS[2], COUNTERS[0])
    any_tool = any(known)
    found: Numbers = {
        "events.count": len(used), "events.sessions": len(sessions), "events.sessioned": sum(depths),
        "events.models": len({row["model"] for row in used if row["model"] is not None}) or None,
        "events.span_s": Fraction(max(row["t_us"] for row in used) - min(row["t_us"] for row in used), 10**6),
        "events.depth_p50": quantile(depths, "0.5"), "events.depth_p90": quantile(depths, "0.9"),
        "events.depth_p99": quantile(depths, "0.99"), "events.depth_max": max(depths, default=None),
        "events.depth_mean": share(sum(depths), len(depths)),
        "events.tool_share": share(sum(known), len(known)) if any_tool else None,
        "events.tool_calls_per_session_p50": quantile(sure, "0.5") if any_tool else None,
        "events.reuse": share(reuse[0], reuse[1]),
        "events.context_share": share(volume[1], volume[0] + volume[1]),
        "events.context_to_output": share(volume[1], volume[0]),
        "events.counter_falls": sum(len(each) - 1 for each in runs) if sessions else None,
        "events.sessions_with_falls": sum(len(each) > 1 for each in runs) if sessions else None,
    }
    for p, name in (("0.5", "p50"), ("0.9", "p90"), ("0.99", "p99")):
        gap = quantile(gaps, p)
        found[f"events.tool_cadence_{name}_s"] = None if gap is None else Fraction(gap, 10**6)
    return found


def _runs(events: list[Row]) -> list[list[Row]]:
    """The events of a session, in order of time, by run."""
    runs: list[list[Row]] = [[]]
    seen: dict[str, tuple[int, int]] = {}  # the last known value of a counter, and when that was
    last_fall = None
    for now, together in groupby(events, key=lambda row: row["t_us"]):
        instant = list(together)
        values = {name: max(row[name] for row in instant if row[name] is not None)
                  for name in COUNTERS if any(row[name] is not None for row in instant)}
        fell = [name for name, value in values.items() if name in seen and value < seen[name][0]]
        if any(last_fall is None or seen[name][1] >= last_fall for name in fell):
            runs.append([])
        runs[-1] += instant
        if fell:
            last_fall = now
        seen |= {name: (value, now) for name, value in values.items()}
    return runs


def _ratio_parts(sessions: list[list[list[Row]]], part: str, whole: str) -> tuple[int, int]:
    """Sums over runs of the largest values that events report beside the other; cached is no more than the context."""
    total = Counter[str]()
    for run in chain.from_iterable(sessions):
        both = [row for row in run if row[part] is not None and row[whole] is not None]
        if both:
            total["part"] += max(min(row[part], row[whole]) if part == COUNTERS[1] else row[part] for row in both)
            total["whole"] += max(row[whole] for row in both)
    return total["part"], total["whole"]


def plain(value: Any) -> Any:
    """A fraction as the double that is nearest to it."""
    return float(value) if isinstance(value, Fraction) else value
