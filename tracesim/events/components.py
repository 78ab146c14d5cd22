"""What is drawn for the sessions of an event log: depths, clocks, kinds and counters.

Depths are drawn by a low-discrepancy sequence, session by session the next multiple of the golden ratio modulo 1 from
an offset of the seed: the deepest hundredth of the sessions logs most of the events, and drawn one by one its size, and
with it every total, would scatter by 9 % from seed to seed.
"""

from __future__ import annotations

import math

import numpy as np

from tracesim.classes import Small
from tracesim.compiled import Flags, Floats, Ints, Longs, compiled
from tracesim.events.profile import Counters, Kinds, Labels
from tracesim.parameters import Depth, Part
from tracesim.philox import Component, Numbers, normal

__all__ = ["depth_table", "draw_counters", "draw_depths", "draw_gaps", "draw_kinds", "draw_labels"]

_GOLDEN = np.uint64(11_400_714_819_323_198_485)  # 2^64 / the golden ratio, to the next odd number


def depth_table(depth: Depth) -> Floats:
    """Probability of at most 1, 2, ..., `most` events."""
    upto = np.arange(1, depth.most, dtype=np.float64) + 0.5
    shares = np.zeros(depth.most)
    for part in depth.parts:
        if part.sigma == 0:
            shares[:-1] += part.weight * (upto >= part.median)
            continue
        z = np.log(upto / part.median) / (part.sigma * math.sqrt(2))
        shares[:-1] += part.weight * 0.5 * np.array([1 + math.erf(each) for each in z])
    shares[-1] = 1.0
    return shares


def draw_depths(numbers: Numbers, sessions: int, table: Floats) -> Ints:
    """Events of each session, at least 1."""
    lanes = numbers.of_sessions(Component.EVENT_FLEET, 0, 1)[0]
    offset = np.uint64(int(lanes[0] * 2**32) << 32)
    with np.errstate(over="ignore"):
        places = offset + np.arange(sessions, dtype=np.uint64) * _GOLDEN
    u = (places >> np.uint64(11)).astype(np.float64) * 2.0**-53
    return (np.searchsorted(table, u, side="right") + 1).astype(np.int32)


def draw_gaps(numbers: Numbers, sessions: Longs, offsets: Longs, parts: tuple[Part, ...], longest_us: int) -> Longs:
    """Microseconds before each event; 0 before the first of a session, and `longest_us` at most in a session.

    A session that would last longer has all its gaps shortened by one factor.
    """
    u = numbers.of_rows(Component.EVENT_GAPS, sessions, offsets)
    weights = np.cumsum([part.weight for part in parts])
    weights[-1] = 1.0
    return _gaps(offsets, u[:, 0].copy(), normal(u[:, 1].copy()), weights, np.array([part.median for part in parts]),
                 np.array([part.sigma for part in parts]), longest_us)


@compiled
def _gaps(offsets: Longs, u: Floats, z: Floats, weights: Floats, medians: Floats, sigmas: Floats,
          longest_us: int) -> Longs:
    gap_us = np.zeros(len(u), np.int64)
    for place in range(len(offsets) - 1):
        total = 0.0
        for row in range(offsets[place] + 1, offsets[place + 1]):
            part = 0
            while u[row] > weights[part]:
                part += 1
            seconds = medians[part] * np.exp(sigmas[part] * z[row])
            gap_us[row] = np.int64(min(seconds, 1e9) * 1e6)
            total += gap_us[row]
        if total > longest_us:
            for row in range(offsets[place] + 1, offsets[place + 1]):
                gap_us[row] = np.int64(gap_us[row] * (longest_us / total))
    return gap_us


def draw_kinds(numbers: Numbers, sessions: Longs, offsets: Longs, kinds: Kinds,
               repeats: float) -> tuple[Small, Small, Flags]:
    """Kind of each event (0 opens, 1 closes, 2 and on the others), its tool or -1, and whether it is logged twice."""
    u = numbers.of_rows(Component.EVENT_KINDS, sessions, offsets)
    kind = draw_labels(u[:, 0], kinds.others) + np.int8(2)
    kind[offsets[:-1]] = 0
    last = offsets[1:][np.diff(offsets) > 1] - 1
    kind[last] = 1
    tool = np.where(kind == 2, draw_labels(u[:, 1], kinds.tools), np.int8(-1))
    return kind, tool, u[:, 2] < repeats


def draw_labels(u: Floats, labels: Labels) -> Small:
    """Places of names."""
    upto = np.cumsum(labels.shares)
    upto[-1] = 1.0
    return np.searchsorted(upto, u, side="left").astype(np.int8)


def draw_counters(numbers: Numbers, sessions: Longs, offsets: Longs,
                  law: Counters) -> tuple[Longs, Longs, Longs, Flags]:
    """Cumulative context, cached and output tokens up to each event, and whether a call lies before it at all."""
    u = numbers.of_rows(Component.EVENT_CALLS, sessions, offsets)
    own = numbers.of_rows(Component.EVENT_SESSION, sessions, np.arange(len(sessions) + 1, dtype=np.int64))
    begins = law.first * np.exp(law.spread * normal(own[:, 0].copy()))
    grows = law.growth * np.exp(law.noise * normal(u[:, 3].copy()) - law.noise**2 / 2)
    output = law.output * np.exp(law.output_sigma * normal(u[:, 2].copy()))
    low, high = law.found
    return _counted(offsets, u[:, 0].copy(), u[:, 1].copy(), begins, grows, output, law.calls, law.limit, law.compacted,
                    law.warm, low, high)


@compiled
def _counted(offsets: Longs, u: Floats, reused: Floats, begins: Floats, grows: Floats, output: Floats, calls: float,
             limit: float, compacted: float, warm: float, low: float, high: float) -> tuple[Longs, Longs, Longs, Flags]:
    context = np.zeros(len(u), np.int64)
    cached = np.zeros(len(u), np.int64)
    generated = np.zeros(len(u), np.int64)
    known = np.zeros(len(u), np.bool_)
    for place in range(len(offsets) - 1):
        level = min(begins[place], limit)
        x = c = o = np.int64(0)
        seen = False
        for row in range(offsets[place] + 1, offsets[place + 1]):
            if u[row] < calls:
                tokens = np.int64(max(level, 1.0) + 0.5)
                x += tokens
                if reused[row] < warm:
                    c += np.int64(tokens * (low + (high - low) * (reused[row] / warm)))
                o += np.int64(min(output[row], limit) + 0.5)
                seen = True
                level += grows[row]
                if level > limit:
                    level = min(level * compacted, limit)
            context[row], cached[row], generated[row], known[row] = x, c, o, seen
    return context, cached, generated, known
