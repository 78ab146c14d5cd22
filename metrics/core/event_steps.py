"""The derived relations that every metric over events reads, of one window of an event log.

`events` is every used event. `event_steps` is every sessioned one beside its neighbours in the session,
`event_sessions` one row a session. All columns are integers.

Counters of a session run on from event to event. Where one falls below its last known value, the session was resumed,
or its events were logged out of order, and the log does not say which: a new run of the session begins there, and its
totals are the sums of the last values of its runs (as rates of counters are computed elsewhere). Without a fall that
is the last value. Within a run a counter does not fall, so its last value is its largest. No session is resumed
within one instant: events of equal time are taken in the order of their counters.
"""

from __future__ import annotations

from metrics.core.clock import Window
from metrics.core.engine import Engine
from metrics.core.identity import Identity

__all__ = ["derive_event_steps", "derive_events"]

_EVENTS = """
    select pos, session_id, has_session, t_us, tool_event, coalesce(model_no, 0) as model_no,
           cumulative_context_tokens as x,
           case when cumulative_cached_tokens > cumulative_context_tokens then cumulative_context_tokens
                else cumulative_cached_tokens end as c,
           cumulative_output_tokens as o, cumulative_cached_tokens as cached,
           cumulative_cached_tokens > cumulative_context_tokens as clipped
    from usable where {inside}"""

# A tool's gap leads to the tool event before it, whatever lies between them.
_STEPS = """
    select session, pos, t_us, tool_event, x, c, o, tool_gap_us, misplaced, fell,
           cast(sum(fell) over (partition by session order by {counted} rows unbounded preceding) as bigint) as run
    from (
        select {session} as session, pos, t_us, tool_event, x, c, o, cached,
               case when tool_event then t_us - lag(t_us) over (
                   partition by {session}, tool_event order by t_us, pos) end as tool_gap_us,
               {misplaced} as misplaced,
               case when x < {last_x} over counters or cached < {last_cached} over counters
                         or o < {last_o} over counters then 1 else 0 end as fell
        from {events} where events.has_session
        window w as (partition by {session} order by t_us, pos),
               counters as (partition by {session} order by {counted})
    ) as neighbours"""

_COUNTED = "t_us, coalesce(x, -1), coalesce(cached, -1), coalesce(o, -1), pos"

# Of each pair of counters the last values that are known together.
_SESSIONS = """
    select session, cast(sum(events) as bigint) as events, cast(sum(tools) as bigint) as tools,
           cast(sum(events - kinds) as bigint) as unknown, cast(sum(falls) as bigint) as falls,
           cast(sum(x_of_c) as bigint) as x_of_c, cast(sum(c_of_x) as bigint) as c_of_x,
           cast(sum(x_of_o) as bigint) as x_of_o, cast(sum(o_of_x) as bigint) as o_of_x
    from (
        select session, run, count(*) as events, count(case when tool_event then 1 end) as tools,
               count(tool_event) as kinds, sum(fell) as falls,
               max(case when c is not null then x end) as x_of_c, max(case when x is not null then c end) as c_of_x,
               max(case when o is not null then x end) as x_of_o, max(case when x is not null then o end) as o_of_x
        from event_steps group by session, run
    ) as runs group by session"""


def derive_events(engine: Engine, window: Window) -> None:
    """Make the view `events` for one window."""
    engine.view("events", _EVENTS.format(inside=window.condition()))


def derive_event_steps(engine: Engine, identity: Identity, *, in_order: bool) -> None:
    """Make `event_steps` and `event_sessions` from `events`; `in_order`: the whole input is ordered by time."""
    last = {f"last_{name}": engine.dialect.last_known(name) for name in ("x", "cached", "o")}
    engine.create("event_steps", _STEPS.format(
        session=identity.key, counted=_COUNTED, events=identity.known("events"),
        misplaced="false" if in_order else "lag(pos) over w > pos", **last))
    engine.create("event_sessions", _SESSIONS)
