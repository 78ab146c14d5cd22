"""The typed numbers of the two opposite traces: a pair is (deep and agentic, shallow chat)."""

from __future__ import annotations

from typing import Any

THETAS = (
    ("1m", 60.0),
    ("5m", 300.0),
    ("15m", 900.0),
    ("1h", 3600.0),
    ("6h", 21600.0),
    ("1d", 86400.0),
    ("inf", None),
)
BUDGETS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)

# unit: {key: (deep, shallow)}
NUMBERS: dict[str, dict[str, tuple[Any, Any]]] = {
    "count": {
        "trace.calls": (17_008_715, 104_013),
        "trace.sessions": (691_293, 13_184),
        "trace.models": (9, 1),
        "trace.sessioned_calls": (17_008_715, 75_220),
        "class.transitions": (16_317_422, 62_036),
    },
    "calls": {
        "depth.p50": (13, 1),
        "depth.p90": (58, 4),
        "depth.p99": (160, 9),
        "depth.max": (4_212, 31),
        "context.saturation_index": (27, 1),
        "turns.unclassified": (0, 12),
        "placement.sr.depth_p50": (5, 1),
        "placement.sd.depth_p50": (3, 1),
    },
    "mean": {
        "depth.mean": (24.6, 1.6),
        "turns.per_session": (2.62, 1.1),
        "turns.calls_per_turn": (9.38, 1.2),
        "placement.deployments_per_session": (4.48, 1.1),
        "placement.regions_per_session": (3.04, 1.0),
    },
    "share": {
        "fetch.1gb.gap_share": (0.31, 0.62),
        "fetch.25gb.gap_share": (0.94, 0.99),
        "turns.internal_share": (0.893, 0.08),
        "context.reduction_session_share": (0.909, 0.61),
        "context.reduction_remaining_p50": (0.237, 0.82),
        "context.share": (0.981, 0.95),
        "class_share.conservative.spine": (0.671, 0.21),
        "class_share.conservative.mid": (0.311, 0.62),
        "class_share.conservative.scoped": (0.011, 0.07),
        "class_share.conservative.fanout": (0.007, 0.1),
        "class_share.conservative.unknown": (0.0, 0.0),
        "class_share.broad.spine": (0.900, 0.3),
        "class_share.uncached.conservative.spine": (0.319, 0.34),
        "class.next_accuracy": (0.88, 0.41),
        "class.spine_self": (0.973, 0.3),
        "excursion.reuse_0": (0.925, 0.14),
        "excursion.reuse_1": (0.451, 0.22),
        "excursion.reuse_2": (0.403, 0.21),
        "excursion.reuse_3plus": (0.301, 0.2),
        "reuse.aggregate": (0.803, 0.11),
        "reuse.calls_ge_95": (0.519, 0.04),
        "reuse.calls_lt_20": (0.114, 0.83),
        "reuse.calls_20_80": (0.2, 0.1),
        "reuse.sessions_ge_80": (0.407, 0.02),
        "reuse.sessions_20_80": (0.521, 0.1),
        "working_set.over_80gb_share": (0.0214, 0.0),
        "ceiling.duty_cycle": (0.118, 0.71),
        "ceiling.duty_cycle.coverage": (0.97, 1.0),
        "gap.inter_share": (0.07, 0.2),
        "gap.inter_idle_share": (0.926, 0.21),
        "placement.sr_share": (0.576, 0.97),
        "placement.sd_share": (0.45, 0.95),
        "placement.sr.reuse": (0.71, 0.1),
        "placement.sd.reuse": (0.68, 0.1),
        "transition.first_call.share": (0.041, 0.62),
        "transition.first_call.reuse": (0.12, 0.1),
        "transition.model_switch.share": (0.3, 0.0),
        "transition.model_switch.reuse": (0.61, None),
        "transition.same_deployment.share": (0.63, 0.35),
        "transition.same_deployment.reuse": (0.889, 0.13),
        "transition.cross_deployment.share": (0.02, 0.02),
        "transition.cross_deployment.reuse": (0.29, 0.121),
        "transition.cross_region.share": (0.009, 0.01),
        "transition.cross_region.reuse": (0.235, 0.12),
    },
    "tokens": {
        "context.index_1_p50": (9_764, 3_100),
        "context.index_11_p50": (41_045, 2_200),
        "context.index_30_p50": (68_118, 1_400),
    },
    "ratio": {
        "context.to_output": (52.1, 19.0),
        "reuse.carry_tax": (5.08, 1.12),
        "ceiling.duty_cycle.raw_ratio": (0.12, 0.74),
    },
    "GiB": {
        "working_set.p50_gib": (25.7, 0.9),
        "working_set.p90_gib": (59.2, 2.4),
        "working_set.p99_gib": (81.6, 8.0),
    },
    "bytes": {
        "ceiling.hold_all_live_bytes": (501.8e12, 310e9),
        "ceiling.minute_bins_bytes": (504.9e12, 315e9),
        "ceiling.hour_bins_bytes": (709.4e12, 900e9),
        "ceiling.time_p50_bytes": (180e12, 280e9),
        "ceiling.time_p95_bytes": (440e12, 300e9),
        "ceiling.time_p99_bytes": (490e12, 308e9),
    },
    "sessions": {
        "ceiling.peak_sessions": (11_358, 210),
        "trace.sessions_cut_left": (4_712, 12),
        "trace.sessions_cut_right": (6_001, 31),
    },
    "s": {
        "trace.span_s": (691_200.0, 86_400.0),
        "gap.p50_s": (8.38, 12.0),
        "gap.p99_s": (1203.0, 180.0),
        "gap.max_s": (682_560.0, 900.0),
        "gap.intra_p50_s": (7.5, 11.8),
        "gap.inter_p50_s": (125.0, 13.0),
    },
}
#                       theta: rebuilt, ceiling, reduction, duty, intra, inter
CAPS = {
    "deep": {
        "1m": (0.141, 41e12, 12.24, 0.61, 0.0523, 0.0481),
        "5m": (0.067, 71e12, 7.07, 0.44, 0.001, 0.0253),
        "15m": (0.052, 97.2e12, 5.16, 0.35, 0.0002, 0.0111),
        "1h": (0.0453, 140.8e12, 3.56, 0.26, 0.0, 0.0046),
        "6h": (0.0421, 240e12, 2.09, 0.18, 0.0, 0.0014),
        "1d": (0.041, 350e12, 1.43, 0.14, 0.0, 0.0003),
        "inf": (0.0407, 501.8e12, 1.0, 0.118, 0.0, 0.0),
    },
    "shallow": {name: (0.6212, 310e9, 1.0, 0.71, 0.0, 0.0) for name, _ in THETAS}
    | {"1m": (0.63, 300e9, 1.03, 0.73, 0.005, 0.0038)},
}
#                       policy: rate at each of BUDGETS
RATES = {
    "deep": {
        "lru": (0.93, 0.88, 0.77, 0.629, 0.42, 0.14, 0.0539),
        "fnu": (0.81, 0.676, 0.47, 0.311, 0.16, 0.06, 0.0539),
        "mrr": (0.83, 0.729, 0.4, 0.136, 0.06, 0.0539, 0.0539),
    },
    "shallow": {
        "lru": (0.7, 0.69, 0.66, 0.645, 0.64, 0.64, 0.64),
        "fnu": (0.66, 0.65, 0.645, 0.642, 0.64, 0.64, 0.64),
        "mrr": (0.67, 0.66, 0.65, 0.641, 0.64, 0.64, 0.64),
    },
}
FLOORS = {
    "deep": {"session": 0.0539, "session+model": 0.091, "session+deployment": 0.2022},
    "shallow": {"session": 0.64, "session+model": 0.64, "session+deployment": 0.66},
}
KSTAR = {"deep": 47.0e12, "shallow": 210e9}
#: Lower bounds and a feasible schedule, rates at each of BUDGETS.
LEAST = {
    "deep": {
        "pfoo_l": (0.6, 0.5, 0.31, 0.15, 0.09, 0.0539, 0.0539),
        "pfoo_u": (0.7, 0.58, 0.36, 0.19, 0.1, 0.0539, 0.0539),
        "pfoo_l_q32": (0.35, 0.22, 0.1, 0.0539, 0.0539, 0.0539, 0.0539),
    },
    "shallow": {
        "pfoo_l": (0.66, 0.65, 0.64, 0.64, 0.64, 0.64, 0.64),
        "pfoo_u": (0.67, 0.66, 0.65, 0.645, 0.64, 0.64, 0.64),
        "pfoo_l_q32": (0.64, 0.64, 0.64, 0.64, 0.64, 0.64, 0.64),
    },
}

# Route: (first touches, largest load, bytes that move).
ROUTES: dict[str, dict[str, tuple[float, float, int | None]]] = {
    "deep": {"as_logged": (0.202, 1.9, None), "sticky": (0.054, 7.5, None),
             "as_logged+migration": (0.054, 1.9, 412_000_000_000_000)},
    "shallow": {"as_logged": (0.66, 1.2, None), "sticky": (0.64, 1.3, None),
                "as_logged+migration": (0.64, 1.2, 3_100_000_000)},
}
# LRU at a tenth, as logged.
DIVIDED = {"deep": {"pooled": 0.66, "peak": 0.71}, "shallow": {"pooled": 0.67, "peak": 0.67}}

#: Policy with a host tier at a tenth: rate, bytes down and up a second.
HOST = {
    "deep": {"mrr_host_1": (0.0946, 140e9, 145e9), "mrr_host_2": (0.0557, 150e9, 152e9)},
    "shallow": {"mrr_host_1": (0.641, 20e6, 21e6), "mrr_host_2": (0.64, 22e6, 22e6)},
}

#: Contexts of all calls of the busiest hour.
TOKENS = 10**10
