"""Predicted hits beside logged ones, by how a call follows the session's preceding one."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replay.residency.agreement import agreement_study, declared_agreements, no_agreement
from replay.residency.budgets import parse_budgets
from replay.residency.cells import Plan, cells_here
from replay.residency.comparison import BANDS, BEFORE_STREAM, MOVES, Agreement, Logged, compare, compare_reference, ways
from replay.residency.policy import HIT, MISSED, PROMOTED
from replay.residency.stream import build_stream
from replay.residency.stream_file import StreamFile
from telemetry.errors import InputError

PLAN = Plan("window", ("session",), ("lru", "fnu", "mrr"), parse_budgets(["65%", "100%"]), "never")
FIRST, SAME, MOVED = 0, 3, 4
NONE = BANDS.index(None)


def stream_file(*calls: tuple[int, int, int | None, int, int]) -> StreamFile:
    """Of (object, tokens, cached, move, gap band)."""
    objects, tokens = np.array([call[0] for call in calls], np.int32), np.array([call[1] for call in calls], np.int64)
    return StreamFile(pa.table({
        "tokens": tokens, "cached": pa.array([call[2] for call in calls], pa.int64()), "object_session": objects,
        "move": pa.array([call[3] for call in calls], pa.int16()),
        "gap": pa.array([call[4] for call in calls], pa.int16()),
        "t_us": pa.array(range(len(calls)), pa.int64()),
        "next_use_session": build_stream(objects, tokens, int(objects.max()) + 1).next_use}), None)


def test_counts_worked_out_by_hand():
    # K* = 10 + 10 tokens; 65 % are 13, room for one of the two. LRU hits with the third call only, to the object of the
    # second; at 100 % it misses first touches only. MRR holds one whole and a copy of the other, 10 + 2.5 tokens, and
    # misses first touches only.
    file = stream_file((0, 10, 0, FIRST, NONE), (1, 10, 4, BEFORE_STREAM, 2), (1, 10, 9, SAME, 0), (0, 10, 8, SAME, 0),
                       (1, 10, 0, MOVED, 4), (0, 10, None, SAME, 0))
    replayed = cells_here(PLAN, file, beta=1, threads=2, beside_log=True)
    alone = {(FIRST, NONE): Agreement(miss_miss=1), (BEFORE_STREAM, 2): Agreement(miss_hit=1, miss_cached=4)}
    tight = alone | {(SAME, 0): Agreement(hit_hit=1, miss_hit=1, hit_context=10, hit_cached=9, miss_cached=8),
                     (MOVED, 4): Agreement(miss_miss=1)}
    wide = alone | {(SAME, 0): Agreement(hit_hit=2, hit_context=20, hit_cached=17),
                    (MOVED, 4): Agreement(hit_miss=1, hit_context=10)}
    assert [cell.beside_log for cell in replayed.cells["session"]] == [tight, wide, None, None, wide, wide]
    study = agreement_study(PLAN, replayed)
    assert study.numbers.keys() == {number.key for number in declared_agreements(PLAN)}
    assert {key.removeprefix("replay.window.session.never.agreement."): (number.value, number.n)
            for key, number in study.numbers.items()} == {
        "lru.b65": (3 / 5, 5), "lru.b100": (3 / 5, 5), "mrr.b65": (3 / 5, 5), "mrr.b100": (3 / 5, 5)}
    row = study.tables["replay_agreement"].to_pylist()[0]
    counts = ("hit_hit", "hit_miss", "miss_hit", "miss_miss", "hit_context_tokens", "hit_cached_tokens",
              "miss_cached_tokens")
    assert (row["policy"], row["budget"], row["calls"]) == ("lru", "65%", 5)
    assert [row[count] for count in counts] == [1, 0, 2, 2, 10, 9, 12]
    by_way = study.tables["replay_agreement_by"].to_pylist()
    assert [(row["transition"], row["gap"], row["calls"], row["agreement"]) for row in by_way[:4]] == [
        ("first_call", None, 1, 1.0), ("same_deployment", "below 10 s", 2, 0.5),
        ("cross_deployment", "1 h and more", 1, 1.0), ("before_stream", "1 to 5 min", 1, 0.0)]
    assert [(row["policy"], row["budget"]) for row in by_way[::4]] == [
        ("lru", "65%"), ("lru", "100%"), ("mrr", "65%"), ("mrr", "100%")]


def test_cells_are_the_same_beside_the_log():
    file = stream_file(*((n * n % 5, n % 7, n % 3, SAME, 1) for n in range(60)))
    plain, beside = (cells_here(PLAN, file, 1, 1, beside_log=asked).cells["session"] for asked in (False, True))
    assert {cell.beside_log for cell in plain} == {None}
    assert [vars(cell) | {"beside_log": None} for cell in beside] == [vars(cell) for cell in plain]


def test_calls_that_tell_nothing():
    file = stream_file((0, 10, None, FIRST, NONE), (0, 0, 0, SAME, 0))
    replayed = cells_here(PLAN, file, beta=1, threads=1, beside_log=True)
    study = agreement_study(PLAN, replayed)
    assert {number.why for number in study.numbers.values()} == {
        "no call of the stream reports cached tokens and has a context above 0"}
    assert {row["calls"] for row in study.tables["replay_agreement"].to_pylist()} == {0}
    assert len(study.tables["replay_agreement_by"]) == 0


def test_a_trace_without_cached_tokens():
    found = no_agreement(PLAN, "the trace reports no cached tokens")
    assert {number.why for number in found.numbers.values()} == {"the trace reports no cached tokens"}
    assert found.numbers.keys() == {number.key for number in declared_agreements(PLAN)}


@given(st.lists(st.tuples(st.sampled_from([HIT, PROMOTED, MISSED]), st.integers(0, 2), st.integers(-1, 2),
                          st.integers(0, len(MOVES) - 1), st.integers(0, NONE)), max_size=30))
@settings(max_examples=100, deadline=None)
def test_the_comparison_is_its_reference(calls: list[tuple[int, int, int, int, int]]):
    found = np.array([call[0] for call in calls], np.int8)
    tokens, cached = (np.array([call[i] for call in calls], np.int64) for i in (1, 2))
    moves, gaps = (np.array([call[i] for call in calls], np.int16) for i in (3, 4))
    logged = Logged(cached, ways(moves, gaps))
    assert compare(found, tokens, logged) == compare_reference(found.tolist(), tokens.tolist(), logged)


@pytest.mark.parametrize(("move", "gap"), [(8, 0), (-1, 0), (0, 6), (0, -1)])
def test_codes_that_are_none_are_refused(move: int, gap: int):
    with pytest.raises(InputError, match="access 1: "):
        ways(np.array([0, move], np.int16), np.array([0, gap], np.int16))
