"""A log opened for SQL of one's own holds what `characterize` would measure, and says what it left out."""

from __future__ import annotations

from pathlib import Path

import pytest

from figures.shown import shown
from metrics.core.clock import Window
from metrics.core.metric import measure
from metrics.depth import METRIC as DEPTH
from pipelines.config import Config
from pipelines.opening import open_trace
from telemetry.errors import InputError, UsageError

HEADER = "session_id,timestamp,context_tokens,cached_tokens,model,call_id\n"
ROWS = """\
a,2026-03-03T10:00:00Z,100,0,big,c0
a,2026-03-03T10:00:07Z,180,100,small,c1
b,2026-03-03T10:00:01Z,50,0,big,c2
a,2026-03-03T12:00:00Z,150,,big,c3
"""
BAD = """\
b,2026-03-03T10:00:01Z,50,0,big,c2
b,yesterday,50,0,big,c4
"""
CLASSES = '[[classes]]\nmatch = "big"\nconservative = "spine"\n'


def log(folder: Path, rows: str) -> Path:
    (folder / "calls.csv").write_text(HEADER + rows, encoding="utf-8")
    return folder / "calls.csv"


def test_relations_metrics_and_classes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, config = log(tmp_path, ROWS), tmp_path / "classes.toml"
    config.write_text(CLASSES, encoding="utf-8")
    with open_trace(path, config=config, threads=1) as trace:
        steps = trace.rows("select x, previous_x, gap_us, conservative from steps join models using (model_no) "
                           "where call_index > 1 order by t_us")
        assert measure(DEPTH, trace).numbers["depth.mean"].value == 2
    assert steps == [{"x": 180, "previous_x": 100, "gap_us": 7_000_000, "conservative": "fanout"},
                     {"x": 150, "previous_x": 180, "gap_us": 7_193_000_000, "conservative": "spine"}]
    assert capsys.readouterr() == ("", "")


def test_what_is_set_aside_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with open_trace(str(log(tmp_path, ROWS + BAD)), config=Config(), threads=1) as trace:
        assert trace.row("select count(*) as n from calls") == {"n": 4}
    assert capsys.readouterr().err == "set aside: 1 bad_timestamp, 1 duplicate, of 6 records.\n"


def test_strict_names_the_record(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"row 6 after the header.*yesterday"), \
            open_trace(log(tmp_path, ROWS + BAD), strict=True):
        pass


def test_a_window(tmp_path: Path) -> None:
    noon = 1_772_539_200_000_000
    with open_trace(log(tmp_path, ROWS), window=Window("noon", noon), threads=1) as trace:
        assert trace.rows("select x, previous_x from steps") == [{"x": 150, "previous_x": None}]


def test_sessions_without_a_time_need_arrivals(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="Place them with arrivals"), open_trace(tmp_path, format="weka"):
        pass


def test_an_unknown_figure_is_answered_with_all() -> None:
    with pytest.raises(UsageError, match=r"no figure is called .fig99.*fig10 \("):
        shown("fig99", None)  # type: ignore[arg-type]
