"""Session ids collected while rows are read: each that a sound row has, mostly once, and never many at once."""

from __future__ import annotations

import pyarrow as pa
import pytest

from metrics.core import session_ids
from metrics.core.session_ids import SESSION_SCHEMA, SessionIds


def batch(ids: list[str | None], defects: list[str | None] | None = None) -> pa.RecordBatch:
    return pa.record_batch({"session_id": pa.array(ids, pa.string()).dictionary_encode(),
                            "defect": pa.array(defects or [None] * len(ids), pa.string())})


def collect(*batches: pa.RecordBatch) -> list[list[str]]:
    given: list[pa.RecordBatch] = []
    sessions = SessionIds(given.append)
    for one in batches:
        sessions.add(one)
    sessions.flush()
    assert all(ids.schema == SESSION_SCHEMA for ids in given)
    return [ids["session_id"].to_pylist() for ids in given]


def test_each_id_of_a_sound_row_comes_once() -> None:
    assert collect(batch(["a", "b", None, "a"]), batch(["b", "c"])) == [["a", "b", "c"]]


def test_an_id_that_only_unusable_rows_have_is_none() -> None:
    assert collect(batch(["a", "b"], [None, "context"]), batch(["c"], ["time"])) == [["a"]]


def test_a_dictionary_may_hold_more_than_its_rows_do() -> None:
    ids = pa.DictionaryArray.from_arrays(pa.array([2, None, 2], pa.int32()), pa.array(["a", "b", "c"]))
    rows = pa.record_batch({"session_id": ids, "defect": pa.array([None] * 3, pa.string())})
    assert collect(rows) == [["c"]]


def test_no_rows_and_no_ids() -> None:
    assert collect() == []
    assert collect(batch([None, None])) == [[]]


def test_what_is_held_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_ids, "_MOST_HELD", 4)
    # Five held, three of them distinct: more than half, so they go; then the same again.
    assert collect(batch(["a", "b", "c"]), batch(["a", "b"]), batch(["a"])) == [["a", "b", "c"], ["a"]]
    # Five held, two distinct: they stay.
    assert collect(batch(["a", "b"]), batch(["a", "b"]), batch(["a"])) == [["a", "b"]]
