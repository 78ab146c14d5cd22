"""Draw the calls of an invented fleet with the marginals of a published research trace.

Depth, gaps, contexts, class transitions, reuse and placement resemble the published figures; most of
their couplings do not. Whole sessions are drawn together, in NumPy, without a loop over calls.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Final

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

DAYS: Final = 8
SECOND: Final = 1_000_000
SPAN_US: Final = DAYS * 86_400 * SECOND
START_US: Final = 1_772_409_600 * SECOND  # Monday 2026-03-02T00:00:00Z

# Depth: a lognormal of short look-ups and one of long investigations; scaled to the calls asked for, which
# gives p50 13 and p99 164 at 25.8 calls a session.
SHORT_SHARE, SHORT_MEDIAN, LONG_MEDIAN, DEPTH_SIGMA = 0.47, 4.0, 30.0, 0.8

# Share of calls by hour of the day (UTC) and by day of the week: two office continents, quiet weekend.
HOUR_WEIGHT: Final = np.array(
    [6, 5, 5, 5, 5, 6, 7, 8, 9, 10, 10, 10, 10, 11, 12, 13, 13, 12, 11, 10, 9, 8, 7, 7], dtype=float
)
DAY_WEIGHT: Final = np.array([1.0, 1.1, 1.1, 1.05, 0.9, 0.3, 0.3])

# Gaps in seconds: lognormal inside a turn; between turns a quantile table, as its tail reaches days.
INTER_SHARE: Final = 0.07
INTRA_MEDIAN_S, INTRA_SIGMA = 7.4, 1.33
INTER_P: Final = np.array([0, 0.28, 0.5, 0.643, 0.835, 0.931, 0.99, 0.999, 1])
INTER_S: Final = np.array([1, 60, 125, 300, 900, 3_600, 43_200, 172_800, 676_000], dtype=float)

# Classes spine, mid, scoped, fanout: initial state and cumulative rows of the published transitions.
FIRST_CLASS: Final = np.cumsum([0.50, 0.43, 0.05])
NEXT_CLASS: Final = np.cumsum(
    [[0.973, 0.0265, 0.0004], [0.135, 0.637, 0.226], [0.009, 0.86, 0.112], [0.003, 0.02, 0.026]], axis=1
)
MODELS: Final = (
    "frontier-spine-a", "frontier-spine-b", "reasoner-mid-a", "reasoner-mid-b",
    "extract-scoped-a", "extract-scoped-b", "rank-fanout-a", "rank-fanout-b",
)  # fmt: skip

REGIONS: Final = ("eu-north", "eu-west", "us-central", "us-east", "us-west", "ap-south")
DEPLOYMENTS: Final = 8  # of one model in one region
MOVE_DEPLOYMENT, MOVE_REGION = 0.0225, 0.0105  # of calls that repeat a model, in a session of 26 calls
MAX_CONTEXT: Final = 272_000


@dataclass
class Calls:
    """Columns of all calls; within a session in call order, sessions one after another."""

    t_us: NDArray[np.int64]
    session: NDArray[np.int32]
    context: NDArray[np.int32]
    cached: NDArray[np.int32]
    output: NDArray[np.int32]
    model: NDArray[np.int8]
    turn: NDArray[np.int32]
    opens: NDArray[np.bool_]
    region: NDArray[np.int8]  # -1 = not logged
    deployment: NDArray[np.int8]
    duration_us: NDArray[np.int32]
    failed: NDArray[np.bool_]

    @classmethod
    def empty(cls, n: int) -> Calls:
        """Room for n calls."""
        kinds = {"t_us": np.int64, "model": np.int8, "region": np.int8, "deployment": np.int8,
                 "opens": np.bool_, "failed": np.bool_}  # fmt: skip
        return cls(**{f.name: np.empty(n, kinds.get(f.name, np.int32)) for f in fields(cls)})


def draw_depths(rng: Generator, sessions: int, calls: int) -> NDArray[np.int64]:
    """Calls of each session, at least one, in sum exactly `calls`."""
    median = np.where(rng.random(sessions) < SHORT_SHARE, SHORT_MEDIAN, LONG_MEDIAN)
    shape = median * np.exp(DEPTH_SIGMA * rng.standard_normal(sessions))
    # Rounding the running sum, not the terms, hands the remainder on instead of losing it.
    extra = np.maximum(shape - 0.5, 0.0).cumsum()
    edges: NDArray[np.int64] = np.rint(extra * ((calls - sessions) / extra[-1])).astype(np.int64)
    edges[1:] -= edges[:-1].copy()
    return edges + 1


def draw_classes(rng: Generator, start: NDArray[np.int64], depth: NDArray[np.int64]) -> NDArray[np.int8]:
    """A Markov chain a session, all chains stepped together; depth must be descending."""
    u = rng.random(int(depth.sum()), dtype=np.float32)
    out = np.empty(len(u), np.int8)
    state = np.searchsorted(FIRST_CLASS, u[start], side="right").astype(np.int8)
    out[start] = state
    # alive[i]: sessions deeper than i, a prefix because depth is descending
    alive = np.searchsorted(-depth, -np.arange(int(depth[0])), side="left")
    for i in range(1, int(depth[0])):
        n = alive[i]
        at = start[:n] + i
        rows = NEXT_CLASS[state[:n]]
        state = (u[at, None] > rows).sum(axis=1, dtype=np.int8)
        out[at] = state
    return out


def draw_gaps(rng: Generator, opens: NDArray[np.bool_], first: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Seconds since the preceding call of the session; 0 for the first."""
    gap = INTRA_MEDIAN_S * np.exp(INTRA_SIGMA * rng.standard_normal(len(opens)))
    inter = opens & ~first
    gap[inter] = np.exp(np.interp(rng.random(int(inter.sum())), INTER_P, np.log(INTER_S)))
    gap = np.maximum(gap, 0.02)
    gap[first] = 0.0
    return gap


def draw_context(
    rng: Generator, index: NDArray[np.int64], depth: NDArray[np.int64], spread: NDArray[np.float64],
    classes: NDArray[np.int8],
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:  # fmt: skip
    """Context of each call and whether it is off the main thread of the session.

    The main thread grows and saturates; side calls (all of the light classes, some of the others)
    see a fraction of it, and a spike carries a large tool result once: both make contexts shrink.
    """
    n = len(index)
    main = 8_600.0 * spread * (1.0 + 7.3 * -np.expm1(-index / 18.0))
    u = rng.random(n)
    side = ((classes >= 2) | (u < np.clip(1.6 / depth, 0.07, 0.6))) & (index > 0)
    spike = ~side & (u > 0.93)
    noise = np.exp(0.4 * rng.standard_normal(n))
    factor = np.where(side, 0.13 * noise, np.where(spike, 1.9 * noise, 1.0))
    factor *= np.array([1.0, 1.4, 0.6, 0.6])[classes]
    return np.clip(main * factor, 200, MAX_CONTEXT).astype(np.int64), side | spike


def draw_places(
    rng: Generator, session: NDArray[np.int64], model: NDArray[np.int8], home: NDArray[np.int64],
    depth: NDArray[np.int64],
) -> tuple[NDArray[np.int8], NDArray[np.int8]]:  # fmt: skip
    """(region, deployment) of each call: sticky for a model of a session, with rare moves."""
    n = len(model)
    order = np.argsort(session * len(MODELS) + model, kind="stable")
    key = (session * len(MODELS) + model)[order]
    first = np.empty(n, np.bool_)
    first[0], first[1:] = True, key[1:] != key[:-1]
    u = rng.random(n)
    # A model's first call mostly goes to the home region; a move is a non-zero step around the ring.
    hop = rng.integers(1, len(REGIONS), n)
    # Short sessions move more often a call, or far more than the published 45 % would never move.
    often = np.clip(26.0 / depth[session[order]], 0.7, 6.0) ** 0.6
    far = np.where(first, u < 0.45, u < MOVE_REGION * often)
    steps = np.cumsum(np.where(far, hop, 0))
    group = np.cumsum(first) - 1
    before = (steps - np.where(far, hop, 0))[first]
    region = (home[session[order]] + steps - before[group]) % len(REGIONS)
    turn = np.where(u < (MOVE_REGION + MOVE_DEPLOYMENT) * often, rng.integers(1, DEPLOYMENTS, n), 0)
    turn[first] = rng.integers(0, DEPLOYMENTS, n)[first]
    out_region, out_deployment = np.empty(n, np.int8), np.empty(n, np.int8)
    out_region[order], out_deployment[order] = region, np.cumsum(turn) % DEPLOYMENTS
    return out_region, out_deployment


def draw_reuse(
    rng: Generator, first: NDArray[np.bool_], out: Calls, at: slice, gap: NDArray[np.float64],
    off_main: NDArray[np.bool_],
) -> NDArray[np.float64]:  # fmt: skip
    """Cached share of each call: what survives falls with idleness, moves and model switches."""
    model, region, deployment = out.model[at], out.region[at], out.deployment[at]
    same_model = np.r_[False, model[1:] == model[:-1]]
    same_region = np.r_[False, region[1:] == region[:-1]]
    same_deployment = same_region & np.r_[False, deployment[1:] == deployment[:-1]]
    survives = np.array([0.985, 0.95, 0.85, 0.6, 0.2])[np.searchsorted([60, 900, 3_600, 21_600], gap)]
    chance = np.where(same_deployment, survives, np.where(same_region, 0.17, 0.11))
    chance = np.where(first, 0.15, np.where(same_model, chance, 0.36 * survives))
    chance[off_main & ~first] *= 0.6
    u, v = rng.random(len(gap)), rng.random(len(gap))
    hit = 1.0 + 0.04 * np.log1p(-0.99999 * v)
    return np.where(u < chance, hit, 0.34 * v)


def draw_block(
    rng: Generator, depth: NDArray[np.int64], first_session: int, turns: int, out: Calls, at: slice
) -> int:
    """Fill out[at] with whole sessions; gives the running number of turns."""
    depth = np.sort(depth)[::-1]
    start = np.cumsum(depth) - depth
    n, sessions = int(depth.sum()), len(depth)
    session = np.repeat(np.arange(sessions), depth)
    index = np.arange(n) - start[session]
    first = index == 0
    opens = first | (rng.random(n) < INTER_SHARE)
    classes = draw_classes(rng, start, depth)
    variant = rng.integers(0, 2, (sessions, 4)).astype(np.int8)
    out.model[at] = 2 * classes + variant[session, classes]

    gap = draw_gaps(rng, opens, first)
    elapsed = gap.cumsum()
    elapsed -= elapsed[start][session]
    life = elapsed[start + depth - 1]
    # A session that would outlive the window is squeezed into it: the number of calls is promised.
    scale = np.minimum(1.0, 0.99 * SPAN_US / SECOND / np.maximum(life, 1.0))
    life, elapsed, gap = life * scale, elapsed * scale[session], gap * scale[session]
    weight = np.outer(np.resize(DAY_WEIGHT, DAYS), HOUR_WEIGHT).ravel()
    cdf = np.r_[0.0, weight.cumsum() / weight.sum()]
    arrival = np.interp(rng.random(sessions), cdf, np.arange(len(cdf)) * 3_600.0)
    late = arrival + life > SPAN_US / SECOND - 1
    arrival[late] = (rng.random(sessions) * (SPAN_US / SECOND - 1 - life))[late]
    out.t_us[at] = START_US + ((arrival[session] + elapsed) * SECOND).astype(np.int64)

    # Deeper sessions also start from larger contexts.
    spread = np.exp(0.45 * rng.standard_normal(sessions)) * np.clip(depth / 13.0, 0.3, 10.0) ** 0.05
    context, off_main = draw_context(rng, index, depth[session], spread[session], classes)
    home = rng.choice(len(REGIONS), sessions, p=[0.12, 0.2, 0.16, 0.26, 0.16, 0.1])
    out.region[at], out.deployment[at] = draw_places(rng, session, out.model[at], home, depth)
    reuse = draw_reuse(rng, first, out, at, gap, off_main)
    failed = rng.random(n) < 0.004
    # Prefix caches count whole blocks, hence multiples of 128 tokens.
    cached = np.where(failed, 0, (context * reuse).astype(np.int64) // 128 * 128)
    output = np.where(failed, 0, 600 * np.exp(1.25 * rng.standard_normal(n))).astype(np.int64)
    duration = 0.3 + (context - cached) / 9_000 + output / 80
    # Most calls wait for their predecessor; one in twenty is a parallel tool call and may overlap.
    until_next = np.r_[gap[1:], np.inf]
    until_next[start + depth - 1] = np.inf
    waits = rng.random(n) > 0.05
    duration = np.where(waits, np.minimum(duration, 0.9 * until_next), duration)

    out.session[at] = first_session + session
    out.context[at], out.cached[at], out.output[at] = context, cached, output
    out.opens[at], out.failed[at] = opens, failed
    out.turn[at] = turns + opens.cumsum() - 1
    out.duration_us[at] = duration * SECOND
    hidden = rng.random(n)
    out.region[at][hidden < 0.002] = -1
    out.deployment[at][hidden < 0.003] = -1
    return turns + int(opens.sum())
