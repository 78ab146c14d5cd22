"""Samples as they are written, and how sure their rates are."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metrics.core.metric import Finding, Findings
from replay.residency.budgets import parse_budgets
from replay.residency.cells import Plan, cells_here
from replay.residency.sampling import Drawn, Sample, parse_sample
from replay.residency.sampling_error import _variance, estimate
from replay.residency.stream import build_stream
from replay.residency.stream_file import StreamFile
from replay.residency.study import declared, study
from telemetry.errors import UsageError

GROUPS = st.lists(st.tuples(st.integers(0, 50), st.integers(1, 50)).map(lambda two: (min(two), two[1])),
                  min_size=2, max_size=16)
FRACTIONS = st.integers(1, 999).map(lambda n: Fraction(n, 1000))


@pytest.mark.parametrize(("text", "label"), [("0.05", "0.05"), ("0.0500", "0.05"), ("0.5", "0.5"),
                                             ("0.000000000000001", "0.000000000000001")])
def test_a_fraction_is_read_exactly(text, label):
    assert parse_sample(text, "00") == Sample(label, 0)
    assert parse_sample(text, "00").fraction == Fraction(text)


@pytest.mark.parametrize("text", ["1", "1.0", "1.000"])
def test_the_fraction_1_leaves_nobody_out(text):
    assert parse_sample(text, "7") is None


@pytest.mark.parametrize("text", ["0", "0.0", "1.1", "2", "-0.5", ".5", "5%", "1/20", "5e-2", "nan", "", " 0.5",
                                  "0.5\n", "0.0000000000000001", "٠.٥"])
def test_no_fraction(text):
    with pytest.raises(UsageError, match=r"--sample-sessions .*0\.05"):
        parse_sample(text, "0")


@pytest.mark.parametrize("text", ["-1", "1.5", "x", "", "1" * 19, "٣"])
def test_no_seed(text):
    with pytest.raises(UsageError, match="--sample-seed"):
        parse_sample("0.5", text)


def test_an_error_worked_out_by_hand():
    # Two groups, 1 of 2 and 3 of 4 calls missed: together 4 of 6. d = 1 - 2 * 4/6 = -1/3, and +1/3.
    # (1 - 3/4) * 2/1 * (2/9) / 36 = 1/324, whose root is 1/18 = 0.0555555555...
    # With their parts of the budget they miss 1 of 2 and 2 of 4, half each: no chance in that.
    # The size: from 2/6 of the sample to 3/6 when memory is split, and from there to 4/6. All sessions are
    # 4/3 times the sample: log(4/3) / log(2) = 0.415, that is 0.5, of such a step: 1/12 and 1/12 either way.
    sure = estimate(2, 6, [(1, 2), (3, 4)], [(1, 2), (2, 4)], Fraction(3, 4))
    assert (sure.own, sure.split, sure.error) == (4 / 6, 3 / 6, 0.055555556)
    reach = Fraction(2365, 1000) * Fraction(55555556, 10**9) + Fraction(1, 6)
    assert (sure.low, sure.high) == (float(Fraction(1, 3) - reach), float(Fraction(1, 3) + reach))
    assert estimate(5, 6, [(1, 2), (3, 4)], [(1, 2), (2, 4)], Fraction(3, 4)).high == 1  # 0.833 + 0.131 + 0.250
    # The larger one of the two errors counts, whichever it is.
    assert estimate(2, 6, [(1, 2), (2, 4)], [(1, 2), (3, 4)], Fraction(3, 4)).error == 0.055555556


@pytest.mark.parametrize(("fraction", "tenths"), [
    ("0.125", 10),  # 8 groups, 8 times as many sessions: one step
    ("0.05", 15),  # log(20) / log(8) = 1.44
    ("0.5", 4),  # 0.33
    ("0.9", 1),  # 0.05
])
def test_how_far_the_size_is_carried_on(fraction, tenths):
    # All groups alike: no chance. Splitting memory costs a tenth, shares of their own K* win it back: both count.
    sure = estimate(32, 80, [(4, 10)] * 8, [(5, 10)] * 8, Fraction(fraction))
    reach = Fraction(8 + 8, 80) * tenths / 10
    assert (sure.error, sure.low, sure.high) == (0, float(Fraction(2, 5) - reach), float(Fraction(2, 5) + reach))


@given(groups=GROUPS, fraction=FRACTIONS)
@settings(max_examples=200, deadline=None)
def test_the_error_is_that_of_the_residuals(groups, fraction):
    calls, missed = sum(c for _, c in groups), sum(m for m, _ in groups)
    residuals = [m - c * missed / calls for m, c in groups]
    count = len(groups)
    variance = float(1 - fraction) * count / (count - 1) * sum(d * d for d in residuals) / calls**2
    sure = estimate(missed, calls, groups, groups, fraction)
    assert sure.error == pytest.approx(variance**0.5, abs=2e-9)
    assert sure.error >= variance**0.5 - 1e-12  # rounded up
    assert 0 <= sure.low <= missed / calls <= sure.high <= 1


@given(groups=GROUPS, times=st.integers(2, 9), fraction=FRACTIONS)
@settings(max_examples=100, deadline=None)
def test_longer_sessions_of_the_same_kind_say_no_more(groups, times, fraction):
    """Calls of a session are no independent draws: each of them `times` over must leave the error as it is."""
    calls, missed = sum(c for _, c in groups), sum(m for m, _ in groups)
    more = [(times * m, times * c) for m, c in groups]
    assert estimate(times * missed, times * calls, more, more, fraction) == estimate(missed, calls, groups, groups,
                                                                                     fraction)


@given(st.lists(st.booleans(), min_size=1, max_size=8))
@settings(max_examples=30, deadline=None)
def test_the_error_is_right_on_average(missed):
    """Over all ways to part sessions of one call each into two groups the estimate is the sum of squares itself."""
    calls, total = len(missed), sum(missed)
    found = []
    for split in range(2**calls):
        groups = [[0, 0], [0, 0]]
        for place, miss in enumerate(missed):
            groups[split >> place & 1][0] += miss
            groups[split >> place & 1][1] += 1
        found.append(_variance([(m, c) for m, c in groups], calls))
    rate = Fraction(total, calls)
    assert sum(found) / len(found) == sum((miss - rate) ** 2 for miss in missed) / calls**2


SAMPLE = Sample("0.5")


def stream_file(groups: int, sessions: int) -> StreamFile:
    """Sessions one after the other round and round, three calls each, in groups by turns; all of one size."""
    objects = np.tile(np.arange(sessions, dtype=np.int32), 3)
    tokens = np.full(len(objects), 100, np.int64)
    table = pa.table({"t_us": np.arange(len(objects)), "tokens": tokens,
                      "deployment": pa.nulls(len(objects), pa.int64()),
                      "sample_group": (objects % groups).astype(np.int16), "object_session": objects,
                      "next_use_session": build_stream(objects, tokens, sessions).next_use})
    return StreamFile(table, None, Drawn(SAMPLE, 2 * sessions, 6 * sessions))


def findings(groups: int, sessions: int, *budgets: str) -> Findings:
    plan = Plan("window", ("session",), ("lru",), parse_budgets(budgets), "last", SAMPLE)
    file = stream_file(groups, sessions)
    found = study(plan, file, cells_here(plan, file, 1, 1))
    assert found.numbers.keys() == {number.key for number in declared(plan)}
    return found


def test_groups_have_budgets_of_their_own():
    # 80 objects in turns, three rounds; 60 % of K* are 48 of them. The first two rounds miss throughout. The third
    # finds 32 to 79 held; 0 comes for a moment and pushes out 32; then 1 to 32 miss as well: 80 + 80 + 33 misses.
    # A group of 10 has room for 6, 60 % of its own K* and an eighth of the sample's 48: 10 + 10 + 5 misses.
    found = findings(8, 80, "60%", "100%").numbers
    assert found["replay.window.session.kstar_bytes"].value == 8000
    assert found["replay.window.session.groups.lru.b60"].value == 200 / 240
    assert found["replay.window.session.split.lru.b60"].value == 200 / 240
    assert found["replay.window.session.se.lru.b60"].value == 0
    # log(2) / log(8), up to tenths, is 0.4 of the step from 200 to 193 misses.
    reach = Fraction(7, 240) * 4 / 10
    assert found["replay.window.session.lru.b60"] == Finding(
        193 / 240, 240, float(Fraction(193, 240) - reach), float(Fraction(193, 240) + reach))
    assert found["replay.window.session.lru.b100"] == Finding(80 / 240, 240, 80 / 240, 80 / 240)
    assert found["replay.window.session.se.lru.b100"].value == 0
    assert found["replay.window.session.floor"] == Finding(80 / 240, 240, 80 / 240, 80 / 240)


def test_groups_of_other_sizes_have_an_eighth_of_the_memory():
    # 73 objects: one group of ten, seven of nine. K* of the sample is 73, and half of it, 36.5, an eighth of which
    # is 4.5625: room for four. Half of their own K* is five for the ten, four for the nines.
    # A group of n with room for r misses 2 n + (n - r) + 1 of 3 n calls, as above.
    found = findings(8, 73, "50%").numbers
    assert found["replay.window.session.groups.lru.b50"].value == ((20 + 6) + 7 * (18 + 6)) / 219
    assert found["replay.window.session.split.lru.b50"].value == ((20 + 7) + 7 * (18 + 6)) / 219


def test_a_budget_of_few_contexts_tells_no_error():
    # Of 80 objects of one size, 20 % are sixteen, two for each group; 19 % are fewer.
    found = findings(8, 80, "19%", "20%").numbers
    assert found["replay.window.session.se.lru.b19"].why == (
        "its budget holds fewer than 16 contexts of mean size; draw more sessions with --sample-sessions")
    assert (found["replay.window.session.lru.b19"].low, found["replay.window.session.lru.b19"].high) == (None, None)
    assert found["replay.window.session.lru.b19"].value is not None
    assert found["replay.window.session.groups.lru.b19"].value is not None
    assert found["replay.window.session.se.lru.b20"].value is not None


def test_an_amount_of_memory_is_refused():
    with pytest.raises(UsageError, match="budget 1GB for a sample"):
        Plan("window", ("session",), ("lru",), parse_budgets(["10%", "1GB"]), "last", SAMPLE)


def test_a_group_without_a_call_tells_no_error():
    found = findings(7, 70, "100%")
    assert found.numbers["replay.window.session.se.floor"].why == (
        "1 of the 8 groups of its sessions hold no call; draw more sessions with --sample-sessions")
    row, = found.tables["residency_replay"].to_pylist()
    assert (row["standard_error"], row["low"], row["high"], row["groups_rate"]) == (None, None, None, 70 / 210)
