"""The trace that the memory benchmark reads has an id a call, and one call in a hundred twice."""

from __future__ import annotations

import shutil
from itertools import pairwise
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from benchmarks import traces


def test_ids_and_repeats(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = traces.ROOT / "sample_data" / "chat" / "calls.parquet"
    shutil.copy(source, tmp_path / "chat.parquet")
    monkeypatch.setattr(traces, "trace_of", lambda calls: tmp_path / "chat.parquet")
    path = traces.trace_with_ids(24_710)
    assert path == tmp_path / "chat-ids.parquet"
    before, after = pq.read_table(source), pq.read_table(path)
    ids, outputs = after["call_id"].to_pylist(), after["output_tokens"].to_pylist()
    repeats = [i for i, (one, next_one) in enumerate(pairwise(ids)) if one == next_one]
    assert len(set(ids)) == len(before) == len(after) - len(repeats)
    assert 0.008 <= len(repeats) / len(before) <= 0.012
    assert all(outputs[i] == outputs[i + 1] // 4 for i in repeats)
    kept = sorted(set(range(len(after))) - set(repeats))
    assert after.take(kept).select(["timestamp", "output_tokens"]).equals(
        before.select(["timestamp", "output_tokens"]).cast(after.select(["timestamp", "output_tokens"]).schema))
