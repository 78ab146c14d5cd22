"""Resampled sessions: the stream of a replicate, and what replicates say of a rate."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from residency_streams import streams, written

from metrics.core.metric import Findings
from replay.residency.bootstrap import Replicate, resampled_here
from replay.residency.budgets import parse_budgets
from replay.residency.cells import Plan, cells_here
from replay.residency.policy import find_policy, no_log
from replay.residency.resampling import (
    Bootstrap,
    draw_sessions,
    group_sessions,
    parse_bootstrap,
    resample,
)
from replay.residency.sampling import Drawn, Sample
from replay.residency.stream import UNITS, Stream, build_stream, no_eviction_peak
from replay.residency.stream_file import StreamFile
from replay.residency.study import declared, study
from telemetry.errors import UsageError

WORD = 2**64


@pytest.mark.parametrize(("text", "found"), [("0", None), ("1", Bootstrap(1)), ("200", Bootstrap(200, 0)),
                                             ("10000:17", Bootstrap(10_000, 17))])
def test_a_bootstrap_is_read(text, found):
    assert parse_bootstrap(text) == found


@pytest.mark.parametrize("text", ["10001", "-1", "0:1", "2.5", "200:", ":7", "", "x", "200:-1", "٣", "1" * 10,
                                  "200:" + "1" * 19, "200\n"])
def test_no_bootstrap(text):
    with pytest.raises(UsageError, match=r"--bootstrap .*1 to 10,000"):
        parse_bootstrap(text)


def plain_words(count: int, seed: int, number: int) -> list[int]:
    """Philox4x64-10, from the paper. Block b of four words is that of the counter b + 1."""
    found: list[int] = []
    for block in range(-(-count // 4)):
        a, b, c, d = block + 1, 0, 0, 0
        k0, k1 = seed, number
        for _ in range(10):
            low, high = 0xD2E7470EE14C6C93 * a, 0xCA5A826395121157 * c
            a, b, c, d = high // WORD ^ b ^ k0, high % WORD, low // WORD ^ d ^ k1, low % WORD
            k0, k1 = (k0 + 0x9E3779B97F4A7C15) % WORD, (k1 + 0xBB67AE8584CAA73B) % WORD
        found += [a, b, c, d]
    return found[:count]


def plain_draw(sessions: int, seed: int, number: int) -> list[int]:
    drawn = [word * sessions // WORD for word in plain_words(sessions, seed, number)]
    return [drawn.count(session) for session in range(sessions)]


@pytest.mark.parametrize(("sessions", "seed", "number"), [(1, 0, 1), (7, 3, 2), (1001, 10**18 - 1, 10_000)])
def test_sessions_are_drawn_by_the_words_of_seed_and_number(sessions, seed, number):
    assert draw_sessions(sessions, seed, number).tolist() == plain_draw(sessions, seed, number)


def test_groups_share_out_the_sessions_in_the_order_of_their_words():
    words = plain_words(7, 5, 0)
    order = sorted(range(7), key=lambda session: words[session])
    assert group_sessions(7, 5, 3).tolist() == [order.index(session) % 3 for session in range(7)]


def plain_resample(stream: Stream, session: list[int], copies: list[int]) -> tuple[list[tuple[int, ...]], int]:
    """(object, tokens, next use, time) of each access, and the objects; an object is a pair until the end."""
    rows = [(time, row, copy, item, size)
            for row, (time, item, size) in enumerate(zip(stream.time_us.tolist(), stream.objects.tolist(),
                                                         stream.tokens.tolist(), strict=True))
            for copy in range(copies[session[row]])]
    rows.sort()
    names = sorted({(item, copy) for _, _, copy, item, _ in rows})
    found = []
    for at, (time, _, copy, item, size) in enumerate(rows):
        later = (place for place in range(at + 1, len(rows)) if rows[place][2:4] == (copy, item))
        found.append((names.index((item, copy)), size, next(later, len(rows)), time))
    return found, len(names)


def content(stream: Stream) -> tuple[list[tuple[int, ...]], int]:
    columns = (stream.objects, stream.tokens, stream.next_use, stream.time_us)
    return list(zip(*(column.tolist() for column in columns), strict=True)), stream.object_count


def sessions_of(stream: Stream, sessions: int) -> np.ndarray:
    """Objects of the sessions by turns; read-only, as those of a stream file."""
    found = stream.objects % np.int32(sessions)
    found.flags.writeable = False
    return found


def test_a_replicate_worked_out_by_hand():
    # A is there twice, B once, C not at all. Copies come together, in the order of the call.
    stream = written("A5@0 B3@0 C9@1 A6@1 B4@7")
    session = sessions_of(stream, 3)
    found = resample(stream, session, np.array([2, 1, 0]))
    assert content(found) == ([(0, 5, 3, 0), (1, 5, 4, 0), (2, 3, 5, 0), (0, 6, 6, 1_000_000), (1, 6, 6, 1_000_000),
                               (2, 4, 6, 7_000_000)], 3)
    assert no_eviction_peak(found, "last") == 14  # 6 + 5 + 3 at the fourth access, after which the first A leaves
    assert content(resample(stream, session, np.array([0, 0, 0]))) == ([], 0)


@given(stream=streams(), sessions=st.integers(1, 4), copies=st.lists(st.integers(0, 3), min_size=4, max_size=4))
@settings(max_examples=150, deadline=None)
def test_a_replicate_is_that_of_the_plain_reference(stream, sessions, copies):
    session = sessions_of(stream, sessions)
    found = resample(stream, session, np.array(copies[:sessions]))
    assert content(found) == plain_resample(stream, session.tolist(), copies)


@given(stream=streams(), sessions=st.integers(1, 4))
@settings(max_examples=50, deadline=None)
def test_every_session_once_is_the_stream_itself(stream, sessions):
    once = resample(stream, sessions_of(stream, sessions), np.ones(sessions, np.int64))
    assert content(once) == content(stream)


POLICIES, BUDGETS = ("mrr", "lru"), ("20%", "60%", "300B")
PLAN = Plan("window", ("session", "session+model"), POLICIES, parse_budgets(BUDGETS), "last",
            bootstrap=Bootstrap(40, 11))


def stream_file(sessions: int, drawn: Drawn | None = None) -> StreamFile:
    """Sessions of two to five calls to two models, some at the same time; of a sample, many."""
    pause = 2 if drawn is None else 100
    rows = sorted((start * 3 + turn * (pause + start % 7), start, turn) for start in range(sessions)
                  for turn in range(2 + start % 4))
    numbers = {start: number for number, start in enumerate(dict.fromkeys(row[1] for row in rows))}
    session = np.array([numbers[start] for _, start, _ in rows], np.int32)
    tokens = np.array([20 + start % 13 + 5 * turn for _, start, turn in rows], np.int64)
    models = [2 * number + turn % 2 for number, (_, _, turn) in zip(session.tolist(), rows, strict=True)]
    order = {model: place for place, model in enumerate(dict.fromkeys(models))}
    objects = {"session": session, "session+model": np.array([order[model] for model in models], np.int32)}
    table = pa.table({
        "t_us": np.array([time for time, _, _ in rows], np.int64), "tokens": tokens,
        "deployment": pa.nulls(len(rows), pa.int64()), "sample_group": (session % 8).astype(np.int16),
        **{f"object_{key}": column for key, column in objects.items()},
        **{f"next_use_{key}": build_stream(column, tokens, int(column.max()) + 1).next_use
           for key, column in objects.items()}})
    return StreamFile(table, None, drawn)


def findings(plan: Plan, sessions: int, drawn: Drawn | None = None) -> Findings:
    file = stream_file(sessions, drawn)
    found = study(plan, file, cells_here(plan, file, 2, 1), resampled_here(plan, file, 2, 1))
    assert found.numbers.keys() == {number.key for number in declared(plan)}
    return found


def expected(file: StreamFile, copies: list[int], key: str) -> Replicate:
    """What the references of the policies count in the plain stream of a replicate."""
    rows, count = plain_resample(file.stream(key), file.stream("session").objects.tolist(), copies)
    objects, tokens, next_use, times = (np.array(column) for column in zip(*rows, strict=True))
    stream = Stream(objects.astype(np.int32), tokens, next_use, count, times)
    peak = no_eviction_peak(stream, "last") * UNITS
    misses = [find_policy(policy).reference(stream, budget.resolve(peak, 2), True, no_log()).misses
              for policy in POLICIES for budget in PLAN.budgets]
    return Replicate(len(rows), count, tuple(misses))


def test_replicates_count_what_the_references_do():
    file = stream_file(30)
    found = resampled_here(PLAN, file, 2, threads=1)
    assert (found.sessions, [len(some) for some in found.bootstrap.values()],
            [len(some) for some in found.jackknife.values()]) == (30, [40, 40], [20, 20])
    for key in PLAN.keys:
        for number in (1, 40):
            assert found.bootstrap[key][number - 1] == expected(file, plain_draw(30, 11, number), key)
        words = plain_words(30, 11, 0)
        order = sorted(range(30), key=lambda session: words[session])
        without = [int(order.index(session) % 20 != 3) for session in range(30)]
        assert found.jackknife[key][3] == expected(file, without, key)
    # Amounts stay as they are; shares are those of each replicate.
    assert len({replicate.misses for replicate in found.bootstrap["session"]}) > 20


def test_threads_change_nothing_and_progress_is_told():
    told: list[tuple[int, int]] = []
    file = stream_file(30)
    assert resampled_here(PLAN, file, 2, 3, lambda *state: told.append(state)) == resampled_here(PLAN, file, 2, 1)
    assert told == [(done, 60) for done in range(1, 61)]


def test_numbers_and_tables_have_the_intervals():
    found, file = findings(PLAN, 30), stream_file(30)
    some = resampled_here(PLAN, file, 2, 1).bootstrap["session"]
    rate = found.numbers["replay.window.session.lru.b60"]
    rates = [each.misses[4] / each.calls for each in some]
    assert rate.low == pytest.approx(rate.value - 1.96 * np.std(rates, ddof=1), abs=1e-8)
    assert rate.high == pytest.approx(rate.value + 1.96 * np.std(rates, ddof=1), abs=1e-8)
    floor = found.numbers["replay.window.session.floor"]
    assert floor.low == pytest.approx(
        floor.value - 1.96 * np.std([each.objects / each.calls for each in some], ddof=1), abs=1e-8)
    assert floor.low < floor.value < floor.high
    share = found.numbers["replay.window.session.ratio.mrr.b60"]
    assert share.low == pytest.approx(
        share.value - 1.96 * np.std([each.misses[1] / each.misses[4] for each in some], ddof=1), abs=1e-8)
    assert "replay.window.session.ratio.lru.b60" not in found.numbers
    assert [found.numbers[f"replay.window.bootstrap.{what}"].value for what in ("replicates", "seed", "sessions")] == [
        40, 11, 30]
    rows = found.tables["replay_uncertainty"].to_pylist()
    assert len(rows) == 2 * 2 * (1 + len(POLICIES) * len(BUDGETS))
    row, = (row for row in rows if (row["object_key"], row["policy"], row["budget_share"], row["method"]) == (
        "session", "lru", 0.6, "bootstrap"))
    assert (row["value"], row["lo"], row["hi"], row["replicates"], row["seed"], row["sessions"], row["why"]) == (
        rate.value, rate.low, rate.high, 40, 11, 30, None)
    assert (row["p2_5"], row["p97_5"]) == (min(rates), max(rates))
    assert row["misses"] / row["calls"] == rate.value
    ratios = found.tables["replay_ratio"].to_pylist()
    assert {(row["policy"], row["method"]) for row in ratios} == {("mrr", "bootstrap"), ("mrr", "jackknife")}
    assert all(row["value"] == row["misses"] / row["lru_misses"] for row in ratios)
    assert all(0 <= row["lo"] < row["hi"] and row["se"] > 0 for row in ratios)


def test_few_sessions_have_no_interval():
    found = findings(PLAN, 19)
    why = "the stream has 19 sessions; resampling them takes 20"
    assert found.numbers["replay.window.bootstrap.replicates"].why == why
    assert found.numbers["replay.window.session.lru.b60"].low is None
    assert found.numbers["replay.window.session.ratio.mrr.b60"].value is not None
    assert {(row["replicates"], row["lo"], row["se"], row["why"])
            for row in found.tables["replay_uncertainty"].to_pylist()} == {(0, None, None, why)}


def test_few_replicates_have_an_error_and_no_interval():
    plan = Plan("window", ("session",), ("lru",), parse_budgets(["60%"]), "last", bootstrap=Bootstrap(39))
    found = findings(plan, 30)
    assert found.numbers["replay.window.session.lru.b60"].low is None
    for row in found.tables["replay_uncertainty"].to_pylist():
        assert row["se"] > 0
        assert (row["lo"] is None, row["why"]) == (
            (True, "an interval of 95 % takes 40 replicates") if row["method"] == "bootstrap" else (False, None))
    assert not found.tables["replay_ratio"].num_rows


def test_a_sample_keeps_the_interval_of_the_sample():
    sample, sessions = Sample("0.5"), 160
    drawn = Drawn(sample, 2 * sessions, 2000)
    budgets = parse_budgets(["60%"])
    both = Plan("window", ("session",), ("lru",), budgets, "last", sample, bootstrap=Bootstrap(40))
    alone = Plan("window", ("session",), ("lru",), budgets, "last", sample)
    found, without = findings(both, sessions, drawn), study(alone, stream_file(sessions, drawn), cells_here(
        alone, stream_file(sessions, drawn), 2, 1))
    key = "replay.window.session.lru.b60"
    assert found.numbers[key] == without.numbers[key]
    assert found.numbers[key].low is not None
    method = {number.key: number.method for number in declared(both)}[key]
    assert "standard errors of the draw" in method
    assert "replicates" not in method
    row = found.tables["replay_uncertainty"].to_pylist()[2]
    assert (row["policy"], row["method"]) == ("lru", "bootstrap")
    assert row["lo"] != found.numbers[key].low
