"""Command lines and configurations that cannot be used: exit 2, and a message that names what can."""

from __future__ import annotations

from typing import Any

import pytest

from pipelines import cli as top
from pipelines.characterize import main

USAGE = {
    "unknown option": (["--bogus"], ["--bogus", "--help"]),
    "abbreviation": (["--strea", "window"], ["--strea"]),
    "window shape": (["--window", "2026-01-01"], ["START/END"]),
    "window time": (["--window", "2026-01-01/soon"], ["soon", "ISO-8601"]),
    "window empty": (["--window", "2026-01-02/2026-01-02"], ["ends where it starts"]),
    "window too early": (["--window", "0001-01-01T00:00:00+14:00/2026-01-01"], ["ISO-8601"]),
    "split": (["--split", "tomorrow"], ["s, m, h or d"]),
    "split zero": (["--split", "0d"], ["s, m, h or d"]),
    "split and window": (["--split", "1d", "--window", "2026-01-01/2026-01-02"], ["--window", "--split"]),
    "zone": (["--tz", "Mars/Olympus"], ["Mars/Olympus", "IANA"]),
    "zone path": (["--tz", "../../etc/passwd"], ["IANA"]),
    "zone empty": (["--tz", ""], ["IANA"]),
    "zone folder": (["--tz", "Europe"], ["IANA"]),
    "stream": (["--stream", "all"], ["busiest-hour", "window"]),
    "release": (["--release", "first"], ["last", "never"]),
    "key": (["--key", "model"], ["session+model", "session+deployment"]),
    "key twice": (["--key", "session,session"], ["--key", "once"]),
    "key empty": (["--key", ""], ["--key"]),
    "policy": (["--policies", "lru,lfu"], ["lfu", "fnu, lru, lru_at_B_over_q, mrr"]),
    "policies trailing comma": (["--policies", "lru,"], ["--policies"]),
    "budget": (["--budgets", "10"], ["10%", "TB"]),
    "budget zero": (["--budgets", "0%"], ["more than zero"]),
    "budget twice": (["--budgets", "10%,10.0%"], ["more than once"]),
    "route": (["--routing", "sticky,random"], ["random", "as_logged, sticky, sticky_limit"]),
    "route twice": (["--routing", "sticky,sticky"], ["--routing", "once"]),
    "route and none": (["--routing", "none,sticky"], ["none", "as_logged"]),
    "load limit": (["--load-limit", "0.9"], ["--load-limit", "at least 1"]),
    "replica memory": (["--replica-memory", "half"], ["peak", "calls", "equal"]),
    "geometry": (["--geometry", "gpt-5"], ["llama-2-70b", "10^9"]),
    "geometry zero": (["--geometry", "0"], ["10^9"]),
    "geometry fraction": (["--geometry", "1.5"], ["10^9"]),
    "threads": (["--threads", "0"], ["--threads", "1 to 9999"]),
    "threads text": (["--threads", "many"], ["1 to 9999"]),
    "memory": (["--memory-limit", "8"], ["8GB"]),
    "arrivals for calls": (["--arrivals", "poisson:1"], ["calls", "arrivals of its own"]),
    "no config": (["--config", "/nonexistent/config.toml"], ["/nonexistent/config.toml"]),
}


@pytest.mark.parametrize("case", USAGE)
def test_usage_error(cli: Any, case: str) -> None:
    words, says = USAGE[case]
    ran = cli.fails(2, cli.file(), *words, says=says)
    assert not ran.out.exists()


@pytest.mark.parametrize("words", [[], ["x.csv"], ["--format", "calls", "--out", "o"], ["x.csv", "--format", "calls"],
                                   ["x.csv", "--out", "o"], ["x.csv", "--format"]])
def test_something_required_is_missing(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert err.startswith("characterize: ")


def test_unknown_format(cli: Any) -> None:
    cli.fails(2, cli.file(), format="parquet", says=["calls, claude-code, copilot, events, weka"])


@pytest.mark.parametrize("text", ["poisson", "poisson:0", "poisson:-1", "poisson:nan", "poisson:inf", "poisson:1e3",
                                  "poisson:1:x", "poisson:1:2:3", "uniform:1", "poisson:" + "9" * 400])
def test_arrivals_that_cannot_be(cli: Any, text: str) -> None:
    cli.fails(2, cli.file(name="a.json"), "--arrivals", text, format="weka", says=["poisson:RATE[:SEED]"])


def test_top_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert top.main([]) == 2
    assert "usage: kvcensus" in capsys.readouterr().err
    assert top.main(["caracterize"]) == 2
    assert "Known commands: characterize" in capsys.readouterr().err
    assert top.main(["--help"]) == 0
    assert "usage: kvcensus" in capsys.readouterr().out
    assert top.main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("kvcensus ")
    assert top.main(["characterize", "x", "--format", "y", "--out", "z"]) == 2
    assert capsys.readouterr().err.startswith("kvcensus characterize: ")
    with pytest.raises(SystemExit) as stop:
        top.main(["characterize", "--help"])
    assert stop.value.code == 0
    assert "exit codes: 0 done, 2 usage, 3 input or data, 1 our fault" in capsys.readouterr().out


CONFIGS = {
    "no toml": ("[columns\n", ["TOML", "line 1"]),
    "same key twice": ("[columns]\nmodel = 'a'\nmodel = 'b'\n", ["TOML"]),
    "unknown table": ("[column]\n", ["column", "Did you mean columns?"]),
    "unknown column": ("[columns]\nsession = 'x'\n", ["columns.session", "Did you mean session_id?", "call_id"]),
    "unknown source": ("[source]\nwhole_session = true\n", ["Did you mean whole_sessions?"]),
    "unknown timestamp": ("[timestamp]\nunits = 's'\n", ["Did you mean unit?", "zone", "epoch"]),
    "unknown rule": ("[[classes]]\nmatch = 'a'\nkind = 'spine'\n", ["classes 1.kind", "conservative"]),
    "far from anything": ("zzzz = 1\n", ["zzzz", "Known: columns, timestamp, source, classes"]),
    "columns no table": ("columns = 3\n", ["[columns] table"]),
    "column no text": ("[columns]\nmodel = 3\n", ["columns.model", "text in quotes"]),
    "unit": ("[timestamp]\nunit = 'min'\n", ["timestamp.unit", "s, ms, us or ns"]),
    "unit no text": ("[timestamp]\nunit = 1\n", ["timestamp.unit", "text in quotes"]),
    "zone": ("[timestamp]\nzone = 'CEST+1'\n", ["CEST+1", "IANA"]),
    "epoch": ("[timestamp]\nepoch = 'soon'\n", ["timestamp.epoch", "ISO-8601"]),
    "epoch without zone": ("[timestamp]\nepoch = 2026-01-01T00:00:00\n", ["timestamp.epoch", "offset"]),
    "epoch a date": ("[timestamp]\nepoch = 2026-01-01\n", ["timestamp.epoch", "offset"]),
    "epoch a number": ("[timestamp]\nepoch = 5\n", ["timestamp.epoch"]),
    "flag no boolean": ("[source]\nwhole_sessions = 'yes'\n", ["source.whole_sessions", "true or false"]),
    "classes no list": ("classes = 'spine'\n", ["[[classes]]"]),
    "classes one table": ("[classes]\nmatch = 'a'\n", ["[[classes]]"]),
    "rule without match": ("[[classes]]\nconservative = 'spine'\n", ["classes 1.match"]),
    "rule with empty match": ("[[classes]]\nmatch = ''\nconservative = 'spine'\n", ["classes 1.match"]),
    "rule of unknown class": ("[[classes]]\nmatch='a'\nconservative='spine'\n[[classes]]\nmatch='b'\n"
                              "conservative='big'\n", ["classes 2.conservative", "big", "spine"]),
    "rule without class": ("[[classes]]\nmatch = 'a'\n", ["classes 1.conservative", "spine"]),
    "hostile key": ('"\\u001b[31m" = 1\n', ["\\x1b[31m"]),
}


@pytest.mark.parametrize("case", CONFIGS)
def test_config_error(cli: Any, case: str) -> None:
    text, says = CONFIGS[case]
    conf = cli.toml(text)
    ran = cli.fails(2, cli.file(), "--config", conf, says=[str(conf), *says] if case != "zone" else says)
    assert not ran.out.exists()


def test_config_that_is_no_text(cli: Any) -> None:
    conf = cli.folder / "binary.toml"
    conf.write_bytes(b"\xff\xfe\x00")
    cli.fails(2, cli.file(), "--config", conf, says=[str(conf)])
    cli.fails(2, cli.file(), "--config", cli.folder, says=[str(cli.folder)])


def test_config_may_be_empty(cli: Any) -> None:
    cli.ok(cli.file(), "--config", cli.toml(""), light=True)


def test_budget_beyond_any_replay(cli: Any) -> None:
    cli.fails(2, cli.file(), "--budgets", "999999999999999TB", says=["999999999999999TB"])


CRASHES = {
    "window in year 1 in a zone behind": ["--window", "0001-01-01T00:00:00Z/2027-01-01", "--tz", "America/New_York"],
    "window in year 9999 in a zone ahead": ["--window", "2020-01-01/9999-12-31T23:00:00Z", "--tz", "Asia/Tokyo"],
    "split of millions of days": ["--split", "999999999d"],
    "split of millions of hours": ["--split", "99999999h"],
    "geometry of 5000 digits": ["--geometry", "1" * 5000],
    "memory of exabytes": ["--memory-limit", "999999999TiB"],
    "name that is no UTF-8": ["--name", "fleet\udcff"],
}


@pytest.mark.parametrize("case", CRASHES)
def test_never_our_fault(cli: Any, case: str) -> None:
    ran = cli(cli.file(), *CRASHES[case], light=True)
    assert ran.rc in (0, 2)
    assert "Traceback" not in ran.stderr


TOML_CRASHES = {
    "an integer of 5000 digits": "x = " + "1" * 5000,
    "brackets 5000 deep": "x = " + "[" * 5000,
    "an epoch before year 1": "[timestamp]\nepoch = 0001-01-01T00:00:00+14:00\n",
}


@pytest.mark.parametrize("case", TOML_CRASHES)
def test_config_is_never_our_fault(cli: Any, case: str) -> None:
    cli.fails(2, cli.file(), "--config", cli.toml(TOML_CRASHES[case]))


def test_work_that_is_a_loop_of_links(cli: Any) -> None:
    loop = cli.folder / "loop"
    loop.symlink_to(loop)
    ran = cli(cli.file(), "--work", loop)
    assert ran.rc in (2, 3)


def test_split_into_a_hundred_thousand_windows_is_refused_or_quick(cli: Any) -> None:
    assert cli(cli.file(), "--split", "1s", limit_s=2, light=True).rc in (0, 2)


def test_geometry_takes_plain_digits_only(cli: Any) -> None:
    cli.fails(2, cli.file(), "--geometry", "٣")
