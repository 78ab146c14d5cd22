"""`kvcensus fit`: parameters worked out by hand, what is pooled, what a profile must not tell; and the comparison."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from pipelines.cli import main
from tracesim.measured import DepthTable, GapTables, ReuseTables, Threads
from tracesim.profile import Profile
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
    largest = context.largest
    assert largest.peak[0] == (((0.0, 1e3), (1.0, 1e3)), ((0.0, 2e3), (1.0, 2e3)), ((0.0, 4e3), (1.0, 4e3)))
    # Spine always has the peak. Scoped has 500 beside 2,000 in its threads of two calls, beside 4,000 in those of
    # three: the same band of calls, but other parts of the peak, which is constant in each.
    assert largest.holds == ((1.0,) * 3, (0.0,) * 3, (0.0,) * 3, (0.0,) * 3)
    assert largest.edges == (1e3, 2e3)
    assert largest.share[2][4:6] == (((0.0, 0.25), (1.0, 0.25)), ((0.0, 0.125), (1.0, 0.125)))
    assert largest.power[2][4:6] == (1.0, 1.0)
    assert (context.stays[0], context.compacts[0], context.extracts[0], context.stays[2]) == (0, 0, 0, 1)
    # Spine begins with 1,000 of 2,000 and of 4,000; what Scoped begins with it keeps.
    assert context.first[0][1] == ((0.0, 0.25), (0.5, 0.25), (0.5001, 0.5), (1.0, 0.5))
    assert context.first[2][1] == ((0.0, 1.0), (1.0, 1.0))
    assert [law[:1] + law[-1:] for law in context.level[0]] == [((0.0, 0.0), (1.0, 1.0))] * 3
    assert isinstance(profile.reuse, ReuseTables)
    found = {(cell.situation, cell.gap): cell.found for cell in profile.reuse.cells}
    assert found["first", None] == found["return.scoped", None] == ((0.0, 0.0), (1.0, 0.0))
    assert found["excursion.1", None] == ((0.0, 0.5), (1.0, 0.5))
    # Another call to the model comes 10 or 11 s later: there is nothing to tell apart by gap.
    assert not [gap for _, gap in found if gap is not None]
    assert profile.reuse.block == 1  # 500, which all counts have in common, is no block size


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
    assert {"KS of depth", "KS of gaps", "KS of reuse of calls", "KS of contexts of calls", "KS of engine time",
            "KS of contexts of spine", "KS of contexts of scoped", "peak context p50", "peak context p90",
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
    assert [len(law) for law in pooled.context.largest.peak[0]] == [2]
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
