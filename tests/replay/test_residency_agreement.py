"""Predicted hits beside logged ones."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from replay.residency.agreement import (
    Agreement,
    agreement_study,
    agreements_here,
    compare,
    compare_reference,
    declared_agreements,
    no_agreement,
)
from replay.residency.budgets import parse_budgets
from replay.residency.cells import Plan
from replay.residency.stream import build_stream
from replay.residency.stream_file import StreamFile

PLAN = Plan("window", ("session",), ("lru", "fnu", "mrr"), parse_budgets(["65%", "100%"]), "never")


def stream_file(*calls: tuple[int, int, int | None]) -> StreamFile:
    """Of (object, tokens, cached)."""
    objects, tokens = np.array([call[0] for call in calls], np.int32), np.array([call[1] for call in calls], np.int64)
    return StreamFile(pa.table({
        "tokens": tokens, "cached": pa.array([call[2] for call in calls], pa.int64()), "object_session": objects,
        "t_us": pa.array(range(len(calls)), pa.int64()),
        "next_use_session": build_stream(objects, tokens, int(objects.max()) + 1).next_use}), None)


def test_counts_worked_out_by_hand():
    # K* = 10 + 10 tokens; 65 % are 13, room for one of the two. LRU hits with the third call only, to the object of the
    # second; at 100 % it misses first touches only. MRR holds one whole and a copy of the other, 10 + 2.5 tokens, and
    # misses first touches only.
    file = stream_file((0, 10, 0), (1, 10, 4), (1, 10, 9), (0, 10, 8), (1, 10, 0), (0, 10, None))
    found = agreements_here(PLAN, file, beta=1, threads=2)
    assert found == [Agreement(1, 0, 2, 2), Agreement(2, 1, 1, 1), Agreement(2, 1, 1, 1), Agreement(2, 1, 1, 1)]
    study = agreement_study(PLAN, found)
    assert study.numbers.keys() == {number.key for number in declared_agreements(PLAN)}
    assert {key.removeprefix("replay.window.session.never.agreement."): (number.value, number.n)
            for key, number in study.numbers.items()} == {
        "lru.b65": (3 / 5, 5), "lru.b100": (3 / 5, 5), "mrr.b65": (3 / 5, 5), "mrr.b100": (3 / 5, 5)}
    row = study.tables["replay_agreement"].to_pylist()[0]
    assert (row["policy"], row["budget"], row["calls"], row["hit_hit"], row["miss_hit"]) == ("lru", "65%", 5, 1, 2)


def test_calls_that_tell_nothing():
    file = stream_file((0, 10, None), (0, 0, 0))
    found = agreements_here(PLAN, file, beta=1, threads=1)
    assert set(found) == {Agreement(0, 0, 0, 0)}
    whys = {number.why for number in agreement_study(PLAN, found).numbers.values()}
    assert whys == {"no call of the stream reports cached tokens and has a context above 0"}


def test_a_trace_without_cached_tokens():
    found = no_agreement(PLAN, "the trace reports no cached tokens")
    assert {number.why for number in found.numbers.values()} == {"the trace reports no cached tokens"}
    assert found.numbers.keys() == {number.key for number in declared_agreements(PLAN)}


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 2), st.integers(-1, 2)), max_size=30))
@settings(max_examples=100, deadline=None)
def test_the_comparison_is_its_reference(calls: list[tuple[bool, int, int]]):
    missed = np.array([call[0] for call in calls], np.bool_)
    tokens, cached = (np.array([call[i] for call in calls], np.int64) for i in (1, 2))
    assert compare(missed, tokens, cached) == compare_reference(missed.tolist(), tokens.tolist(), cached.tolist())
