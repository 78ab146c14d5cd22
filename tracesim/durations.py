"""How long the engine works on each call, and what it puts out.

Gaps of a turn are from start to start, so that most of such a gap is the engine's time: a call is busy
for a share of the gap that follows it within the turn (or would follow, after the last call of a
turn), up to a longest time. Output is what an engine decodes in that time.
"""

from __future__ import annotations

import numpy as np

from tracesim.compiled import Floats, Longs, compiled
from tracesim.philox import Component, Numbers, normal
from tracesim.profile import Durations

__all__ = ["draw_durations"]

_MOST_TOKENS = 2.0**31 - 1


def draw_durations(numbers: Numbers, first: int, offsets: Longs, loop_us: Longs,
                   durations: Durations) -> tuple[Longs, Longs]:
    """Engine time of each call in microseconds, and its output tokens, at least 1."""
    u = numbers.of_calls(Component.DURATIONS, first, offsets)
    return _worked(u, normal(u[:, 1]), loop_us, durations.busy[0], durations.busy[1], durations.most_s * 1e6,
                   durations.tokens_per_s, durations.speed_spread)


@compiled
def _worked(u: Floats, z: Floats, loop_us: Longs, low: float, high: float, most_us: float,
            speed: float, spread: float) -> tuple[Longs, Longs]:
    lasted = np.empty(len(loop_us), np.int64)
    output = np.empty(len(loop_us), np.int64)
    for row in range(len(loop_us)):
        lasted[row] = int(min(loop_us[row] * (low + (high - low) * u[row, 0]), most_us))
        tokens = lasted[row] * 1e-6 * speed * np.exp(spread * z[row])
        output[row] = max(int(min(tokens, _MOST_TOKENS)), 1)
    return lasted, output
