"""The derived relations that every metric reads: `calls`, `steps`, `sessions`, of one window.

`calls` is every used call, and `loads` sums them up by model and place. `steps` is every sessioned
call with its neighbours in the session: the only expensive pass, one sort by session and time.
`sessions` is one row a session. All columns are integers.
"""

from __future__ import annotations

from metrics.core.clock import Window
from metrics.core.engine import Engine
from metrics.core.identity import Identity
from metrics.core.names import NUMBER_LIMIT

__all__ = ["PLACE", "REGION", "SAME_DEPLOYMENT", "TRANSITION", "TRANSITIONS", "derive_calls", "derive_steps"]

#: Codes of `steps.transition`, in order of precedence.
TRANSITIONS = {
    0: "first_call",
    1: "unknown_model",
    2: "model_switch",
    3: "same_deployment",
    4: "cross_deployment",
    5: "cross_region",
    6: "unknown",
}
SAME_DEPLOYMENT = 3

# A call's seat is where it was served, in one integer: region * NUMBER_LIMIT + deployment. A deployment is
# known by its region and its name; where either is unknown, the lower part is 0, and the upper is the region,
# if that is known. Where a whole input names no region, the name alone is the identity, as in a fleet of one
# region; the region stays unknown.
_SEAT = "{region_no} * cast({limit} as bigint) + deployment_no"
_CALLS = """
    select pos, session_id, t_us, context_tokens as x,
           case when cached_tokens > context_tokens then context_tokens else cached_tokens end as c,
           output_tokens as o, cached_tokens > context_tokens as clipped,
           turn_id, user_initiated, duration_us, failed, prefix_keys, block_size, has_session, has_turn, has_prefix,
           coalesce(model_no, 0) as model_no, region_no, deployment_no,
           coalesce({seat}, coalesce(region_no, 0) * cast({limit} as bigint)) as seat
    from usable where {inside}"""

_LOADS = """
    select *, {seat} as place_no from (
        select model_no, region_no, deployment_no, has_session as sessioned, count(*) as calls,
               cast(sum(x) as bigint) as x, count(c) as cached, cast(sum(x - c) as bigint) as uncached,
               count(o) as output, cast(sum(case when o is not null then x end) as bigint) as x_with_output,
               cast(sum(o) as bigint) as o,
               count(duration_us) as durations,
               count(case when block_size is not null and has_prefix then 1 end) as prefixes,
               count(case when user_initiated is not null or has_turn then 1 end) as turns,
               count(case when user_initiated is null and has_turn then 1 end) as turn_ids_decide,
               count(case when clipped then 1 end) as clipped, count(case when failed then 1 end) as failed,
               count(case when x = 0 then 1 end) as zero_context,
               min(t_us) as first_us, max(t_us) as last_us
        from calls group by model_no, region_no, deployment_no, has_session
    ) as sums"""

_DEPLOYMENT, _PREVIOUS_DEPLOYMENT = (f"({seat} & {NUMBER_LIMIT - 1})" for seat in ("seat", "previous_seat"))

#: SQL for the place (region and deployment) and the region of a seat; null where unknown.
PLACE = f"case when {_DEPLOYMENT} > 0 then seat end"
REGION = f"case when seat >= {NUMBER_LIMIT} then seat - {_DEPLOYMENT} end"

#: SQL for the code of the move from a call's predecessor (the `previous_*` columns) to the call.
TRANSITION = f"""cast(case
               when previous_model_no is null then 0
               when model_no = 0 or previous_model_no = 0 then 1
               when model_no <> previous_model_no then 2
               when seat = previous_seat and {_DEPLOYMENT} > 0 then 3
               when seat >= {NUMBER_LIMIT} and previous_seat >= {NUMBER_LIMIT}
                    and seat - {_DEPLOYMENT} <> previous_seat - {_PREVIOUS_DEPLOYMENT} then 5
               when {_DEPLOYMENT} > 0 and {_PREVIOUS_DEPLOYMENT} > 0 then 4
               else 6 end as smallint)"""

# A call opens a turn iff user_initiated says so, else iff its turn id is new in its session.
_OPENS = {
    "flag": "user_initiated",
    "turn": """coalesce(user_initiated, case when turn_id is not null then
               row_number() over (partition by {session}, turn_id order by t_us, pos) = 1 end)""",
}

# Model and seat in one integer, which is carried to the next call and stored.
_SEAT_BITS = 2 * (NUMBER_LIMIT.bit_length() - 1)
_SPOT = f"model_no * cast({1 << _SEAT_BITS} as bigint) + seat"

# What is cheap to work out from `ordered` is not stored.
_STEPS = f"""
    select session, call_index, pos, t_us, x, c, o, duration_us, model_no, seat, opens, gap_us, idle_us,
           previous_x, previous_model_no, previous_seat, misplaced,
           case when x > 0 then {{reuse}} end as r_ppb, {TRANSITION} as transition
    from (
        select *, cast(spot >> {_SEAT_BITS} as integer) as model_no, spot & {(1 << _SEAT_BITS) - 1} as seat,
               cast(previous_spot >> {_SEAT_BITS} as integer) as previous_model_no,
               previous_spot & {(1 << _SEAT_BITS) - 1} as previous_seat
        from ordered
    ) as apart"""
_ORDERED = """
    select session, call_index, pos, t_us, x, c, o, duration_us, spot, opens,
           t_us - previous_us as gap_us,
           case when previous_us is null or previous_duration_us is null then null
                when busy_until_us > t_us then 0 else t_us - busy_until_us end as idle_us,
           previous_x, previous_spot, misplaced
    from (
        select {session} as session, cast(row_number() over w as integer) as call_index, pos, t_us, x, c, o,
               duration_us, {spot} as spot, {opens} as opens,
               lag(t_us) over w as previous_us,
               lag(x) over w as previous_x,
               lag({spot}) over w as previous_spot,
               {lasted} as previous_duration_us,
               {misplaced} as misplaced,
               {busy} as busy_until_us
        from {calls} where calls.has_session
        window w as (partition by {session} order by t_us, pos)
    ) as neighbours"""

# The latest end of the preceding calls; the gap is idle from there on.
_BUSY = """max(t_us + duration_us) over (
                       partition by {session} order by t_us, pos
                       rows between unbounded preceding and 1 preceding)"""
# What every call has needs no look at the predecessor.
_LASTED = {"none": "cast(null as bigint)", "some": "lag(duration_us) over w", "all": "0"}

_SESSIONS = """
    select session, cast(count(*) as bigint) as calls, min(t_us) as first_us, max(t_us) as last_us,
           max(x) as peak_x,
           cast(sum(x) as bigint) as sum_x,
           cast(sum(case when c is not null then x else 0 end) as bigint) as sum_x_reported,
           cast(sum(c) as bigint) as sum_c,
           cast(sum(case when x < previous_x then 1 else 0 end) as bigint) as reductions,
           cast(sum(duration_us) as bigint) as sum_duration_us,
           cast(count(*) - count(duration_us) as bigint) as durations_missing,
           cast(sum(gap_us - idle_us) as bigint) as busy_us
    from steps group by session"""


def derive_calls(engine: Engine, window: Window) -> None:
    """Make the view `calls` for one window, and `loads`."""
    named = engine.row("select count(*) as n from regions")["n"] > 0
    seat = _SEAT.format(region_no="region_no" if named else "0", limit=NUMBER_LIMIT)
    engine.view("calls", _CALLS.format(inside=window.condition(), limit=NUMBER_LIMIT, seat=seat))
    engine.create("loads", _LOADS.format(seat=seat))


def derive_steps(engine: Engine, identity: Identity, *, turn_ids_decide: bool, durations: str, in_order: bool) -> None:
    """Make `steps` and `sessions` from `calls`.

    Parameters
    ----------
    identity : Identity
        How sessions become integers.
    turn_ids_decide : bool
        Some call has a turn id but no user_initiated flag, so that turns must be ordered.
    durations : str
        Which sessioned calls have a duration: `none`, `some` or `all`.
    in_order : bool
        The whole input is ordered by time.
    """
    engine.create("ordered", _ORDERED.format(
        session=identity.key, calls=identity.known("calls"), spot=_SPOT,
        opens=_OPENS["turn" if turn_ids_decide else "flag"].format(session=identity.key),
        lasted=_LASTED[durations],
        misplaced="false" if in_order else "lag(pos) over w > pos",
        busy="cast(null as bigint)" if durations == "none" else _BUSY.format(session=identity.key),
    ))
    engine.view("steps", _STEPS.format(reuse=engine.dialect.div("c * 1000000000", "x")))
    engine.create("sessions", _SESSIONS)
