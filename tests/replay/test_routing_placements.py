"""Where each route serves each call, and how even that is."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from routing_fleets import Row, rows, stream_file

from replay.residency.routing.fleet import MINUTE_US, Fleet, fleet_of
from replay.residency.routing.load import Load, load_of
from replay.residency.routing.options import ROUTES, find_routes, parse_load_limit
from replay.residency.routing.placements import limited_reference, place, replicas_of, sticky_reference
from telemetry.errors import UsageError

LIMITS = st.integers(100, 300).map(lambda percent: Fraction(percent, 100))

# Servers by the log: m on w (4 calls), m on x (2), n on x (1). The last two calls are fixed.
CALLS: list[Row] = [
    #  session, model, deployment, second, tokens
    ("a", "m", "w", 0, 10),
    ("b", "m", "w", 1, 20),
    ("a", "m", "x", 2, 11),
    ("a", "n", "x", 3, 5),
    ("b", "m", "w", 61, 21),
    ("b", "m", "x", 62, 22),
    ("c", "m", "w", 63, 7),
    ("c", "m", None, 64, 8),
    ("a", None, "w", 65, 12),
]


def servers(fleet: Fleet, placement: str, limit: str = "1.25") -> list[int]:
    return place(fleet, placement, Fraction(limit)).tolist()


def test_what_a_router_sees():
    fleet = fleet_of(stream_file(CALLS))
    # Owners: a with m, b with m, a with n, c with m; and the fixed calls are objects of their own.
    assert fleet.owner.tolist() == [0, 1, 0, 2, 1, 1, 3, 4, 5]
    assert fleet.server.tolist() == [0, 0, 1, 2, 0, 1, 0, -1, -1]
    assert fleet.replica.tolist() == [0, 0, 1, 1, 0, 1, 0, 2, 0]
    assert (fleet.replicas, fleet.deployments, fleet.fixed) == (3, 2, 2)
    assert (fleet.first_server.tolist(), fleet.model_of.tolist(), fleet.replica_of.tolist()) == (
        [0, 2, 3], [0, 0, 1], [0, 1, 1])
    assert fleet.calls_of.tolist() == [4, 2, 1]


def test_sticky_stays_on_the_first_deployment_of_session_and_model():
    fleet = fleet_of(stream_file(CALLS))
    assert servers(fleet, "as_logged") == [0, 0, 1, 2, 0, 1, 0, -1, -1]
    assert servers(fleet, "sticky") == [0, 0, 0, 2, 0, 0, 0, -1, -1]
    # An unknown deployment is the last replica; an unknown model stays on its deployment.
    assert replicas_of(fleet, place(fleet, "sticky", Fraction(1))).tolist() == [0, 0, 0, 1, 0, 0, 0, 2, 0]


def test_a_full_deployment_sends_the_session_on_for_good():
    # In both minutes 3 calls go to m. Fair shares: w 3 * 4/6 = 2, x 3 * 2/6 = 1. With f = 1 these are the limits.
    # Minute 0: a to w, b to w; a's second call finds w full and moves to x. Its call to n is another matter.
    # Minute 1: b to w twice, and c finds w full.
    fleet = fleet_of(stream_file(CALLS))
    assert servers(fleet, "sticky_limit", "1") == [0, 0, 1, 2, 0, 0, 1, -1, -1]
    # With f = 1.25 w takes ceil(2.5) = 3.
    assert servers(fleet, "sticky_limit") == servers(fleet, "sticky")


def test_who_moved_stays_there_when_there_is_room_again():
    # Fair shares of w and x are 4/6 and 2/6 of the calls of a minute: of 3 calls 2 and 1, of 1 call, rounded up, 1.
    calls: list[Row] = [("a", "m", "w", 0, 1), ("b", "m", "w", 1, 1), ("c", "m", "w", 2, 1), ("c", "m", "w", 70, 1),
                        ("d", "m", "x", 130, 1), ("d", "m", "x", 190, 1)]
    assert servers(fleet_of(stream_file(calls)), "sticky_limit", "1") == [0, 0, 1, 1, 1, 1]


def test_the_ring_of_a_model_closes():
    # w, x and y are seen in this order, with 1, 1 and 2 calls; all three calls of minute 1 are of sessions at home on
    # y, which takes ceil(3 * 2/4) = 2: the third goes on to w, the first of the ring.
    calls: list[Row] = [("w", "m", "w", 0, 1), ("x", "m", "x", 60, 1), ("y", "m", "y", 120, 1), ("z", "m", "y", 121, 1)]
    again: list[Row] = [("y", "m", "y", 180, 1), ("z", "m", "y", 181, 1), ("y", "m", "y", 182, 1)]
    # With them y has 5 of 7 calls: ceil(3 * 5/7) = 3 would fit, so w and x get as many elsewhere in time.
    more: list[Row] = [(f"{name}{n}", "m", name, 240 + 60 * n, 1) for n in range(4) for name in "wx"]
    found = servers(fleet_of(stream_file([*calls, *again, *more])), "sticky_limit", "1")
    # w 5, x 5, y 5 of 15 calls: one each of three.
    assert found[4:7] == [2, 0, 1]


@given(calls=rows(), limit=LIMITS)
@settings(max_examples=100, deadline=None)
def test_kernels_are_their_references(calls: list[Row], limit: Fraction):
    fleet = fleet_of(stream_file(calls))
    assert place(fleet, "sticky", limit).tolist() == sticky_reference(fleet)
    assert place(fleet, "sticky_limit", limit).tolist() == limited_reference(fleet, limit)


def test_kernels_are_their_references_on_a_longer_stream():
    random = np.random.default_rng(5)
    homes = random.integers(0, 12, 400)
    sessions = random.integers(0, 400, 8000)
    calls: list[Row] = [
        (f"s{session}", "mn"[session % 2], chr(97 + (homes[session] if random.random() < 0.8 else place % 12)),
         place // 20, 1) for place, session in enumerate(sessions)]
    fleet = fleet_of(stream_file(calls))
    for limit in (Fraction(1), Fraction(5, 4)):
        found = place(fleet, "sticky_limit", limit).tolist()
        assert found == limited_reference(fleet, limit)
        assert found != sticky_reference(fleet)


@given(calls=rows(), limit=LIMITS)
@settings(max_examples=100, deadline=None)
def test_the_limit_holds_in_every_minute(calls: list[Row], limit: Fraction):
    fleet = fleet_of(stream_file(calls))
    placed = place(fleet, "sticky_limit", limit)
    minutes = (fleet.time_us // MINUTE_US).tolist()
    model = [int(fleet.model_of[server]) if server >= 0 else -1 for server in placed]
    in_minute = Counter(zip(model, minutes, strict=True))
    for (server, minute), load in Counter(zip(placed.tolist(), minutes, strict=True)).items():
        if server >= 0:
            of = int(fleet.model_of[server])
            share = Fraction(in_minute[of, minute] * int(fleet.calls_of[server]), model.count(of))
            assert load < limit * share + 1


@given(calls=rows(), limit=LIMITS)
@settings(max_examples=100, deadline=None)
def test_routes_keep_calls_and_models_and_fixed_calls(calls: list[Row], limit: Fraction):
    fleet = fleet_of(stream_file(calls))
    for placement in ("as_logged", "sticky", "sticky_limit"):
        placed = place(fleet, placement, limit)
        assert ((placed < 0) == (fleet.server < 0)).all()
        free = placed >= 0
        assert (fleet.model_of[placed[free]] == fleet.model_of[fleet.server[free]]).all()
        assert (replicas_of(fleet, placed)[~free] == fleet.replica[~free]).all()
    assert servers(fleet, "as_logged") == fleet.server.tolist()


@given(calls=rows())
@settings(max_examples=100, deadline=None)
def test_a_limit_out_of_reach_is_sticky(calls: list[Row]):
    fleet = fleet_of(stream_file(calls))
    assert servers(fleet, "sticky_limit", "999") == servers(fleet, "sticky")


def test_load_worked_out_by_hand():
    # m: fair shares in either minute are 2 on w and 1 on x; n: 1 on x.
    # As logged: minute 0: w 2 / 2, x 1 / 1, n 1 / 1; minute 1: w 2 / 2, x 1 / 1. All seven calls at 1.
    # Sticky: minute 0: w 3 / 2, n 1 / 1; minute 1: w 3 / 2. Six of seven calls at 1.5.
    fleet = fleet_of(stream_file(CALLS))
    assert load_of(fleet, fleet.server) == Load(1, 1, 1, 7)
    assert load_of(fleet, place(fleet, "sticky", Fraction(1))) == Load(1.5, 1.5, 1.5, 7)


def test_load_is_weighed_by_calls():
    # Half of 100 calls to w, half to x; in minute 0 all 50 go to w, where 25 are fair: a load of 2. In minute 1 all go
    # to x, but one: 49 / 25, and 1 / 25 on w.
    calls: list[Row] = [(f"s{n}", "m", "w", 0, 1) for n in range(50)] + [("t", "m", "w", 60, 1)]
    calls += [(f"u{n}", "m", "x", 61, 1) for n in range(49)]
    # w serves 51 of 100, x 49: of 50 calls 25.5 and 24.5 are fair, rounded up 26 and 25.
    fleet = fleet_of(stream_file(calls))
    assert load_of(fleet, fleet.server) == Load(50 / 26, 49 / 25, 49 / 25, 100)


def test_no_call_to_route_has_no_load():
    fleet = fleet_of(stream_file([("a", None, "w", 0, 1), ("a", "m", None, 1, 1)]))
    assert load_of(fleet, fleet.server) == Load(None, None, None, 0)
    assert replicas_of(fleet, fleet.server).tolist() == [0, 1]


@pytest.mark.parametrize(("text", "limit"), [("1", Fraction(1)), ("1.25", Fraction(5, 4)), ("100.01",
                                                                                         Fraction(10001, 100))])
def test_load_limits(text: str, limit: Fraction):
    assert parse_load_limit(text) == limit


@pytest.mark.parametrize("text", ["0.99", "0", "-1", "1.255", "1e2", "nan", "", "1000", "5/4", "1.25 "])
def test_no_load_limit(text: str):
    with pytest.raises(UsageError, match=r"--load-limit .*1\.25"):
        parse_load_limit(text)


def test_an_unknown_route_lists_the_known_ones():
    assert find_routes(["sticky", "as_logged"]) == ("sticky", "as_logged")
    with pytest.raises(UsageError, match=r"unknown route 'random'.*as_logged, sticky, sticky_limit"):
        find_routes([*ROUTES, "random"])
