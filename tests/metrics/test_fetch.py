"""Fetching a session's KV within the gap before its next call."""

from __future__ import annotations

from typing import Any

import pytest
from metrics_rows import Census, Row, call

from metrics.core.geometry import Geometry
from metrics.fetch import LINKS, METRIC

#: A token is 1 MB: 1 GB/s fetches 1,000 tokens a second, 5 GB/s 5,000.
MEGABYTE = Geometry("1000000", 1_000_000, "given")


def found_of(census: Census, rows: list[Row], geometry: Geometry = MEGABYTE) -> Any:
    return census(METRIC, rows, geometry=geometry)


def shares(found: Any, word: str = "gap") -> list[Any]:
    return found.values(*(f"fetch.{link}gb.{word}_share" for link in LINKS))


def test_a_fetch_fits_when_it_takes_no_longer_than_the_gap(census: Census) -> None:
    # Fetches at 1 GB/s take 2 s, 4 s and 1 s, in gaps of 2 s, 3.999999 s and 1 s; at 5 GB/s a fifth of it. The
    # context that counts is the preceding one: those of 9 and 7 tokens need no fetch. c: 10 s for a gap of 0 s.
    found = found_of(census, [call("a", 0, 2000), call("a", 2, 4000), call("a", 5.999999, 9),
                              call("b", 0, 1000), call("b", 1, 7), call("c", 5, 10_000), call("c", 5, 7)])
    assert shares(found) == [2 / 4, 3 / 4, 3 / 4, 3 / 4, 3 / 4]
    assert found.n("fetch.1gb.gap_share") == 4
    assert found.rows("fetch", "gaps", "fitting", "tokens", "fitting_tokens", "break_even_tokens_per_s",
                      bandwidth_bytes_per_s=10**9) == [(4, 2, 17_000, 3000, 1000.0)]
    assert found.rows("fetch", "fitting_share", "fitting_tokens", "break_even_tokens_per_s",
                      bandwidth_bytes_per_s=450 * 10**9) == [(0.75, 7000, 450_000.0)]
    assert {found.why(f"fetch.{link}gb.idle_share") for link in LINKS} == {"the trace reports no durations"}


@pytest.mark.both_engines
def test_idle_time_is_what_is_left_after_the_engine(census: Census) -> None:
    # Gaps of 3 s; 2 s of work leave 1 s, too short for the 2 s of 1 GB/s; 1 s of work leaves 2 s.
    found = found_of(census, [call("a", 0, 2000, seconds=2), call("a", 3, 2000, seconds=1), call("a", 6, 2000),
                              call("a", 9, 2000)])
    assert shares(found) == [1.0] * 5
    assert shares(found, "idle") == [0.5, 1.0, 1.0, 1.0, 1.0]
    assert found.n("fetch.1gb.idle_share") == 2  # the third gap follows a call of unknown duration
    assert found.rows("fetch", "kind", "gaps", "fitting", "tokens", bandwidth_bytes_per_s=10**9) == [
        ("all", 3, 3, 6000), ("idle", 2, 1, 4000)]


def test_microseconds_are_rounded_up(census: Census) -> None:
    # 3 tokens of 1 byte at 1 GB/s take 3 ns: no gap of 0 us is enough, one of 1 us is. No tokens take no time.
    beta = Geometry("1", 1, "given")
    rows = [call("a", 0, 3), call("a", 0, 3), call("b", 0, 3), call("b", 0.000001, 3), call("c", 0, 0), call("c", 0, 9)]
    assert shares(found_of(census, rows, beta)) == [2 / 3] * 5


@pytest.mark.both_engines
def test_the_largest_contexts_and_tokens_do_not_overflow(census: Census) -> None:
    # 2^33 - 1 tokens of 999,999,937 bytes: 8.59 * 10^18 bytes, at 1 GB/s 8,589,934,049.8 s, 272 years.
    prime = Geometry("999999937", 999_999_937, "given")
    found = found_of(census, [call("a", 0, 2**33 - 1), call("a", 5 * 10**9, 1)], prime)
    assert shares(found) == [0.0, 1.0, 1.0, 1.0, 1.0]


def test_nothing_to_fetch_for(census: Census) -> None:
    alone = found_of(census, [call("a", 0, seconds=1), call("b", 0)])
    assert set(alone.whys().values()) == {"no session has two calls"}
    assert "fetch" not in alone
    assert set(found_of(census, [call(None, 0)]).whys().values()) == {"no call of the trace has a session id"}
