"""Figures draw whatever the tables hold, compute nothing, and give the same bytes each time."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from xml.etree import ElementTree as ET

import pyarrow as pa
import pytest
import report_stores as stores

import figures
from figures.registry import all_figures
from figures.svg import to_svg

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
