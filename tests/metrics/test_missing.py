"""What a trace lacks is null with the reason: no metric crashes, and none puts a zero in its place."""

from __future__ import annotations

import pytest
from metrics_rows import Census, Row, call

from metrics.catalogue import METRICS
from metrics.core.metric import measure

_FULL = [
    call(f"s{n % 3}", 40 * n, 100 * (n + 1), cached=50 * n, output=n + 1, model=("opus", "opus", "mini")[n // 3 % 3],
         turn=str(n // 4), user=n % 4 == 0, region="rs"[n % 2], deployment="de"[n // 2 % 2], seconds=1 + n, keys=[1, n],
         block=16, id=f"c{n}", failed=False) for n in range(24)]

_CACHED = ("reuse.", "excursion.", "calibration.", "class_share.uncached.", "placement.sr.reuse",
           "placement.sd.reuse")
_TURNS = ("turns.", "gap.inter", "gap.intra")

# Columns -> what is null without them: keys that begin so (and end so, for the transitions).
NULL_WITHOUT = {
    ("cached_tokens",): (*_CACHED, "transition.*.reuse"),
    ("output_tokens",): ("context.share", "context.to_output", "prefix.reads_per_write"),
    ("model",): ("trace.models", "class", "excursion.", "calibration."),
    ("turn_id", "user_initiated"): _TURNS,
    ("deployment",): ("placement.sd", "placement.deployments_per_session"),
    ("duration_us",): ("gap.idle_", "fetch.*.idle_share", "ceiling.duty_cycle"),
    ("prefix_keys", "block_size"): ("prefix.append", "prefix.ideal", "prefix.thrash"),
}


def nulls(census: Census, rows: list[Row]) -> dict[str, str]:
    """Key -> reason of every null of every metric."""
    trace = census.trace(rows)
    numbers = {key: found for metric in METRICS for key, found in measure(metric, trace).numbers.items()}
    assert set(numbers) == {number.key for metric in METRICS for number in metric.numbers}
    for key, found in numbers.items():
        assert (found.value is None) == bool(found.why), f"{key}: {found}"
    return {key: str(found.why) for key, found in numbers.items() if found.value is None}


def without(*columns: str) -> list[Row]:
    return [{name: value for name, value in row.items() if name not in columns} for row in _FULL]


def fits(key: str, pattern: str) -> bool:
    start, _, end = pattern.partition("*")
    return key.startswith(start) and key.endswith(end)


def test_a_full_trace_lacks_little(census: Census) -> None:
    # No session is that deep, none stays where it is, and not every kind of excursion and transition happens.
    assert set(nulls(census, _FULL)) <= {
        "context.index_11_p50", "context.index_30_p50", "context.reduction_remaining_p50", "excursion.reuse_1",
        "excursion.reuse_2", "excursion.reuse_3plus", "transition.unknown.reuse", "transition.unknown_model.reuse",
        "transition.same_deployment.reuse", "transition.cross_deployment.reuse", "placement.sr.depth_p50",
        "placement.sr.reuse", "placement.sd.depth_p50", "placement.sd.reuse"}


@pytest.mark.parametrize("columns", NULL_WITHOUT, ids="+".join)
def test_without(census: Census, columns: tuple[str, ...]) -> None:
    before, after = nulls(census, _FULL), nulls(census, without(*columns))
    patterns = NULL_WITHOUT[columns]
    for metric in METRICS:
        for number in metric.numbers:
            if any(fits(number.key, pattern) for pattern in patterns):
                assert number.key in after, f"{number.key} has a value without {columns}"
    more = {key for key in set(after) - set(before) if not any(fits(key, pattern) for pattern in patterns)}
    # Without models every transition is one of unknown models; without deployments none stays or crosses.
    assert all(key.startswith("transition.") for key in more), more
    assert columns[0] in ("model", "deployment") or not more


def test_without_sessions(census: Census) -> None:
    after = nulls(census, without("session_id"))
    kept = {number.key for metric in METRICS for number in metric.numbers} - set(after)
    of_all_calls = ("trace.", "class_share.", "context.share", "context.to_output")
    assert {key for key in kept if not key.startswith(of_all_calls)} == set()
    assert {why for key, why in after.items() if not key.startswith("class_share.")} == {
        "no call of the trace has a session id"}


def test_with_nothing_but_times_and_tokens(census: Census) -> None:
    rows = [{name: row[name] for name in ("t_us", "context_tokens")} for row in _FULL]
    after = nulls(census, rows)
    assert {number.key for metric in METRICS for number in metric.numbers} - set(after) == {
        "trace.calls", "trace.sessions", "trace.sessioned_calls", "trace.span_s", "trace.sessions_cut_left",
        "trace.sessions_cut_right"}


def test_one_empty_call(census: Census) -> None:
    after = nulls(census, [call("a", 0, 0, cached=0, output=0, model="opus", turn="1", region="r", deployment="d",
                                seconds=0, keys=[], block=16)])
    assert "depth.p50" not in after
    assert {"reuse.aggregate", "context.share", "ceiling.duty_cycle", "gap.max_s",
            "ceiling.time_p50_bytes"} <= set(after)
