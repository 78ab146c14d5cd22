"""What each option does."""

from __future__ import annotations

import stat
from typing import Any

import pyarrow.parquet as pq
import pytest


def test_window_takes_its_calls_only(cli: Any) -> None:
    ran = cli.ok(cli.file(), "--window", "2026-03-03T10:01:00Z/2026-03-03T10:05:00Z", light=True)
    assert ran.manifests() == ["window"]
    assert ran.stdout.startswith("calls trace, 2026-03-03 10:01 to 2026-03-03 10:05 (UTC)\n")
    assert ran.json("audit", "window")["rows_used"] == 4  # the end is not included
    assert ran.json("audit", "window")["rows_excluded"]["outside_window"] == 16
    assert ran.json("manifest", "window")["window"]["start"] == "2026-03-03T10:01:00Z"


def test_window_is_read_in_the_zone(cli: Any) -> None:
    ran = cli.ok(cli.file(), "--window", "2026-03-04/2026-03-05", "--tz", "Europe/Berlin", light=True)
    assert ran.json("audit", "window")["rows_used"] == 1  # 23:59:59.999999Z; 00:00Z of the 5th is 01:00 in Berlin
    assert ran.json("manifest", "window")["window"]["start"] == "2026-03-04T00:00:00+01:00"


def test_window_without_calls_says_where_they_are(cli: Any) -> None:
    cli.fails(3, cli.file(), "--window", "2030-01-01/2031-01-01",
              says=["2026-03-03T10:00:00Z", "2026-03-05T09:00:05Z"])


def test_split_makes_a_folder_a_window_and_an_index(cli: Any) -> None:
    ran = cli.ok(cli.file(), "--split", "1d")
    assert ran.manifests() == ["2026-03-03", "2026-03-05"]
    assert "windows without a call, left out: 2026-03-04" in ran.stderr
    index = (ran.out / "index.html").read_text()
    assert 'href="2026-03-03/report.html"' in index
    assert 'href="2026-03-05/report.html"' in index
    assert 'href="2026-03-04' not in index
    assert "2026-03-03 00:00 to 2026-03-04 00:00 (UTC)" in index
    assert "first call at 2026-03-03 10:00<" in index
    assert "last call at 2026-03-05 09:00:05<" in index
    assert index.count("call at ") == 2
    assert ran.stdout.endswith(f"report: {ran.out / 'index.html'}\n")
    for window, calls in (("2026-03-03", 14), ("2026-03-05", 6)):
        assert ran.value("trace.calls", window) == calls
        audit = ran.json("audit", window)
        assert audit["rows_used"] + sum(audit["rows_excluded"].values()) == audit["rows_read"] == 20


def test_split_follows_the_zone(cli: Any) -> None:
    ran = cli.ok(cli.file(), "--split", "1d", "--tz", "Asia/Tokyo", light=True)
    assert ran.manifests() == ["2026-03-03", "2026-03-04", "2026-03-05"]
    half = cli.ok(cli.file(), "--split", "12h", light=True)
    assert half.manifests() == ["2026-03-03T000000+0000", "2026-03-03T120000+0000", "2026-03-05T000000+0000"]


def test_split_keeps_both_hours_when_clocks_go_back(cli: Any) -> None:
    data = cli.file("session_id,timestamp,context_tokens\na,2026-10-25T00:30:00Z,10\na,2026-10-25T01:30:00Z,10\n")
    ran = cli.ok(data, "--split", "1h", "--tz", "Europe/Berlin", light=True)
    assert len(ran.manifests()) == 2


def test_stream_window_replays_all_sessioned_calls(cli: Any) -> None:
    busiest, window = cli.ok(cli.file(), light=True), cli.ok(cli.file(), "--stream", "window", light=True)
    assert any(key.startswith("replay.busiest-hour.session.lru.b10") for key in busiest.json())
    found = window.json()["replay.window.session.lru.b10"]
    assert found["n"] == 19
    assert busiest.json()["replay.busiest-hour.session.lru.b10"]["n"] == 9


def test_key_budgets_policies_choose_what_is_published(cli: Any) -> None:
    ran = cli.ok(cli.file(), "--key", "session+deployment", "--budgets", "25%,1GB", "--policies", "mrr,lru",
                 light=True)
    keys = [key for key in ran.json() if key.startswith("replay.busiest-hour.")]
    for key in ("lru.b25", "lru.b1GB", "mrr.b25", "mrr.b1GB"):
        assert f"replay.busiest-hour.session+deployment.{key}" in keys
    assert not any(".session." in key or ".fnu." in key for key in keys)


def test_routes_are_chosen_and_named(cli: Any) -> None:
    # The busiest hour, 10 o'clock: session 0 calls the large model on a, c, a, a; the small one, and others, stay.
    ran = cli.ok(cli.file(), "--routing", "sticky,as_logged+migration", "--load-limit", "1.50", "--replica-memory",
                 "equal", "--policies", "mrr,fnu", "--budgets", "50%", light=True)
    start = "replay.busiest-hour.routing"
    routes = {key.split(".")[3] for key in ran.json() if key.startswith(f"{start}.") and key.count(".") > 3}
    assert routes == {"sticky", "as_logged+migration"}
    assert [ran.value(f"{start}.{key}") for key in ("deployments", "fixed_share", "sticky.floor")] == [3, 0, 4 / 9]
    # From a to c with a context of 1,000 tokens, and back from c with 1,500.
    assert ran.value(f"{start}.as_logged+migration.moved_bytes") == (1000 + 1500) * 327_680
    assert f"{start}.sticky.equal.mrr.b50" in ran.json()
    assert not any("fnu" in key for key in ran.json() if key.startswith(start))
    assert "--routing sticky,as_logged+migration --load-limit 1.50 --replica-memory equal" in (
        ran.json()[f"{start}.sticky.floor"]["command"])
    assert ran.json("manifest")["configuration"]["replay"]["routing"] == {
        "routes": ["sticky", "as_logged+migration"], "division": "equal", "load_limit": "1.5"}
    table = pq.read_table(ran.out / "all" / "tables" / "replay_routing.parquet")
    assert set(table["route"].to_pylist()) == {"sticky", "as_logged+migration"}


def test_no_routes(cli: Any) -> None:
    window = cli.ok(cli.file(), "--stream", "window", light=True).json()
    assert not any(".routing." in key for key in window)
    ran = cli.ok(cli.file(), "--routing", "none", light=True)
    assert not any(".routing." in key for key in ran.json())
    assert not (ran.out / "all" / "tables" / "replay_routing.parquet").exists()


def test_one_deployment_leaves_nothing_to_route(cli: Any) -> None:
    data = cli.file("session_id,timestamp,context_tokens,deployment\na,2026-03-03T10:00:00Z,10,d\n"
                    "a,2026-03-03T10:01:00Z,20,d\n")
    numbers = cli.ok(data, light=True).json()
    whys = {number["why"] for key, number in numbers.items() if ".routing." in key}
    assert whys == {"all calls of the stream with a known deployment are on the same one: there is nothing to route"}


def test_a_sample_has_no_routes(cli: Any) -> None:
    numbers = cli.ok(cli.file(), "--sample-sessions", "0.9", "--routing", "sticky", light=True).json()
    whys = {number["why"] for key, number in numbers.items() if ".routing." in key}
    assert whys == {"a sample of the sessions does not show what load its deployments have"}


def test_release_never_holds_more(cli: Any) -> None:
    peaks = {}
    for release in ("last", "never"):
        numbers = cli.ok(cli.file(), "--release", release, "--stream", "window", light=True).json()
        peaks[release] = [n["value"] for key, n in numbers.items() if "kstar" in key.lower()]
    assert peaks["last"]
    assert all(a < b for a, b in zip(peaks["last"], peaks["never"], strict=True))


def test_geometry_scales_bytes(cli: Any) -> None:
    one = cli.ok(cli.file(), "--geometry", "1")
    ten = cli.ok(cli.file(), "--geometry", "10")
    named = cli.ok(cli.file(), "--geometry", "llama-2-70b", light=True)
    key = "ceiling.hold_all_live_bytes"
    assert ten.value(key) == 10 * one.value(key)
    assert named.json("manifest")["configuration"]["geometry"]["bytes_per_token"] == 327_680


def test_name_is_text_and_no_markup(cli: Any) -> None:
    name = "<script>alert(1)</script> & \"fleet\" \x1b[31m\x00 '"
    ran = cli.ok(cli.file(), "--name", name, "--split", "7d", page=True)
    window, = ran.manifests()
    assert ran.json("manifest", window)["name"] == name
    for page in (ran.page(window), (ran.out / "index.html").read_text()):
        assert "<script" not in page
        assert "&lt;script&gt;alert(1)" in page
        assert "\x1b" not in page
        assert "\x00" not in page


def test_work_is_private_and_kept(cli: Any) -> None:
    work = cli.folder / "deep" / "work"
    cli.ok(cli.file(), "--work", work, light=True)
    assert stat.S_IMODE(work.stat().st_mode) == 0o700
    assert [path.name for path in work.glob("*.arrow")] == ["stream-all-busiest-hour.arrow"]
    assert not list(work.glob("*.partial"))


def test_work_may_hold_the_output_but_not_lie_in_it(cli: Any) -> None:
    out = cli.folder / "out"
    for work in (out, out / "work", out / ".." / "out" / "x"):
        cli.fails(2, cli.file(), "--work", work, out=out, says=["identifiers"])
    assert not out.exists()
    cli.ok(cli.file(), "--work", cli.folder / "work", light=True,
           out=cli.folder / "work" / "out")


def test_work_leaves_the_mode_of_a_folder_of_the_user(cli: Any) -> None:
    mine = cli.folder / "mine"
    mine.mkdir()
    (mine / "homework.txt").write_text("x")
    mine.chmod(0o755)
    cli(cli.file(), "--work", mine, light=True)
    assert stat.S_IMODE(mine.stat().st_mode) == 0o755


def test_a_temporary_work_folder_goes_away(cli: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    place = cli.folder / "tmp"
    place.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(place))
    cli.ok(cli.file(), light=True)
    cli.fails(3, cli.file("timestamp,context_tokens\nx,y\n", "bad.csv"))
    assert not list(place.iterdir())


def test_little_memory_is_an_error_that_says_so(cli: Any) -> None:
    cli.fails(3, cli.file(), "--memory-limit", "1MB", says=["--memory-limit"])
    cli.ok(cli.file(), "--memory-limit", "1.5 GiB", light=True)


def test_arrivals(cli: Any) -> None:
    if not (cli.shared / "weka").is_dir():
        pytest.skip("the shared traces are not here")
    data = sorted((cli.shared / "weka").glob("*.json"))[:2]
    ran = cli.ok(*data, "--arrivals", "poisson:0.05:7", format="weka", light=True)
    assert any("0.05 a second, seed 7" in note for note in ran.json("manifest")["notes"])
    cli.fails(2, *data, format="weka", says=["--arrivals poisson:RATE[:SEED]"])
    cli.fails(2, cli.file(), "--arrivals", "poisson:1", says=["--arrivals"])


def test_config_maps_columns_and_times(cli: Any) -> None:
    data = cli.file("chat;x,when,prompt,hit\na,1772532000,100,0\na,1772532060,120,90\n")
    conf = cli.toml('[columns]\nsession_id = "chat;x"\ntimestamp = "when"\ncontext_tokens = "prompt"\n'
                    'cached_tokens = "hit"\n[timestamp]\nunit = "s"\n[source]\ncontext_excludes_cached = true\n'
                    'whole_sessions = true\n[[classes]]\nmatch = "a"\nconservative = "spine"\n')
    ran = cli.ok(data, "--config", conf)
    assert ran.value("trace.sessions") == 1
    configuration = ran.json("manifest")["configuration"]
    assert configuration["context_excludes_cached"]
    assert configuration["whole_sessions"]
    assert configuration["columns"] == ["cached_tokens", "context_tokens", "session_id", "timestamp"]
    assert configuration["classes"]["rules"] == 1
    assert ran.json("manifest")["window"]["start"] == "2026-03-03T10:00:00Z"
    configuration = cli.ok(data, "--config", conf, "--names", light=True).json("manifest")["configuration"]
    assert configuration["columns"]["session_id"] == "chat;x"
    assert configuration["classes"] == [["a", "spine", "spine"]]


def test_config_epoch_and_zone(cli: Any) -> None:
    data = cli.file("session_id,timestamp,context_tokens\na,0,100\na,60000,120\n")
    ran = cli.ok(data, "--config", cli.toml('[timestamp]\nunit="ms"\nepoch = 2026-01-01T00:00:00+01:00\n'), light=True)
    assert ran.json("manifest")["window"]["start"] == "2025-12-31T23:00:00Z"
    data = cli.file("session_id,timestamp,context_tokens\na,2026-01-01 00:00:00,100\n", "local.csv")
    ran = cli.ok(data, "--config", cli.toml('[timestamp]\nzone = "Europe/Berlin"\n'), light=True)
    assert ran.json("manifest")["window"]["start"] == "2025-12-31T23:00:00Z"
