"""The event sweep against looking at every moment."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from reference_time import Interval, level
from reference_time import peak as plain_peak

from metrics.core.clock import HOUR_US
from metrics.core.engine import Engine
from metrics.core.sweep import levels_query, moves_of, peaks


def moves(intervals: list[Interval]) -> str:
    rows = ", ".join(f"({start}, {end}, {tokens})" for start, end, tokens in intervals)
    return moves_of(f"(select * from (values {rows}) as t(start_us, end_us, tokens))")


@pytest.mark.both_engines
def test_tokens_and_intervals_peak_at_times_of_their_own(engine: Engine) -> None:
    # Three intervals of 1 meet at 10, one of 9 stands alone at 30; 20 is a departure and an arrival.
    found, = peaks(engine, moves([(0, 10, 1), (5, 20, 1), (10, 12, 1), (20, 25, 1), (30, 30, 9)]), [[0]], 0, 30)
    assert (found.tokens, found.intervals) == (9, 3)


@pytest.mark.both_engines
def test_nothing_resident(engine: Engine) -> None:
    found, = peaks(engine, f"select * from ({moves([(0, 1, 1)])}) as m where false", [[0]], 0, 1)
    assert (found.tokens, found.intervals) == (0, 0)


_STARTS = st.one_of(st.integers(0, 12), st.integers(0, 10**6), st.integers(0, 40).map(lambda n: n * HOUR_US // 4))
_INTERVALS = st.lists(st.tuples(_STARTS, _STARTS, st.integers(0, 9)).map(lambda i: (i[0], i[0] + i[1], i[2])),
                      min_size=1, max_size=25)
_QUIET = settings(max_examples=40, deadline=None, derandomize=True, database=None,
                  suppress_health_check=list(HealthCheck))


@_QUIET
@given(intervals=_INTERVALS)
def test_peaks(engine: Engine, intervals: list[Interval]) -> None:
    span = (min(start for start, _, _ in intervals), max(end for _, end, _ in intervals))
    # Each interval is a part, and so is all of them together: several parts add up.
    parts = " union all ".join(f"select {part} as part, t_us, up, down, came, went from ({moves([interval])}) as m"
                               for part, interval in enumerate(intervals))
    every = [*range(len(intervals))]
    together, first = peaks(engine, parts, [every, [0]], *span)
    assert (together.tokens, together.intervals) == plain_peak(intervals)
    assert (first.tokens, first.intervals) == (intervals[0][2], 1)
    assert peaks(engine, moves(intervals), [[0]], *span) == [together]


@pytest.mark.parametrize("in_buckets", [False, True])
def test_levels(engine: Engine, in_buckets: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(engine.dialect), "sums_in_buckets", in_buckets)

    @_QUIET
    @given(intervals=_INTERVALS)
    def check(intervals: list[Interval]) -> None:
        found = engine.rows(f"select * from ({levels_query(engine, moves(intervals))}) as l order by t_us")
        times = sorted({t for start, end, _ in intervals for t in (start, end)})
        assert [row["t_us"] for row in found] == times
        for row in found:
            at, t = level(intervals, row["t_us"]), row["t_us"]
            gone = [tokens for _, end, tokens in intervals if end == t]
            assert row["bucket"] == t // HOUR_US
            assert (row["tokens_at"], row["intervals_at"]) == at
            assert (row["tokens"], row["intervals"]) == (at[0] - sum(gone), at[1] - len(gone))

    check()
