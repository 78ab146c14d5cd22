"""Verdicts of the comparison of a log with a trace: what fails, what chance hides, what is not logged."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from matplotlib.backends.backend_svg import FigureCanvasSVG

from figures.matched import matched_figure
from pipelines.fitting.rows import Rows
from pipelines.matching.compare import Compared, _interval, compare, replay_rows
from pipelines.matching.replicates import Replicates
from pipelines.matching.side import BUDGETS, POLICIES, Side
from pipelines.matching.statistics import ks_critical, ks_distance, rank_interval, share_error, spearman
from replay.residency.replay import Cell

SESSIONS = 40


def rows(scale: int = 1) -> Rows:
    """40 sessions of one to four calls; contexts and gaps grow with depth."""
    depths = np.tile([1, 2, 3, 4], SESSIONS // 4)
    offsets = np.append(0, np.cumsum(depths))
    session = np.repeat(np.arange(SESSIONS), depths)
    index = np.arange(offsets[-1]) - offsets[:-1][session]
    tokens = 1_000 * scale * (index + 1)
    ones, gaps = np.ones(len(session), np.int64), np.where(index > 0, 10_000_000, 0)
    return Rows(offsets, session, index, np.cumsum(gaps), gaps, tokens, tokens // 2, ones, ones, 0 * ones, 0 * ones,
                0 * ones, 0 * ones, {0: ("spine", "spine")})


def cells(rates: tuple[int, int, int]) -> list[Cell]:
    """The same misses of 100 calls at every budget, policy by policy."""
    return [Cell(policy, budget, 1, 1, 100, 10, misses, 0, misses / 100, None, 0.1, 1, 1)
            for policy, misses in zip(POLICIES, rates, strict=True) for budget in BUDGETS]


def side(rates: tuple[int, int, int] = (40, 30, 10), spread: float = 0.001, scale: int = 1, kstar: int = 1) -> Side:
    chance = np.random.default_rng(1).normal(0, spread, (50, len(POLICIES), len(BUDGETS)))
    replicates = Replicates(np.array(rates).reshape(1, 3, 1) / 100 + chance, np.full(50, 0.1),
                            np.full(50, 10 * kstar))
    peaks = {p: 1_000 * scale * n for p, n in (("0.5", 2), ("0.9", 4), ("0.99", 4))}
    return Side(rows(scale), peaks, {("spine", "spine"): 1.0},
                [replace(cell, kstar_bytes=10 * kstar) for cell in cells(rates)], replicates)


def verdicts(measured: Side, generated: Side) -> dict[str, str]:
    return {line.what: line.verdict for line in compare(measured, generated)}


def failed(generated: Side) -> set[str]:
    return {what for what, verdict in verdicts(side(), generated).items() if verdict == "FAILS"}


def test_a_side_is_like_itself() -> None:
    assert set(verdicts(side(), side()).values()) == {"ok"}
    assert len(verdicts(side(), side())) == 3 + 1 + 3 + 2 + 1 + 1 + 2 * len(BUDGETS)


def test_depths_that_are_off_on_average() -> None:
    # 2.5 calls a session, with a standard error of 0.179: 95 % of differences are within 0.496, a fifth.
    deeper = replace(side(), rows=_repeated(rows(), 3))
    line = next(line for line in compare(side(), deeper) if line.what == "calls a session")
    assert (line.measured, line.generated, line.off, line.verdict) == ("2.50", "7.50", "+200.0%", "FAILS")
    line = next(line for line in compare(side(), side()) if line.what == "calls a session")
    assert (line.within, line.verdict) == ("19.8%", "ok")


def _repeated(log: Rows, times: int) -> Rows:
    """The same sessions with every call so many times."""
    depths = times * log.depths
    offsets = np.append(0, np.cumsum(depths))
    columns = {name: np.repeat(getattr(log, name), times) for name in (
        "session", "t_us", "gap_us", "tokens", "cached", "output", "duration_us", "model", "region", "deployment",
        "opens")}
    index = np.arange(offsets[-1]) - np.repeat(offsets[:-1], depths)
    return replace(log, offsets=offsets, index=index, **columns)


def test_peaks_that_are_off() -> None:
    # Of 40 sessions chance may hide any P99.
    assert failed(side(scale=3)) == {"peak context p50", "peak context p90"}


def test_a_peak_of_memory_that_is_off() -> None:
    assert failed(side(kstar=2)) == {"K*"}


def test_an_order_that_is_turned() -> None:
    orders = {f"order at {budget.label} of K*" for budget in BUDGETS}
    assert failed(side((40, 45, 10))) == orders
    # Where a replicate may be on either side the order is open, not wrong.
    found = verdicts(side(), side((40, 41, 10), spread=0.1))
    assert {found[order] for order in orders} == {"undecided"}


def test_an_improvement_that_is_off() -> None:
    assert failed(side((80, 30, 10))) == {f"LRU / unbounded MRR at {budget.label}" for budget in BUDGETS}


def test_reuse_that_the_trace_does_not_log() -> None:
    without = replace(side(), rows=replace(rows(), cached=np.full(100, -1)))
    assert failed(without) == {"KS of reuse of calls"}
    # What the log does not say is not compared.
    assert "KS of reuse of calls" not in verdicts(without, side())


def test_ranks_that_turn() -> None:
    turned = replace(side(), rows=replace(rows(), tokens=5_000 - rows().tokens))
    assert "Spearman depth-peak" in failed(turned)


@pytest.mark.parametrize("place", range(len(BUDGETS)))
def test_rows_of_the_figure(place: int) -> None:
    found = replay_rows(side(), side((50, 30, 10)))
    assert len(found) == 2 * len(POLICIES) * len(BUDGETS)
    lru = [row for row in found if row["policy"] == "lru" and row["budget_share"] == float(BUDGETS[place].share or 0)]
    assert [(row["side"], row["reconstruction_rate"]) for row in lru] == [("measured", 0.4), ("generated", 0.5)]
    assert all(row["low"] < row["reconstruction_rate"] < row["high"] for row in lru)  # type: ignore[operator]


def test_the_figure_names_every_line_where_it_can_be_read() -> None:
    figure = matched_figure(replay_rows(side(), side((50, 30, 10))))
    [ax] = figure.axes
    assert len(ax.lines) == 2 * len(POLICIES)
    assert ax.lines[1].get_ydata().tolist() == [0.5] * len(BUDGETS)
    FigureCanvasSVG(figure).draw()
    names = ax.get_legend()
    assert names is not None
    assert [text.get_text() for text in names.get_texts()][:2] == ["LRU, measured", "LRU, generated"]
    box, whole = names.get_window_extent(), figure.bbox
    assert whole.x0 <= box.x0 < box.x1 <= whole.x1
    assert box.y1 <= whole.y1


def test_a_line_knows_whether_it_fails() -> None:
    assert Compared("a", "1", "2", "", "", "FAILS").failed
    assert not Compared("a", "1", "2", "", "", "undecided").failed


def test_statistics_by_hand() -> None:
    assert ks_distance(np.array([1, 2, 3]), np.array([2, 3, 4])) == pytest.approx(1 / 3)
    assert ks_critical(100, 100) == pytest.approx(0.19206, abs=1e-4)
    # Ranks 1, 2.5, 2.5, 4 against 1, 2, 3, 4.
    assert spearman(np.array([1, 5, 5, 9]), np.array([1, 2, 3, 4])) == pytest.approx(4.5 / math.sqrt(4.5 * 5))
    assert spearman(np.array([1, 1]), np.array([1, 2])) is None
    # Two sessions, 1 of 2 and 1 of 2: no scatter. Then 2 of 2 and 0 of 2: residuals 1 and -1, of 4 calls.
    assert share_error(np.array([1, 1]), np.array([2, 2])) == 0
    assert share_error(np.array([2, 0]), np.array([2, 2])) == pytest.approx(math.sqrt(2) / 4)
    assert rank_interval(np.arange(100), 0.5) == (39, 59)
    assert rank_interval(np.arange(36), 0.99) == (33, math.inf)


def test_an_interval_stands_around_the_value_whatever_side_replicates_lie_on() -> None:
    # Replicates 9, 11, 13, 15 around 12 have the standard deviation sqrt(20 / 3) = 2.582.
    assert _interval(10.0, np.array([9.0, 11.0, 13.0, 15.0])) == pytest.approx((10 - 5.061, 10 + 5.061), abs=1e-3)
    assert _interval(2.0, np.array([9.0, 11.0, 13.0, 15.0]))[0] == 0
