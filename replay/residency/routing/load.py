"""How evenly a route loads the deployments of a model."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from replay.residency.factorize import factorize
from replay.residency.routing.fleet import MINUTE_US, Fleet

__all__ = ["Load", "load_of"]


@dataclass(frozen=True)
class Load:
    """Load of a server in a minute: its calls / its fair share, rounded up to whole calls.

    Attributes
    ----------
    p50, p99 : float or None
        Nearest-rank quantiles over calls: that many of the calls are served where the load is at most this.
    max : float or None
    calls : int
        Calls that are counted: those with a known deployment and model.
    """

    p50: float | None
    p99: float | None
    max: float | None
    calls: int


def load_of(fleet: Fleet, server: NDArray[np.int32]) -> Load:
    """The load that a placement causes; fair shares are those of `placements.place`."""
    free = np.flatnonzero(server >= 0)
    if not len(free):
        return Load(None, None, None, 0)
    servers = len(fleet.model_of)
    minute, minutes = factorize(fleet.time_us[free] // MINUTE_US)
    group, groups = factorize(fleet.model_of[server[free]].astype(np.int64) * minutes + minute)
    pairs = group.astype(np.int64) * servers + server[free]
    cell, cells = factorize(pairs)
    of_cell = np.empty(cells, np.int64)
    of_cell[cell] = pairs
    cell_group, cell_server = of_cell // servers, of_cell % servers
    in_group = np.bincount(group, minlength=groups)
    in_model = np.zeros(len(fleet.first_server) - 1, np.int64)
    np.add.at(in_model, fleet.model_of, fleet.calls_of)
    calls = np.bincount(cell, minlength=cells)
    shares = -(-(in_group[cell_group] * fleet.calls_of[cell_server]) // in_model[fleet.model_of[cell_server]])
    load = calls / shares  # both are whole, and a quotient of whole numbers keeps their order
    order = np.argsort(load, kind="stable")
    upto = np.cumsum(calls[order])
    p50, p99, highest = (float(load[order[np.searchsorted(upto, -(-len(free) * rank // 100))]])
                         for rank in (50, 99, 100))
    return Load(p50, p99, highest, len(free))
