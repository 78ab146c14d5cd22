"""The trace as a whole: in order, whole, and the same however it is made."""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sim_profiles import FLEET, START_US, having

import tracesim.writer
from tracesim.profile import Part, Profile
from tracesim.sessions import Calls
from tracesim.timeline import Timeline
from tracesim.writer import TraceWriter

HOUR_US = 3_600_000_000


def made(profile: Profile = FLEET, seed: int = 1, **how: int) -> Calls:
    return Calls.joined(calls for _, calls in Timeline(profile, seed, **how).pieces())


def equal(a: Calls, b: Calls) -> bool:
    return all(np.array_equal(getattr(a, field.name), getattr(b, field.name)) for field in fields(Calls))


@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 2**64 - 1), block=st.integers(1, 500), threads=st.integers(1, 4))
def test_blocks_and_threads_change_nothing(seed: int, block: int, threads: int) -> None:
    assert equal(made(seed=seed), made(seed=seed, block=block, threads=threads))


def test_numbers_too_large_for_their_columns_are_held_back() -> None:
    # Gaps of 30 years and speeds of 10^11 tokens a second: nothing overflows, all but the first calls are cut.
    wild = having(gaps={"inter": ((0.0, 1e11), (1.0, 1e12)), "intra": (Part(1.0, 1e11, 1.0),)},
                  durations={"tokens_per_s": 1e11}, context={"spread": 5.0, "scale": (1e12, 1e12)})
    timeline = Timeline(wild, 1)
    calls = Calls.joined(calls for _, calls in timeline.pieces())
    assert len(calls) == 400
    assert (calls.index == 0).all()
    assert set(calls.output.tolist()) == {2**31 - 1}
    assert calls.context.max() == 10**6
    assert timeline.cut_calls > 3_000


def test_another_seed_is_another_trace() -> None:
    assert not equal(made(seed=1), made(seed=2))


def test_a_larger_fleet_has_other_starts_but_the_same_sessions() -> None:
    small, large = made(), made(FLEET.with_window(800, None, None))
    few, many = (np.stack([calls.context, calls.output])[:, calls.session == 3] for calls in (small, large))
    assert (few == many).all()


def test_calls_are_in_order_and_sessions_whole() -> None:
    calls = made()
    assert (np.diff(calls.t_us) >= 0).all()
    assert calls.t_us[0] >= START_US
    assert calls.t_us[-1] < START_US + 48 * HOUR_US
    assert set(calls.session.tolist()) == set(range(400))
    for session in range(400):
        index = calls.index[calls.session == session]
        assert index.tolist() == list(range(len(index)))
    assert (calls.cached <= calls.context).all()


def test_calls_after_the_window_are_cut_and_counted() -> None:
    timeline = Timeline(FLEET, 1)
    kept = sum(len(calls) for _, calls in timeline.pieces())
    longer = Timeline(FLEET.with_window(400, 400.0, None), 1)
    everything = sum(len(calls) for _, calls in longer.pieces())
    assert longer.cut_calls == 0
    assert kept + timeline.cut_calls == everything
    assert timeline.cut_calls > 0


def test_pieces_do_not_grow_with_the_trace() -> None:
    # At one rate, a window of ten times the length comes in more pieces, not in larger ones.
    sizes = [[len(calls) for _, calls in Timeline(FLEET.with_window(None, days, None), 1, block=20).pieces()]
             for days in (2.0, 20.0)]
    assert len(sizes[1]) > 5 * len(sizes[0])
    assert max(sizes[1]) < 2 * max(sizes[0])


def test_equal_times_are_ordered_by_session_and_index() -> None:
    columns = {field.name: np.zeros(5, np.int64) for field in fields(Calls)}
    columns |= {"t_us": np.array([7, 5, 7, 7, 5]), "session": np.array([2, 9, 1, 1, 3]),
                "index": np.array([0, 0, 4, 3, 0], np.int32)}
    ordered = Calls(**columns).in_order()
    assert ordered.session.tolist() == [3, 9, 1, 1, 2]
    assert ordered.index.tolist() == [0, 0, 3, 4, 0]


def test_calls_without_a_session_are_evenly_mixed() -> None:
    timeline = Timeline(replace(FLEET, unsessioned_per_session=1.5), 1)
    assert timeline.units == 1_000
    calls = Calls.joined(calls for _, calls in timeline.pieces())
    anonymous = calls.session[calls.session < 0]
    assert sorted(anonymous.tolist()) == list(range(-600, 0))
    assert set(calls.session[calls.session >= 0].tolist()) == set(range(400))


def test_a_fleet_without_turns_marks_none() -> None:
    calls = made(replace(FLEET, turns=None))
    assert not calls.opens.any()
    assert not calls.turn.any()


# The file


def written(tmp_path: Path, profile: Profile = FLEET, **how: int) -> pa.Table:
    path = tmp_path / "calls.parquet"
    with TraceWriter(path, profile, {"seed": "1"}) as writer:
        for _, calls in Timeline(profile, 1, **how).pieces():
            writer.add(calls)
    table = pq.read_table(path)
    assert writer.rows == len(table)
    return table


def test_rows_are_calls_under_their_names(tmp_path: Path) -> None:
    calls, table = made(), written(tmp_path)
    row, place = table.slice(37, 1).to_pylist()[0], 37
    model = FLEET.classes.models[calls.model[place]].name
    assert row["session_id"] == f"s{calls.session[place]:09d}"
    assert row["timestamp"].timestamp() * 1e6 == pytest.approx(calls.t_us[place])
    assert [row["context_tokens"], row["cached_tokens"], row["output_tokens"]] == [
        calls.context[place], calls.cached[place], calls.output[place]]
    assert row["model"] == model
    assert row["region"] == FLEET.placement.regions[calls.region[place]]
    assert row["deployment"] == f"{model}-{calls.deployment[place]:02d}"
    assert [row["turn_id"], row["user_initiated"]] == [calls.turn[place], calls.opens[place]]
    assert round(row["duration_ms"] * 1000) == calls.duration_us[place]
    assert table.schema.metadata[b"seed"] == b"1"


def test_row_groups_have_one_size_whatever_the_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tracesim.writer, "ROW_GROUP", 1_000)
    files = []
    for block in (7, 400):
        rows = len(written(tmp_path, block=block))
        metadata = pq.read_metadata(tmp_path / "calls.parquet")
        sizes = [metadata.row_group(group).num_rows for group in range(metadata.num_row_groups)]
        assert sizes == [1_000] * (rows // 1_000) + ([rows % 1_000] if rows % 1_000 else [])
        files.append((tmp_path / "calls.parquet").read_bytes())
    assert files[0] == files[1]


def test_what_a_fleet_does_not_mark_is_null(tmp_path: Path) -> None:
    table = written(tmp_path, replace(FLEET, turns=None, unsessioned_per_session=1.0))
    assert table["turn_id"].null_count == table["user_initiated"].null_count == len(table)
    assert table["session_id"].null_count == 400
    turned = written(tmp_path, replace(FLEET, unsessioned_per_session=1.0))
    assert turned["turn_id"].null_count == turned["user_initiated"].null_count == 400


def test_knobs_of_the_window() -> None:
    assert FLEET.with_window(None, 1.0, None).window.sessions == 200
    assert FLEET.with_window(None, None, 0.01).window.sessions == round(0.01 * 2 * 86_400)
    assert FLEET.with_window(5, 1.0, None).window == replace(FLEET.window, days=1.0, sessions=5)
    assert FLEET.with_effectiveness(0.5).with_effectiveness(0.5).reuse.effectiveness == 0.25


def test_fewer_classes() -> None:
    profile = having(classes={"following": ((0.9, 0.1), (0.0, 1.0))}).with_classes(1)
    assert profile.classes.first == (1.0,)
    assert profile.classes.following == ((1.0,),)
    assert [model.name for model in profile.classes.models] == ["big-1"]
    assert set(made(profile).model.tolist()) == {0}
