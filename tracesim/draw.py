"""Each component from what a profile has for it: formulas, tables, or nothing."""

from __future__ import annotations

import numpy as np

from tracesim.classes import Small
from tracesim.compiled import Flags, Floats, Longs
from tracesim.context import draw_context
from tracesim.depth import draw_depths
from tracesim.depth_table import draw_depths_of_table, scores_in_bands
from tracesim.duration_tables import draw_durations_of_tables
from tracesim.durations import draw_durations
from tracesim.gap_tables import draw_gaps_of_tables
from tracesim.gaps import draw_gaps
from tracesim.measured import DepthTable, DurationTables, GapTables, ReuseTables, Threads
from tracesim.philox import Numbers
from tracesim.placement import draw_places
from tracesim.profile import Depth, Durations, Gaps, Profile
from tracesim.reuse import draw_cached
from tracesim.reuse_tables import draw_cached_of_tables
from tracesim.threads import draw_threads

__all__ = ["contexts", "depths", "durations", "gaps", "places"]


def depths(numbers: Numbers, first: int, load: Floats, depth: Depth | DepthTable) -> Longs:
    """Calls of consecutive sessions; `load` is the arrival rate at their starts, relative to its mean."""
    if isinstance(depth, DepthTable):
        return draw_depths_of_table(numbers, first, len(load), depth)
    return draw_depths(numbers, first, load, depth)


def gaps(numbers: Numbers, first: int, offsets: Longs, band: Longs, opens: Flags,
         law: Gaps | GapTables) -> tuple[Longs, Longs]:
    """Microseconds before each call, and those of a gap within the turn after it."""
    if isinstance(law, GapTables):
        return draw_gaps_of_tables(numbers, first, offsets, band, opens, law)
    return draw_gaps(numbers, first, offsets, opens, law)


def places(numbers: Numbers, first: int, offsets: Longs, model: Small, profile: Profile) -> tuple[Small, Small]:
    """Region and deployment of each call; all the same where the profile places none."""
    if profile.placement is None:
        return np.zeros(len(model), np.int8), np.zeros(len(model), np.int8)
    return draw_places(numbers, first, offsets, model, len(profile.classes.models), profile.placement)


def contexts(numbers: Numbers, first: int, offsets: Longs, band: Longs, kind: Small, model: Small, region: Small,
             deployment: Small, gap_us: Longs, profile: Profile) -> tuple[Longs, Longs]:  # fmt: skip
    """Tokens of each call, and those of them that are cached; 0 where the profile says nothing of them."""
    models, context, reuse = len(profile.classes.models), profile.context, profile.reuse
    if isinstance(context, Threads):
        assert isinstance(profile.depth, DepthTable), "the profile was read"
        score = scores_in_bands(numbers, first, band, profile.depth)
        tokens = draw_threads(numbers, first, offsets, band, score, kind, context)
        extracted, compacted = np.zeros((2, len(kind)), np.bool_)
    else:
        tokens, extracted, compacted = draw_context(numbers, first, offsets, kind, context)
    if reuse is None:
        return tokens, np.zeros(len(kind), np.int64)
    if isinstance(reuse, ReuseTables):
        return tokens, draw_cached_of_tables(numbers, first, offsets, kind, model, models, region, deployment, gap_us,
                                             tokens, reuse)
    return tokens, draw_cached(numbers, first, offsets, kind, model, models, region, deployment, gap_us, tokens,
                               extracted, compacted, reuse)


def durations(numbers: Numbers, first: int, offsets: Longs, loop_us: Longs, kind: Small,
              law: Durations | DurationTables | None) -> tuple[Longs, Longs]:
    """Engine time of each call in microseconds, and its output tokens."""
    if law is None:
        return np.zeros(len(kind), np.int64), np.zeros(len(kind), np.int64)
    if isinstance(law, DurationTables):
        return draw_durations_of_tables(numbers, first, offsets, loop_us, kind, law)
    return draw_durations(numbers, first, offsets, loop_us, law)
