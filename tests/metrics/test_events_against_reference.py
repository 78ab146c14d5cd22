"""Every number over events against the plain-Python reference, on random event logs."""

from __future__ import annotations

import os
from typing import Any

import pytest
import reference_events
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from metrics_rows import ALL, Census, Row, event, window

from metrics.catalogue import EVENT_METRICS
from metrics.core.audit import audit_events
from metrics.core.metric import measure
from telemetry.adapter import DefectLog
from telemetry.schema import EVENT_SCHEMA, EVENTS

_EXAMPLES = os.environ.get("METRICS_EXAMPLES")
BLANK = dict.fromkeys(EVENT_SCHEMA.names)


def logged(rows: list[Row]) -> list[Row]:
    return [{**BLANK, "source_rank": 0, "source_row": place, **row} for place, row in enumerate(rows, start=1)]


@st.composite
def logs(draw: st.DrawFn) -> list[Row]:
    """Up to 40 events whose counters mostly rise; each column is there on all, some or none of them."""
    some = {name: draw(st.sampled_from([0, 5, 9, 10])) for name in
            ("session", "kind", "x", "c", "o", "id", "model", "tool")}
    rises = draw(st.sampled_from([True, True, False]))
    at_most = draw(st.sampled_from([3, 200]))

    def maybe(name: str, values: st.SearchStrategy[Any]) -> Any:
        return draw(values) if some[name] and draw(st.integers(1, 10)) <= some[name] else None

    rows, x = [], 0
    for _ in range(draw(st.integers(1, 40))):
        x = x + draw(st.integers(0, 9)) if rises else draw(st.integers(0, 30))
        rows.append(event(
            maybe("session", st.sampled_from("abc")), draw(st.integers(0, at_most)),
            maybe("kind", st.sampled_from(["tool", "tool", "note"])), x=maybe("x", st.just(x)),
            c=maybe("c", st.one_of(st.just(x // 2), st.just(x + 1))), o=maybe("o", st.just(x // 3)),
            event_id=maybe("id", st.integers(0, 60).map(str)), model=maybe("model", st.sampled_from("mn")),
            tool=maybe("tool", st.sampled_from("rs")),
            defect=draw(st.sampled_from([None, None, None, None, None, "bad_tokens"]))))
    return logged(rows)


def differences(rows: list[Row], census: Census, start: float | None = None,
                end: float | None = None) -> dict[str, Any]:
    """What we publish and the reference does not, or otherwise; empty where both agree."""
    used, again = reference_events.used_of(rows)
    if not used:
        return {}
    view = window(start, end) if (start, end) != (None, None) else ALL
    ingested = census.ingest(rows, EVENTS)
    assert ingested.defects.get("duplicate", 0) == again
    log = census.derived_events(ingested, view)
    inside = [row for row in used if (view.start_us is None or row["t_us"] >= view.start_us)
              and (view.end_us is None or row["t_us"] < view.end_us)]
    assert log.empty == (not inside)
    if log.empty:
        return {}
    wanted = {key: reference_events.plain(value) for key, value in reference_events.numbers_of(inside).items()}
    ours: dict[str, Any] = {}
    for metric in EVENT_METRICS:
        for key, number in measure(metric, log).numbers.items():
            assert (number.value is None) == bool(number.why), f"{key}: {number}"
            ours[key] = number.value
    ours = {key: value for key, value in ours.items() if "sessions_cut" not in key}
    account = audit_events(log, ingested, DefectLog(), 1)
    assert account.flags["counter_fell"] == (wanted["events.counter_falls"] or 0)
    return {key: (ours.get(key, "absent"), wanted.get(key, "absent")) for key in ours.keys() | wanted.keys()
            if ours.get(key, "absent") != wanted.get(key, "absent")}


@settings(max_examples=int(_EXAMPLES or 60), deadline=None, derandomize=_EXAMPLES is None, database=None,
          suppress_health_check=list(HealthCheck))
@given(rows=logs(), view=st.sampled_from([(None, None), (None, None), (1, 2), (60, None), (None, 100)]))
def test_everything(census: Census, rows: list[Row], view: tuple[float | None, float | None]) -> None:
    assert differences(rows, census, *view) == {}


@pytest.mark.both_engines(duckdb=False)
def test_a_log_with_everything(census: Census) -> None:
    rows = logged([
        event(None if n % 13 == 0 else "abcdef"[n * n % 6], n // 3 * 40 + n % 2 * n,
              (None, "tool", "tool", "note")[n % 4], x=None if n % 7 == 0 else 100 * (n % 37),
              c=None if n % 5 == 0 else 60 * (n % 37), o=n % 9,
              event_id=None if n % 3 else str(n // 9), model=("m", None, "n")[n % 3], tool="r" if n % 4 == 1 else None)
        for n in range(1, 120)])
    rows += [{**row, "source_row": place} for place, row in enumerate(rows[::10], start=len(rows) + 1)]
    assert differences(rows, census) == {}
    assert differences(rows, census, 100, 900) == {}


def test_the_comparison_can_fail(census: Census, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = logged([event("a", 0, x=10, c=5, o=1), event("a", 1, x=20, c=15, o=2)])
    assert differences(rows, census) == {}
    monkeypatch.setattr(reference_events, "COUNTERS", (*reversed(reference_events.COUNTERS[:2]),
                                                       reference_events.COUNTERS[2]))
    assert "events.reuse" in differences(rows, census)
