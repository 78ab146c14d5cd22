"""Figures draw whatever the tables hold, compute nothing, and give the same bytes each time."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from xml.etree import ElementTree as ET

import pyarrow as pa
import pyarrow.compute as pc
import pytest
import report_stores as stores
from matplotlib.backends.backend_agg import FigureCanvasAgg

import figures
from figures import style
from figures.registry import all_figures
from figures.svg import to_svg

pytestmark = pytest.mark.slow

FIGURES = all_figures()
FILES = sorted(Path(figures.__file__).parent.glob("fig[0-9]*.py"))


def _svgs(spec, store):
    return [
        to_svg(panel.figure(store), f"{spec.name}-{panel.name}", spec.question, "finding")
        for panel in spec.all_panels(store)
        if panel.reason(store) is None
    ]


def test_figures_come_in_the_order_of_the_paper():
    assert [spec.name for spec in FIGURES] == [
        "fig03",
        "fig04",
        "fig05",
        "fig06",
        "fig07",
        "fig07b",
        "fig08",
        "fig09",
        "fig10",
        "fig11",
        "fig11b",
        "fig11c",
        "fig11d",
        "fig11e",
        "fig11f",
        "fig12",
        "fig12b",
        "fig12c",
    ]
    assert all(spec.question.endswith("?") for spec in FIGURES)
    assert 5 <= sum(spec.in_summary for spec in FIGURES) <= 8


@pytest.mark.parametrize("spec", FIGURES, ids=lambda s: s.name)
def test_a_figure_is_deterministic_well_formed_and_described(spec):
    first, second = (_svgs(spec, stores.deep()) for _ in range(2))
    assert first
    assert first == second
    for svg in first:
        root = ET.fromstring(svg)
        assert root.attrib["role"] == "img"
        assert {e.tag.split("}")[1] for e in root[:2]} == {"title", "desc"}
        assert "<style" not in svg
        assert "#0072b2" not in svg.replace("var(--c1, #0072b2)", "")
        ids = re.findall(r' id="([^"]+)"', svg)
        assert len(ids) == len(set(ids))
        assert all(name.startswith(spec.name) for name in ids)
        for reference in re.findall(r'(?:url\(#|href="#)([^")]+)', svg):
            assert reference in ids


@pytest.mark.parametrize("spec", FIGURES, ids=lambda s: s.name)
@pytest.mark.parametrize("length", [0, 1, 2])
def test_short_tables_are_drawn(spec, length):
    store = stores.deep()
    for name in spec.tables:
        store.tables[name] = store.tables[name].slice(0, length)
    assert _svgs(spec, store)


@pytest.mark.parametrize("spec", FIGURES, ids=lambda s: s.name)
def test_null_columns_are_drawn(spec):
    """Where a column is null in every row (no cached tokens, no turns), the rest is still drawn."""
    labels = {
        "mapping",
        "class",
        "from_class",
        "to_class",
        "split",
        "band",
        "excursion",
        "kind",
        "transition",
    }
    labels |= {"theta", "stream", "object_key", "release", "policy", "low", "high", "calls", "call_index"}
    nullable = {
        "uncached_tokens",
        "uncached_share",
        "mean_reuse",
        "duty_cycle",
        "added_intra_points",
        "added_inter_points",
        "probability",
        "budget_share",
        "kstar_bytes",
        "first_touch_floor",
        "share",
        "above_bound",
        "reconstruction_rate",
        "point_bytes",
        "moved_bytes_per_s",
        "tier_hit_lo",
        "simulated_hit_rate",
        "at_starts_hit_rate",
    }
    for name in spec.tables:
        for column in nullable & set(stores.deep().tables[name].column_names) - labels:
            store = stores.deep()
            table = store.tables[name]
            at = table.column_names.index(column)
            nulls = pa.nulls(table.num_rows, table.schema.field(column).type)
            store.tables[name] = table.set_column(at, column, nulls)
            assert _svgs(spec, store), column


@pytest.mark.parametrize("spec", FIGURES, ids=lambda s: s.name)
def test_an_absent_table_gives_a_reason_and_no_figure(spec):
    store = stores.unknown()
    assert [panel.reason(store) for panel in spec.all_panels(store)]
    assert all(panel.reason(store) for panel in spec.all_panels(store))
    assert not spec.draw(store).axes


def test_a_figure_for_a_notebook_holds_all_panels():
    assert len(FIGURES[0].draw(stores.deep()).axes) == 3


@pytest.mark.parametrize("spec", [spec for spec in FIGURES if spec.name in ("fig10", "fig11")], ids=lambda s: s.name)
def test_in_a_notebook_titles_stand_clear_of_legends(spec):
    figure = spec.draw(stores.deep())
    renderer = FigureCanvasAgg(figure).get_renderer()
    titles = [text.get_window_extent(renderer) for text in figure.texts]
    legends = [axes.get_legend().get_window_extent(renderer) for axes in figure.axes if axes.get_legend()]
    assert len(titles) == len(figure.axes)
    assert legends
    assert not any(title.overlaps(legend) for title in titles for legend in legends)


def _drawn(name, panel, store):
    """The axes of a panel, and what measures text on them."""
    (spec,) = [spec for spec in FIGURES if spec.name == name]
    (found,) = [p for p in spec.all_panels(store) if p.name == panel]
    figure = found.figure(store)
    return figure.axes[0], FigureCanvasAgg(figure).get_renderer()


@pytest.mark.parametrize("kind", ["deep", "shallow"])
@pytest.mark.parametrize("spec", FIGURES, ids=lambda s: s.name)
def test_a_legend_stands_between_the_axes_and_the_edge(spec, kind):
    store = getattr(stores, kind)()
    for panel in spec.all_panels(store):
        ax, renderer = _drawn(spec.name, panel.name, store)
        if ax.get_legend():
            box = ax.get_legend().get_window_extent(renderer)
            assert box.y0 >= ax.get_window_extent(renderer).y1 - 1
            assert box.y1 <= ax.figure.bbox.y1 + 3  # the legend's own padding may pass the edge
            assert box.x1 <= ax.figure.bbox.x1 + 3


def test_intervals_are_bands_where_sessions_were_resampled():
    store = stores.deep()
    ax, _ = _drawn("fig11", "p0", store)
    lru, *others = ax.collections
    assert len(others) == 2
    tenth = [y for x, y in lru.get_paths()[0].vertices if x == 0.1]
    assert (min(tenth), max(tenth)) == (pytest.approx(0.625), pytest.approx(0.633))
    # Of one budget there is no area: a bar.
    for name in ("residency_replay", "replay_uncertainty"):
        table = store.tables[name]
        store.tables[name] = table.filter(pc.equal(table["budget_share"], 0.1))
    ax, _ = _drawn("fig11", "p0", store)
    assert [path.vertices.tolist() for path in ax.collections[0].get_paths()] == [
        [[0.1, pytest.approx(0.625)], [0.1, pytest.approx(0.633)]]]
    # The intervals of a sample are of another kind, and stand alone.
    rows = [row | {"sample_fraction": 0.5} for row in store.tables["residency_replay"].to_pylist()]
    store.tables["residency_replay"] = pa.Table.from_pylist(rows)
    assert not _drawn("fig11", "p0", store)[0].collections


def test_hours_of_few_calls_are_not_drawn():
    ax, _ = _drawn("fig11e", "p0", stores.deep())
    drawn = ax.lines[0].get_ydata()
    assert [y == y for y in drawn] == [True] * 20 + [False] * 4  # nan: nothing is drawn
    assert drawn[3] == pytest.approx(0.629 - 0.03)
    assert ax.lines[-1].get_xdata()[0] == 10
    assert ax.get_legend().get_texts()[-1].get_text() == "busiest hour"


def test_a_figure_that_nobody_asked_for_is_left_out():
    store = stores.deep()
    for asked, names in (("replay.hours.", {"fig11e"}), ("live.", {"fig12", "fig12b", "fig12c"})):
        assert all(spec.asked(store) for spec in FIGURES if spec.name in names)
        store.numbers = {key: number for key, number in store.numbers.items() if not key.startswith(asked)}
        assert not any(spec.asked(store) for spec in FIGURES if spec.name in names)
    assert sum(spec.asked(store) for spec in FIGURES) == len(FIGURES) - 4


def test_names_of_reference_lines_stand_where_no_curve_is():
    ax, _ = _drawn("fig07b", "bytes", stores.deep())
    assert not ax.texts
    names = [text.get_text() for text in ax.get_legend().get_texts()]
    assert names == ["exact peak 501.8 TB", "half of the time below 180.0 TB"]


@pytest.mark.parametrize("median", [0.9, 25.7, 60.0, 200.0])
def test_quantiles_of_working_sets_stand_beside_the_curve_and_the_line(median):
    store = stores.deep()
    rows = [{"gib": median * 10 ** ((i - 50) / 40), "sessions": 1, "cdf": i / 100} for i in range(1, 101)]
    store.tables["working_set_cdf"] = pa.Table.from_pylist(rows)
    for key, place in (("p50", 49), ("p90", 89), ("p99", 98)):
        store.numbers[f"working_set.{key}_gib"] = stores.Number(rows[place]["gib"], "GiB")
    ax, renderer = _drawn("fig07", "cdf", store)
    curve, gpu = ax.lines[0].get_path().interpolated(20), ax.lines[1]
    points = ax.transData.transform(curve.vertices)
    line = ax.transData.transform((gpu.get_xdata()[0], 0))[0]
    boxes = [text.get_window_extent(renderer) for text in ax.texts]
    assert len(boxes) == 3
    for box in boxes:
        assert not any(box.contains(x, y) for x, y in points)
        assert not box.x0 <= line <= box.x1
        assert not any(box.overlaps(other) for other in boxes if other is not box)


def test_the_mean_of_few_is_hollow_and_no_line_leads_to_it():
    store = stores.deep()
    rows = store.tables["excursion_reuse"].to_pylist()
    for row in rows:
        row["calls"] = 1 if (row["split"], row["band"], row["excursion"]) == ("gap", "under 10 s", "1") else 100
    store.tables["excursion_reuse"] = pa.Table.from_pylist(rows)
    ax, _ = _drawn("fig05", "gap", store)
    hollow = [line for line in ax.lines if line.get_markerfacecolor() == style.BACKGROUND and len(line.get_xdata())]
    assert [(line.get_xdata()[0], line.get_ydata()[0]) for line in hollow] == [(1, pytest.approx(0.451 + 0.03))]
    joined = ax.lines[0].get_ydata()
    assert [y == y for y in joined] == [True, False, True, True]  # nan breaks the line
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["hollow: under 10 calls"]
    ax, _ = _drawn("fig05", "placement", store)
    assert ax.get_legend() is None


def test_a_mark_below_the_end_of_the_curve_is_left_out():
    store = stores.deep()
    rows = [{"calls": i, "sessions": 1, "ccdf": 1 - i / 36} for i in range(1, 37)]
    store.tables["depth_ccdf"] = pa.Table.from_pylist(rows)
    ax, _ = _drawn("fig03", "loglog", store)
    assert [text.get_text().split(":")[0] for text in ax.texts] == ["half", "a tenth"]
    store.tables["depth_ccdf"] = pa.Table.from_pylist([{"calls": 5, "sessions": 9, "ccdf": 0.0}])
    ax, _ = _drawn("fig03", "loglog", store)
    assert [text.get_text() for text in ax.texts] == ["all sessions are equally deep"]


def test_the_words_behind_a_full_bar_stay_in_the_picture():
    store = stores.deep()
    for table in ("class_share", "transition_reuse"):
        rows = store.tables[table].to_pylist()
        full = {"context_share", "uncached_share", "share", "mean_reuse"}
        rows = [{k: 0.9999 if k in full else v for k, v in row.items()} for row in rows]
        store.tables[table] = pa.Table.from_pylist(rows)
    for name, panel in (("fig04", "shares-0"), ("fig09", "bars")):
        ax, renderer = _drawn(name, panel, store)
        assert ax.texts
        assert all(text.get_window_extent(renderer).x1 <= ax.figure.bbox.x1 for text in ax.texts)


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_a_figure_file_computes_nothing(path):
    """No engine, no array library, no aggregation: values come from tables. (`max`, `min`: axis limits.)"""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    modules = {a.name for n in ast.walk(tree) if isinstance(n, ast.Import) for a in n.names}
    modules |= {n.module for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)}
    roots = {m.split(".")[0] for m in modules}
    assert roots <= {"__future__", "figures", "matplotlib", "functools", "re", "datetime"}
    assert not {m for m in modules if m.startswith("matplotlib.pyplot")}
    called = {n.func.id for n in ast.walk(tree) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)}
    assert not called & {"sum", "mean", "median", "quantile"}


def test_a_prefix_that_is_no_name_is_refused():
    with pytest.raises(ValueError, match="cannot begin an id"):
        to_svg(FIGURES[0].draw(stores.deep()), '"><script>', "q", "d")
