"""In which situation a call looks for its context in the cache: the same for a log that is read and one that is made.

In order of precedence: the session's first call; the first to its model; one whose context is smaller than that of
the model's call before; one that is served elsewhere than it; one that follows it directly; a Spine call after 1, 2,
3 or more calls to other classes; a return to the model. Each by class where classes differ.
"""

from __future__ import annotations

import numpy as np

from tracesim.classes import Small
from tracesim.compiled import Ints, Longs, compiled
from tracesim.profile import CLASSES

__all__ = ["GAP_BANDS_S", "SITUATIONS", "situations"]

#: Upper edges of the bands of time since the model's last call, in seconds; one more lies beyond.
GAP_BANDS_S = (10, 60, 300, 3600)

_BY_CLASS = ("new", "reduced", "same", "return")
SITUATIONS = ("first", "excursion.1", "excursion.2", "excursion.3+", "cross_deployment", "cross_region",
              *(f"{what}.{kind}" for what in _BY_CLASS for kind in CLASSES))

_FIRST, _EXCURSION, _DEPLOYMENT, _REGION, _NEW, _REDUCED, _SAME, _RETURN = 0, 1, 4, 5, 6, 10, 14, 18
_EDGES_US = np.array(GAP_BANDS_S, np.int64) * 1_000_000


def situations(offsets: Longs, kind: Small, model: Longs, models: int, region: Longs, deployment: Longs, gap_us: Longs,
               tokens: Longs) -> tuple[Ints, Ints]:  # fmt: skip
    """Situation and band of gap of each call.

    Parameters
    ----------
    offsets : int64 array of shape (sessions + 1,)
    kind : int8 array
        Places in CLASSES.
    model, region, deployment : int64 arrays
        Numbers; of a region or a deployment, below 0 = unknown, which is neither the same nor another.
    models : int
        Models are numbered below it.
    gap_us : int64 array
        Since the session's preceding call.
    tokens : int64 array

    Returns
    -------
    situation : int32 array
        Places in SITUATIONS.
    band : int32 array
        0 to len(GAP_BANDS_S); 0 for a first call to a model.
    """
    return _situations(offsets, kind, model, models, region, deployment, gap_us, tokens, _EDGES_US)


@compiled
def _situations(offsets: Longs, kind: Small, model: Longs, models: int, region: Longs, deployment: Longs,
                gap_us: Longs, tokens: Longs, edges_us: Longs) -> tuple[Ints, Ints]:
    situation = np.empty(len(kind), np.int32)
    band = np.zeros(len(kind), np.int32)
    last = np.empty(models, np.int64)
    called_us = np.empty(models, np.int64)
    for place in range(len(offsets) - 1):
        last[:] = -1
        clock = np.int64(0)
        away = -1  # calls since the last Spine call; -1 before the first
        for row in range(offsets[place], offsets[place + 1]):
            at, role, before = model[row], kind[row], last[model[row]]
            clock += gap_us[row]
            if row == offsets[place]:
                situation[row] = _FIRST
            elif before < 0:
                situation[row] = _NEW + role
            else:
                band[row] = np.searchsorted(edges_us, clock - called_us[at], side="right")
                both = region[row] >= 0 and region[before] >= 0
                if tokens[row] < tokens[before]:
                    situation[row] = _REDUCED + role
                elif both and region[row] != region[before]:
                    situation[row] = _REGION
                elif deployment[row] >= 0 and deployment[before] >= 0 and deployment[row] != deployment[before]:
                    situation[row] = _DEPLOYMENT
                elif before == row - 1:
                    situation[row] = _SAME + role
                elif role == 0 and away > 0:
                    situation[row] = _EXCURSION + min(away, 3) - 1
                else:
                    situation[row] = _RETURN + role
            last[at], called_us[at] = row, clock
            away = 0 if role == 0 else (away + 1 if away >= 0 else -1)
    return situation, band
