"""Numbers and tables about time and place: gaps, duty cycle, ceilings, idle caps, placement, who serves."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from typing import Any

from reference import (
    BETA,
    MODELS,
    Account,
    Call,
    Fleet,
    Numbers,
    Tables,
    cdf_bins,
    mean_ppb,
    quantile,
    share,
    weighted_quantile,
)

SECOND = 10**6
MINUTE, HOUR, DAY = 60 * SECOND, 3600 * SECOND, 86_400 * SECOND
CAPS = {"1m": MINUTE, "5m": 5 * MINUTE, "15m": 15 * MINUTE, "1h": HOUR, "6h": 6 * HOUR, "1d": DAY, "inf": None}
MOVES = ("first_call", "unknown_model", "model_switch", "same_deployment", "cross_deployment", "cross_region",
         "unknown")

Interval = tuple[int, int, int]  # first and last moment, both included; tokens


def seconds(us: int | None) -> Fraction | None:
    return share(us, SECOND)


def level(intervals: Iterable[Interval], t: int) -> tuple[int, int]:
    """Tokens and intervals at a moment."""
    there = [tokens for start, end, tokens in intervals if start <= t <= end]
    return sum(there), len(there)


def peak(intervals: list[Interval]) -> tuple[int, int]:
    """Most tokens and most intervals at any moment; both are reached where an interval starts."""
    levels = [level(intervals, start) for start, _, _ in intervals]
    return max((tokens for tokens, _ in levels), default=0), max((n for _, n in levels), default=0)


def lives(fleet: Fleet) -> list[Interval]:
    return [(calls[0].t, calls[-1].t, fleet.peak(name)) for name, calls in fleet.sessions.items()]


def moment(us: int) -> datetime:
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=us)


def ceiling(fleet: Fleet, numbers: Numbers, tables: Tables) -> None:
    intervals = lives(fleet)
    names = ("hold_all_live_bytes", "peak_sessions", "time_p50_bytes", "time_p95_bytes", "time_p99_bytes",
             "minute_bins_bytes", "hour_bins_bytes")
    numbers |= dict.fromkeys((f"ceiling.{name}" for name in names), None)
    if not intervals:
        return
    tokens, most = peak(intervals)
    numbers |= {"ceiling.hold_all_live_bytes": tokens * BETA, "ceiling.peak_sessions": most}
    times = sorted({t for start, end, _ in intervals for t in (start, end)})
    # Between two events the level is that of the sessions which live through both.
    lasting = [(sum(x for start, end, x in intervals if start <= a and end >= b), b - a)
               for a, b in itertools.pairwise(times)]
    for p in ("50", "95", "99"):
        at = weighted_quantile(lasting, f"0.{p}")
        numbers[f"ceiling.time_p{p}_bytes"] = None if at is None else at * BETA
    for name, width in (("minute", MINUTE), ("hour", HOUR)):
        numbers[f"ceiling.{name}_bins_bytes"] = BETA * peak([(a // width, b // width, x) for a, b, x in intervals])[0]
    table = []
    for hour in range(times[0] // HOUR, times[-1] // HOUR + 1):
        inside = [t for t in times if t // HOUR == hour] + [hour * HOUR]
        levels = [level(intervals, t) for t in inside]
        table.append({"hour": moment(hour * HOUR).isoformat().replace("+00:00", "Z"),
                      "peak_bytes": BETA * max(x for x, _ in levels), "peak_sessions": max(n for _, n in levels)})
    tables["ceiling_by_hour"] = table


def gap(fleet: Fleet, numbers: Numbers, tables: Tables) -> None:
    calls = [call for call in fleet.sessioned if call.gap is not None]
    gaps = {"all": [call.gap for call in calls], "inter": [call.gap for call in calls if call.opens is True],
            "intra": [call.gap for call in calls if call.opens is False],
            "idle": [call.idle for call in calls if call.idle is not None]}
    for key, kind in (("", "all"), ("idle_", "idle")):
        numbers[f"gap.{key}p50_s"] = seconds(quantile(gaps[kind], "0.5"))
        numbers[f"gap.{key}p99_s"] = seconds(quantile(gaps[kind], "0.99"))
        numbers[f"gap.{key}max_s"] = seconds(max(gaps[kind], default=None))
    numbers |= {
        "gap.inter_share": share(len(gaps["inter"]), len(gaps["inter"] + gaps["intra"])),
        "gap.inter_idle_share": share(sum(gaps["inter"]), sum(gaps["inter"] + gaps["intra"])),
        "gap.inter_p50_s": seconds(quantile(gaps["inter"], "0.5")),
        "gap.intra_p50_s": seconds(quantile(gaps["intra"], "0.5")),
    }
    if calls:
        tables["gap_cdf"] = [
            {"kind": kind, "seconds": Fraction(edge, SECOND), "gaps": n, "cdf": Fraction(below, len(gaps[kind]))}
            for kind in ("all", "inter", "intra", "idle") for edge, n, below in cdf_bins(gaps[kind], 18)]


def fetch(fleet: Fleet, numbers: Numbers, tables: Tables) -> None:
    calls = [call for call in fleet.sessioned if call.gap is not None]
    table = []
    for gigabytes in (1, 5, 25, 50, 450):
        link = gigabytes * 10**9
        for kind, times in (("all", [(call, call.gap) for call in calls]),
                            ("idle", [(call, call.idle) for call in calls if call.idle is not None])):
            key = f"fetch.{gigabytes}gb.{'gap' if kind == 'all' else 'idle'}_share"
            fits = [call.previous.x for call, time in times if Fraction(BETA * call.previous.x, link)
                    <= Fraction(time, SECOND)]
            numbers[key] = share(len(fits), len(times))
            if times:
                table.append({"kind": kind, "bandwidth_bytes_per_s": link, "gaps": len(times), "fitting": len(fits),
                              "fitting_share": share(len(fits), len(times)),
                              "tokens": sum(call.previous.x for call, _ in times), "fitting_tokens": sum(fits),
                              "break_even_tokens_per_s": Fraction(link, BETA)})
    if calls:
        tables["fetch"] = table


def covered(calls: list[Call], stays: list[tuple[int, int]]) -> int:
    """Time within the stays in which some call runs, by cutting at every edge."""
    runs = [(call.t, call.t + call.row["duration_us"]) for call in calls]
    edges = sorted({t for span in (*runs, *stays) for t in span})
    return sum(b - a for a, b in itertools.pairwise(edges)
               if any(s <= a and b <= e for s, e in runs) and any(s <= a and b <= e for s, e in stays))


def durations_known(fleet: Fleet) -> list[list[Call]]:
    return [calls for calls in fleet.sessions.values() if all(call.row["duration_us"] is not None for call in calls)]


def duty_cycle(fleet: Fleet, numbers: Numbers, tables: Tables) -> None:
    known = durations_known(fleet)
    resident = sum(calls[-1].t - calls[0].t for calls in known)
    everything = sum(calls[-1].t - calls[0].t for calls in fleet.sessions.values())
    numbers |= {
        "ceiling.duty_cycle": share(sum(covered(calls, [(calls[0].t, calls[-1].t)]) for calls in known), resident),
        "ceiling.duty_cycle.raw_ratio": share(
            sum(call.row["duration_us"] for calls in known for call in calls), resident),
        "ceiling.duty_cycle.coverage": share(resident, everything) if fleet.knows("duration_us") else None,
    }


def runs_of(calls: list[Call], cap: int | None) -> list[list[Call]]:
    runs: list[list[Call]] = []
    for call in calls:
        if call.gap is None or (cap is not None and call.gap > cap):
            runs.append([])
        runs[-1].append(call)
    return runs


def stays_of(calls: list[Call], cap: int | None, trailing: bool) -> list[tuple[int, int]]:
    runs = runs_of(calls, cap)
    stays = cap or 0
    return [(run[0].t, run[-1].t + (stays if trailing or run is not runs[-1] else 0)) for run in runs]


def idle_cap(fleet: Fleet, numbers: Numbers, tables: Tables) -> None:
    total = len(fleet.sessioned)
    turns = any(call.opens is not None for call in fleet.sessioned)
    hold, table = peak(lives(fleet))[0], []
    for name, cap in CAPS.items():
        held, trailing = ([(start, end, fleet.peak(session)) for session, calls in fleet.sessions.items()
                           for start, end in stays_of(calls, cap, late)] for late in (False, True))
        cut = [call for call in fleet.sessioned if cap is not None and call.gap is not None and call.gap > cap]
        inter, intra = (sum(call.opens is opens for call in cut) for opens in (True, False))
        runs, known = len(fleet.sessions) + len(cut), durations_known(fleet)
        spans = [stays_of(calls, cap, False) for calls in known]
        ceiling_tokens = peak(held)[0]
        numbers |= {f"idle_cap.{name}.reconstruction": share(runs, total),
                    f"idle_cap.{name}.ceiling_bytes": ceiling_tokens * BETA if total else None,
                    f"idle_cap.{name}.reduction": share(hold, ceiling_tokens)}
        table.append({
            "theta": name, "theta_s": seconds(cap), "ceiling_bytes": ceiling_tokens * BETA,
            "trailing_ceiling_bytes": None if cap is None else peak(trailing)[0] * BETA, "runs": runs,
            "reconstruction": share(runs, total), "added_points": share(100 * len(cut), total),
            "added_intra_points": share(100 * intra, total) if turns else None,
            "added_inter_points": share(100 * inter, total) if turns else None,
            "inter_share_of_reclaimed": share(inter, inter + intra) if turns else None,
            "duty_cycle": share(sum(covered(calls, span) for calls, span in zip(known, spans, strict=True)),
                                sum(end - start for span in spans for start, end in span)),
        })
    if total:
        tables["idle_cap"] = table


def placement(fleet: Fleet, numbers: Numbers, tables: Tables) -> None:
    def subset(name: str, where: Any) -> None:
        known = {session: calls for session, calls in fleet.sessions.items()
                 if all(where(call) is not None for call in calls)}
        staying = {session: calls for session, calls in known.items() if all(
            len({where(call) for call in calls if call.row["model"] == model}) <= 1 for model in MODELS)}
        some = any(where(call) is not None for call in fleet.sessioned)
        reported = [call for calls in staying.values() for call in calls if call.cached is not None]
        numbers.update({
            f"placement.{name}_share": share(len(staying), len(known)) if some else None,
            f"placement.{name}_unknown": len(fleet.sessions) - len(known) if some else None,
            f"placement.{name}.depth_p50": quantile(map(len, staying.values()), "0.5") if some else None,
            f"placement.{name}.reuse": share(sum(call.cached or 0 for call in reported),
                                             sum(call.x for call in reported)) if some else None,
        })

    def mean(where: Any) -> Fraction | None:
        seen = [{where(call) for call in calls} - {None} for calls in fleet.sessions.values()]
        return share(sum(map(len, seen)), sum(map(bool, seen)))

    subset("sr", lambda call: call.row["region"])
    subset("sd", fleet.place)
    numbers["placement.deployments_per_session"] = mean(fleet.place)
    numbers["placement.regions_per_session"] = mean(lambda call: call.row["region"])


def transition_reuse(fleet: Fleet, numbers: Numbers, tables: Tables) -> None:
    placed = any(fleet.place(call) is not None for call in fleet.sessioned)
    moves = [(fleet.move(call.previous, call), call) for call in fleet.sessioned]
    table = []

    def line(name: str, day: str | None, some: list[tuple[str, Call]]) -> dict[str, Any]:
        mine = [call for move, call in some if move == name]
        return {"transition": name, "day": day, "calls": len(mine), "share": share(len(mine), len(some)),
                "mean_reuse": mean_ppb([call.reuse for call in mine if call.reuse is not None])}

    for name in MOVES:
        row = line(name, None, moves)
        # Choice: a move that nobody could have seen has no share, rather than one of 0.
        seeable = fleet.knows("region") if name == "cross_region" else placed
        unseen = not seeable and not row["calls"] and name in MOVES[3:6]
        numbers |= {f"transition.{name}.share": None if unseen else row["share"],
                    f"transition.{name}.reuse": row["mean_reuse"]}
        table += [row] if row["calls"] else []
    for day in sorted({moment(call.t).date() for call in fleet.sessioned}):
        row = line("same_deployment", day.isoformat(), [it for it in moves if moment(it[1].t).date() == day])
        table += [row] if row["calls"] else []
    if fleet.sessioned:
        tables["transition_reuse"] = table


def served(fleet: Fleet, numbers: Numbers, tables: Tables) -> None:
    def load(label: Any) -> dict[Any, tuple[int, int]]:
        calls, context = Counter(map(label, fleet.calls)), Counter()
        for call in fleet.calls:
            context[label(call)] += call.x
        return {name: (calls[name], context[name]) for name in calls}

    whole, x = len(fleet.calls), sum(call.x for call in fleet.calls)
    names = sorted({row["model"] for row in fleet.given.usable} - {None})
    if any(call.row["model"] is not None for call in fleet.calls):
        tables["models"] = [
            {"model": "unknown" if name is None else f"model-{names.index(name) + 1:02d}",
             "conservative": MODELS[name][0], "broad": MODELS[name][1], "calls": n,
             "call_share": share(n, whole), "context_share": share(tokens, x)}
            for name, (n, tokens) in sorted(load(lambda call: call.row["model"]).items(),
                                            key=lambda it: (-it[1][0], it[0] or ""))]


def audit(given: Account, fleet: Fleet) -> dict[str, int]:
    """The account of the rows, and the flags that do not depend on an adapter."""
    calls = fleet.calls
    same = Counter(repr({name: value for name, value in call.row.items() if not name.startswith("source_")})
                   for call in calls if call.row["call_id"] is None)
    return {
        "rows_read": given.rows, "rows_used": len(calls), "outside_window": len(given.usable) - len(calls),
        **given.excluded, "unsessioned": sum(call.row["session_id"] is None for call in calls),
        "cached_exceeds_context": sum((call.row["cached_tokens"] or 0) > call.x for call in calls),
        "zero_context": sum(call.x == 0 for call in calls), "failed": sum(call.row["failed"] is True for call in calls),
        "duplicate_suspected": sum(n - 1 for n in same.values()),
    }


PARTS = (ceiling, gap, fetch, duty_cycle, idle_cap, placement, transition_reuse, served)
