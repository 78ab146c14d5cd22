"""Components that follow tables: what a table says is what is drawn, whatever the seed and the block."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sim_profiles import FLEET, offsets_of

from pipelines.matching.statistics import spearman
from telemetry.errors import UsageError
from tracesim.compiled import Longs
from tracesim.depth_table import bands_of, draw_depths_of_table, scores_in_bands
from tracesim.gap_tables import draw_gaps_of_tables
from tracesim.laws import Points, Tables, share_below
from tracesim.measured import Cell, DepthTable, DurationTables, GapTables, ReuseTables, Threads
from tracesim.measured_text import profile_text
from tracesim.philox import Numbers
from tracesim.profile import Placement, Profile, Turns
from tracesim.profile_file import load_profile
from tracesim.sessions import Calls
from tracesim.situations import SITUATIONS, situations
from tracesim.threads import draw_threads
from tracesim.timeline import Timeline
from tracesim.writer import table_of

ONE: Points = ((0.0, 1.0), (1.0, 1.0))
HALF: Points = ((0.0, 0.5), (1.0, 0.5))
SEEDS = st.integers(0, 2**64 - 1)


def always(value: float) -> Points:
    return (0.0, value), (1.0, value)


def threads(**parts: object) -> Threads:
    """One band, two classes: every thread grows evenly from half of its peak of 1,000."""
    plain = {"peak": (always(1_000),), "follows": (0.0,), "share": (ONE, ONE), "first": ((HALF,), (HALF,)),
             "step": (ONE,) * 5, "stays": (0.0, 0.0), "compacts": (0.0, 0.0), "extracts": (0.0, 0.0),
             "remaining": (HALF, HALF), "extract": (HALF, HALF)}
    return Threads(**{**plain, **parts})  # type: ignore[arg-type]


def contexts(kinds: list[int], law: Threads, seed: int = 1) -> list[int]:
    kind = np.array(kinds, np.int8)
    band, score = np.zeros(1, np.int64), np.zeros(1)
    return draw_threads(Numbers(seed), 0, offsets_of(len(kinds)), band, score, kind, law).tolist()


MEASURED = Profile(
    name="fitted", window=replace(FLEET.window, sessions=60, cuts=False),
    arrivals=replace(FLEET.arrivals, starts=((0.0, 0.0), (0.25, 0.5), (1.0, 1.0))),
    depth=DepthTable(((0.0, 1.0), (0.5, 2.0), (1.0, 30.0)), (1, 2)), turns=Turns((0.0, 0.25)),
    gaps=GapTables((always(5), ((0.0, 1.0), (1.0, 50.0))), (always(60), always(600)), (0.5, 0.0)),
    classes=FLEET.classes, placement=None,
    context=Threads((always(500), ((0.0, 1e3), (1.0, 1e5))), (0.0, 0.5), (ONE, HALF), ((HALF, ONE), (HALF, HALF)),
                    (ONE,) * 5, (0.1, 0.0), (0.1, 0.2), (0.1, 0.0), (HALF, HALF), (HALF, HALF)),
    reuse=ReuseTables((*(Cell(name, None, HALF) for name in SITUATIONS), Cell("same.spine", 0, ONE)), 16, 1.0),
    durations=DurationTables(HALF, None), unsessioned_per_session=0.1)


def test_values_between_points() -> None:
    tables = Tables([((0.0, 1.0), (0.5, 100.0), (1.0, 100.0)), ((0.0, 0.0), (1.0, 10.0))])
    # The logarithm is linear between 1 and 100, the value itself from 0 on.
    drawn = tables.draw(np.array([0, 0, 0, 1]), np.array([0.25, 0.5, 0.75, 0.3]))
    assert drawn == pytest.approx([10, 100, 100, 3])


def test_depths_and_their_bands() -> None:
    depths = draw_depths_of_table(Numbers(3), 0, 20_000, DepthTable(((0, 1), (0.5, 2), (0.75, 3), (1, 5)), (1, 3)))
    assert [float((depths == n).mean()) for n in (1, 2)] == pytest.approx([0.5, 0.25], abs=0.02)
    assert set(depths.tolist()) == {1, 2, 3, 4}
    assert bands_of(np.array([1, 2, 3, 4]), (1, 3)).tolist() == [0, 0, 1, 1]


def test_a_thread_grows_to_its_peak() -> None:
    assert contexts([0] * 5, threads()) == [500, 625, 750, 875, 1000]


@pytest.mark.parametrize(("follows", "correlation"), [(0.0, 0.0), (0.8, 0.786), (1.0, 1.0), (-1.0, -1.0)])
def test_a_peak_follows_depth_within_its_band(follows: float, correlation: float) -> None:
    # A Gaussian correlation of 0.8 is a rank correlation of 6 / pi asin(0.8 / 2) = 0.786.
    table = DepthTable(((0.0, 1.0), (1.0, 1e6)), (1, 1_000))
    law = threads(peak=(((0.0, 1e3), (1.0, 1e6)),) * 2, follows=(0.0, follows))
    depth = draw_depths_of_table(Numbers(9), 0, 20_000, table)
    band = bands_of(depth, table.bands)
    score = scores_in_bands(Numbers(9), 0, band, table)
    peak = draw_threads(Numbers(9), 0, np.arange(20_001), band, score, np.zeros(20_000, np.int8), law)
    assert spearman(depth[band == 0], peak[band == 0]) == pytest.approx(0, abs=0.03)
    assert spearman(depth[band == 1], peak[band == 1]) == pytest.approx(correlation, abs=0.03)
    # Whatever it follows, the peak has the distribution of its table: log-uniform from 1,000 to a million.
    assert np.quantile(peak[band == 1], [0.25, 0.5, 0.75]) == pytest.approx([10**3.75, 10**4.5, 10**5.25], rel=0.12)


def test_the_share_below_a_value() -> None:
    table: Points = ((0.0, 1.0), (0.5, 100.0), (0.7, 100.0), (1.0, 1000.0))
    # The logarithm is linear: half of 1 to 100 is 10; of an atom nothing lies below it.
    assert [share_below(table, value) for value in (0.5, 1, 10, 100, 1000, 2000)] == pytest.approx(
        [0, 0, 0.25, 0.5, 1, 1])
    assert share_below(((0.0, 0.0), (1.0, 10.0)), 3) == pytest.approx(0.3)


def test_a_single_call_is_its_peak() -> None:
    assert contexts([0], threads()) == [1000]


def test_every_class_has_a_thread() -> None:
    # The second class reaches half of the peak: 250 to 500 in two calls.
    assert contexts([0, 1, 0, 1, 0], threads(share=(ONE, HALF))) == [500, 250, 750, 500, 1000]


def test_a_thread_that_only_shrinks_begins_at_its_peak() -> None:
    assert contexts([0] * 4, threads(compacts=(1.0, 1.0))) == [1000, 500, 250, 125]
    assert contexts([0] * 3, threads(stays=(1.0, 1.0))) == [1000] * 3


def test_after_an_extract_a_thread_goes_on() -> None:
    # Every other call, on average, carries half of the thread; the others go on from where it was.
    found = contexts([0] * 200, threads(extracts=(0.5, 0.0)))
    whole = [tokens for tokens in found if tokens >= 500]
    steps = np.diff(whole)
    assert found[0] == 500
    assert max(found) == 1000
    assert 60 < len(found) - len(whole) < 140
    assert steps.min() >= 0


@settings(max_examples=20, deadline=None)
@given(SEEDS)
def test_the_largest_context_is_the_peak(seed: int) -> None:
    law = threads(share=(((0.0, 0.2), (1.0, 1.0)), HALF), step=(((0.0, 0.1), (1.0, 9.0)),) * 5, stays=(0.1, 0.3),
                  compacts=(0.2, 0.1), extracts=(0.2, 0.2))
    assert max(contexts([0, 1, 0, 0, 1, 1, 0, 0, 1, 0], law, seed)) == 1000


@pytest.mark.parametrize("alike", [0.0, 0.8])
def test_gaps_follow_their_table_however_alike_they_are(alike: float) -> None:
    offsets = offsets_of(*[11] * 3_000)
    law = GapTables((((0.0, 1.0), (0.5, 10.0), (1.0, 1000.0)),), (always(1),), (alike, 0.0))
    gaps, _ = draw_gaps_of_tables(Numbers(5), 0, offsets, np.zeros(3_000, np.int64), np.zeros(33_000, np.bool_), law)
    by_session = (gaps.reshape(3_000, 11)[:, 1:] < 10_000_000).mean(axis=1)
    assert by_session.mean() == pytest.approx(0.5, abs=0.04)
    # Ten independent gaps are seldom all on one side: twice in a thousand sessions.
    assert (float(((by_session == 0) | (by_session == 1)).mean()) > 0.2) == (alike > 0)


def test_situations_in_their_order() -> None:
    calls = [  # class, model, region, deployment, seconds since the call before, tokens; situation, band of gaps
        (0, 0, 1, 1, 0, 100, "first", 0),
        (0, 0, 1, 1, 5, 110, "same.spine", 0),
        (1, 1, 1, 5, 5, 50, "new.mid", 0),
        (0, 0, 1, 1, 15, 120, "excursion.1", 1),
        (0, 0, 1, 2, 70, 130, "cross_deployment", 2),
        (0, 0, 2, 2, 400, 140, "cross_region", 3),
        (0, 0, 2, 2, 4000, 90, "reduced.spine", 4),
        (1, 1, 1, 5, 1, 60, "return.mid", 4),
        (1, 2, 1, 6, 1, 60, "new.mid", 0),
        (1, 1, -1, -1, 1, 60, "return.mid", 0),
        (0, 0, 2, 2, 1, 95, "excursion.3+", 0),
    ]
    columns = [np.array(column, np.int64) for column in list(zip(*calls, strict=True))[:6]]
    kind, model, region, deployment, seconds, tokens = columns
    found, band = situations(offsets_of(len(calls)), kind.astype(np.int8), model, 3, region, deployment,
                             seconds * 1_000_000, tokens)
    assert [SITUATIONS[place] for place in found] == [call[6] for call in calls]
    assert band.tolist() == [call[7] for call in calls]


def columns_of(calls: Calls) -> list[Longs]:
    return [getattr(calls, field.name) for field in fields(calls)]


@pytest.mark.parametrize("independent", [False, True])
def test_blocks_and_threads_change_nothing(independent: bool) -> None:
    def drawn(**how: int) -> Calls:
        return Calls.joined(calls for _, calls in Timeline(MEASURED, 3, independent=independent, **how).pieces())

    whole = drawn()
    for other in (drawn(block=7), drawn(threads=3, block=16)):
        assert all((a == b).all() for a, b in zip(columns_of(whole), columns_of(other), strict=True))


def test_independent_values_are_those_of_the_fleet() -> None:
    tied, apart = (Calls.joined(calls for _, calls in Timeline(MEASURED, 3, independent=independent).pieces())
                   for independent in (False, True))
    for name in ("context", "model", "duration_us", "region", "session"):
        assert sorted(getattr(tied, name)) == sorted(getattr(apart, name))
    assert (tied.context != apart.context).any()
    assert (apart.cached <= apart.context).all()


def test_what_a_fleet_does_not_log_is_null() -> None:
    table = table_of(Calls.joined(calls for _, calls in Timeline(MEASURED, 3).pieces()), MEASURED)
    nulls = {name for name in table.column_names if table[name].null_count == len(table)}
    assert nulls == {"output_tokens", "region", "deployment"}
    assert set(np.mod(table["cached_tokens"].to_numpy(), 16)) == {0}


def test_a_profile_of_tables_is_read_as_it_was_written(tmp_path: object) -> None:
    placed = replace(MEASURED, placement=Placement(("region-01",), (1.0,), 2, 1.0, 0.1, 0.0, 0.2, 0.0, 0.0),
                     durations=DurationTables(None, (ONE, HALF)))
    for profile in (MEASURED, placed):
        path = tmp_path / "fitted.toml"  # type: ignore[operator]
        path.write_text(profile_text(profile, ["A head."]), encoding="utf-8")
        assert load_profile(str(path)) == profile


WRONG = {
    "a peak that follows too closely": ("follows = 0.5", "follows = 1.5",
                                       "follows = '1.5'; expected a number from -1 to 1"),
    "bands that do not rise": ("bands = [1, 2]", "bands = [1, 1]", "whole numbers of calls that rise from 1"),
    "a band too few": ("[[gaps.bands]]\nintra = [[0, 5], [1, 5]]\ninter = [[0, 60], [1, 60]]\n", "",
                       "gaps.bands = '1 tables'; expected 2 of them"),
    "values that fall": ("edges = [[0, 1], [0.5, 2], [1, 30]]", "edges = [[0, 1], [0.5, 40], [1, 30]]",
                         "values from 1 to 1e+07 that do not fall"),
    "no edges": ("edges = [[0, 1], [0.5, 2], [1, 30]]", "edges = []", "depth.edges = '[]'; expected a list of pairs"),
    "a depth beyond all memory": ("[1, 30]]", "[1, 1e18]]", "values from 1 to 1e+07 that do not fall"),
    "a situation that is none": ('"cross_region"', '"cross_regions"', "reuse.cells.6.situation = 'cross_regions'"),
    "starts that end early": ("[1, 1]]\n\n[classes]", "[1, 0.9]]\n\n[classes]",
                              "that rise within the window, from share 0 to share 1"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_is_said_with_its_line(case: str, tmp_path: object) -> None:
    old, new, message = WRONG[case]
    text = profile_text(MEASURED, ["A head."])
    assert old in text
    path = tmp_path / "fitted.toml"  # type: ignore[operator]
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(UsageError) as error:
        load_profile(str(path))
    assert message in str(error.value)
    assert "fitted.toml, line" in str(error.value)
