"""How much of each context is found in the prefix cache (paper 3.4.4, 3.5, 4.4.2).

What a call finds depends on its situation: first call of the session, same model on the same
deployment, a move, a switch of model, a return to Spine after an excursion. Each situation has
probabilities for the bands of reuse that the paper counts. State that idled may be lost, a compacted
context finds little, and no call finds more than the session sent to that model before.
"""

from __future__ import annotations

import numpy as np

from tracesim.classes import Small
from tracesim.compiled import Flags, Floats, Longs, compiled
from tracesim.philox import Component, Numbers
from tracesim.profile import BANDS, CLASSES, Reuse

__all__ = ["draw_cached"]

# Rows of the table of situations.
_FIRST, _SAME, _SWITCH, _EXTRACT, _EXCURSION, _DEPLOYMENT, _REGION, _LOST = 0, 1, 5, 9, 13, 16, 17, 18


def draw_cached(numbers: Numbers, first: int, offsets: Longs, kind: Small, model: Small, models: int, region: Small,
                deployment: Small, gap_us: Longs, tokens: Longs, extracted: Flags, compacted: Flags,
                reuse: Reuse) -> Longs:  # fmt: skip
    """Cached tokens of each call: int64, at most its context."""
    u = numbers.of_calls(Component.REUSE, first, offsets)
    seat = np.stack((region, deployment), axis=1)
    idle = np.array(reuse.idle, np.float64).reshape(-1, 2)
    return _found(u, offsets, kind, model, models, seat, gap_us, tokens, extracted, compacted, _table(reuse),
                  np.array(BANDS), (idle[:, 0] * 1e6).astype(np.int64), idle[:, 1].copy(), reuse.block,
                  reuse.effectiveness)


def _table(reuse: Reuse) -> Floats:
    """Running sums of the bands' probabilities, a row a situation."""
    rest = [reuse.lost] * len(CLASSES)  # a profile may have fewer classes
    by_class = [row for rows in (reuse.same, reuse.switch, reuse.extract) for row in [*rows, *rest][:len(CLASSES)]]
    rows = [reuse.first, *by_class, *reuse.excursion, reuse.cross_deployment, reuse.cross_region, reuse.lost]
    sums = np.cumsum(np.array(rows, np.float64), axis=1)
    sums[:, -1] = 1.0
    return sums


@compiled
def _found(u: Floats, offsets: Longs, kind: Small, model: Small, models: int, seat: Small, gap_us: Longs,
           tokens: Longs, extracted: Flags, compacted: Flags, table: Floats, bands: Floats, idle_us: Longs,
           survives: Floats, block: int, effectiveness: float) -> Longs:  # fmt: skip
    cached = np.empty(len(kind), np.int64)
    seats = np.empty((models, 2), np.int64)
    sent = np.empty(models, np.int64)
    called_us = np.empty(models, np.int64)
    for place in range(len(offsets) - 1):
        sent[:] = -1
        clock = 0
        before, away = -1, -1  # calls since the last Spine call; -1 before the first
        for row in range(offsets[place], offsets[place + 1]):
            at, role = int(model[row]), kind[row]
            clock += gap_us[row]
            seen = sent[at] >= 0
            moved = seen and (seats[at, 0] != seat[row, 0] or seats[at, 1] != seat[row, 1])
            if before < 0:
                situation = _FIRST
            elif compacted[row]:
                situation = _LOST
            elif moved:
                situation = _REGION if seats[at, 0] != seat[row, 0] else _DEPLOYMENT
            elif at == before:
                situation = (_EXTRACT if extracted[row] else _SAME) + role
            elif role == 0 and away > 0:
                situation = _EXCURSION + min(away, 3) - 1
            else:
                situation = _SWITCH + role
            if seen and situation != _LOST:
                rank = np.searchsorted(idle_us, clock - called_us[at], side="right")
                if rank > 0 and u[row, 0] >= survives[rank - 1]:
                    situation = _LOST
            band, below = 0, 0.0
            while u[row, 1] > table[situation, band]:
                below = table[situation, band]
                band += 1
            part = (u[row, 1] - below) / (table[situation, band] - below)
            # Most cold calls find next to nothing: the lowest band is skewed towards 0.
            part = part * part if band == 0 else part
            found = int(tokens[row] * (bands[band] + (bands[band + 1] - bands[band]) * part))
            if u[row, 2] >= effectiveness:
                found = 0
            if seen:
                found = min(found, int(sent[at]))
            cached[row] = min(found, tokens[row]) // block * block
            seats[at, 0], seats[at, 1] = seat[row, 0], seat[row, 1]
            sent[at] = max(sent[at], tokens[row])
            called_us[at] = clock
            before = at
            away = 0 if role == 0 else (away + 1 if away >= 0 else -1)
    return cached
