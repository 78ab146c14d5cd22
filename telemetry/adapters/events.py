"""Event logs in CSV, JSON lines or Parquet: one record an event of a session, such as the execution of a tool.

What they report of tokens is cumulative: counters of the session that run on from event to event, as in the Code trace
of arXiv:2610.22863 (2.2). No record is a model call, so nothing that is defined over calls can be computed of them.
"""

from __future__ import annotations

from typing import Final

from telemetry.adapter import Adapter
from telemetry.exports import SUFFIXES, Export
from telemetry.schema import EVENTS
from telemetry.shapes import EVENT_SHAPE

__all__ = ["ADAPTER"]

_EXPORT: Final = Export("events", EVENT_SHAPE)

ADAPTER: Final = Adapter(
    name="events",
    description="event logs in CSV, JSON lines or Parquet, one record an event, with counters of the session",
    suffixes=SUFFIXES,
    read=_EXPORT.read,
    check=_EXPORT.check,
    pieces=_EXPORT.pieces,
    rows=EVENTS,
    repeats_calls=True,
    notes=(
        "This is an event log: its rows are tool executions and other events of a session, not model calls. Depth "
        "counts events. Whatever is defined over model calls (context by call, working sets, ceilings, gaps between "
        "calls, placement, replays) is not computed.",
        "Token counts are counters of a session. Shares and ratios are of the last value of each counter in each "
        "session, never of a sum over events.",
    ),
)
