"""Event logs: what is counted over events, by hand, on both engines."""

from __future__ import annotations

from typing import Any

import pytest
from metrics_rows import Census, Row, Seen, event, window

from metrics import event_depth, event_shape, event_tokens, event_tools
from metrics.catalogue import EVENT_METRICS, METRICS
from metrics.core.audit import audit_numbers
from telemetry.schema import EVENTS

NONE = dict.fromkeys(EVENTS.defects, 0)
CLEAN = dict.fromkeys(EVENTS.flags, 0)

# Three sessions and an event without one. Session a: 4 events, 2 tools, 5 s apart over a message; b: 3 events, 3 tools,
# 1 s and 10 s apart; c: one event that is no tool.
LOG: list[Row] = [
    event("a", 0, "start", model="m"),
    event("a", 2, x=100, c=0, o=10, model="m"),
    event("a", 4, "message", x=250, c=80, o=15, model="m"),
    event("a", 7, x=400, c=200, o=20, model="m"),
    event("b", 10, x=1000, c=500, o=1, model="n"),
    event("b", 11, x=3000, c=1500, o=5, model="n"),
    event("b", 21, x=5600, c=2800, o=10),
    event("c", 30, "start"),
    event(None, 40, x=9, c=9, o=9),
]


@pytest.mark.both_engines
def test_a_log_by_hand(census: Census) -> None:
    log = census.events(LOG)
    seen: dict[str, Any] = {}
    for metric in EVENT_METRICS:
        found = Seen(census.measured(metric, log))
        seen |= {key: found[key] for key in found.findings.numbers}
        if metric is event_depth.METRIC:
            # Depths 4, 3, 1.
            assert found.rows("event_depth_ccdf", "events", "sessions", "ccdf") == [
                (1, 1, 2 / 3), (3, 1, 1 / 3), (4, 1, 0.0)]
            assert found.n("events.depth_p50") == 3
        if metric is event_tools.METRIC:
            assert found.rows("tool_cadence_cdf", "seconds", "gaps", "cdf") == [
                (1.5, 1, 1 / 3), (5.5, 1, 2 / 3), (15.0, 1, 1.0)]
            assert found.n("events.tool_share") == 9
            assert found.n("events.tool_cadence_p50_s") == 3
        if metric is event_tokens.METRIC:
            assert found.n("events.reuse") == 2
    assert seen == {
        "events.count": 9, "events.sessions": 3, "events.sessioned": 8, "events.models": 2, "events.span_s": 40.0,
        "events.sessions_cut_left": 3, "events.sessions_cut_right": 3,
        "events.depth_p50": 3, "events.depth_p90": 4, "events.depth_p99": 4, "events.depth_max": 4,
        "events.depth_mean": 8 / 3,
        "events.tool_share": 6 / 9, "events.tool_calls_per_session_p50": 2,
        "events.tool_cadence_p50_s": 5.0, "events.tool_cadence_p90_s": 10.0, "events.tool_cadence_p99_s": 10.0,
        # The last values: a 400, 200, 20 and b 5600, 2800, 10.
        "events.reuse": 3000 / 6000, "events.context_share": 6000 / 6030, "events.context_to_output": 6000 / 30,
        "events.counter_falls": 0, "events.sessions_with_falls": 0,
    }


@pytest.mark.both_engines
def test_events_logged_again_are_one(census: Census) -> None:
    twice = event("a", 1, tool="bash", x=5)
    rows = [twice, event("a", 1, tool="read", x=5), {**twice}, event("a", 1, tool="bash", x=6), {**twice},
            event("a", 2, event_id="p", o=1), event("a", 3, event_id="p", o=2), event("a", 4, defect="bad_tokens"),
            event(None, 5), event(None, 5)]
    found = census.audit(rows, kind=EVENTS)
    assert (found.read, found.used) == (10, 5)
    assert found.excluded == NONE | {"duplicate": 4, "bad_tokens": 1}
    assert found.flags == CLEAN | {"unsessioned": 1}
    # Of one id the largest output stays; of equal ones the last.
    kept = census.engine.rows("select pos, tool from usable order by pos")
    assert [(row["pos"], row["tool"]) for row in kept] == [(2, "read"), (4, "bash"), (5, "bash"), (7, None), (10, None)]


def test_an_audit_of_events(census: Census) -> None:
    found = census.audit(LOG, window(5, 35), EVENTS)
    assert found.excluded == NONE | {"outside_window": 4}
    assert set(found.findings().numbers) == {number.key for number in audit_numbers(EVENTS)}
    content = found.as_json()
    assert (content["reasons"], content["flag_meanings"]) == (EVENTS.defects, EVENTS.flags)


@pytest.mark.both_engines
def test_a_counter_that_falls_begins_a_run(census: Census) -> None:
    rows = [event("a", 0, x=100, c=50, o=5), event("a", 1, x=300, c=150, o=9), event("a", 2, x=40, c=0, o=1),
            event("a", 3, x=90, c=30, o=2), event("b", 0, x=10, c=10, o=10), event("b", 1, x=10, c=10, o=9)]
    found = census.of_events(event_tokens.METRIC, rows)
    # a: 300 + 90 and 150 + 30 and 9 + 2; b: only the output falls, and what stands before is added: 20, 20, 19.
    assert found["events.reuse"] == 200 / 410
    assert found["events.context_to_output"] == 410 / 30
    assert found.values("events.counter_falls", "events.sessions_with_falls") == [2, 2]
    assert census.audit(rows, kind=EVENTS).flags == CLEAN | {"counter_fell": 2}


@pytest.mark.both_engines
def test_unknown_counters_are_never_zero(census: Census) -> None:
    rows = [event("a", 0, x=100, c=40, o=4), event("a", 1, x=200, c=None, o=8), event("a", 2, x=None, c=90, o=None),
            event("a", 3, x=150), event("b", 0, x=500), event("c", 0, c=7, o=1), event("d", 0)]
    found = census.of_events(event_tokens.METRIC, rows)
    # Known together: x and c at 0 s (100, 40), x and o at 1 s (200, 8). 150 is below 200, two events before.
    assert (found["events.reuse"], found.n("events.reuse")) == (0.4, 1)
    assert (found["events.context_to_output"], found.n("events.context_to_output")) == (25.0, 1)
    assert found["events.counter_falls"] == 1


def falls_and_ratios(census: Census, rows: list[Row]) -> tuple[Any, Any, Any]:
    found = census.of_events(event_tokens.METRIC, rows)
    return found["events.counter_falls"], found["events.reuse"], found["events.context_to_output"]


@pytest.mark.both_engines
def test_a_counter_seen_late_falls_with_the_others(census: Census) -> None:
    rows = [event("a", 0, x=100, c=50, o=10), event("a", 1, x=5, c=1), event("a", 2, x=8, c=2, o=7),
            # Seen again before or with the others' fall, it falls on its own.
            event("b", 0, x=100, c=50, o=10), event("b", 1, x=5, c=1, o=12), event("b", 2, x=8, c=2, o=7),
            # So it does where nothing else fell.
            event("c", 0, x=100, c=50, o=10), event("c", 1, x=101, c=51), event("c", 2, x=102, c=52, o=7)]
    assert falls_and_ratios(census, rows[:3]) == (1, 52 / 108, 108 / 17)
    assert falls_and_ratios(census, rows[3:6]) == (2, 53 / 113, 113 / 29)
    assert falls_and_ratios(census, rows[6:]) == (1, 103 / 203, 202 / 17)
    assert census.of_events(event_tokens.METRIC, rows).values(
        "events.counter_falls", "events.sessions_with_falls") == [4, 3]
    assert census.audit(rows, kind=EVENTS).flags == CLEAN | {"counter_fell": 4}


@pytest.mark.both_engines
def test_no_session_is_resumed_within_an_instant(census: Census) -> None:
    rows = [event("a", 0, x=70, c=10, o=7), event("a", 1, c=50, o=10), event("a", 1, x=80, c=40, o=8),
            event("a", 2, x=120, c=60, o=10)]
    assert falls_and_ratios(census, rows) == (0, 0.5, 12.0)
    # Whichever of an instant is logged first.
    assert falls_and_ratios(census, [rows[0], rows[2], rows[1], rows[3]]) == (0, 0.5, 12.0)


def test_all_events_of_an_instant_are_of_its_run(census: Census) -> None:
    rows = [event("a", 0, x=6, c=3, o=2), event("a", 0, x=5, c=3, o=1), event("a", 0),
            event("a", 1, x=4, c=1, o=3), event("a", 1, x=3, c=2, o=2), event("a", 1, o=1)]
    # The largest of an instant count: 6 + 4, 3 + 2, 2 + 3.
    assert falls_and_ratios(census, rows) == (1, 0.5, 2.0)


def test_several_counters_that_fall_at_an_instant_are_one_fall(census: Census) -> None:
    # The output was known at the fall before, the context was not: one unexplained is enough.
    rows = [event("a", 0, x=100, o=10), event("a", 1, o=5), event("a", 2, x=50, o=4)]
    assert falls_and_ratios(census, rows)[::2] == (2, 150 / 14)


def test_a_fall_explains_others_even_where_it_is_explained(census: Census) -> None:
    # At 3 s the context fell from 1 s, but the output fell at 2 s: taken as the one fall at 1 s.
    rows = [event("a", 0, x=100, o=10), event("a", 1, x=50), event("a", 2, o=5), event("a", 3, x=20, o=6)]
    assert falls_and_ratios(census, rows)[::2] == (1, 120 / 16)


def test_cached_above_the_context_is_clipped(census: Census) -> None:
    # The raw counter does not fall where the clipped one would.
    rows = [event("a", 0, c=120), event("a", 1, x=100, c=120), event("a", 2, x=200, c=130)]
    found = census.of_events(event_tokens.METRIC, rows)
    assert (found["events.reuse"], found["events.counter_falls"]) == (130 / 200, 0)
    assert census.audit(rows, kind=EVENTS).flags == CLEAN | {"cached_exceeds_context": 1}


@pytest.mark.both_engines
def test_a_window_cuts_events(census: Census) -> None:
    # From 5 s on a has one tool; b loses its last. Counters go on from the start of the session.
    seen = census.of_events(event_tools.METRIC, LOG, window(5, 20))
    assert seen["events.tool_cadence_p50_s"] == 1.0
    assert seen.n("events.tool_cadence_p50_s") == 1
    assert census.of_events(event_tokens.METRIC, LOG, window(5, 20))["events.reuse"] == (200 + 1500) / (400 + 3000)
    shape = census.of_events(event_shape.METRIC, LOG, window(5, 20))
    assert shape.values("events.count", "events.sessions_cut_left", "events.sessions_cut_right") == [3, 1, 1]
    assert shape.bounds("events.sessions_cut_left") == (1, 1)


def test_what_does_not_say_what_it_is(census: Census) -> None:
    rows = [event("a", 0), event("a", 1, None), event("a", 3), event("b", 0), event("b", 1, "start")]
    seen = census.of_events(event_tools.METRIC, rows)
    assert (seen["events.tool_share"], seen.n("events.tool_share")) == (3 / 4, 4)
    # Session a may have two or three: it is left out.
    key = "events.tool_calls_per_session_p50"
    assert (seen[key], seen.n(key)) == (1, 1)
    assert seen["events.tool_cadence_p50_s"] == 3.0


def test_events_out_of_order_are_put_in_order(census: Census) -> None:
    rows = [event("a", 5, x=50), event("a", 0, x=10), event("a", 9, x=90)]
    assert census.of_events(event_tools.METRIC, rows)["events.tool_cadence_p90_s"] == 5.0
    found = census.audit(rows, kind=EVENTS)
    assert found.flags == CLEAN | {"out_of_order": 1}


@pytest.mark.parametrize(("rows", "whys"), [
    ([event(None, 0, x=1, c=1, o=1)],
     {"events.depth_p50": "no event of the log has a session id",
      "events.reuse": "no event of the log has a session id",
      "events.tool_cadence_p50_s": "no execution of a tool has a session id",
      "events.tool_calls_per_session_p50": "no event of the log has a session id",
      "events.models": "the log names no models"}),
    ([event("a", 0, None)], {"events.tool_share": "no event says what it is",
                             "events.reuse": "no event of a session reports the counters of context and cached tokens "
                                             "together"}),
    ([event("a", 0, "start"), event("a", 1, "end")],
     {"events.tool_share": "no event is called the execution of a tool. Say under [source] in --config how the log "
                           'calls it: tool_events = ["tool_use"]'}),
    ([event("a", 0), event("b", 0, None)], {"events.tool_cadence_p50_s": "no session executes two tools"}),
    ([event("a", 0, None), event("a", 1)],
     {"events.tool_calls_per_session_p50": "every session has an event that does not say what it is"}),
    ([event("a", 0, x=0, c=0, o=0)], {"events.reuse": "the last context of every session is 0",
                                      "events.context_share": "no session has a token",
                                      "events.context_to_output": "no session has output"}),
])
def test_what_is_missing_is_said(census: Census, rows: list[Row], whys: dict[str, str]) -> None:
    log = census.events(rows)
    found: dict[str, str] = {}
    for metric in EVENT_METRICS:
        found |= Seen(census.measured(metric, log)).whys()
    assert {key: found[key] for key in whys} == whys


def test_keys_are_told_apart() -> None:
    of_events = {number.key for metric in EVENT_METRICS for number in metric.numbers}
    of_calls = {number.key for metric in METRICS for number in metric.numbers}
    assert all(key.startswith("events.") for key in of_events)
    assert not of_events & of_calls
