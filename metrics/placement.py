"""Do sessions stay where they are? (paper 4.4.1)"""

from __future__ import annotations

from metrics.core.engine import scratch
from metrics.core.metric import Findings, Metric, Number, ratio
from metrics.core.steps import PLACE, REGION, SAME_DEPLOYMENT
from metrics.core.trace import Trace

# Where a session has been with each model. A call on the same deployment as its predecessor, to the
# same model, adds nothing to that.
_VISITS = """
    select session, model_no, {place} as place_no, {region} as region_no
    from (select distinct session, model_no, seat from steps where transition <> {same}) as seats"""
_STAYS = """
    select session, min(region_known) as region_known, min(one_region) as one_region,
           min(place_known) as place_known, min(one_place) as one_place
    from (
        select session, model_no,
               min(case when region_no is null then 0 else 1 end) as region_known,
               case when min(region_no) = max(region_no) then 1 else 0 end as one_region,
               min(case when place_no is null then 0 else 1 end) as place_known,
               case when min(place_no) = max(place_no) then 1 else 0 end as one_place
        from visits group by session, model_no
    ) as by_model group by session"""
_SUBSETS = {
    "sr": ("region", "region_known = 1", "one_region = 1"),
    "sd": ("deployment", "place_known = 1", "one_place = 1"),
}
_DISTINCT = """
    select count(*) as pairs, count(distinct session) as sessions
    from (select distinct session, {column} from visits where {column} is not null) as seen"""


def compute(trace: Trace, found: Findings) -> None:
    with scratch(trace.engine, "visits", _VISITS.format(same=SAME_DEPLOYMENT, place=PLACE, region=REGION)):
        with scratch(trace.engine, "stays", _STAYS):
            for name, (need, known, stays) in _SUBSETS.items():
                _subset(trace, found, name, need, known, stays)
        for column, need, key in (("place_no", "deployment", "deployments"), ("region_no", "region", "regions")):
            row = trace.row(_DISTINCT.format(column=column))
            found.set(f"placement.{key}_per_session", ratio(row["pairs"], row["sessions"]), row["sessions"],
                      why=trace.lacks(need) or "")


def _subset(trace: Trace, found: Findings, name: str, need: str, known: str, stays: str) -> None:
    keys = (f"placement.{name}_share", f"placement.{name}_unknown", f"placement.{name}.depth_p50",
            f"placement.{name}.reuse")
    why = trace.lacks(need)
    if why is not None:
        found.missing(why, *keys)
        return
    row = trace.row(f"select count(*) as sessions, count(case when {known} then 1 end) as known, "
                    f"count(case when {known} and {stays} then 1 end) as staying from stays")
    found.set(keys[0], ratio(row["staying"], row["known"]), row["known"],
              why=f"every session has a call without a {need}")
    found.set(keys[1], row["sessions"] - row["known"], row["sessions"])
    members = (f"(select sessions.* from sessions join stays on sessions.session = stays.session "
               f"where {known} and {stays})")
    at = trace.quantiles(members, "calls", "0.5")
    found.set(keys[2], at["0.5"] if at else None, row["staying"], why="no session stays")
    sums = trace.row(f"select cast(sum(sum_c) as bigint) as c, cast(sum(sum_x_reported) as bigint) as x "
                     f"from {members} as m")
    found.set(keys[3], ratio(sums["c"], sums["x"]), row["staying"],
              why=trace.lacks("cached") or "no staying session reports cached tokens")


def _numbers(name: str, where: str) -> tuple[Number, ...]:
    staying = f"sessions in which every model stays {where}"
    return (
        Number(f"placement.{name}_share", "share", f"{staying} / sessions whose placement is known throughout"),
        Number(f"placement.{name}_unknown", "sessions", "sessions left out: a call's placement is unknown",
               "sessions: calls with a session id"),
        Number(f"placement.{name}.depth_p50", "calls", "median calls per session, nearest rank", staying),
        Number(f"placement.{name}.reuse", "share", "sum of cached tokens / sum of context tokens", staying),
    )


METRIC = Metric(
    name="placement",
    question="Does a session stay where it is?",
    population="sessions all of whose calls have a known placement",
    source="paper 4.4.1",
    needs=("sessioned",),
    numbers=(
        *_numbers("sr", "in one region"),
        *_numbers("sd", "on one deployment"),
        Number("placement.deployments_per_session", "deployments", "mean of distinct known deployments, each a region "
               "and a name", "sessions with a known deployment"),
        Number("placement.regions_per_session", "regions", "mean of distinct known regions",
               "sessions with a known region"),
    ),
    compute=compute,
)
