"""`--sample-sessions`: what is drawn, what is said of it, and what cannot be asked for."""

from __future__ import annotations

import hashlib
import html
import re
from typing import Any

import pyarrow.parquet as pq
import pytest

from figures.fig11_residency import FIGURE
from metrics.core.store import Results

WINDOW = ("--stream", "window", "--budgets", "50%")
USAGE = {
    "no fraction": (["--sample-sessions", "5%"], ["--sample-sessions '5%'", "0.05"]),
    "nobody": (["--sample-sessions", "0"], ["more than 0"]),
    "more than all": (["--sample-sessions", "1.5"], ["at most 1"]),
    "no seed": (["--sample-sessions", "0.5", "--sample-seed", "x"], ["--sample-seed 'x'"]),
    "a seed alone": (["--sample-seed", "1"], ["--sample-sessions"]),
    "an amount": (["--sample-sessions", "0.5", "--budgets", "10%,1GB"], ["budget 1GB", "shares of K*"]),
}


@pytest.mark.parametrize("case", USAGE)
def test_usage_error(cli: Any, case: str) -> None:
    words, says = USAGE[case]
    assert not cli.fails(2, cli.file(), *words, says=says).out.exists()


def turns(n: int) -> int:
    return n % 5 + 2


def many(cli: Any, sessions: int = 400) -> Any:
    """Sessions of two to six calls, dozens at once."""
    lines = ["session_id,timestamp,context_tokens"]
    for n in range(sessions):
        for turn in range(turns(n)):
            at = n * 3 + turn * 100 * (1 + n % 3)
            lines.append(f"zebra-{n},2026-03-03T10:{at // 60:02}:{at % 60:02}Z,{100 + n % 11 + 10 * turn}"
                         if at < 3600 else f"zebra-{n},2026-03-03T11:{at // 60 - 60:02}:{at % 60:02}Z,300")
    return cli.file("\n".join(lines) + "\n", "many.csv")


def drawn(sessions: int, fraction: float, seed: int = 0) -> list[int]:
    return [n for n in range(sessions)
            if int(hashlib.md5(f"{seed}:zebra-{n}".encode()).hexdigest()[:15], 16) < int(fraction * 2**60)]


def plain(page: str) -> str:
    """The words of a page."""
    return html.unescape(" ".join(re.sub(r"<[^>]+>", "", page).split()))


def test_the_results_say_what_was_drawn(cli: Any) -> None:
    data, inside = many(cli), drawn(400, 0.5, 3)
    ran = cli.ok(data, *WINDOW, "--sample-sessions", "0.50", "--sample-seed", "3", "--work", cli.folder / "work",
                 light=True)
    numbers = ran.json()
    start, calls = "replay.window.sample", sum(map(turns, inside))
    assert {key.removeprefix(f"{start}."): number["value"] for key, number in numbers.items() if start in key} == {
        "fraction": 0.5, "seed": 3, "sessions": len(inside), "stream_sessions": 400, "calls": calls,
        "stream_calls": sum(map(turns, range(400)))}
    rate = numbers["replay.window.session.lru.b50"]
    assert rate["n"] == calls
    assert rate["lo"] < rate["value"] < rate["hi"]
    assert "in a sample (fraction 0.5, seed 3)" in rate["population"]
    row, = pq.read_table(ran.out / "all" / "tables" / "residency_replay.parquet").to_pylist()
    assert row["misses"] / row["calls"] == rate["value"]
    assert (row["sample_fraction"], row["sample_seed"], row["sample_sessions"], row["stream_sessions"]) == (
        0.5, 3, len(inside), 400)
    assert (row["low"], row["high"]) == (rate["lo"], rate["hi"])
    assert row["standard_error"] == numbers["replay.window.session.se.lru.b50"]["value"] > 0
    assert row["groups_rate"] == numbers["replay.window.session.groups.lru.b50"]["value"]
    assert row["split_rate"] == numbers["replay.window.session.split.lru.b50"]["value"]
    manifest = ran.json("manifest")
    assert manifest["configuration"]["replay"]["sample"] == {"fraction": "0.5", "seed": 3}
    assert "--sample-sessions 0.5 --sample-seed 3" in manifest["command"]
    assert any("fraction 0.5, seed 3" in note for note in manifest["notes"])
    assert [path.name for path in (cli.folder / "work").glob("*.arrow")] == ["stream-all-window-sample-0.5-3.arrow"]


def test_all_sessions_are_no_sample(cli: Any, tools: Any) -> None:
    one, none = (cli.ok(cli.file(), "--stream", "window", "--budgets", "10%,1MB", *words)
                 for words in (("--sample-sessions", "1.0", "--sample-seed", "5"), ()))
    found, expected = (tools.contents(ran.out / "all") for ran in (one, none))
    for files in (found, expected):
        del files["manifest.json"]
    assert found == expected
    assert one.json("manifest")["configuration"]["replay"]["sample"] is None


def test_other_metrics_count_every_call(cli: Any) -> None:
    sampled, whole = (cli.ok(cli.file(), *WINDOW, *words).json()
                      for words in (("--sample-sessions", "0.5"), ()))
    for numbers in (sampled, whole):
        for number in numbers.values():
            del number["command"]
    assert {key: number for key, number in sampled.items() if not key.startswith("replay.")} == {
        key: number for key, number in whole.items() if not key.startswith("replay.")}
    assert sampled["replay.window.session.calls"]["value"] < whole["replay.window.session.calls"]["value"]


def test_the_report_says_it(cli: Any) -> None:
    ran = cli.ok(many(cli), *WINDOW, "--sample-sessions", "0.5", page=True, light=True)
    inside = drawn(400, 0.5)
    page = ran.page()
    text = plain(page)
    assert (f"This is a sample, drawn with seed 0: {len(inside)} of 400 sessions over the whole window "
            "(50.0% were asked for), with ") in text
    assert "that would hold the sample, LRU rebuilds" in text
    assert "The standard error of LRU’s share is " in text
    assert "<figcaption>By session, over the whole window, a sample of 50.0% of the sessions</figcaption>" in page
    assert "Intervals stand behind the numbers" in text
    assert "The residency replay reads a sample of the sessions (fraction 0.5, seed 0)" in text


def test_a_sample_too_small_for_its_error_says_so(cli: Any) -> None:
    ran = cli.ok(cli.file(), *WINDOW, "--sample-sessions", "0.5", light=True)
    error = ran.json()["replay.window.session.se.lru.b50"]
    assert error["value"] is None
    assert "5 of the 8 groups of its sessions hold no call" in error["why"]
    assert ran.json()["replay.window.session.lru.b50"]["lo"] is None
    assert (f"The error of LRU’s share is not known: {error['why']}."
            in FIGURE.finding(Results.open(ran.out / "all")).plain())


def test_a_sample_too_small_for_a_budget_gives_no_verdict(cli: Any) -> None:
    data = many(cli)
    for budget, verdict in (("5%", True), ("50%", False)):
        ran = cli.ok(data, "--stream", "window", "--budgets", budget, "--sample-sessions", "0.5", light=True)
        said = FIGURE.finding(Results.open(ran.out / "all")).plain()
        assert said.startswith("This is too small a sample to judge policies by: with ") is verdict


def test_an_empty_sample_is_an_error(cli: Any) -> None:
    ran = cli.fails(3, cli.file(), "--sample-sessions", "0.000001", "--sample-seed", "9",
                    says=["fraction 0.000001, seed 9", "none of the 6 sessions of the input", "--sample-seed"])
    assert not ran.manifests()


def test_an_empty_window_of_a_split_is_told_and_the_others_stay(cli: Any) -> None:
    assert drawn(6, 0.5, seed=1) == [0, 2]  # the 5th of March has the sessions 3, 4 and 5
    words = (*WINDOW, "--sample-sessions", "0.5", "--sample-seed", "1", "--split", "1d")
    ran = cli.ok(cli.file(), *words, light=True)
    assert ran.value("replay.window.session.lru.b50", "2026-03-03") is not None
    empty = ran.json("numbers", "2026-03-05")["replay.window.session.lru.b50"]
    assert empty["value"] is None
    assert "none of the 3 sessions of the stream window is in it" in empty["why"]
