"""The way it should go: the sample, the same bytes again, and nothing published that identifies anyone."""

from __future__ import annotations

import re
import shlex
from typing import Any

from figures.registry import all_figures
from telemetry.schema import DEFECTS, FLAGS

TIMED = ("started", "wall_s")


def test_sample_gives_a_report(sample: Any) -> None:
    assert sample.manifests() == ["all"]
    assert sample.value("trace.calls") == 4897
    audit = sample.json("audit")
    assert audit["rows_read"] == 4925
    assert audit["rows_used"] + sum(audit["rows_excluded"].values()) == 4925
    assert set(audit["rows_excluded"]) == set(DEFECTS)
    assert set(audit["flags"]) == set(FLAGS)
    assert audit["rows_excluded"]["bad_timestamp"] == 2
    assert audit["rows_excluded"]["bad_tokens"] == 3
    assert audit["rows_excluded"]["duplicate"] == 23


def test_results_on_stdout_progress_on_stderr(sample: Any) -> None:
    assert "4,925 read, 4,897 used, 28 set aside" in sample.stdout
    assert sample.stdout.endswith(f"report: {sample.out / 'all' / 'report.html'}\n")
    for stage in ("reading", "ordering calls", "metrics", "replays", "report"):
        assert stage in sample.stderr
        assert f"{stage} ..." not in sample.stdout
    assert "row 501 after the header, column timestamp: bad_timestamp ('2026-03-03T25:61:00Z')" in sample.stderr


def test_every_number_has_a_value_or_a_reason(sample: Any) -> None:
    for key, number in sample.json().items():
        assert (number["value"] is None) == bool(number["why"]), key
        assert number["command"].startswith("kvcensus characterize INPUT --format calls --out OUT --stream")


def test_every_n_of_a_figure_is_named(sample: Any) -> None:
    numbers = sample.json()
    for spec in all_figures():
        sizes = {key: numbers[key]["n"] for key in spec.keys if numbers.get(key, {}).get("value") is not None}
        if spec.asked_by and not sizes:  # of what nobody asked for here: tests/live asks
            continue
        named = [sizes[key] for key, _ in spec.counts if key in sizes]
        assert named, spec.name
        assert set(sizes.values()) == set(named), spec.name


def test_the_same_bytes_with_other_threads_and_work(cli: Any, sample: Any, tools: Any) -> None:
    again = cli.ok(cli.root / "sample_data" / "calls.csv.gz", *cli.on, "--threads", 1, "--work", cli.folder / "work",
                   "--memory-limit", "500MB", page=True, quick=False)
    first, second = tools.contents(sample.out / "all"), tools.contents(again.out / "all")
    assert list(first) == list(second)
    assert {name for name in first if first[name] != second[name]} == {"manifest.json"}
    known, other = sample.json("manifest"), again.json("manifest")
    assert {key for key in known if known[key] != other[key]} <= set(TIMED)


def test_order_and_spelling_of_inputs_do_not_matter(cli: Any, tools: Any) -> None:
    one, two = "\n".join([cli.header, *cli.rows[:9]]), "\n".join([cli.header, *cli.rows[9:]])
    inputs = [cli.file(one, "b.csv"), cli.file(two, "a.csv"), cli.file(one + "\n", "c.csv")]
    runs = [cli.ok(*order) for order in (inputs, [*inputs[::-1], *inputs])]
    runs.append(cli.ok(inputs[0].parent))
    found = [{k: v for k, v in tools.contents(run.out / "all").items() if k != "manifest.json"} for run in runs]
    assert all(other == found[0] for other in found[1:])
    assert runs[0].json("audit")["rows_excluded"]["duplicate"] == 9


def test_nothing_published_identifies_anyone(cli: Any, tools: Any) -> None:
    data = cli.file(name="home/alice.wonder/s3cret-export.csv")
    bad = ["zebra-9,ibex-when,1,1,1,okapi-x,tapir-1,,,quagga-z,,,ibex-98,ok",
           "zebra-9,2026-03-05T10:00:00Z,okapi-many,1,1,okapi-x,tapir-1,zebra?,,quagga-z,,,ibex-99,ok"]
    more = cli.file("\n".join([cli.header, *bad, "zebra-short"]) + "\n", "home/alice.wonder/s3cret-bad.csv")
    conf = cli.folder / "bob.builder.toml"
    conf.write_text('[timestamp]\nunit = "s"\n')
    ran = cli.ok(data, more, "--config", conf, "--split", "7d", "--work", cli.folder / "carol.work", page=True)
    assert ran.manifests() == ["2026-03-03"]
    text = tools.published(ran.out)
    for word in (*cli.ids, *cli.names, "alice", "wonder", "s3cret", "bob", "carol", str(cli.folder), "lemur"):
        assert word not in text, word
    assert ran.json("audit", "2026-03-03")["rows_excluded"]["bad_timestamp"] == 1


def test_names_publishes_names_and_no_identifier(cli: Any, tools: Any) -> None:
    ran = cli.ok(cli.file(name="alice.wonder/calls.csv"), "--names")
    text = tools.published(ran.out)
    for word in ("okapi-large", "okapi-small", "quagga-a", "quagga-b"):
        assert word in text
    for word in (*cli.ids, "alice", "wonder", str(cli.folder)):
        assert word not in text
    assert ran.json()["trace.calls"]["command"].endswith(" --names")


def test_class_rules_do_not_publish_model_names(cli: Any, tools: Any) -> None:
    rules = cli.toml('[[classes]]\nmatch = "okapi-large"\nconservative = "spine"\n')
    assert "okapi" not in tools.published(cli.ok(cli.file(), "--config", rules, light=True).out)


def test_output_holds_results_and_no_scratch(sample: Any, tools: Any) -> None:
    names = set(tools.contents(sample.out))
    assert {".kvcensus", "all/numbers.json", "all/audit.json", "all/manifest.json", "all/report.html"} <= names
    assert all(re.fullmatch(r"\.kvcensus|all/(tables/[a-z_]+\.parquet|[a-z]+\.(json|html))", name)
               for name in names)


def test_the_published_command_gives_the_same_numbers(cli: Any) -> None:
    data = cli.file()
    first = cli.ok(data, "--window", "2026-03-03/2026-03-06", "--tz", "Europe/Berlin", "--stream", "window",
                   "--budgets", "10%, 5.0GB", "--release", "never", "--geometry", "jamba-v0.1", "--policies",
                   "mrr,lru", "--key", "session+model", "--threads", 2, quick=False)
    words = shlex.split(first.json(window="window")["trace.calls"]["command"])
    assert words[:3] == ["kvcensus", "characterize", "INPUT"]
    options = words[3:words.index("--format")] + words[words.index("OUT") + 1:]
    second = cli.ok(data, *options, quick=False)
    assert (second.out / "window" / "numbers.json").read_bytes() == (
        first.out / "window" / "numbers.json").read_bytes()
