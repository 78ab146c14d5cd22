"""Event logs: each component by its parameters, the same log however it is made, and profiles that cannot be used."""

from __future__ import annotations

import re
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sim_profiles import START_US, offsets_of

from metrics.catalogue import EVENT_METRICS
from metrics.core.metric import measure
from pipelines.opening import open_events
from telemetry.errors import UsageError
from tracesim.events.components import depth_table, draw_counters, draw_depths, draw_gaps, draw_kinds
from tracesim.events.fleet import Events, blocks_of
from tracesim.events.profile import Counters, EventProfile, Kinds, Labels
from tracesim.events.timeline import EventTimeline
from tracesim.events.writer import SCHEMA, EventWriter, event_table
from tracesim.parameters import Depth, Part, Window
from tracesim.philox import Numbers
from tracesim.profile_file import load_profile, profiles

DAY_US = 86_400_000_000
LOG = EventProfile(
    name="small", window=Window(START_US, 10.0, 300), selected=1.0, hours=(1.0,) * 24,
    depth=Depth((Part(0.9, 8.0, 0.7), Part(0.1, 60.0, 0.5)), 1000), gaps=(Part(1.0, 6.0, 1.0),),
    kinds=Kinds("start", "end", Labels(("tool", "note"), (0.75, 0.25)), Labels(("read", "edit"), (0.6, 0.4))),
    models=Labels(("m-1", "m-2"), (0.5, 0.5)),
    counters=Counters(calls=0.5, first=1000, spread=0.0, growth=100, noise=0.0, limit=5000, compacted=0.5, warm=0.6,
                      found=(0.5, 1.0), output=40, output_sigma=0.0),
    repeats=0.1)


def made(profile: EventProfile = LOG, seed: int = 1, **how: int) -> Events:
    return Events.joined(events for _, events in EventTimeline(profile, seed, **how).pieces())


def equal(a: Events, b: Events) -> bool:
    return all(np.array_equal(getattr(a, field.name), getattr(b, field.name)) for field in fields(Events))


@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 2**64 - 1), block=st.integers(1, 5000), threads=st.integers(1, 4),
       piece=st.integers(1, 5000))
def test_blocks_and_threads_change_nothing(seed: int, block: int, threads: int, piece: int) -> None:
    assert equal(made(seed=seed), made(seed=seed, block=block, threads=threads, piece=piece))


@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 2**64 - 1))
def test_the_log_as_a_whole(seed: int) -> None:
    events = made(seed=seed, block=500, piece=700)
    assert (np.diff(events.t_us) >= 0).all()
    assert set(events.session.tolist()) == set(range(300))
    end_us = START_US + 10 * DAY_US
    by_session = events.take(np.lexsort((events.index, events.session)))
    last = np.append(by_session.session[1:] != by_session.session[:-1], True)
    # Every history is whole: it ends on the last day and begins in the window.
    assert (by_session.t_us[last] >= end_us - DAY_US - 10**6).all()
    assert (by_session.t_us[last] < end_us).all()
    assert events.t_us[0] >= START_US
    first = by_session.index == 0
    assert (by_session.kind[first] == 0).all()
    assert not by_session.known[first].any()
    assert (by_session.kind[last & ~first] == 1).all()
    assert ((by_session.tool >= 0) == (by_session.kind == 2)).all()
    # Counters run on within a session, and none starts below zero.
    for name in ("context", "cached", "output"):
        rises = np.diff(getattr(by_session, name))
        assert (rises[by_session.index[1:] > 0] >= 0).all()
    assert (by_session.cached <= by_session.context).all()


def test_another_seed_is_another_log() -> None:
    assert not equal(made(seed=1), made(seed=2))


def test_depths_by_hand() -> None:
    # Half of the sessions have exactly 3 events, half a lognormal of which all is rounded to 1.
    table = depth_table(Depth((Part(0.5, 3.0, 0.0), Part(0.5, 1e-9, 0.1)), 4))
    assert table.tolist() == [0.5, 0.5, 1.0, 1.0]
    depths = draw_depths(Numbers(7), 1000, table)
    assert abs(int((depths == 3).sum()) - 500) <= 3
    assert set(depths.tolist()) == {1, 3}


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 2**64 - 1))
def test_depths_hit_every_quantile(seed: int) -> None:
    law = Depth((Part(1.0, 20.0, 1.5),), 100_000)
    depths = np.sort(draw_depths(Numbers(seed), 5000, depth_table(law)))
    for share, z in ((0.1, -1.2816), (0.5, 0.0), (0.9, 1.2816), (0.99, 2.3263)):
        expected = 20 * np.exp(1.5 * z)
        assert depths[int(share * 5000)] == pytest.approx(expected, rel=0.04, abs=1)


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 2**64 - 1))
def test_moments_of_gaps_kinds_and_counters(seed: int) -> None:
    numbers, offsets = Numbers(seed), offsets_of(*(2000,) * 20)
    sessions = np.arange(20, dtype=np.int64)
    inner = np.ones(offsets[-1], np.bool_)
    inner[offsets[:-1]] = False
    gaps = draw_gaps(numbers, sessions, offsets, (Part(1.0, 6.0, 1.0),), 10**15)
    assert (gaps[~inner] == 0).all()
    assert np.median(gaps[inner]) == pytest.approx(6e6, rel=0.04)
    assert np.log(gaps[inner]).std() == pytest.approx(1.0, rel=0.03)
    kind, tool, twice = draw_kinds(numbers, sessions, offsets, LOG.kinds, 0.1)
    assert (kind == 2).mean() == pytest.approx(0.75, abs=0.012)
    assert (tool == 0).mean() == pytest.approx(0.45, abs=0.014)
    assert twice.mean() == pytest.approx(0.1, abs=0.008)
    context, cached, output, known = draw_counters(numbers, sessions, offsets, LOG.counters)
    last = offsets[1:] - 1
    calls = output[last] / 40
    assert calls.sum() / (20 * 1999) == pytest.approx(0.5, abs=0.013)
    assert cached[last].sum() / context[last].sum() == pytest.approx(0.6 * 0.75, abs=0.015)
    assert known[last].all()
    # 1,000 to 5,000 once, then 2,550 to 5,000 by steps of 100.
    assert np.diff(np.unique(np.diff(context[:2000]))).max() <= 1000


def test_a_session_that_lasts_too_long_is_shortened() -> None:
    gaps = draw_gaps(Numbers(3), np.arange(2, dtype=np.int64), offsets_of(100, 1), (Part(1.0, 6.0, 1.0),), 60_000_000)
    free = draw_gaps(Numbers(3), np.arange(2, dtype=np.int64), offsets_of(100, 1), (Part(1.0, 6.0, 1.0),), 10**15)
    assert 60_000_000 - 100 <= gaps.sum() <= 60_000_000
    assert gaps[1:100] == pytest.approx(free[1:100] * (60_000_000 / free.sum()), abs=1)


@pytest.mark.parametrize(("depths", "block", "parts"), [
    ([5, 5, 5, 5], 10, [(0, 1), (1, 3), (3, 4)]), ([100, 1, 1], 10, [(0, 3)]), ([1], 10, [(0, 1)]),
    ([1, 100, 1, 1], 10, [(0, 1), (1, 4)]),
])
def test_blocks(depths: list[int], block: int, parts: list[tuple[int, int]]) -> None:
    found = blocks_of(np.array(depths, np.int64), block)
    assert [(part.start, part.stop) for part in found] == parts


def test_an_event_that_is_logged_twice_stands_there_twice(tmp_path: Path) -> None:
    events = made()
    table = event_table(events, LOG)
    assert table.schema == SCHEMA
    assert len(table) == len(events) + int(events.twice.sum())
    rows = table.to_pylist()
    place = int(np.flatnonzero(events.twice)[0])
    at = place  # nothing before it stands twice
    assert rows[at] == rows[at + 1]
    with EventWriter(tmp_path / "events.parquet", LOG, {"seed": "1"}) as writer:
        for _, piece in EventTimeline(LOG, 1, block=300, piece=900).pieces():
            writer.add(piece)
    assert pq.read_table(tmp_path / "events.parquet").equals(table.cast(pa.schema(list(SCHEMA))))
    assert writer.rows == len(table)
    with open_events(tmp_path / "events.parquet", work=tmp_path, strict=True) as log:
        found = {key: number.value for metric in EVENT_METRICS for key, number in measure(metric, log).numbers.items()}
    assert found["events.count"] == len(events)
    assert found["events.sessions"] == 300
    assert found["events.counter_falls"] == 0
    assert found["events.tool_share"] == (events.kind == 2).sum() / len(events)


def test_windows_and_knobs() -> None:
    shorter = LOG.with_window(None, 1.0, None)
    assert (shorter.window.sessions, shorter.selected, shorter.longest_us) == (30, 0.5, DAY_US // 2)
    assert LOG.with_window(None, None, 0.01).window.sessions == 8640
    assert LOG.with_window(7, None, None).window.sessions == 7
    events = made(shorter)
    assert START_US <= events.t_us[0] <= events.t_us[-1] < START_US + DAY_US
    cold = made(LOG.with_effectiveness(0))
    assert not cold.cached.any()
    assert cold.context.any()
    with pytest.raises(UsageError, match="places no calls"):
        LOG.with_stickiness(0.5)
    with pytest.raises(UsageError, match="no model classes"):
        LOG.with_classes(1)


CODE = profiles()["code"].read_text(encoding="utf-8")
WRONG = {
    "unknown key": ("repeats = 0.02", "repeat = 0.02", r"line \d+: unknown key events.repeat. Did you mean repeats"),
    "missing": ("repeats = 0.02", "", "events.repeats is missing"),
    "chance": ("repeats = 0.02", "repeats = 1.2", r"line \d+: events.repeats = '1.2'; expected a number from 0 to 1"),
    "negative": ("growth = 1_500", "growth = -1", "counters.growth"),
    "shares": ("shares = [0.8545, 0.080, 0.0655]", "shares = [0.5, 0.1, 0.1]", "events.shares.*sum to 1, not to 0.7"),
    "names twice": ('names = ["tool", "command", "message"]', 'names = ["tool", "tool", "message"]',
                    "events.names.*different names"),
    "tools": ('"list", "fetch"]', '"list"]', "events.tools.shares"),
    "selected": ("selected = 1 ", "selected = 34 ", "window.selected = '34.0'; expected days at the end of the window"),
    "weights": ("weight = 0.6225", "weight = 0.9", "depth.parts"),
    "first": ("first = 18_000", "first = 180_000", "counters.first"),
    "too much": ("limit = 160_000", "limit = 1_000_000_000", "depth.most"),
    "not of events": ("[models]", "[classes]\nfirst = [1]\n[models]", "unknown key classes"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_profile_that_cannot_be_used(case: str, tmp_path: Path) -> None:
    before, after, says = WRONG[case]
    assert CODE.count(before) == 1
    path = tmp_path / "wrong.toml"
    path.write_text(CODE.replace(before, after), encoding="utf-8")
    with pytest.raises(UsageError) as found:
        load_profile(str(path))
    assert re.search(says, str(found.value)), found.value


def test_a_profile_can_build_on_it(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('base = "code"\n[events]\nrepeats = 0\n', encoding="utf-8")
    assert load_profile(str(path)) == replace(load_profile("code"), name="mine", repeats=0.0)
