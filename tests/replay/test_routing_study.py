"""What a study of routing publishes."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from routing_fleets import Row, rows, stream_file

from metrics.core.metric import Findings
from replay.residency.budgets import parse_budgets
from replay.residency.cells import Plan, cells_here
from replay.residency.routing.fleet import fleet_of
from replay.residency.routing.options import DEFAULT_ROUTING, DIVISIONS, ROUTES, Routing
from replay.residency.routing.routed import routed_here
from replay.residency.routing.study import declared_routes, no_routes, routing_study, unroutable
from replay.residency.sampling import Sample
from replay.residency.study import study

PLAN = Plan("window", ("session+model",), ("lru", "fnu", "mrr"), parse_budgets(["50%", "700B"]), "last")
BETA = 100

# Session a goes from w to x and back; b stays on x; c comes once.
CALLS: list[Row] = [("a", "m", "w", 0, 4), ("b", "m", "x", 10, 2), ("a", "m", "x", 20, 5), ("b", "m", "x", 30, 3),
                    ("a", "m", "w", 40, 6), ("b", "m", "x", 50, 3), ("c", "m", "w", 59, 1)]


def published(calls: list[Row], plan: Plan = PLAN, routing: Routing = DEFAULT_ROUTING) -> Findings:
    file = stream_file(calls)
    found = routing_study(plan, routing, fleet_of(file), routed_here(plan, routing, file, BETA, threads=1), BETA)
    assert found.numbers.keys() == {number.key for number in declared_routes(plan, routing)}
    return found


def values(found: Findings, *keys: str) -> list[object]:
    return [found.numbers[f"replay.window.routing.{key}"].value for key in keys]


def test_floors_and_moves_worked_out_by_hand():
    found = published(CALLS)
    # As logged a has an object on w and one on x: 4 objects; sticky: 3. With 7 calls a load limit of 1.25 is, for w
    # (3 calls of 7) ceil(3.75) = 4, for x ceil(5) = 5: nobody is turned away.
    assert values(found, "deployments", "fixed_share") == [2, 0]
    floors = [found.numbers[f"replay.window.routing.{route}.floor"].value for route in ROUTES]
    assert floors == [4 / 7, 3 / 7, 3 / 7, 3 / 7, 3 / 7, 3 / 7]
    moves = [found.numbers[f"replay.window.routing.{route}.moved_call_share"].value for route in ROUTES]
    assert moves == [2 / 7, 0, 0, 2 / 7, 0, 2 / 7]
    # Migration takes 4 tokens to x, 5 back to w. Replication takes 4 to x, and to w only the 1 that a gained on x; then
    # x gets the 1 that a gained on w.
    assert values(found, "as_logged+migration.moved_bytes", "sticky_limit+migration.moved_bytes",
                  "as_logged+replication.moved_bytes") == [900, 0, 600]
    # Fair: 3 and 4 calls of the minute's 7. Sticky: a's 3 and c on w: 4 / 3; b's 3 on x: 3 / 4.
    assert values(found, "as_logged.load_max", "sticky.load_p50", "sticky.load_max") == [1, 4 / 3, 4 / 3]


def test_peaks_and_budgets_worked_out_by_hand():
    found = published(CALLS)
    # Objects leave with their last call. Sticky: w holds a: 4, 5, 6 (then gone), then c; x holds b: 3. Together 9.
    # As logged: w: 4, then a's 6; x: b's 2 and a's 5 (a's last call there: gone), then 3. Together 6 + 7.
    # Migration: w: 4, 0, 6; x: 2, then a's 5, which stays until a leaves: 5 + 3.
    assert values(found, "sticky.peak_bytes", "as_logged.peak_bytes", "as_logged+migration.peak_bytes") == [
        900, 1300, 1400]
    # K* by session and model: a 6 and b 3, 9 tokens: half are 4.5. Pooled, sticky, LRU: a 4; b pushes it out (6); a is
    # larger than the pool and pushes out everything, itself too, twice; so b finds nothing either, until the end.
    row, = (row for row in found.tables["replay_routing"].to_pylist()
            if (row["route"], row["memory"], row["policy"], row["budget_share"]) == ("sticky", "pooled", "lru", 0.5))
    assert (row["misses"], row["missed_tokens"], row["budget_bytes"], row["moved_bytes"]) == (7, 24, 450, 0)
    # 700 bytes are 7 tokens: w gets 7 * 6/9, 4.67 tokens, x 2.33. a fits once, with 4, and then no more; b fits with 2.
    # All miss but b's second call.
    row, = (row for row in found.tables["replay_routing"].to_pylist()
            if (row["route"], row["memory"], row["policy"], row["budget_bytes"]) == ("sticky", "peak", "lru", 700))
    assert (row["misses"], row["missed_tokens"], row["budget_share"], row["calls"]) == (5, 16, None, 7)


@pytest.mark.parametrize(("division", "parts"), [("peak", (6, 3)), ("calls", (4, 3)), ("equal", (1, 1))])
def test_divisions(division: str, parts: tuple[int, int]):
    # Sticky: a and c on w, b on x, each alone there: a call after the first finds its object iff the preceding context
    # fitted into the replica's part of 7 tokens.
    routing = Routing(("sticky",), division)
    plan = Plan("window", ("session",), ("lru",), parse_budgets(["700B"]), "last")
    room = [Fraction(7 * part, sum(parts)) for part in parts]
    hits = sum(context <= room[0] for context in (4, 5)) + sum(context <= room[1] for context in (2, 3))
    assert published(CALLS, plan, routing).numbers[f"replay.window.routing.sticky.{division}.lru.b700B"].value == (
        7 - hits) / 7


def test_the_table_has_every_cell():
    found = published(CALLS)
    seen = [(row["route"], row["memory"], row["policy"], row["budget_bytes"])
            for row in found.tables["replay_routing"].to_pylist()]
    assert len(seen) == len(set(seen)) == (3 * 2 + 3) * 2 * 2
    assert {(route, memory) for route, memory, _, _ in seen} == (
        {(route, "peak") for route in ROUTES} | {(route, "pooled") for route in ("as_logged", "sticky",
                                                                               "sticky_limit")})


@given(calls=rows(unknown=False).filter(len))
@settings(max_examples=25, deadline=None)
def test_sticky_meets_the_floor_by_session_and_model(calls: list[Row]):
    file, found = stream_file(calls), published(calls)
    sessions = study(PLAN, file, cells_here(PLAN, file, BETA, 1))
    floor = sessions.numbers["replay.window.session+model.floor"].value
    assert values(found, "sticky.floor", "as_logged+migration.floor", "sticky_limit+migration.floor",
                  "as_logged+replication.floor") == [floor] * 4
    # Pooled, a sticky session is one object.
    for policy in ("lru", "mrr"):
        assert values(found, f"sticky.pooled.{policy}.b50") == [
            sessions.numbers[f"replay.window.session+model.{policy}.b50"].value]
    assert values(found, "as_logged.floor")[0] >= floor  # type: ignore[operator]


@given(calls=rows().filter(len), division=st.sampled_from(sorted(DIVISIONS)),
       release=st.sampled_from(["last", "never"]))
@settings(max_examples=25, deadline=None)
def test_no_cell_is_below_its_floor(calls: list[Row], division: str, release: str):
    plan = Plan("window", ("session",), ("lru", "mrr"), parse_budgets(["20%", "100%"]), release)  # type: ignore[arg-type]
    for row in published(calls, plan, Routing(division=division)).tables["replay_routing"].to_pylist():
        assert 1 >= row["reconstruction_rate"] >= row["first_touch_floor"]
        assert row["calls"] == len(calls)


@given(calls=rows(unknown=False).filter(len))
@settings(max_examples=25, deadline=None)
def test_on_one_deployment_a_model_nothing_differs(calls: list[Row]):
    still: list[Row] = [(session, model, "w" if model == "m" else "x", second, tokens)
                        for session, model, _, second, tokens in calls]
    found = published(still)
    for key in ("floor", "moved_call_share", "load_max", "peak_bytes", "peak.lru.b50", "peak.mrr.b700B"):
        assert len(set(values(found, *(f"{route}.{key}" for route in ROUTES)))) == 1


def test_without_models_only_the_log_can_be_followed():
    found = published([(session, None, deployment, second, tokens)
                       for session, _, deployment, second, tokens in CALLS])
    why = "no call of the stream has both a known model and a known deployment"
    assert values(found, "as_logged.floor", "as_logged.load_max", "fixed_share") == [4 / 7, None, 1]
    missing = {key for key, number in found.numbers.items() if number.value is None}
    assert {found.numbers[key].why for key in missing} == {why}
    assert {key.split(".")[3] for key in missing} == set(ROUTES)
    assert {row["route"] for row in found.tables["replay_routing"].to_pylist()} == {"as_logged"}


def test_when_there_is_nothing_to_route():
    def fleet(*places: str | None):
        return fleet_of(stream_file([("a", "m", place, second, 1) for second, place in enumerate(places)]))

    assert unroutable(PLAN, fleet(None, None)) == "no call of the stream has a known deployment"
    assert "on the same one" in str(unroutable(PLAN, fleet("w", None, "w")))
    assert unroutable(PLAN, fleet("w", "x")) is None
    sampled = Plan("window", ("session",), ("lru",), parse_budgets(["50%"]), "last", Sample("0.5"))
    assert "sample" in str(unroutable(sampled, fleet("w", "x")))
    nothing = no_routes(PLAN, DEFAULT_ROUTING, "because")
    assert {number.why for number in nothing.numbers.values()} == {"because"}
    assert nothing.numbers.keys() == {number.key for number in declared_routes(PLAN, DEFAULT_ROUTING)}


def test_no_route_asked_for_declares_nothing():
    assert declared_routes(PLAN, Routing(())) == ()


def test_the_other_release_mode_has_keys_of_its_own():
    plan = Plan("window", ("session",), ("lru",), parse_budgets(["50%"]), "never")
    found = published(CALLS, plan, Routing(("sticky",)))
    assert found.numbers["replay.window.routing.sticky.never.floor"].value == 3 / 7


def test_threads_change_nothing():
    file = stream_file([(session, model, place, start + 60 * turn, tokens) for turn in range(20)
                        for session, model, place, start, tokens in CALLS])
    assert routed_here(PLAN, DEFAULT_ROUTING, file, BETA, 1) == routed_here(PLAN, DEFAULT_ROUTING, file, BETA, 3)
