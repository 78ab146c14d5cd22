"""The bytes that move between GPU memory and a host tier, as they are published."""

from __future__ import annotations

import pyarrow as pa
import pytest
from residency_streams import written

from metrics.core.metric import Findings
from replay.residency.budgets import parse_budgets
from replay.residency.cells import Plan, cells_here
from replay.residency.stream_file import StreamFile
from replay.residency.study import declared, study

# A copy of A goes down at B8 and comes up at A8, when one of B goes down: 2 tokens each. A token has 128 bytes.
CALLS = "A8@5 B8@6 A8@9"
BETA = 128


def file_of(text: str, hour: str | None) -> StreamFile:
    stream = written(text)
    return StreamFile(pa.table({
        "t_us": stream.time_us, "tokens": stream.tokens, "deployment": pa.nulls(stream.calls, pa.int64()),
        "object_session": stream.objects, "next_use_session": stream.next_use}), hour)


def findings(policies: tuple[str, ...], text: str = CALLS, hour: str | None = None, budget: str = "1024B") -> Findings:
    plan = Plan("window", ("session",), policies, parse_budgets([budget]), "never")
    file = file_of(text, hour)
    found = study(plan, file, cells_here(plan, file, BETA, 1))
    assert found.numbers.keys() == {number.key for number in declared(plan)}
    return found


def value(found: Findings, what: str, policy: str = "mrr_host_1") -> object:
    return found.numbers[f"replay.window.session.never.{what}.{policy}.b1024B"].value


@pytest.mark.parametrize(("hour", "seconds"), [(None, 4), ("2026-01-01T00:00:00Z", 3600)])
def test_bytes_each_way_and_a_second(hour: str | None, seconds: int):
    found = findings(("lru", "mrr_host_1"), hour=hour)
    assert [value(found, f"{move}_bytes") for move in ("down", "up", "moved")] == [512, 256, 768]
    assert [value(found, f"{move}_bytes_per_s") for move in ("down", "up", "moved")] == [
        512 / seconds, 256 / seconds, 768 / seconds]
    assert found.tables["replay_bytes"].to_pylist() == [{
        "stream": "window", "object_key": "session", "release": "never", "policy": "mrr_host_1", "budget_share": None,
        "budget_bytes": 1024, "stream_s": float(seconds), "promotions": 1, "down_bytes": 512, "up_bytes": 256,
        "moved_bytes": 768, "down_bytes_per_s": 512 / seconds, "up_bytes_per_s": 256 / seconds,
        "moved_bytes_per_s": 768 / seconds}]


def test_a_stream_of_one_moment_has_no_rate():
    found = findings(("mrr_unbounded",), "A8@5 B8@5 A8@5")
    assert value(found, "moved_bytes", "mrr_unbounded") == 768
    assert value(found, "moved_bytes_per_s", "mrr_unbounded") is None
    assert found.numbers["replay.window.session.never.up_bytes_per_s.mrr_unbounded.b1024B"].why == (
        "all calls of the stream start at one moment")


def test_policies_without_a_tier_publish_no_bytes_and_copies_are_counted():
    found = findings(("lru", "mrr", "fnu"), budget="1280B")
    assert "replay_bytes" not in found.tables
    assert not [key for key in found.numbers if "bytes." in key]
    assert [row["promotions"] for row in found.tables["residency_replay"].to_pylist()] == [None, 1, None]


def test_bytes_are_rounded_down():
    # 3 tokens: a copy of 3 * 32 / 128 tokens at 327 bytes a token is 245.25 bytes.
    plan = Plan("window", ("session",), ("mrr_unbounded",), parse_budgets(["1B"]), "never")
    (cell,) = cells_here(plan, file_of("A3", None), 327, 1).cells["session"]
    assert cell.counters == {"promotions": 0, "down_bytes": 245, "up_bytes": 0}
