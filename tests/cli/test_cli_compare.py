"""`kvcensus compare`: what a user does with two results, and what goes wrong."""

from __future__ import annotations

import io
import json
import shutil
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import pytest

from pipelines.compare import main


def compare(*words: object) -> tuple[int, str, str]:
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        rc = main([*map(str, words)], process=False)
    return rc, out.getvalue(), err.getvalue()


@pytest.fixture(scope="module")
def two(sample: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sample, and a copy of it in which sessions are twice as deep and of unknown gaps."""
    folder = tmp_path_factory.mktemp("two")
    for name in ("one", "other"):
        shutil.copytree(sample.out, folder / name)
    numbers = folder / "other" / "all" / "numbers.json"
    content = json.loads(numbers.read_text(encoding="utf-8"))
    content["depth.p50"]["value"] *= 2
    content["gap.p50_s"] |= {"value": None, "why": "the clock stood <still>"}
    numbers.write_text(json.dumps(content), encoding="utf-8")
    return folder


def test_two_results_make_a_page_that_says_where_they_differ(two: Path, tmp_path: Path) -> None:
    depth = json.loads((two / "one/all/numbers.json").read_text(encoding="utf-8"))["depth.p50"]["value"]
    page = tmp_path / "new" / "c.html"
    rc, out, err = compare(two / "one", two / "other" / "all", "--out", page, "--labels", "A,<b>B</b>")
    assert (rc, err) == (0, "")
    assert f"at least {2 * depth} calls in <b>B</b>, where they are deepest, and {depth} in A" in out
    assert out.endswith(f"page: {page}\n")
    text = page.read_text(encoding="utf-8")
    assert "<b>B</b>" not in text
    assert "&lt;b&gt;B&lt;/b&gt;" in text
    assert "the clock stood &lt;still&gt;" in text
    assert "Fewer than two of these results tell how long sessions wait." in text
    assert [path.name for path in page.parent.iterdir()] == ["c.html"]
    again = page.read_bytes()
    assert compare(two / "one", two / "other", "--out", page, "--labels", "A,<b>B</b>")[0] == 0
    assert page.read_bytes() == again


def test_json_holds_every_contrast(two: Path, tmp_path: Path) -> None:
    rc, out, _ = compare(two / "one", two / "other", "--out", tmp_path / "c.html", "--json")
    found = json.loads(out)
    assert rc == 0
    assert found["results"] == ["calls trace, one", "calls trace, other"]
    assert [(c["key"], c["spread"]) for c in found["contrasts"]] == [("depth.p50", 2.0)]
    assert found["left_out"]["known in fewer than two results"] >= 1


def test_a_value_that_some_do_not_know_is_not_that_of_all(two: Path, tmp_path: Path) -> None:
    # The gap of `other` is not known; the sample's own is the same in both of its results.
    _, out, _ = compare(two / "one", two / "other", two / "one", "--out", tmp_path / "c.html", "--labels", "A,B,C")
    gaps = next(line for line in out.splitlines() if "Half of the gaps" in line)
    assert gaps.endswith("in A and in the other one that tells.")
    _, out, _ = compare(two / "one", two / "one", "--out", tmp_path / "c.html", "--labels", "A,B")
    gaps = next(line for line in out.splitlines() if "Half of the gaps" in line)
    assert gaps.endswith("in A and everywhere else.")


def test_settings_that_differ_are_told_before_the_findings(two: Path, tmp_path: Path) -> None:
    shutil.copytree(two / "one", tmp_path / "small")
    manifest = tmp_path / "small/all/manifest.json"
    content = json.loads(manifest.read_text(encoding="utf-8"))
    content["configuration"]["geometry"]["name"] = "llama-3.1-8b"
    manifest.write_text(json.dumps(content), encoding="utf-8")
    _, out, _ = compare(two / "one", tmp_path / "small", "--out", tmp_path / "c.html")
    assert out.splitlines()[0].startswith("The results differ in their KV geometry, so that bytes cannot be compared.")


GOOD = {"value": 1, "lo": None, "hi": None, "unit": "calls", "population": "all calls", "n": 1, "method": "count",
        "command": "kvcensus characterize", "why": None}
TAMPERED = {
    "value true": json.dumps({"a": GOOD | {"value": True}}),
    "value is a list": json.dumps({"a": GOOD | {"value": [1]}}),
    "text beside bounds of no kind": json.dumps({"a": GOOD | {"lo": "low"}}),
    "not finite": json.dumps({"a": GOOD | {"value": float("nan")}}),
    "too large": json.dumps({"a": GOOD | {"value": 10**400}}),
    "no unit": json.dumps({"a": {name: value for name, value in GOOD.items() if name != "unit"}}),
    "one field more": json.dumps({"a": GOOD | {"extra": 1}}),
    "an entry that is a number": json.dumps({"a": 1}),
    "nested without end": "[" * 100_000,
}


@pytest.mark.parametrize("case", TAMPERED)
def test_numbers_that_kvcensus_did_not_write_are_refused(case: str, two: Path, tmp_path: Path) -> None:
    shutil.copytree(two / "one", tmp_path / "other")
    (tmp_path / "other/all/numbers.json").write_text(TAMPERED[case])
    rc, out, err = compare(two / "one", tmp_path / "other", "--out", tmp_path / "c.html")
    assert (rc, out) == (3, "")
    assert "numbers.json cannot be read" in err
    assert "Traceback" not in err


@pytest.mark.parametrize(("words", "rc", "says"), [
    (["{one}", "--out", "{page}"], 2, "one result is no comparison"),
    (["{one}"] * 13 + ["--out", "{page}"], 2, "at most 12"),
    (["{one}", "{other}", "--out", "{tmp}"], 2, "name a page, such as compare.html"),
    (["{one}", "{other}", "--out", "{mine}"], 2, "is a file that kvcensus did not write"),
    (["{one}", "{other}", "--out", "{page}", "--labels", "A"], 2, "2 results need as many labels"),
    (["{one}", "{other}", "--out", "{page}", "--labels", "A,A"], 2, "each another"),
    (["{one}", "{other}", "--out", "{one}/all/report.html"], 2, "lies in a result, whose files belong together"),
    (["{one}", "{empty}", "--out", "{page}"], 3, "holds no result"),
    (["{one}", "{tmp}/none", "--out", "{page}"], 3, "holds no result"),
    (["{one}", "{cut}", "--out", "{page}"], 3, "cannot be read"),
    (["{one}", "{other}", "--out", "{mine}/c.html"], 3, "cannot write to"),
])
def test_mistakes_are_answered(words: list[str], rc: int, says: str, two: Path, tmp_path: Path) -> None:
    mine = tmp_path / "mine.html"
    mine.write_text("my own page")
    cut, empty = tmp_path / "cut", tmp_path / "empty"
    cut.mkdir(), empty.mkdir()
    (cut / "manifest.json").write_text('{"format_version": 1}')
    (cut / "numbers.json").write_text('{"depth')
    places = {"one": two / "one", "other": two / "other", "tmp": tmp_path, "mine": mine, "cut": cut, "empty": empty,
              "page": tmp_path / "c.html"}
    got, out, err = compare(*(word.format(**places) for word in words))
    assert (got, out) == (rc, "")
    assert err.startswith("compare: ")
    assert says in err
    assert "Traceback" not in err
    assert mine.read_text() == "my own page"
    assert not (tmp_path / "c.html").exists()
