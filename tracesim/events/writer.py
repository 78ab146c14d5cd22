"""Events as Parquet with the columns of an event log."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa

from tracesim.events.fleet import Events
from tracesim.events.profile import EventProfile
from tracesim.writer import LABEL, PieceWriter, labels_of, session_ids

__all__ = ["SCHEMA", "EventWriter", "event_table"]

SCHEMA = pa.schema([
    pa.field("session_id", LABEL),
    pa.field("timestamp", pa.timestamp("us", tz="UTC"), nullable=False),
    pa.field("event", LABEL),
    pa.field("tool", LABEL),
    pa.field("model", LABEL),
    pa.field("cumulative_context_tokens", pa.int64()),
    pa.field("cumulative_cached_tokens", pa.int64()),
    pa.field("cumulative_output_tokens", pa.int64()),
])


def event_table(events: Events, profile: EventProfile) -> pa.Table:
    """Events under the names of the profile; one that is logged twice stands there twice."""
    rows = np.repeat(np.arange(len(events)), 1 + events.twice.astype(np.int64))
    events, kinds = events.take(rows), profile.kinds
    counters = {"context": events.context, "cached": events.cached, "output": events.output}
    return pa.table({
        "session_id": session_ids(events.session, np.zeros(len(events), np.bool_)),
        "timestamp": pa.array(events.t_us).cast(pa.timestamp("us", tz="UTC")),
        "event": labels_of(events.kind, [kinds.opens, kinds.closes, *kinds.others.names]),
        "tool": labels_of(events.tool, kinds.tools.names, events.tool < 0),
        "model": labels_of(events.model, profile.models.names),
        **{f"cumulative_{name}_tokens": pa.array(values, mask=~events.known) for name, values in counters.items()},
    }, schema=SCHEMA)


class EventWriter(PieceWriter[Events]):
    """Writes pieces of an event log into one file; as `TraceWriter`."""

    def __init__(self, path: Path, profile: EventProfile, about: Mapping[str, str]) -> None:
        super().__init__(path, SCHEMA, partial(event_table, profile=profile), Events.joined, about)
