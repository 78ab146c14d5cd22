"""The derived relations that every metric over events reads, of one window of an event log.

`events` is every used event. `event_steps` is every sessioned one beside its neighbours in the session,
`event_sessions` one row a session. All columns are integers.

Counters of a session run on from event to event. Where one falls, the session was resumed, or its events were logged
out of order, and the log does not say which: a new run of the session begins, and its totals are the sums of the
largest values of its runs (as rates of counters are computed elsewhere). Without a fall that is the last value.

Events of one session and one time are one instant. A counter's value at an instant is the largest known of its events.
It falls at an instant where that is below its last known value at an earlier one. The fall is explained if that value
is older than the latest earlier instant at which any counter fell, explained or not: all counters begin anew
together, and this one was not seen since. A new run begins at an instant with a fall that is not explained, and all
events of the instant belong to it.

An explained fall explains others, so that no instant has to wait for what was decided of those before it. Falls that
follow each other before every counter was seen again can so be taken as one: never more runs begin than there were.
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
    select {session} as session, t_us, tool_event, x, c, o, cached,
           case when tool_event then t_us - lag(t_us) over (
               partition by {session}, tool_event order by t_us, pos) end as tool_gap_us,
           {misplaced} as misplaced
    from {events} where events.has_session
    window w as (partition by {session} order by t_us, pos)"""

# Of each pair of counters the values that one event knows together.
_INSTANTS = """
    select session, t_us, max(x) as x, max(cached) as cached, max(o) as o,
           count(*) as events, count(case when tool_event then 1 end) as tools, count(tool_event) as kinds,
           max(case when c is not null then x end) as x_of_c, max(case when x is not null then c end) as c_of_x,
           max(case when o is not null then x end) as x_of_o, max(case when x is not null then o end) as o_of_x
    from event_steps group by session, t_us"""

_SINCE = "case when {name} < {last} over w then max(case when {name} is not null then t_us end) over earlier end"

# `since_us`: of the counters that fall at the instant, the latest time at which one was known before; null without.
_FALLS = """
    select *, greatest({since}) as since_us
    from ({instants}) as instants
    window w as (partition by session order by t_us),
           earlier as (partition by session order by t_us rows between unbounded preceding and 1 preceding)"""

# That time is never after the instant's own, so without an earlier fall the comparison holds.
_BEGINS = """
    select *, case when since_us >= coalesce(max(case when since_us is not null then t_us end) over (
                  partition by session order by t_us rows between unbounded preceding and 1 preceding), since_us)
                   then 1 else 0 end as begins
    from ({falls}) as falls"""

_SESSIONS = """
    select session, cast(sum(events) as bigint) as events, cast(sum(tools) as bigint) as tools,
           cast(sum(events - kinds) as bigint) as unknown, cast(sum(begins) as bigint) as falls,
           cast(sum(x_of_c) as bigint) as x_of_c, cast(sum(c_of_x) as bigint) as c_of_x,
           cast(sum(x_of_o) as bigint) as x_of_o, cast(sum(o_of_x) as bigint) as o_of_x
    from (
        select session, run, sum(events) as events, sum(tools) as tools, sum(kinds) as kinds, sum(begins) as begins,
               max(x_of_c) as x_of_c, max(c_of_x) as c_of_x, max(x_of_o) as x_of_o, max(o_of_x) as o_of_x
        from (
            select *, cast(sum(begins) over (
                partition by session order by t_us rows unbounded preceding) as bigint) as run
            from ({begins}) as begun
        ) as instants_of_runs group by session, run
    ) as runs group by session"""


def derive_events(engine: Engine, window: Window) -> None:
    """Make the view `events` for one window."""
    engine.view("events", _EVENTS.format(inside=window.condition()))


def derive_event_steps(engine: Engine, identity: Identity, *, in_order: bool) -> None:
    """Make `event_steps` and `event_sessions` from `events`; `in_order`: the whole input is ordered by time."""
    engine.create("event_steps", _STEPS.format(
        session=identity.key, events=identity.known("events"),
        misplaced="false" if in_order else "lag(pos) over w > pos"))
    since = ", ".join(_SINCE.format(name=name, last=engine.dialect.last_known(name)) for name in ("x", "cached", "o"))
    falls = _FALLS.format(since=since, instants=_INSTANTS)
    engine.create("event_sessions", _SESSIONS.format(begins=_BEGINS.format(falls=falls)))
