"""Every metric, in the order of the paper. A metric is a file in `metrics/` and a name here."""

from __future__ import annotations

from metrics import (
    calibration,
    ceiling,
    class_share,
    class_transition,
    context,
    depth,
    duty_cycle,
    excursion,
    fetch,
    gap,
    idle_cap,
    placement,
    prefix,
    reuse,
    served,
    shape,
    transition_reuse,
    turns,
    volume,
    working_set,
)
from metrics.core.metric import Metric

__all__ = ["METRICS"]

METRICS: tuple[Metric, ...] = tuple(module.METRIC for module in (
    shape, served, turns, depth, context, volume, class_share, class_transition, excursion, reuse,
    working_set, ceiling, gap, fetch, duty_cycle, placement, transition_reuse, calibration, prefix, idle_cap,
))
