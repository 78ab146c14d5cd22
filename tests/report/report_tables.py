"""The tables of the two traces; shapes by formula, so that curves look like curves."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import pyarrow as pa
from report_samples import BUDGETS, CAPS, DIVIDED, FLOORS, HOST, KSTAR, LEAST, NUMBERS, RATES, ROUTES, THETAS, TOKENS

from replay.cost import order, size_table


def documented(rows: list[dict[str, Any]], **docs: str) -> pa.Table:
    """A table whose columns carry their meaning in the field metadata, as the store writes them."""
    table = pa.Table.from_pylist(rows)
    return table.cast(
        pa.schema([f.with_metadata({"doc": docs[f.name]}) if f.name in docs else f for f in table.schema])
    )


def _curve(kind: str) -> list[dict[str, Any]]:
    scale = 13.0 if kind == "deep" else 1.0
    depths = sorted({round(1.0093**i) for i in range(900)}) if kind == "deep" else list(range(1, 32))
    found = [
        {
            "calls": d,
            "sessions": max(1, round(5000 / d)),
            "ccdf": 1 / (1 + (d / scale) ** (1.6 if kind == "deep" else 2.2)),
        }
        for d in depths
    ]
    found[-1]["ccdf"] = 0.0
    return found


@cache
def replayed(kind: str) -> list[dict[str, Any]]:
    """Every policy at every budget."""
    return [
        {
            "stream": "busiest-hour",
            "object_key": objects,
            "release": "last",
            "policy": policy,
            "budget_share": budget,
            "budget_bytes": int(budget * KSTAR[kind]),
            "calls": 176_007,
            "misses": round(max(rate, floor) * 176_007),
            "reconstruction_rate": max(rate, floor),
            "missed_tokens": round(max(rate, floor) * TOKENS),
            "missed_token_share": max(rate, floor),
            "first_touch_floor": floor,
            "kstar_bytes": int(KSTAR[kind]),
            "objects": 9_486,
        }
        for objects, floor in FLOORS[kind].items()
        for policy, rates in RATES[kind].items()
        for budget, rate in zip(BUDGETS, rates, strict=True)
    ]


@cache
def sized(kind: str) -> list[dict[str, Any]]:
    """The budgets that targets need, of these."""
    return size_table.size_rows(replayed(kind), TOKENS)


def tables(kind: str) -> dict[str, pa.Table]:
    """The tables of a trace; shapes by formula, so that curves look like curves."""
    deep = kind == "deep"
    pick = {key: pair[0 if deep else 1] for group in NUMBERS.values() for key, pair in group.items()}
    classes = ("spine", "mid", "scoped", "fanout", "unknown")
    shares = {
        "conservative": ((0.671, 0.319), (0.311, 0.61), (0.011, 0.04), (0.007, 0.031), (0.0, 0.0)),
        "broad": ((0.9, 0.77), (0.082, 0.159), (0.011, 0.04), (0.007, 0.031), (0.0, 0.0)),
    }
    matrix = (
        (0.973, 0.026, 0.001, 0.0),
        (0.135, 0.636, 0.226, 0.003),
        (0.009, 0.86, 0.112, 0.019),
        (0.003, 0.02, 0.026, 0.951),
    )
    excursions = [pick[f"excursion.reuse_{k}"] for k in ("0", "1", "2", "3plus")]
    bands = (
        ("all", "all", 0.0),
        ("gap", "under 10 s", 0.03),
        ("gap", "10 s to 1 min", -0.05),
        ("gap", "1 to 15 min", -0.11),
        ("gap", "over 15 min", -0.14),
        ("placement", "same_deployment", 0.04),
        ("placement", "cross_deployment", -0.13),
    )
    weights = [
        math.exp(-i / 5) * (1 if deep else 8) + math.exp(-(49 - i) / 3) * (6 if deep else 0.4) + 0.12
        for i in range(50)
    ]
    histogram = [
        {"low": i / 50, "high": (i + 1) / 50, "calls": int(w * 1000), "share": w / sum(weights)}
        for i, w in enumerate(weights)
    ]
    spread = [
        {
            "low": i / 50,
            "high": (i + 1) / 50,
            "sessions": 10 + i,
            "share": math.exp(-(((i - (36 if deep else 4)) / 11) ** 2)) / 19.5,
        }
        for i in range(50)
    ]
    middle = pick["working_set.p50_gib"]
    working = [
        {"gib": middle * 10 ** ((i - 250) / 200), "sessions": 7, "cdf": 1 / (1 + math.exp(-(i - 250) / 34))}
        for i in range(400)
    ]
    hours = [
        {
            "hour": f"2026-07-{1 + h // 24:02d}T{h % 24:02d}:00:00+00:00",
            "peak_bytes": int(
                pick["ceiling.hold_all_live_bytes"]
                * (0.55 + 0.45 * math.sin((h - 8) / 24 * 2 * math.pi) * (1 if deep else 0.1))
            ),
            "peak_sessions": int(pick["ceiling.peak_sessions"] * (0.55 + 0.44 * math.sin((h - 8) / 3.82))),
        }
        for h in range(192 if deep else 24)
    ]
    gaps = [
        {
            "kind": name,
            "seconds": round(10 ** (i / 50 - 1.5), 6),
            "gaps": 10,
            "cdf": 1 / (1 + math.exp(-(i / 50 - 1.5 - math.log10(p50)) * 4.2 * slope)),
        }
        for name, p50, slope in (
            ("all", pick["gap.p50_s"], 0.9),
            ("inter", pick["gap.inter_p50_s"], 0.7),
            ("intra", pick["gap.intra_p50_s"], 1.1),
        )
        for i in range(330 if deep else 200)
    ]
    moves = [
        {
            "transition": name,
            "day": None,
            "calls": round(1000 * pick.get(f"transition.{name}.share", 0.0)),
            "share": pick.get(f"transition.{name}.share", 0.0),
            "mean_reuse": pick.get(f"transition.{name}.reuse"),
        }
        for name in (
            "first_call",
            "unknown_model",
            "model_switch",
            "same_deployment",
            "cross_deployment",
            "cross_region",
            "unknown",
        )
    ]
    moves += [
        {
            "transition": "same_deployment",
            "day": f"2026-07-{d:02d}",
            "calls": 100,
            "share": 0.6,
            "mean_reuse": pick["transition.same_deployment.reuse"] + 0.006 * math.sin(d),
        }
        for d in range(1, 9 if deep else 2)
    ]
    caps = [
        {
            "theta": name,
            "theta_s": seconds,
            "ceiling_bytes": CAPS[kind][name][1],
            "trailing_ceiling_bytes": CAPS[kind][name][1] * 1.1,
            "runs": 700_000,
            "reconstruction": CAPS[kind][name][0],
            "added_points": 100 * sum(CAPS[kind][name][4:6]),
            "added_intra_points": 100 * CAPS[kind][name][4],
            "added_inter_points": 100 * CAPS[kind][name][5],
            "inter_share_of_reclaimed": 0.98,
            "duty_cycle": CAPS[kind][name][3],
        }
        for name, seconds in THETAS
    ]
    sure = [
        {
            **{name: row[name] for name in ("stream", "object_key", "release", "policy", "budget_share")},
            "budget_bytes": row["budget_bytes"],
            "method": "bootstrap",
            "value": row["reconstruction_rate"],
            "lo": row["reconstruction_rate"] - 0.004,
            "hi": row["reconstruction_rate"] + 0.004,
        }
        for row in replayed(kind)
    ]
    ratios = [
        row | {"value": 0.41, "lo": 0.39, "hi": 0.44} for row in sure if row["policy"] == "mrr"
    ]
    by_hour = [
        {
            **{name: row[name] for name in ("object_key", "release", "policy", "budget_share", "kstar_bytes")},
            "hour": f"2026-07-01T{h:02d}:00:00Z",
            "busiest": h == 10,
            "budget": f"{100 * row['budget_share']:g}%",
            "reconstruction_rate": row["reconstruction_rate"] - (0.01 * (h % 20) if deep else 0),
            "compared": h < 20,
        }
        for row in replayed(kind)
        for h in range(24)
    ]
    limits = [
        {
            "stream": "busiest-hour",
            "object_key": objects,
            "release": "last",
            "bound": "pfoo_l",
            "q": q,
            "h": 0,
            "budget_share": budget,
            "budget_bytes": int(budget * KSTAR[kind]),
            "reconstruction_rate": max(rate, floor),
        }
        for objects, floor in FLOORS[kind].items()
        for q, rates in ((1.0, LEAST[kind]["pfoo_l"]), (0.25, LEAST[kind]["pfoo_l_q32"]))
        for budget, rate in zip(BUDGETS, rates, strict=True)
    ]
    distances = [
        {
            "stream": "busiest-hour",
            "object_key": objects,
            "release": "last",
            "policy": policy,
            "budget_share": budget,
            "budget_bytes": int(budget * KSTAR[kind]),
            "above_bound": max(rate, floor) - max(least, floor),
            "low": None,
            "high": None,
        }
        for objects, floor in FLOORS[kind].items()
        for policy, rates in RATES[kind].items()
        for budget, rate, least in zip(
            BUDGETS, rates, LEAST[kind]["pfoo_l_q32" if policy == "mrr" else "pfoo_l"], strict=True
        )
    ]
    routed = [
        {
            "route": route,
            "memory": memory,
            "policy": "lru",
            "budget_share": budget,
            "budget_bytes": int(budget * KSTAR[kind]),
            "calls": 176_007,
            "reconstruction_rate": max(floor, rate * (1.1 - budget)),
            "first_touch_floor": floor,
            "load_max": load,
        }
        for route, (floor, load, _) in ROUTES[kind].items()
        for memory, rate in DIVIDED[kind].items()
        for budget in BUDGETS
    ]
    moved = [
        {
            "stream": "busiest-hour",
            "object_key": "session",
            "release": "last",
            "policy": policy,
            "budget_share": budget,
            "budget_bytes": int(budget * KSTAR[kind]),
            "moved_bytes_per_s": (down + up) * (1.1 - budget),
        }
        for policy, (_, down, up) in HOST[kind].items()
        for budget in BUDGETS
    ]
    top = 30 if deep else 9
    return {
        "depth_ccdf": documented(
            _curve(kind), calls="calls per session", ccdf="share of sessions with more calls"
        ),
        "context_by_index": documented(
            [
                {
                    "call_index": i,
                    "q1": int(m * 0.55),
                    "median": int(m),
                    "q3": int(m * 1.5),
                    "sessions": 9000 // i,
                }
                for i, m in (
                    (i, 9_764 + 61_000 * (1 - math.exp(-i / 14)) if deep else 3_100 - 190 * i)
                    for i in range(1, top + 1)
                )
            ],
            call_index="position of the call, from 1",
        ),
        "class_share": documented(
            [
                {
                    "mapping": m,
                    "class": c,
                    "context_tokens": int(x * 1e9),
                    "context_share": x,
                    "uncached_tokens": int(u * 1e8),
                    "uncached_share": u,
                }
                for m, pairs in shares.items()
                for c, (x, u) in zip(classes, pairs if deep else pairs[::-1], strict=True)
            ]
        ),
        "class_transition": documented(
            [
                {
                    "mapping": "conservative",
                    "from_class": a,
                    "to_class": b,
                    "transitions": int(p * 1e6),
                    "probability": p,
                }
                for a, line in zip(classes, matrix, strict=False)
                for b, p in zip(classes, line, strict=False)
            ]
        ),
        "excursion_reuse": documented(
            [
                {"split": s, "band": b, "excursion": k, "calls": 100, "mean_reuse": min(1.0, max(0.0, r + d))}
                for s, b, d in bands
                for k, r in zip(("0", "1", "2", "3+"), excursions, strict=True)
            ]
        ),
        "reuse_histogram": documented(histogram),
        "session_reuse_histogram": documented(spread),
        "working_set_cdf": documented(working),
        "ceiling_by_hour": documented(hours),
        "gap_cdf": documented(gaps),
        "transition_reuse": documented(moves),
        "idle_cap": documented(caps, theta="idle cap"),
        "residency_replay": documented(replayed(kind), policy="eviction policy"),
        "replay_uncertainty": documented(sure, policy="eviction policy"),
        "replay_ratio": documented(ratios, policy="eviction policy"),
        "replay_hours": documented(by_hour, policy="eviction policy"),
        "replay_bound": documented(limits, bound="which bound"),
        "replay_distance": documented(distances, policy="eviction policy"),
        "replay_size": size_table.TABLE.build(sized(kind)),
        "replay_order": order.TABLE.build(order.order_rows(replayed(kind))),
        "replay_bytes": documented(moved, policy="eviction policy"),
        "fetch": documented(
            [
                {"kind": "all", "bandwidth_bytes_per_s": link * 10**9, "gaps": 1000, "fitting_share": 0.31}
                for link in (1, 5, 25, 50, 450)
            ]
        ),
        "byte_sensitivity": documented(
            [{"figure": "ceiling.hold_all_live_bytes", "here_bytes": 10**12, "llama-3.1-8b_bytes": 4 * 10**11}],
            figure="key of the number",
        ),
        "replay_routing": documented(routed, route="where calls are served"),
    }
