"""What a metric over events is given: one window of an event log, and what the log knows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from metrics.core.clock import Window
from metrics.core.engine import Engine
from metrics.core.event_steps import derive_event_steps, derive_events
from metrics.core.ingest import Ingested
from metrics.core.log import Log, Settings

__all__ = ["NO_CALLS", "EventLog", "EventProfile"]

#: Why nothing that is defined over model calls has a value.
NO_CALLS = "the input is an event log: its rows are events of sessions, not model calls"


@dataclass(frozen=True)
class EventProfile:
    """Counts over the used events of the window: how many there are, how many know what.

    Attributes
    ----------
    kinds, tools : int
        Events that say what they are; the executions of tools among them.
    reused, volume : int
        Sessioned events with the counters of context and cached tokens; of context and output.
    """

    events: int
    sessioned: int
    model: int
    kinds: int
    tools: int
    sessioned_tools: int
    reused: int
    volume: int
    clipped: int
    first_us: int
    last_us: int


_PROFILE = """
    select count(*) as events, count(case when has_session then 1 end) as sessioned,
           count(case when model_no > 0 then 1 end) as model, count(tool_event) as kinds,
           count(case when tool_event then 1 end) as tools,
           count(case when tool_event and has_session then 1 end) as sessioned_tools,
           count(case when has_session and x is not null and c is not null then 1 end) as reused,
           count(case when has_session and x is not null and o is not null then 1 end) as volume,
           count(case when clipped then 1 end) as clipped, min(t_us) as first_us, max(t_us) as last_us
    from events"""

_NO_TOOL = ("no event is called the execution of a tool. Say under [source] in --config how the log calls it: "
            'tool_events = ["tool_use"]')
_REASONS = {
    "sessioned": "no event of the log has a session id",
    "model": "the log names no models",
    "kinds": "no event says what it is",
    "tools": _NO_TOOL,
    "sessioned_tools": "no execution of a tool has a session id",
    "reused": "no event of a session reports the counters of context and cached tokens together",
    "volume": "no event of a session reports the counters of context and output tokens together",
}


class EventLog(Log):
    """One window of an event log; `events` exists in `engine`, `event_steps` and `event_sessions` after `derive`."""

    relation: ClassVar[str] = "events"
    reasons: ClassVar[dict[str, str]] = _REASONS

    def __init__(self, engine: Engine, ingested: Ingested, window: Window, settings: Settings) -> None:
        super().__init__(engine, window, settings)
        self._ingested = ingested
        derive_events(engine, window)
        self.profile = EventProfile(**engine.row(_PROFILE))

    @property
    def empty(self) -> bool:
        """No event lies in the window."""
        return self.profile.events == 0

    def derive(self) -> None:
        """Make `event_steps` and `event_sessions`; before that only `events` can be read."""
        derive_event_steps(self.engine, self._ingested.identity, in_order=self._ingested.in_order)
