"""Which model serves each call: a Markov chain over model classes, and one model a class and session (paper 3.4).

That a session keeps to one model of a class is a choice: a change of model within a class would be a
model switch that the published class transitions cannot show.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tracesim.compiled import Floats, Longs, compiled
from tracesim.philox import Component, Numbers
from tracesim.profile import CLASSES, Classes

__all__ = ["Small", "draw_models"]

Small = NDArray[np.int8]


def draw_models(numbers: Numbers, first: int, offsets: Longs, classes: Classes) -> tuple[Small, Small]:
    """Class and model of each call: places in `profile.CLASSES` and in `classes.models`."""
    u = numbers.of_calls(Component.CLASSES, first, offsets)
    chosen = numbers.of_sessions(Component.MODELS, first, len(offsets) - 1)
    return _chain(u, chosen, offsets, _cumulated([classes.first])[0], _cumulated(classes.following), *_shares(classes))


def _cumulated(rows: object) -> Floats:
    """Running sums of rows of probabilities; the last is 1 whatever was rounded."""
    sums = np.cumsum(np.asarray(rows, np.float64), axis=1)
    sums[:, -1] = 1.0
    return sums


def _shares(classes: Classes) -> tuple[Floats, Longs]:
    """By class: running sums of the shares of its models, and the place of its first model."""
    members = [[place for place, model in enumerate(classes.models) if model.conservative == name]
               for name in CLASSES[:len(classes.first)]]
    width = max(map(len, members))
    shares = np.ones((len(members), width))
    for row, places in enumerate(members):
        if places:  # a class that nobody enters has no models
            sums = np.cumsum([classes.models[place].share for place in places])
            shares[row, :len(places) - 1] = (sums / sums[-1])[:-1]
    return shares, np.array([places[0] if places else 0 for places in members], np.int64)


@compiled
def _chain(u: Floats, chosen: Floats, offsets: Longs, first: Floats, following: Floats, shares: Floats,
           begins: Longs) -> tuple[Small, Small]:
    kind = np.empty(len(u), np.int8)
    model = np.empty(len(u), np.int8)
    for place in range(len(offsets) - 1):
        state = -1
        for row in range(offsets[place], offsets[place + 1]):
            sums = first if state < 0 else following[state]
            state = 0
            while u[row, 0] > sums[state]:
                state += 1
            variant = 0
            while chosen[place, state] > shares[state, variant]:
                variant += 1
            kind[row] = state
            model[row] = begins[state] + variant
    return kind, model
