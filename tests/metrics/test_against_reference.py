"""Every number and table of every metric against the plain-Python reference, on random traces.

CI runs a fixed set of examples. `METRICS_EXAMPLES=2000 pytest tests/metrics/test_against_reference.py` draws as
many new ones.
"""

from __future__ import annotations

import os
from fractions import Fraction
from itertools import accumulate
from typing import Any

import pytest
import reference_sessions
import reference_time
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st
from metrics_rows import ALL, T0, Census, Row, call, window
from reference import MODELS, Fleet, Numbers, Tables, account

from metrics.catalogue import METRICS
from metrics.core.audit import audit
from metrics.core.metric import measure
from metrics.core.trace import Trace
from telemetry.adapter import DefectLog
from telemetry.errors import InputError
from telemetry.schema import CALL_SCHEMA

_EXAMPLES = os.environ.get("METRICS_EXAMPLES")
_CONTEXTS = st.one_of(st.sampled_from([0, 1, 10, 20, 100, 1000, 244_140, 244_141]), st.integers(0, 300_000))
_TIMES = st.one_of(st.integers(0, 6), st.integers(0, 200), st.integers(0, 40).map(lambda n: n * 60),
                   st.integers(0, 200_000), st.integers(0, 10**9).map(lambda n: n / 10**4))
_SPANS = st.one_of(st.sampled_from([0, 1, 30, 60, 300]), st.integers(0, 5000),
                   st.integers(0, 10**9).map(lambda n: n / 10**6))


@st.composite
def traces(draw: st.DrawFn) -> list[Row]:
    """Up to 40 calls; each optional column is there on all, some or none of the calls."""
    some = {name: draw(st.sampled_from([0, 5, 9, 10])) for name in
            ("session", "cached", "output", "model", "turn", "user", "region", "deployment", "seconds", "id", "keys")}
    tokens = draw(st.sampled_from([_CONTEXTS, st.integers(0, 40)]))
    defect = draw(st.sampled_from([0, 0, 1]))

    def maybe(name: str, values: st.SearchStrategy[Any]) -> Any:
        return draw(values) if some[name] and draw(st.integers(1, 10)) <= some[name] else None

    rows = []
    for _ in range(draw(st.integers(1, 40))):
        context = draw(tokens)
        # Chained keys: each names its whole prefix.
        words = maybe("keys", st.lists(st.integers(0, 1), max_size=4))
        keys = None if words is None else list(accumulate(words, lambda key, word: 3 * key + word + 1, initial=0))[1:]
        bad = bool(defect) and draw(st.integers(0, 9)) == 0
        rows.append(call(
            maybe("session", st.sampled_from("abcde")), draw(_TIMES), context,
            cached=maybe("cached", st.one_of(st.integers(0, context), st.just(context), st.just(context + 5))),
            output=maybe("output", st.integers(0, 50)), model=maybe("model", st.sampled_from([m for m in MODELS if m])),
            turn=maybe("turn", st.sampled_from("123")), user=maybe("user", st.booleans()),
            region=maybe("region", st.sampled_from("rs")), deployment=maybe("deployment", st.sampled_from("de")),
            seconds=maybe("seconds", _SPANS), id=maybe("id", st.integers(0, 60).map(str)), keys=keys,
            block=None if keys is None else 10, failed=draw(st.sampled_from([None, False, True])),
            defect="bad_tokens" if bad else None))
    blank = dict.fromkeys(CALL_SCHEMA.names)
    return [{**blank, "source_rank": 0, "source_row": place, **row} for place, row in enumerate(rows, start=1)]


def expected(fleet: Fleet) -> tuple[Numbers, Tables]:
    numbers: Numbers = {}
    tables: Tables = {}
    for part in (*reference_sessions.PARTS, *reference_time.PARTS):
        part(fleet, numbers, tables)
    return numbers, tables


def plain(value: Any) -> Any:
    """Fractions as the double that is nearest to them, which is what is published."""
    if isinstance(value, dict):
        return {key: plain(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [plain(inner) for inner in value]
    return float(value) if isinstance(value, Fraction) else value


def found(trace: Trace) -> tuple[Numbers, Tables]:
    numbers: Numbers = {}
    tables: Tables = {}
    for metric in METRICS:
        findings = measure(metric, trace)
        for key, number in findings.numbers.items():
            assert (number.value is None) == bool(number.why), f"{key}: {number}"
            numbers[key] = number.value
        tables |= {name: table.to_pylist() for name, table in findings.tables.items()}
    return numbers, tables


def differences(rows: list[Row], census: Census, start: float | None = None,
                end: float | None = None) -> dict[str, Any]:
    """What we publish and the reference does not, or otherwise; empty where both agree."""
    given = account(rows)
    view = window(start, end) if (start, end) != (None, None) else ALL
    if not given.usable:
        with pytest.raises(InputError, match="no record of the input can be used"):
            census.ingest(rows)
        return {}
    ingested = census.ingest(rows)
    trace = census.derived(ingested, view)
    if trace.empty:
        return {}
    fleet = Fleet(given, view.start_us, view.end_us)
    numbers, tables = found(trace)
    wanted_numbers, wanted_tables = expected(fleet)
    tables.pop("deployments", None)  # its labels are numbered apart: test_served.py
    wrong: dict[str, Any] = {
        key: (numbers.get(key, "absent"), plain(wanted_numbers.get(key, "absent")))
        for key in numbers.keys() | wanted_numbers.keys()
        if numbers.get(key, "absent") != plain(wanted_numbers.get(key, "absent"))}
    for name in tables.keys() | wanted_tables.keys():
        if tables.get(name) != plain(wanted_tables.get(name)):
            wrong[name] = (tables.get(name), plain(wanted_tables.get(name)))
    ours = audit(trace, ingested, DefectLog(), 1)
    counts = {"rows_read": ours.read, "rows_used": ours.used, **ours.excluded, **ours.flags}
    theirs = reference_time.audit(given, fleet)
    return wrong | {name: (counts[name], n) for name, n in theirs.items() if counts[name] != n}


@settings(max_examples=int(_EXAMPLES or 60), deadline=None, derandomize=_EXAMPLES is None, database=None,
          suppress_health_check=list(HealthCheck))
@given(rows=traces(), view=st.sampled_from([(None, None), (None, None), (2, 2000), (60, None), (None, 86_400)]))
def test_everything(census: Census, rows: list[Row], view: tuple[float | None, float | None]) -> None:
    event(f"{len(rows) // 20 * 20}+ rows")
    assert differences(rows, census, *view) == {}


def test_the_comparison_can_fail(census: Census, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [{**dict.fromkeys(CALL_SCHEMA.names), "source_rank": 0, "source_row": n, **call("a", n, 10)} for n in (1, 2)]
    assert differences(rows, census) == {}
    monkeypatch.setattr(reference_time, "BETA", 1)
    assert "ceiling.hold_all_live_bytes" in differences(rows, census)
    assert rows[0]["t_us"] == T0 + 1_000_000
