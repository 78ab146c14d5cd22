"""`--bootstrap` and `--hours`: what is published, what the report says of it, and what cannot be asked for."""

from __future__ import annotations

import html
import re
from typing import Any

import pyarrow.parquet as pq
import pytest

WORDS = ("--policies", "lru,mrr", "--budgets", "20%,50%")


@pytest.mark.parametrize("text", ["10001", "-5", "x", "200:y", "1.5"])
def test_usage_error(cli: Any, text: str) -> None:
    ran = cli.fails(2, cli.file(), f"--bootstrap={text}", says=[f"--bootstrap '{text}'", "1 to 10,000 replicates"])
    assert not ran.out.exists()


def fleet(cli: Any) -> Any:
    """Hours with 30 sessions of 4 calls, 60 of 2 to 4, none, and 10 of 3, all of an hour at once."""
    lines = ["session_id,timestamp,context_tokens"]
    lines += [f"zebra-{n},2026-03-03T{hour:02}:{15 * turn:02}:{n:02}Z,{100 + n % 11 + 10 * turn}"
              for hour, sessions, turns in ((9, 30, (4,)), (10, 60, (2, 3, 4)), (12, 10, (3,)))
              for n in range(sessions) for turn in range(turns[n % len(turns)])]
    return cli.file("\n".join(lines) + "\n", "fleet.csv")


def plain(page: str) -> str:
    """The words of a page."""
    return html.unescape(" ".join(re.sub(r"<[^>]+>", "", page).split()))


def test_intervals_and_hours_are_published_and_said(cli: Any) -> None:
    ran = cli.ok(fleet(cli), *WORDS, "--bootstrap", "40:7", "--hours", page=True, light=True)
    numbers, text = ran.json(), plain(ran.page())
    rate = numbers["replay.busiest-hour.session.mrr.b50"]
    assert rate["lo"] < rate["hi"]
    assert "1.96 standard errors either way, from replays of resampled sessions" in rate["method"]
    tables = {name: pq.read_table(ran.out / "all" / "tables" / f"{name}.parquet").to_pylist()
              for name in ("replay_uncertainty", "replay_ratio", "replay_hours")}
    row, = (row for row in tables["replay_uncertainty"] if (row["policy"], row["budget_share"], row["method"]) == (
        "mrr", 0.5, "bootstrap"))
    assert (row["value"], row["lo"], row["hi"], row["replicates"], row["seed"], row["sessions"]) == (
        rate["value"], rate["lo"], rate["hi"], 40, 7, 60)
    assert {row["policy"] for row in tables["replay_ratio"]} == {"mrr"}
    assert "The 60 sessions were resampled 40 times, with seed 7. With the same sessions MRR rebuilds " in text
    # Hours: one is empty, one has few calls.
    hours = {row["hour"]: row for row in tables["replay_hours"] if (row["policy"], row["budget"]) == ("lru", "50%")}
    assert {hour[11:13]: (row["calls"], row["sessions"], row["busiest"], row["compared"])
            for hour, row in hours.items()} == {"09": (120, 30, False, True), "10": (180, 60, True, True),
                                                "11": (0, 0, False, False), "12": (30, 10, False, False)}
    assert hours["2026-03-03T10:00:00Z"]["misses"] / 180 == numbers["replay.busiest-hour.session.lru.b50"]["value"]
    floor = numbers["replay.hours.session.floor"]
    assert (floor["value"], floor["lo"], floor["hi"], floor["n"]) == (1 / 4, 1 / 4, 1 / 3, 2)
    assert numbers["replay.hours.compared"]["value"] == 2
    assert "How much does it matter which hour is replayed?" in text
    # And what decides the numbers is written down.
    manifest = ran.json("manifest")
    assert manifest["configuration"]["replay"]["bootstrap"] == {"replicates": 40, "seed": 7}
    assert manifest["configuration"]["replay"]["hours"] is True
    assert "--bootstrap 40:7 --hours" in manifest["command"]
    for stage in ("bootstrap of 180 calls, 40 replicates, seed 7", "hours of the day"):
        assert stage in ran.stderr


def test_neither_is_there_unless_asked_for(cli: Any) -> None:
    ran = cli.ok(fleet(cli), *WORDS, "--bootstrap", "0", page=True, light=True)
    assert not [key for key in ran.json() if ".bootstrap." in key or ".ratio." in key or ".hours." in key]
    assert not list((ran.out / "all" / "tables").glob("replay_[uh]*"))
    assert "which hour is replayed" not in ran.page()
    assert "no interval stands behind these numbers" in plain(ran.page())
    assert ran.json("manifest")["configuration"]["replay"]["bootstrap"] is None


def test_few_sessions_are_said(cli: Any) -> None:
    ran = cli.ok(cli.file(), *WORDS, "--bootstrap", "40", "--stream", "window", page=True, light=True)
    why = "the stream has 6 sessions; resampling them takes 20"
    assert ran.json()["replay.window.bootstrap.replicates"]["why"] == why
    assert f"How sure the rates are is not known: {why}." in plain(ran.page())
