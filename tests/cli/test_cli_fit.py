"""`kvcensus fit`: parameters worked out by hand, what is pooled, what a profile must not tell; and the comparison."""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.cli import main
from pipelines.fitting.cut import seen_weights, session_weights
from pipelines.fitting.roles import fit_classes
from pipelines.fitting.rows import Rows
from pipelines.fitting.starts import start_pieces
from pipelines.fitting.support import Support, bounded_weights, edges_table, quantile_table
from pipelines.fitting.tokens import _block, fit_reuse
from tracesim.measured import DepthTable, GapTables, ReuseTables, Threads
from tracesim.profile import Profile, Window
from tracesim.profile_file import load_profile

HEADER = ("session_id,timestamp,context_tokens,cached_tokens,output_tokens,model,user_initiated,region,deployment,"
          "duration_ms,call_id")
START = datetime(2026, 3, 3, 10, tzinfo=UTC)
LABELS = ("zebra", "okapi", "lemur", "quagga", "ibex")


def log() -> str:
    """60 sessions, one a minute: 20 of one call, 20 of four, 20 of seven.

    Calls go to Spine and Scoped in turn. Every third opens a turn, and in each third session of its kind every one.
    Gaps are 5 s within turns, 6 s between. Spine contexts are 1,000, 2,000, ... tokens, half of them cached but for
    the first; Scoped ones 500, uncached.
    """
    lines = [HEADER]
    for session in range(60):
        at = START + timedelta(minutes=session)
        for index in range((1, 4, 7)[session % 3]):
            opens = index * (session // 3) % 3 == 0
            at += timedelta(seconds=0 if index == 0 else 6 if opens else 5)
            spine = index % 2 == 0
            tokens = 1_000 * (index // 2 + 1) if spine else 500
            cached = tokens // 2 if spine and index else 0
            model = "okapi-deep-research" if spine else "okapi-mini"
            lines.append(f"zebra-{session},{at:%Y-%m-%dT%H:%M:%SZ},{tokens},{cached},40,{model},{str(opens).lower()},"
                         f"lemur-east,quagga-{'a' if spine else 'b'},2500,ibex-{session}-{index}")
    return "\n".join(lines) + "\n"


@pytest.fixture(scope="module")
def calls(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("log") / "calls.csv"
    path.write_text(log(), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def fitted(calls: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("profile") / "mine.toml"
    assert main(["fit", str(calls), "--out", str(path), "--threads", "1"]) == 0
    return path


@pytest.fixture(scope="module")
def profile(fitted: Path) -> Profile:
    return load_profile(str(fitted))


def test_pace_by_hand(profile: Profile) -> None:
    assert profile.window.sessions == 60
    # The last session starts after 59 minutes and has seven calls, the third and the sixth of which follow after 6 s.
    assert profile.window.days == pytest.approx((59 * 60 + 32) / 86_400, rel=0.005)
    assert profile.window.cuts
    assert isinstance(profile.depth, DepthTable)
    # A third each of 1, 4 and 7 calls, but for the weight of what the end of the log hides.
    assert [edge for _, edge in profile.depth.edges] == [1, 2, 4, 5, 7, 8]
    assert [share for share, _ in profile.depth.edges[1::2]] == pytest.approx([1 / 3, 2 / 3, 1], abs=0.02)
    assert profile.depth_bands == (1, 2, 5)
    assert profile.turns is not None
    # In 7 of 20 sessions all 3 (or 6) later calls open a turn, in 13 a third of them: 34 of 60, and 68 of 120.
    assert profile.turns.opens == pytest.approx((34 / 60,) * 3, abs=1e-4)
    assert isinstance(profile.gaps, GapTables)
    assert set(profile.gaps.intra) == {((0.0, 5.0), (1.0, 5.0))}
    assert set(profile.gaps.inter) == {((0.0, 6.0), (1.0, 6.0))}


def test_roles_by_hand(profile: Profile) -> None:
    classes = profile.classes
    assert classes.first == (1.0, 0.0, 0.0, 0.0)
    assert classes.following[0] == (0.0, 0.0, 1.0, 0.0)
    assert classes.following[2] == (1.0, 0.0, 0.0, 0.0)
    assert [(model.name, model.conservative) for model in classes.models] == [
        ("spine-01", "spine"), ("scoped-01", "scoped")]
    place = profile.placement
    assert place is not None
    assert (place.regions, place.deployments, place.home) == (("region-01",), 1, 1.0)
    assert (place.move_deployment, place.return_deployment, place.return_region) == (0, 0, 0)


def test_tokens_by_hand(profile: Profile) -> None:
    context = profile.context
    assert isinstance(context, Threads)
    assert context.peak == (((0.0, 1e3), (1.0, 1e3)), ((0.0, 2e3), (1.0, 2e3)), ((0.0, 4e3), (1.0, 4e3)))
    assert (context.stays[0], context.compacts[0], context.extracts[0], context.stays[2]) == (0, 0, 0, 1)
    # Spine begins with 1,000 of 2,000 and of 4,000; what Scoped begins with it keeps.
    assert context.first[0][1:] == (((0.0, 0.5), (1.0, 0.5)), ((0.0, 0.25), (1.0, 0.25)))
    assert context.first[2][1:] == (((0.0, 1.0), (1.0, 1.0)),) * 2
    assert isinstance(profile.reuse, ReuseTables)
    found = {(cell.situation, cell.gap): cell.found for cell in profile.reuse.cells}
    assert found["first", None] == found["return.scoped", None] == ((0.0, 0.0), (1.0, 0.0))
    assert found["excursion.1", None] == ((0.0, 0.5), (1.0, 0.5))
    # Another call to the model comes 10 or 11 s later: there is nothing to tell apart by gap.
    assert not [gap for _, gap in found if gap is not None]
    assert profile.reuse.block == 1  # 500, which all counts have in common, is no block size


@pytest.mark.parametrize(("cached", "block"), [
    ([0, 128, 384], 128), ([512 * 3, 1024 * 3], 512), ([16, 48], 16), ([8, 24], 1), ([1_000, 3_000], 1), ([0, 0], 1),
    ([1 << 20], 4096),
])
def test_a_block_is_the_power_of_two_that_all_cached_counts_have(cached: list[int], block: int) -> None:
    told = np.array([cached], np.int64).ravel()
    assert _block(told) == block


def test_reuse_by_gap() -> None:
    # Twelve sessions of three calls to one model: after 5 s all is found, after 100 s nothing, but for two sessions
    # in which the third call comes after 5 s, too.
    gaps = np.array([[0, 5, 5 if session < 2 else 100] for session in range(12)]).ravel() * 1_000_000
    told = np.array([[0, 100, 100 if session < 2 else 0] for session in range(12)]).ravel()
    same = np.zeros(36, np.int64)
    rows = Rows(np.arange(0, 37, 3), np.repeat(np.arange(12), 3), np.tile(np.arange(3), 12), np.cumsum(gaps), gaps,
                same + 100, told, same, same, same, same, same, same, {0: ("spine", "spine")})
    support = Support(10)
    law = fit_reuse(rows, same, support)
    assert law is not None
    cells = {cell.gap: cell.found for cell in law.cells if cell.situation == "same.spine"}
    assert cells[0] == ((0, 1), (1, 1))
    assert cells[2] == ((0, 0), (1, 0))
    assert set(cells) == {None, 0, 2}
    assert support.pooled == []
    few = Support(11)
    law = fit_reuse(rows, same, few)
    assert law is not None
    assert {cell.gap for cell in law.cells if cell.situation == "same.spine"} == {None, 0}
    assert few.pooled == ["reuse in same.spine, band 2 of gaps (10 sessions): as all gaps"]


def test_no_label_of_the_log_is_in_the_profile(calls: Path, fitted: Path) -> None:
    text = fitted.read_text(encoding="utf-8")
    cells = {cell for line in calls.read_text(encoding="utf-8").splitlines()[1:] for cell in line.split(",")}
    labels = {cell for cell in cells if cell.startswith(LABELS)}
    assert len(labels) > 200
    assert not [label for label in labels if label in text]
    assert not [word for word in LABELS if word in text]
    assert "2026-03-03T10:00:00Z" in text  # the hour of the first start is told, no other time
    assert text.count("2026-") == 1


def test_a_fitted_trace_is_like_its_log(calls: Path, fitted: Path, tmp_path: Path,
                                        capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "trace"
    words = ["generate", "--profile", str(fitted), "--threads", "1", "--seed", "2", "--check", str(calls), "--out"]
    assert main([*words, str(out)]) == 0
    printed = capsys.readouterr().out
    compared = [line.split("|")[1].strip() for line in printed.splitlines() if line.startswith("| ")]
    assert {"KS of depth", "KS of gaps", "KS of reuse of calls", "peak context p50", "peak context p90",
            "peak context p99", "Spearman depth-peak", "Spearman depth-duration", "order at 1% of K*",
            "order at 50% of K*", "LRU / unbounded MRR at 1%", "LRU / unbounded MRR at 50%"} < set(compared)
    assert "FAILS" not in printed
    assert sorted(path.name for path in out.iterdir()) == [
        "calls.parquet", "classes.toml", "matched.json", "matched.svg", "trace.json"]
    assert not any(word in (out / name).read_text(encoding="utf-8") for word in LABELS
                   for name in ("matched.json", "matched.svg"))
    assert set(pq.read_table(out / "calls.parquet")["model"].to_pylist()) == {"spine-01", "scoped-01"}
    # Without what ties the calls together the classes no longer take turns.
    assert main([*words, str(tmp_path / "apart"), "--independent"]) == 1
    printed = capsys.readouterr()
    assert "the check does not hold: " in printed.err
    assert "P(spine | spine)" in printed.err or "P(scoped | spine)" in printed.err


def test_a_log_of_few_sessions_is_no_match(calls: Path, fitted: Path, tmp_path: Path,
                                           capsys: pytest.CaptureFixture[str]) -> None:
    few = tmp_path / "few.csv"
    few.write_text("session_id,timestamp,context_tokens\na,2026-03-03T10:00:00Z,5\nb,2026-03-03T10:00:00Z,5\n")
    assert main(["generate", "--profile", str(fitted), "--threads", "1", "--check", str(few), "--out",
                 str(tmp_path / "trace")]) == 3
    assert "the log has 2 sessions: of fewer than 10 nothing can be told." in capsys.readouterr().err
    assert main(["generate", "--profile", str(fitted), "--check", str(tmp_path / "none.csv"), "--out",
                 str(tmp_path / "other")]) == 3
    assert "no such file or folder" in capsys.readouterr().err
    assert not (tmp_path / "other").exists()


def test_models_of_one_class_where_others_have_none(calls: Path, tmp_path: Path) -> None:
    # Neither model has a class by name: both are Fanout, and three classes have no model.
    log = tmp_path / "calls.csv"
    names = {0: ("one", "two"), 1: ("two", "one")}
    text = [calls.read_text().splitlines()[0]]
    for line in calls.read_text().splitlines()[1:]:
        large, small = names[int(line.split(",")[0].removeprefix("zebra-")) % 2]
        text.append(line.replace("okapi-deep-research", large).replace("okapi-mini", small))
    log.write_text("\n".join(text) + "\n")
    assert main(["fit", str(log), "--out", str(tmp_path / "p.toml")]) == 0
    assert main(["generate", "--profile", str(tmp_path / "p.toml"), "--out", str(tmp_path / "trace")]) == 0
    models = pq.read_table(tmp_path / "trace/calls.parquet")["model"].to_pylist()
    assert set(models) == {"fanout-01", "fanout-02"}


def test_nothing_is_replaced(calls: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rules = tmp_path / "rules.toml"
    rules.write_text('[[classes]]\nmatch = "mini"\nconservative = "scoped"\nbroad = "scoped"\n')
    before = rules.read_text()
    assert main(["fit", str(calls), "--config", str(rules), "--out", str(rules)]) == 2
    assert "rules.toml exists. Name a new file, or remove it." in capsys.readouterr().err
    assert rules.read_text() == before


def test_a_call_of_another_age(calls: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "calls.csv"
    head, *lines = calls.read_text().splitlines()
    log.write_text("\n".join([head, lines[0].replace("2026-", "2003-"), *lines[1:]]) + "\n")
    assert main(["fit", str(log), "--out", str(tmp_path / "p.toml")]) == 3
    assert "the log goes on for 8,401 days, and a profile for at most 3,650" in capsys.readouterr().err


def test_no_session_weighs_more_than_a_kth() -> None:
    # Ten sessions of one row, one of ninety: of a tenth each for k = 10 the large one is held to 1/10, which leaves the
    # others 9/100 each.
    sessions = np.array([*range(10), *[10] * 90])
    weights = bounded_weights(sessions, np.ones(100), 10)
    assert np.bincount(sessions, weights=weights)[10] / weights.sum() == pytest.approx(0.1)
    assert weights[:10].tolist() == [1.0] * 10
    # Nobody is above a third: nothing changes. Two of fewer than three sessions are nobody's business.
    even = np.array([0, 1, 2])
    assert bounded_weights(even, np.ones(3), 3) == pytest.approx([1, 1, 1])
    support = Support(10)
    assert support.share("turns", sessions == 10, sessions, 0.5, "all") == 0.1
    table = support.law("gaps", np.where(sessions == 10, 7.777, 1.0), sessions, None, "")
    assert table is not None
    assert 7.78 not in [value for _, value in table]
    assert support.bounded == ["turns", "gaps"]


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(0, 12), min_size=1, max_size=200), st.integers(2, 8))
def test_bounded_weights_of_any_rows(rows: list[int], k: int) -> None:
    sessions = np.array(rows)
    weights = bounded_weights(sessions, np.ones(len(rows)), k)
    if len(set(rows)) < k:
        assert (weights == 1).all()
    else:
        assert np.bincount(sessions, weights=weights).max() <= weights.sum() / k * (1 + 1e-9)


def test_too_few_sessions(calls: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fit", str(calls), "--least-sessions", "61", "--out", str(tmp_path / "p.toml")]) == 3
    assert "the trace has 60 sessions, and a parameter must rest on 61 or more" in capsys.readouterr().err
    assert not [*tmp_path.iterdir()]


def test_what_few_sessions_have_is_pooled(calls: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    # With 41 sessions to a parameter there are no bands of depth, and the 40 sessions that call Scoped are too few.
    path = tmp_path / "p.toml"
    assert main(["fit", str(calls), "--least-sessions", "41", "--threads", "1", "--verbose", "--out", str(path)]) == 0
    pooled = load_profile(str(path))
    assert pooled.depth_bands == (1,)
    assert [model.name for model in pooled.classes.models] == ["spine-01"]
    assert isinstance(pooled.context, Threads)
    assert [len(law) for law in pooled.context.peak] == [2]
    assert "pooled: class scoped (40 sessions): as spine.\n" in capsys.readouterr().err


REFUSED: dict[str, tuple[list[str], int, str]] = {
    "no toml": (["--out", "p.json"], 2, "name a file that ends with .toml"),
    "a store": (["--out", "s3://bucket/p.toml"], 2, "a profile is written to a file of this machine"),
    "one session": (["--out", "p.toml", "--least-sessions", "1"], 2, "no whole number from 2"),
    "unknown format": (["--out", "p.toml", "--format", "cals"], 2, "calls"),
    "arrivals of its own": (["--out", "p.toml", "--arrivals", "poisson:1"], 2, "has arrivals of its own"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_used_is_refused(case: str, calls: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                        capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    words, code, message = REFUSED[case]
    assert main(["fit", str(calls), *words]) == code
    assert message in capsys.readouterr().err
    assert not [*tmp_path.iterdir()]


def test_a_log_without_sessions(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "calls.csv"
    path.write_text("timestamp,context_tokens\n2026-03-03T10:00:00Z,5\n", encoding="utf-8")
    assert main(["fit", str(path), "--out", str(tmp_path / "p.toml")]) == 3
    assert "no call of the trace has a session id; a profile is one of sessions" in capsys.readouterr().err


def test_reading_options_need_a_log(fitted: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["generate", "--profile", str(fitted), "--format", "weka", "--out", str(tmp_path / "t")]) == 2
    assert "say how the log of --check CALLS is read" in capsys.readouterr().err


def rows(*values: float) -> tuple[Any, Any]:
    return np.array(values, np.float64), np.arange(len(values))


def test_a_table_of_two_parts() -> None:
    # Ends are where the mean logarithm of each part puts them: 2 ln(10!)/10 - ln 10, 2 ln(20!/10!)/10 - ln 10.
    low, high = (math.exp(2 * mean - math.log(10)) for mean in (
        math.lgamma(11) / 10, (math.lgamma(21) - math.lgamma(11)) / 10))
    table = quantile_table(*rows(*range(1, 21)), k=10)
    assert table == ((0, float(f"{low:.3g}")), (0.5, 10), (1, float(f"{high:.3g}")))


def test_a_value_that_many_have_is_kept() -> None:
    assert quantile_table(*rows(*[0] * 50, *[7] * 50), k=10) == ((0, 0), (0.5, 0), (0.5001, 7), (1, 7))
    assert quantile_table(*rows(*[4] * 30), k=10) == ((0, 4), (1, 4))


def test_a_limit_that_k_sessions_have_met_is_not_passed() -> None:
    # The mean of the outer part alone would put the end of the table above 200.
    log = np.concatenate([np.ones(10), np.arange(2, 162), np.full(10, 200)])
    table = quantile_table(*rows(*log), k=11)
    assert table is not None
    assert table[-1][1] > 200
    table = quantile_table(*rows(*log), k=10)
    assert table is not None
    assert (table[0][1], table[-1][1]) == (1, 200)


def test_fewer_sessions_than_k_have_no_table() -> None:
    values, sessions = np.arange(1.0, 101), np.arange(100) % 9
    assert quantile_table(values, sessions, 10) is None
    support = Support(10)
    assert support.law("gaps", values, sessions, ((0, 1), (1, 1)), "all") == ((0, 1), (1, 1))
    assert support.share("turns", values > 5, sessions, 0.25, "all") == 0.25
    assert support.pooled == ["gaps (9 sessions): as all", "turns (9 sessions): as all"]


@settings(max_examples=50, deadline=None)
@given(st.integers(10, 400), st.integers(2, 40), st.integers(0, 2**32))
def test_every_part_of_a_table_has_k_sessions(count: int, k: int, seed: int) -> None:
    values = np.random.default_rng(seed).permutation(count) + 1.0
    table = quantile_table(values, np.arange(count), k)
    if table is None:
        assert count < k
        return
    shares = np.array([share for share, _ in table]) * count
    assert np.diff(shares).min() >= k - 2e-4 * count  # shares have four digits
    assert [value for _, value in table] == sorted(value for _, value in table)


def test_edges_of_depths() -> None:
    depths = np.array([1] * 50 + [2] * 30 + [5] * 20)
    assert edges_table(depths, 10) == ((0, 1), (0.5, 2), (0.8, 3), (0.8001, 5), (1, 6))
    # Five sessions each of 3 to 6 calls make one part, whose end keeps their mean of 4.5.
    share, edge = edges_table(np.array([1] * 50 + [2] * 30 + [3, 4, 5, 6] * 5), 20)[-1]
    assert share == 1
    assert (edge - 3) / math.log(edge / 3) - 0.5 == pytest.approx(4.5, abs=0.05)
    # Those of two sessions weigh twice as much.
    assert edges_table(np.array([1, 1, 2, 2]), 2, np.array([1.0, 1, 2, 2])) == ((0, 1), (0.3333, 2), (1, 3))


def test_long_ones_weigh_the_more_the_fewer_fit() -> None:
    begins = np.array([0, 10, 20, 30])
    # The log ends at 40: a length of 5 fits after every beginning, 20 after three, 35 after one, 41 after none.
    assert seen_weights(begins, np.array([5, 20, 35, 41]), 40).tolist() == [1, 4 / 3, 4, 20]


def _log_of(starts: Any, depths: Any, gaps: Any, end: float) -> Rows:
    """Sessions with these starts, depths and gaps between calls (seconds), cut at `end`."""
    session = np.repeat(np.arange(len(starts)), depths)
    index = np.arange(len(session)) - np.repeat(np.cumsum(depths) - depths, depths)
    gap = np.where(index > 0, gaps[:len(session)], 0)
    total = np.cumsum(gap)
    t_us = ((starts[session] + total - total[np.cumsum(depths) - depths][session]) * 1e6).astype(np.int64)
    kept = t_us <= end * 1e6
    session, index, t_us = session[kept], index[kept], t_us[kept]
    gap_us, none = (gap[kept] * 1e6).astype(np.int64), np.zeros(len(session), np.int64)
    offsets = np.append(0, np.cumsum(np.bincount(session)))
    return Rows(offsets, session, index, t_us, gap_us, none, none, none, none, none, none, none, none, {})


def test_sessions_that_may_go_on_weigh_less() -> None:
    # Ten sessions of two calls 10 s apart, all silent for long; the eleventh has made one call, just now. Of its like
    # nobody knows a session that ended at one call, so it stands for next to none.
    log = _log_of(np.append(np.arange(10.0), 1000), np.array([*[2] * 10, 1]), np.full(21, 10.0), 1000)
    weights = session_weights(log)
    assert weights[:10] == pytest.approx(1.1, abs=1e-6)  # after ten of eleven starts there is room for 10 s
    assert weights[10] < 0.1


def test_the_mean_depth_of_a_log_that_was_cut() -> None:
    # A mean session takes a thirtieth of the window, of one in a hundred half is lost. Single logs scatter: a session
    # as long as the log stands for twenty.
    off = []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        depths = np.maximum(rng.lognormal(2.2, 1.1, 4_000).astype(np.int64), 1)
        log = _log_of(np.sort(rng.uniform(0, 30_000, 4_000)), depths, rng.exponential(60, int(depths.sum())), 30_000)
        means = log.depths.mean(), np.average(log.depths, weights=session_weights(log))
        off.append([mean / depths.mean() - 1 for mean in means])
    cut, mended = np.mean(off, axis=0)
    assert cut < -0.05
    assert abs(mended) < 0.02


def test_what_fewer_than_k_sessions_do_is_told_together_or_not_at_all() -> None:
    # Twenty sessions of Spine, Mid; after Mid nine go to Scoped, nine to Fanout, one back to Spine, one nowhere.
    after = [2] * 9 + [3] * 9 + [0]
    kind = np.array([kind for each in after for kind in (0, 1, each)] + [0, 1])
    depths = np.array([3] * 19 + [2])
    log = _log_of(np.arange(20.0), depths, np.ones(len(kind)), 1e6)
    log = replace(log, class_of={0: ("spine", "spine")})
    support = Support(10)
    classes = fit_classes(log, kind, support)
    assert classes.first == (1, 0, 0, 0)
    assert classes.following[0] == (0, 1, 0, 0)
    # All nineteen are told, as common as the three classes are among all calls: 21, 9 and 9.
    assert classes.following[1] == pytest.approx((21 / 39, 0, 9 / 39, 9 / 39), abs=2e-4)
    assert "spine, scoped, fanout among classes after mid (19 sessions): as common as among all calls" in support.pooled
    # A single session that goes from Spine to Fanout is not told of.
    kind = np.array([0, 0] * 19 + [0, 3])
    log = _log_of(np.arange(20.0), np.full(20, 2), np.ones(40), 1e6)
    support = Support(10)
    assert fit_classes(replace(log, class_of={0: ("spine", "spine")}), kind, support).following[0] == (1, 0, 0, 0)
    assert "fanout among classes after spine (1 sessions): left out" in support.pooled


def test_parts_of_the_window_in_which_sessions_start() -> None:
    # 20 starts, one a 1,000th of the window: parts of ten, cut at 0.0095; the mean of the first ten is 0.0045, of the
    # others 0.0145, which puts the ends at -0.0005 and 0.0195.
    hour = 3_600_000_000
    window = Window(0, 1 / 24, 20)
    assert start_pieces(np.arange(20) * hour // 1000, window, 10) == ((0, 0), (0.01, 0.5), (0.019, 1))
    assert start_pieces(np.full(20, hour), window, 10) == ((0, 0), (0.001, 1))
    # One part alone: mean and spread are kept; ten starts at 0 and at a tenth reach from below 0 to 0.137.
    assert start_pieces(np.array([0, hour // 10] * 5), window, 10) == ((0, 0), (0.137, 1))
