"""Profiles for tests: a small fleet whose numbers are round."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tracesim.compiled import Longs
from tracesim.profile import (
    Arrivals,
    Classes,
    Context,
    Depth,
    Durations,
    Gaps,
    Model,
    Part,
    Placement,
    Profile,
    Reuse,
    Turns,
    Window,
)

START_US = 1_781_481_600_000_000  # Monday, 2026-06-15T00:00:00Z
COLD, PART, MOST, WARM = (1.0, 0.0, 0.0, 0.0), (0.0, 1.0, 0.0, 0.0), (0.0, 0.0, 1.0, 0.0), (0.0, 0.0, 0.0, 1.0)

FLEET = Profile(
    name="small",
    window=Window(START_US, 2.0, 400),
    arrivals=Arrivals((1.0,) * 24, (1.0,) * 7),
    depth=Depth((Part(1.0, 10.0, 0.8),), 1000),
    turns=Turns((0.1,)),
    gaps=Gaps((Part(1.0, 8.0, 1.0),), ((0.0, 30.0), (0.5, 120.0), (1.0, 7200.0))),
    classes=Classes((0.5, 0.5), ((0.9, 0.1), (0.3, 0.7)),
                    (Model("big-1", "spine", "spine", 1.0), Model("wise-1", "mid", "spine", 3.0),
                     Model("talk-1", "mid", "mid", 1.0))),
    placement=Placement(("north", "south", "west"), (0.5, 0.3, 0.2), 4, 0.8, 0.02, 0.01, 0.2, 0.1, 0.0),
    context=Context(first=10_000, spread=0.5, growth=5.0, calls=10.0, noise=0.0, deeper=0.0, limit=1e9,
                    limit_spread=0.0, compacts=0.0, compacted=(0.2, 0.3), side=(0.0, 0.0), extract=0.2,
                    extract_spread=0.0, bursts=(0.0, 0.0), burst=2.0, burst_spread=0.0, scale=(1.0, 1.0), least=100,
                    window=10**6),
    reuse=Reuse(first=COLD, same=(WARM, WARM), switch=(PART, PART), extract=(MOST, MOST), excursion=(PART, PART, COLD),
                cross_deployment=COLD, cross_region=COLD, idle=(), lost=COLD, block=1, effectiveness=1.0),
    durations=Durations((0.5, 0.9), 1e6, 80.0, 0.0),
    unsessioned_per_session=0.0,
)


def having(**parts: dict[str, object]) -> Profile:
    """The small fleet with other parameters: `having(turns={"opens": (0.5,)})`."""
    return replace(FLEET, **{name: replace(getattr(FLEET, name), **changes) for name, changes in parts.items()})


def offsets_of(*depths: int) -> Longs:
    """Where the calls of sessions of these depths begin, and their number."""
    return np.concatenate(([0], np.cumsum(depths))).astype(np.int64)
