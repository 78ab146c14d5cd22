"""The notebooks are committed clean, and their cells run one after another in plain Python, as a reader would run them.

No kernel: a cell is compiled as it stands, in one namespace a notebook, and what its last line gives is shown as
Jupyter shows it.
"""

from __future__ import annotations

import ast
import io
import json
import re
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import pipelines.run

ROOT = Path(__file__).resolve().parents[1]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
NAMES = [path.stem for path in NOTEBOOKS]
SQL, CAPS, ROUTING = "01_a_window_in_sql", "02_idle_caps_and_budgets", "03_placement_and_routing"


def cells(path: Path, kind: str) -> list[str]:
    content = json.loads(path.read_text(encoding="utf-8"))
    return ["".join(cell["source"]) for cell in content["cells"] if cell["cell_type"] == kind]


@dataclass
class Ran:
    """A notebook that ran: its variables, what its cells printed, and what their last lines gave."""

    printed: str = ""
    shown: list[Any] = field(default_factory=list)
    names: dict[str, Any] = field(default_factory=lambda: {"__name__": "__main__"})

    def rows(self, name: str) -> list[dict[str, Any]]:
        """A DuckDB relation of the notebook as rows."""
        rows: list[dict[str, Any]] = self.names[name].to_arrow_table().to_pylist()
        return rows


def run(path: Path) -> Ran:
    ran, printed = Ran(), io.StringIO()
    for number, cell in enumerate(cells(path, "code"), start=1):
        tree = ast.parse(cell)
        last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
        where = f"{path.name}, code cell {number}"
        with redirect_stdout(printed), redirect_stderr(io.StringIO()):
            exec(compile(tree, where, "exec"), ran.names)
            if last is not None:
                ran.shown.append(eval(compile(ast.Expression(last.value), where, "eval"), ran.names))
                assert repr(ran.shown[-1])
    ran.printed = printed.getvalue()
    return ran


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Ran]]:
    """All of them, in order, beside a copy of the sample data; the first makes the results that they share."""
    folder = tmp_path_factory.mktemp("notebooks")
    (folder / "notebooks").mkdir()
    (folder / "sample_data").symlink_to(ROOT / "sample_data")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pipelines.run, "render_report", lambda results: "<!doctype html>")
        patch.chdir(folder / "notebooks")
        yield {path.stem: run(path) for path in NOTEBOOKS}


def test_there_are_three_and_the_readme_names_them() -> None:
    assert NAMES == [SQL, CAPS, ROUTING]
    readme = (ROOT / "notebooks" / "README.md").read_text(encoding="utf-8")
    assert re.findall(r"\]\((\w+)\.ipynb\)", readme) == NAMES


@pytest.mark.parametrize("path", NOTEBOOKS, ids=NAMES)
def test_a_notebook_is_committed_without_what_it_gave(path: Path) -> None:
    content = json.loads(path.read_text(encoding="utf-8"))
    assert content["nbformat"] == 4
    code = [cell for cell in content["cells"] if cell["cell_type"] == "code"]
    assert code
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in code)
    assert all(cell["metadata"] == {} for cell in content["cells"])
    assert set(content["metadata"]) == {"kernelspec", "language_info"}
    assert content["metadata"]["language_info"] == {"name": "python"}


@pytest.mark.parametrize("path", NOTEBOOKS, ids=NAMES)
def test_every_heading_is_a_question(path: Path) -> None:
    texts = cells(path, "markdown")
    headings = [line for text in texts for line in text.splitlines() if line.startswith("#")]
    assert len(headings) == len(texts)
    assert all(heading.endswith("?") for heading in headings)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=NAMES)
def test_a_notebook_uses_public_names_only(path: Path) -> None:
    nodes = [node for cell in cells(path, "code") for node in ast.walk(ast.parse(cell))]
    imported = [node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)]
    imported += [alias.name for node in nodes if isinstance(node, ast.Import | ast.ImportFrom) for alias in node.names]
    assert {name.partition(".")[0] for name in imported if "." in name} <= {"figures", "metrics", "pipelines"}
    used = imported + [node.attr for node in nodes if isinstance(node, ast.Attribute)]
    assert not [name for name in used if any(part.startswith("_") for part in name.split("."))]


@pytest.mark.slow
def test_sql_of_the_notebook_counts_what_is_published(ran: dict[str, Ran]) -> None:
    compared = ran[SQL].names["compared"]
    assert [key for key, *_ in compared] == ["depth.p50", "depth.max", "reuse.aggregate", "gap.p50_s", "gap.p99_s"]
    assert [(key, mine) for key, mine, *_ in compared] == [(key, published) for key, _, published, _ in compared]
    assert ran[SQL].shown[-1] is True
    assert [row["class"] for row in ran[SQL].names["growth"]] == ["spine", "mid", "fanout", "scoped"]
    assert "gaps between consecutive calls of a session" in ran[SQL].printed


@pytest.mark.slow
def test_the_notebook_on_caps_shows_what_they_save_and_cost(ran: dict[str, Ran]) -> None:
    caps = ran[CAPS].rows("caps")
    assert [row["cap"] for row in caps] == ["1m", "5m", "15m", "1h", "6h", "1d", "inf"]
    for column, falls in (("ceiling_tb", False), ("calls_rebuilt_percent", True)):
        values = [row[column] for row in caps]
        assert values == sorted(values, reverse=falls)
    missed = {row.pop("policy"): list(row.values()) for row in ran[CAPS].rows("missed")}
    assert {"lru", "fnu", "mrr"} <= set(missed)
    assert {len(rates) for rates in missed.values()} == {7}
    assert all(row["bound_misses"] <= row["misses"] for row in ran[CAPS].rows("distance"))
    assert "target: at most 20.0% of the calls miss" in ran[CAPS].printed


@pytest.mark.slow
def test_the_notebook_on_routing_shows_moves_and_routes(ran: dict[str, Ran]) -> None:
    moves = {row["transition"]: row for row in ran[ROUTING].rows("moves")}
    assert sum(row["percent_of_calls"] for row in moves.values()) == pytest.approx(100, abs=0.05)
    assert moves["same_deployment"]["mean_reuse"] > moves["cross_deployment"]["mean_reuse"]
    floors = {row["route"]: row["floor_percent"] for row in ran[ROUTING].rows("routes")}
    assert floors["sticky"] < floors["as_logged"] < floors["sticky_limit"]
    lost = [row["lost_tokens"] for row in ran[ROUTING].rows("lost")]
    assert lost == sorted(lost, reverse=True)
    agreement = ran[ROUTING].rows("agreement")
    counted = {sum(row[name] for name in ("hit_hit", "hit_miss", "miss_hit", "miss_miss")) for row in agreement}
    assert len(counted) == 1


@pytest.mark.slow
@pytest.mark.parametrize(("name", "figures"), [(CAPS, ["fig10", "fig11"]), (ROUTING, ["fig09", "fig11c"])])
def test_figures_are_shown(ran: dict[str, Ran], name: str, figures: list[str]) -> None:
    shown = [value for value in ran[name].shown if hasattr(value, "_repr_svg_")]
    assert [value.figure.name for value in shown] == figures
    assert all(value._repr_svg_().startswith("<svg") for value in shown)
