"""Where each call is served: sticky by session and model, with moves (paper 4.4).

The paper's generator places nothing. Here a session has a home region; a model's first call goes there
or elsewhere, and the session's later calls to that model stay on its deployment unless they move. A
move is likelier when the session returns to the model after calls to others than between two
consecutive calls to it, and some sessions are more restless than others.
"""

from __future__ import annotations

import numpy as np

from tracesim.classes import Small
from tracesim.compiled import Floats, Longs, compiled
from tracesim.philox import Component, Numbers, normal
from tracesim.profile import Placement

__all__ = ["draw_places"]


def draw_places(numbers: Numbers, first: int, offsets: Longs, model: Small, models: int,
                placement: Placement) -> tuple[Small, Small]:
    """Region and deployment of each call: places in `placement.regions`, and 0 to `deployments` - 1."""
    u = numbers.of_calls(Component.PLACEMENT, first, offsets)
    home = numbers.of_sessions(Component.HOME, first, len(offsets) - 1)
    shares = np.cumsum(placement.shares)
    shares[-1] = 1.0
    moves = np.array([[placement.move_region, placement.move_deployment],
                      [placement.return_region, placement.return_deployment]])
    return _placed(u, home[:, 0], normal(home[:, 1]), offsets, model, models, shares, placement.deployments,
                   placement.home, moves, placement.spread)


@compiled
def _placed(u: Floats, home: Floats, z: Floats, offsets: Longs, model: Small, models: int, shares: Floats,
            deployments: int, at_home: float, moves: Floats, spread: float) -> tuple[Small, Small]:
    regions = len(shares)
    region = np.empty(len(model), np.int8)
    deployment = np.empty(len(model), np.int8)
    last = np.empty((models, 2), np.int64)
    for place in range(len(offsets) - 1):
        last[:] = -1
        begins = 0
        while home[place] > shares[begins]:
            begins += 1
        factor = np.exp(spread * z[place])
        before = -1
        for row in range(offsets[place], offsets[place + 1]):
            at = int(model[row])
            # A move goes to any other place, each with the same chance.
            far = np.int64(u[row, 1] * (regions - 1))
            near = np.int64(u[row, 2] * (deployments - 1))
            if last[at, 0] < 0:
                stays = u[row, 0] < at_home or regions == 1
                last[at, 0] = begins if stays else (begins + 1 + far) % regions
                last[at, 1] = np.int64(u[row, 2] * deployments)
            else:
                kind = 0 if at == before else 1
                to_region = min(moves[kind, 0] * factor, 1.0) if regions > 1 else 0.0
                to_deployment = min(moves[kind, 1] * factor, 1.0 - to_region) if deployments > 1 else 0.0
                if u[row, 0] < to_region:
                    last[at, 0] = (last[at, 0] + 1 + far) % regions
                    last[at, 1] = np.int64(u[row, 2] * deployments)
                elif u[row, 0] < to_region + to_deployment:
                    last[at, 1] = (last[at, 1] + 1 + near) % deployments
            region[row], deployment[row] = last[at, 0], last[at, 1]
            before = at
    return region, deployment
