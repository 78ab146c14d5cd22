"""The report of an event log: its figures, its sentences, and what is left out."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from report_stores import Number, Store

import figures.events
from figures.registry import EVENT_FIGURES, all_figures, figures_of
from figures.shown import shown
from figures.svg import to_svg
from metrics.core.event_log import NO_CALLS
from report_templates.render import render_report

VALUES = {
    "events.count": (1_119_432, "events"), "events.sessions": (8_157, "sessions"), "events.span_s": (2_937_600, "s"),
    "events.sessions_cut_left": (0, "sessions"), "events.sessions_cut_right": (3, "sessions"),
    "events.depth_p50": (14, "events"), "events.depth_p90": (133, "events"), "events.depth_p99": (963, "events"),
    "events.depth_max": (39_201, "events"), "events.depth_mean": (137.2, "events"),
    "events.tool_share": (0.842, "share"), "events.tool_calls_per_session_p50": (10, "calls"),
    "events.tool_cadence_p50_s": (6.3, "s"), "events.tool_cadence_p90_s": (31.0, "s"),
    "events.tool_cadence_p99_s": (900.0, "s"), "events.reuse": (0.496, "share"),
    "events.context_share": (0.997, "share"), "events.context_to_output": (357.0, "ratio"),
    "events.counter_falls": (0, "instants"), "events.sessions_with_falls": (0, "sessions"),
}
TABLES = {
    "event_depth_ccdf": pa.Table.from_pylist([
        {"events": depth, "sessions": 1_000, "ccdf": ccdf} for depth, ccdf in (
            (1, 0.95), (3, 0.9), (14, 0.49), (133, 0.1), (962, 0.0101), (9_999, 0.003), (39_999, 0.0))]),
    "tool_cadence_cdf": pa.Table.from_pylist([
        {"seconds": seconds, "gaps": 100, "cdf": cdf}
        for seconds, cdf in ((0.01, 0.01), (1.0, 0.1), (6.5, 0.5), (35.0, 0.9), (900.0, 0.99), (86_400.0, 1.0))]),
}


def store(**changed: Any) -> Store:
    """The Code trace of the paper; `changed` values by the end of their key, None for unknown."""
    numbers = {key: Number(value, unit, n=8_157) for key, (value, unit) in VALUES.items()}
    for name, value in changed.items():
        key = f"events.{name}"
        numbers[key] = Number(value, VALUES[key][1], why="nobody knows" if value is None else None)
    numbers["depth.p50"] = Number(None, "calls", why=NO_CALLS)
    manifest = {"name": "code", "input": {"rows": "events"}, "window": {"start": "2026-05-28T00:00:00Z",
                                                                         "end": "2026-07-01T00:00:00Z", "tz": "UTC"}}
    return Store(numbers, dict(TABLES), {}, manifest)


def finding(name: str, results: Store) -> str:
    [spec] = [spec for spec in EVENT_FIGURES if spec.name == name]
    return spec.finding(results).plain()


def test_findings() -> None:
    assert finding("event-depth", store()) == (
        "Depth is heavy-tailed: half of the sessions log at most 14 events, the deepest hundredth 963 or more. The "
        "deepest logs 39,201, and the mean is 137.2.")
    assert finding("event-depth", store(depth_p99=279)).startswith("Depth is not heavy-tailed: ")
    assert finding("event-tools", store()) == (
        "Most events are tool executions: 84.2% of those that say what they are. Half of the sessions execute at most "
        "10 tools. Half of the time a tool follows the one before within 6.30 s, and the longest hundredth of the gaps "
        "last 15.0 min or more.")
    assert finding("event-tools", store(tool_share=0.5)).startswith("A minority of the events are tool executions")
    assert finding("event-tokens", store()) == (
        "Of the context that sessions have sent, 49.6% was found in the prefix cache. Context makes up 99.7% of the "
        "tokens, 357.0× the output. No counter ever falls.")
    assert "Counters fall 7 times, in 1 session: what they had counted before is added." in finding(
        "event-tokens", store(counter_falls=7, sessions_with_falls=1))


def test_what_is_not_known_is_said() -> None:
    unknown = store(reuse=None, tool_cadence_p50_s=None)
    assert finding("event-tokens", unknown).startswith("Not known")
    assert "nobody knows" in finding("event-tokens", unknown)
    assert "within" not in finding("event-tools", unknown)
    [tools] = [spec for spec in EVENT_FIGURES if spec.name == "event-tools"]
    assert [panel.reason(unknown) for panel in tools.all_panels(unknown)] == ["nobody knows"]


@pytest.mark.parametrize("length", [0, 1, 2, 7])
def test_tables_of_any_length_are_drawn_alike_each_time(length: int) -> None:
    results = store()
    results.tables = {name: table.slice(0, length) for name, table in TABLES.items()}
    drawn = [[to_svg(panel.figure(results), f"{spec.name}-{panel.name}", spec.question, "finding")
              for spec in EVENT_FIGURES for panel in spec.all_panels(results)] for _ in range(2)]
    assert len(drawn[0]) == 3
    assert drawn[0] == drawn[1]


def test_the_page() -> None:
    page = render_report(store())
    assert "The window holds" in page
    assert 'data-key="events.sessions_cut_right"' in page
    assert 'id="n-events.depth_p99"' in page
    assert 'id="n-depth.p50"' not in page
    assert "1 of 21 are left out here" in page
    assert 'class="badge estimated"' not in page
    assert page == render_report(store())


def test_figures_are_those_of_the_rows() -> None:
    assert figures_of(store()) == EVENT_FIGURES
    assert figures_of(Store()) == all_figures()
    names = [spec.name for spec in (*all_figures(), *EVENT_FIGURES)]
    assert len(set(names)) == len(names)
    assert "14 events" in repr(shown("event-depth", store()))


def test_every_n_of_a_figure_is_named() -> None:
    for spec in EVENT_FIGURES:
        assert spec.question.endswith("?")
        assert {key for key, _ in spec.counts} <= set(spec.keys)
        assert set(spec.keys) <= set(VALUES)


@pytest.mark.parametrize("path", sorted(Path(figures.events.__file__).parent.glob("*.py")), ids=lambda path: path.stem)
def test_a_figure_file_computes_nothing(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    modules = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert {str(module).split(".")[0] for module in modules} <= {"__future__", "figures", "matplotlib", "functools"}
    called = {node.func.id for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
    assert not called & {"sum", "mean", "median", "quantile"}
