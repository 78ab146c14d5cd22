"""Every metric, in the order of the paper. A metric is a file in `metrics/` and a name here.

What the rows of a log are decides which are computed: model calls have `METRICS`, events `EVENT_METRICS`.
"""

from __future__ import annotations

from metrics import (
    calibration,
    ceiling,
    class_share,
    class_transition,
    context,
    depth,
    duty_cycle,
    event_depth,
    event_shape,
    event_tokens,
    event_tools,
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
from metrics.core.event_log import EventLog
from metrics.core.metric import Metric
from metrics.core.trace import Trace

__all__ = ["EVENT_METRICS", "METRICS"]

METRICS: tuple[Metric[Trace], ...] = tuple(module.METRIC for module in (
    shape, served, turns, depth, context, volume, class_share, class_transition, excursion, reuse,
    working_set, ceiling, gap, fetch, duty_cycle, placement, transition_reuse, calibration, prefix, idle_cap,
))

EVENT_METRICS: tuple[Metric[EventLog], ...] = tuple(module.METRIC for module in (
    event_shape, event_depth, event_tools, event_tokens,
))
