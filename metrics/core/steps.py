"""The derived tables that every metric reads: `calls`, `steps`, `sessions`, of one window.

`calls` is every used call. `loads` sums them up by model and place. `steps` is every sessioned call with its neighbours in the session: the
only expensive pass, one sort by session and time. `sessions` is one row a session. All columns
are integers: sessions are numbered before the sort, since sorting texts costs twice as much, and no
identifier goes further.
"""

from __future__ import annotations

from metrics.core.clock import Window
from metrics.core.engine import Engine

__all__ = ["TRANSITION", "TRANSITIONS", "derive_calls", "derive_steps"]

#: Codes of `steps.transition`, in order of precedence (DEFINITIONS 2, transition_reuse).
TRANSITIONS = {
    0: "first_call",
    1: "unknown_model",
    2: "model_switch",
    3: "same_deployment",
    4: "cross_deployment",
    5: "cross_region",
    6: "unknown",
}

_CALLS = """
    select usable.pos as pos, session_id, t_us, context_tokens as x,
           case when cached_tokens > context_tokens then context_tokens else cached_tokens end as c,
           output_tokens as o, cached_tokens > context_tokens as clipped,
           turn_id, user_initiated, duration_us, failed, prefix_keys, block_size,
           models.model_no as model_no, places.region_no as region_no, places.place_no as place_no
    from usable
    join models on usable.model is not distinct from models.model
    join places on usable.region is not distinct from places.region
               and usable.deployment is not distinct from places.deployment
    where {inside}"""

_LOADS = """
    select model_no, region_no, place_no, session_id is not null as sessioned, count(*) as calls,
           cast(sum(x) as bigint) as x, count(c) as cached, cast(sum(x - c) as bigint) as uncached,
           count(o) as output, cast(sum(case when o is not null then x end) as bigint) as x_with_output,
           cast(sum(o) as bigint) as o,
           count(duration_us) as durations, count(block_size) as prefixes,
           count(case when user_initiated is not null or turn_id is not null then 1 end) as turns,
           count(case when user_initiated is null and turn_id is not null then 1 end) as turn_ids_decide,
           count(case when clipped then 1 end) as clipped, count(case when failed then 1 end) as failed,
           count(case when x = 0 then 1 end) as zero_context,
           min(t_us) as first_us, max(t_us) as last_us
    from calls group by model_no, region_no, place_no, session_id is not null"""

#: SQL for the code of the move from a call's predecessor (the `previous_*` columns) to the call.
TRANSITION = """cast(case
               when previous_us is null then 0
               when model_no = 0 or previous_model_no = 0 then 1
               when model_no <> previous_model_no then 2
               when place_no = previous_place_no then 3
               when region_no <> previous_region_no then 5
               when place_no <> previous_place_no then 4
               else 6 end as smallint)"""

# A call opens a turn iff user_initiated says so, else iff its turn id is new in its session.
_OPENS = {
    "flag": "user_initiated",
    "turn": """coalesce(user_initiated, case when turn_id is not null then
               row_number() over (partition by session, turn_id order by t_us, pos) = 1 end)""",
}

# The neighbours' model, region, deployment and "duration known" travel as one integer: a window
# function costs about as much as a pass over a column.
_MODEL, _REGION, _PLACE = 1, 1 << 20, 1 << 40
_TAG = f"""model_no * {_MODEL}
               + (coalesce(region_no, -1) + 1) * cast({_REGION} as bigint)
               + (coalesce(place_no, 0) + case when duration_us is null then 0 else {1 << 22} end)
                 * cast({_PLACE} as bigint)"""

_STEPS = """
    select session, call_index, pos, t_us, x, c, o, duration_us, opens,
           model_no, region_no, place_no,
           case when x > 0 then {reuse} end as r_ppb,
           t_us - previous_us as gap_us,
           case when {previous_timed} then busy_until_us - previous_us end as busy_us,
           previous_x, previous_model_no, {next_model} as next_model_no, misplaced,
           {transition} as transition
    from (
        select *, {previous_model} as previous_model_no, {previous_region} as previous_region_no,
               {previous_place} as previous_place_no, {model} as model_no, {region} as region_no, {place} as place_no
        from (
            select session, cast(row_number() over w as integer) as call_index, pos, t_us, x, c, o, duration_us, {opens} as opens, tag,
                   lag(t_us) over w as previous_us,
                   lag(x) over w as previous_x,
                   lag(tag) over w as previous_tag,
                   lead(tag) over w as next_tag,
                   lag(pos) over w > pos as misplaced,
                   {busy} as busy_until_us
            from (
                select session, pos, t_us, x, c, o, duration_us, turn_id, user_initiated, {tag} as tag
                from calls join session_numbers on calls.session_id = session_numbers.session_id
            ) as tagged
            window w as (partition by session order by t_us, pos)
        ) as neighbours
    ) as named"""

# When the engine falls idle after the preceding calls.
_BUSY = """max(t_us + duration_us) over (
                       partition by session order by t_us, pos
                       rows between unbounded preceding and 1 preceding)"""

_SESSIONS = """
    select session, cast(count(*) as bigint) as calls, min(t_us) as first_us, max(t_us) as last_us,
           max(x) as peak_x,
           cast(sum(x) as bigint) as sum_x,
           cast(sum(case when c is not null then x else 0 end) as bigint) as sum_x_reported,
           cast(sum(c) as bigint) as sum_c,
           cast(sum(case when x < previous_x then 1 else 0 end) as bigint) as reductions,
           cast(sum(duration_us) as bigint) as sum_duration_us,
           cast(count(*) - count(duration_us) as bigint) as durations_missing,
           cast(sum(case when busy_us < gap_us then busy_us else gap_us end) as bigint) as busy_us
    from steps group by session"""


def derive_calls(engine: Engine, window: Window) -> None:
    """Make the view `calls` for one window, and `loads`."""
    engine.view("calls", _CALLS.format(inside=window.condition()))
    engine.create("loads", _LOADS)


def derive_steps(engine: Engine, *, turn_ids_decide: bool, durations: bool) -> None:
    """Make `steps` and `sessions` from `calls`.

    Parameters
    ----------
    turn_ids_decide : bool
        Some call has a turn id but no user_initiated flag, so that turns must be ordered.
    durations : bool
        Some call has a duration.
    """
    div = engine.dialect.div
    engine.create("steps", _STEPS.format(
        tag=_TAG,
        reuse=div("c * 1000000000", "x"),
        transition=TRANSITION,
        opens=_OPENS["turn" if turn_ids_decide else "flag"],
        busy=_BUSY if durations else "cast(null as bigint)",
        previous_timed=f"{div('previous_tag', _PLACE)} >= {1 << 22}",
        **_parts(engine, "tag", ""),
        **_parts(engine, "previous_tag", "previous_"),
        next_model=_parts(engine, "next_tag", "")["model"],
    ))
    engine.create("sessions", _SESSIONS)


def _parts(engine: Engine, tag: str, prefix: str) -> dict[str, str]:
    """SQL that takes a tag apart again: what was null is null."""
    div = engine.dialect.div
    region, place = f"({div(tag, _REGION)} % {1 << 20})", f"({div(tag, _PLACE)} % {1 << 22})"
    return {
        f"{prefix}model": f"cast({tag} % {_REGION} as integer)",
        f"{prefix}region": f"cast(case when {region} > 0 then {region} - 1 end as integer)",
        f"{prefix}place": f"cast(case when {place} > 0 then {place} end as integer)",
    }
