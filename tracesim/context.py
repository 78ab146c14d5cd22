"""How much context each call carries: a main thread that grows and is compacted, and extracts of it (paper 3.2).

The main thread of a session grows fast at first and saturates. A call carries it, scaled by the role of
its model, or an extract of it: that is how the published trace can have a reduction in 91 % of its
sessions while the median grows on. Some calls carry a burst, such as a large tool result that is not kept.
Now and then a main thread is compacted, and grows again. Deeper sessions grow further, up to a limit.
"""

from __future__ import annotations

import numpy as np

from tracesim.classes import Small
from tracesim.compiled import Flags, Floats, Longs, compiled
from tracesim.philox import Component, Numbers, normal
from tracesim.profile import Context

__all__ = ["draw_context"]


def draw_context(numbers: Numbers, first: int, offsets: Longs, kind: Small,
                 context: Context) -> tuple[Longs, Flags, Flags]:
    """Tokens of each call, whether it carries an extract, and whether the thread was compacted before it."""
    u = numbers.of_calls(Component.CONTEXT, first, offsets)
    own = numbers.of_sessions(Component.CONTEXT_OF_SESSION, first, len(offsets) - 1)
    start = np.array([context.first, context.spread, context.growth, context.calls, context.noise, context.deeper])
    limit = np.array([context.limit, context.limit_spread, *context.compacted, context.compacts])
    parts = np.array([[context.extract, context.extract_spread], [context.burst, context.burst_spread]])
    return _grown(u, normal(u[:, 1]), normal(u[:, 3]), normal(own[:, 0]), normal(own[:, 1]), offsets, kind, start,
                  limit, parts, np.array(context.side), np.array(context.bursts), np.array(context.scale),
                  context.least, context.window)


@compiled
def _grown(u: Floats, z: Floats, part: Floats, own: Floats, patience: Floats, offsets: Longs, kind: Small,
           start: Floats, limit: Floats, parts: Floats, side: Floats, bursts: Floats, scale: Floats, least: int,
           window: int) -> tuple[Longs, Flags, Flags]:
    first, spread, growth, calls, noise = start[0], start[1], start[2], start[3], start[4]
    tokens = np.empty(len(kind), np.int64)
    extracted = np.zeros(len(kind), np.bool_)
    compacted = np.zeros(len(kind), np.bool_)
    for place in range(len(offsets) - 1):
        base = first * np.exp(spread * own[place])
        depth = np.float64(offsets[place + 1] - offsets[place])
        most = min(limit[0] * np.exp(limit[1] * patience[place]), np.float64(window))
        goal = min(base * (1.0 + growth * depth ** start[5]), most)
        main = base
        for row in range(offsets[place], offsets[place + 1]):
            role = kind[row]
            if row > offsets[place]:
                if main < goal:
                    main += (goal - main) / calls * np.exp(noise * z[row] - 0.5 * noise * noise)
                if u[row, 2] < limit[4]:
                    # What a number is below its threshold is uniform again.
                    main *= limit[2] + (limit[3] - limit[2]) * (u[row, 2] / limit[4])
                    compacted[row] = True
                extracted[row] = u[row, 0] < side[role]
            carried = main * scale[role]
            if extracted[row]:
                carried *= min(parts[0, 0] * np.exp(parts[0, 1] * part[row]), 1.0)
            elif row > offsets[place] and u[row, 0] > 1.0 - bursts[role]:
                carried *= max(parts[1, 0] * np.exp(parts[1, 1] * part[row]), 1.0)
            tokens[row] = max(int(min(carried, np.float64(window))), least)
    return tokens, extracted, compacted
