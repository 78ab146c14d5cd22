"""`kvcensus cost` and `kvcensus size` on literal replays: every amount is worked out by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from cost_stores import platform, row, store

from pipelines.cli import main

#: 100 calls, 10,000 tokens and 1,000 s; K* = 8,000. 50 tokens/s, 2 * 600 bytes a replica, 3.6 EUR a GPU-hour.
ROWS = [
    row("lru", 800, 60, 7500, share=0.1), row("lru", 4000, 20, 2000, share=0.5), row("lru", 5000, 20, 2000),
    row("fnu", 800, 50, 8000, share=0.1), row("fnu", 4000, 20, 2000, share=0.5), row("fnu", 5000, 18, 1900),
]


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Any:
    """A command over a store of some rows; its output, or with a code that is not 0 its message."""
    def command(name: str, *words: str, rows: Any = ROWS, rc: int = 0, beta: int = 100, **how: Any) -> Any:
        folder = tmp_path / "store"
        if not folder.exists():
            store(folder, rows, **how)
        mine = platform(tmp_path, beta=beta)
        assert main([name, str(folder), "--platform", str(mine), *words]) == rc
        printed = capsys.readouterr()
        if rc:
            assert printed.out == ""
            assert printed.err.startswith(f"kvcensus {name}: ")
            return printed.err
        assert printed.err == ""
        return json.loads(printed.out) if "--json" in words else printed.out
    return command


def test_cost_in_gpu_seconds_and_money(run: Any) -> None:
    content = run("cost", "--json")
    tenth, half, amount = content["objects"][0]["budgets"]
    # 7,500 tokens at 50 a second: 150 GPU-s of 0.001 EUR; in 1,000 s 0.15 GPUs, 0.54 EUR an hour.
    # 800 bytes take one replica of two GPUs: 7.2 EUR an hour.
    assert tenth["policies"][0] == {
        "policy": "lru", "misses": 60, "miss_share": 0.6, "missed_tokens": 7500, "missed_token_share": 0.75,
        "gpu_seconds": 150.0, "recompute": 0.15, "busy_gpus": 0.15, "recompute_per_hour": 0.54, "memory_gpus": 2,
        "memory_per_hour": 7.2, "total_per_hour": 7.74}
    assert [(each["budget_share"], each["budget_bytes"]) for each in (tenth, half, amount)] == [
        (0.1, 800), (0.5, 4000), (None, 5000)]
    # 4,000 bytes are 3.3 replicas of 1,200: eight GPUs. 5,000 are 4.2: ten.
    assert [each["policies"][0]["memory_gpus"] for each in (half, amount)] == [8, 10]
    # FNU misses fewer calls and more tokens at a tenth; all are equal at a half; at 5,000 bytes FNU is below in both.
    assert [each["fewer_misses_more_tokens"] for each in (tenth, half, amount)] == [[["fnu", "lru"]], [], []]
    assert [(each["policy"], each["budget_bytes"], each["total_per_hour"]) for each in
            content["objects"][0]["cheapest"]] == [("lru", 800, 7.74), ("fnu", 800, 7.776)]
    assert content["break_even"] == [
        {"form": "fp16", "bytes_per_s": 5000.0, "link_bytes_per_s": 10_000.0, "link_over_break_even": 2.0},
        {"form": "int4", "bytes_per_s": 1250.0, "link_bytes_per_s": 10_000.0, "link_over_break_even": 8.0}]
    assert content["platform"]["values"]["price_per_gpu_hour"] == {
        "value": 3.6, "kind": "assumed", "source": "a price list"}
    assert content["stream"] == {"name": "busiest-hour", "calls": 100, "tokens": 10_000, "seconds": 1000.0,
                                 "sampled": False}


def test_cost_for_a_reader(run: Any) -> None:
    lines = run("cost").splitlines()
    assert "literal, the busiest hour: 100 calls, 10,000 context tokens in 16.7 min" in lines
    assert "  10% of K*, 800 B: fnu misses fewer calls than lru, and more tokens" in lines
    (lru, *_) = (line.split() for line in lines if line.startswith("  lru "))
    assert lru == ["lru", "60", "60.0%", "7,500", "75.0%", "150.00", "0.15", "0.54", "2", "7.20", "7.74"]
    assert sum("fewer calls" in line for line in lines) == 1
    assert any(line.split()[:3] == ["price_per_gpu_hour", "3.6", "assumed"] for line in lines)
    assert not any(line.startswith("note:") for line in lines)


def test_orders_that_agree(run: Any) -> None:
    assert "the same by misses, missed tokens, GPU-seconds and money at every budget" in run("cost", rows=ROWS[:3])


def test_size_between_replayed_budgets(run: Any) -> None:
    content = run("size", "--target-miss", "30%", "--json")
    lru, fnu = content["objects"][0]["policies"]
    # LRU: 60 % at 800, 20 % at 4,000: three quarters of 3,200 above 800. 7,500 tokens to 2,000: 3,375 there.
    assert lru["point"] == {"budget_bytes": 3200, "of_kstar": 0.4, "memory_gpus": 6, "memory_per_hour": 21.6,
                            "missed_tokens": 3375, "recompute_per_hour": 0.243, "total_per_hour": 21.843}
    assert (lru["state"], lru["above"]["budget_bytes"], lru["reached"]["budget_bytes"]) == ("between", 800, 4000)
    assert (lru["interval"], lru["monotone"], lru["also_met_bytes"], lru["run_budgets"]) == (None, True, [], "40%")
    # FNU: two thirds of the way, 2,933.3; tokens 8,000 to 2,000.
    assert (fnu["point"]["budget_bytes"], fnu["point"]["missed_tokens"]) == (2934, 4000)
    assert content["target"] == {"measure": "misses", "share": 0.3}


def test_size_by_missed_tokens(run: Any) -> None:
    content = run("size", "--target-miss", "20%", "--target", "missed-tokens", "--json")
    assert [each["point"]["budget_bytes"] for each in content["objects"][0]["policies"]] == [4000, 4000]
    assert content["target"] == {"measure": "missed-tokens", "share": 0.2}


def test_size_never_extrapolates(run: Any) -> None:
    lru, fnu = run("size", "--target-miss", "19%", "--json")["objects"][0]["policies"]
    assert (lru["state"], lru["point"], lru["reached"], lru["above"]["budget_bytes"]) == ("beyond", None, None, 5000)
    assert lru["run_budgets"] == "100%"
    assert (fnu["state"], fnu["point"]["budget_bytes"]) == ("between", 4500)
    text = run("size", "--target-miss", "19%")
    assert "more than 5.00 kB, the largest replayed" in text
    assert "run characterize with --budgets 100%,56.2% and those of this run" in text
    least = run("size", "--target-miss", "60%", "--json")["objects"][0]["policies"][0]
    assert (least["state"], least["point"]["budget_bytes"], least["run_budgets"]) == ("at_most", 800, "5%")
    assert "at most 10% of K*, 800 B, the smallest replayed" in run("size", "--target-miss", "60%")


def test_size_of_what_no_budget_reaches(run: Any) -> None:
    text = run("size", "--target-miss", "4%", rows=[row("lru", 800, 60, 6000), row("lru", 8000, 5, 400)])
    assert "never: not with 100% of K*, 8.00 kB, which holds everything" in text
    assert "lru: with 100% of K*, 8.00 kB nothing is evicted for lack of memory, and 5.00% of the calls miss" in text
    assert "to know more" not in text


def test_size_of_a_curve_that_is_not_monotone(run: Any) -> None:
    text = run("size", "--target-miss", "20%", rows=[
        row("fnu", 1000, 60, 6000), row("fnu", 2000, 20, 2000), row("fnu", 3000, 30, 3000), row("fnu", 4000, 10, 1000),
        row("lru", 1000, 20, 2000), row("lru", 2000, 10, 1000), row("lru", 3000, 15, 1000), row("lru", 4000, 5, 500)])
    assert "fnu is not monotone: it meets the target with 2.00 kB too, but not with 3.00 kB" in text
    assert "lru is not monotone: some larger budget misses more than a smaller one" in text
    assert "between 3.00 kB and 4.00 kB" in text


def test_size_with_intervals_of_a_sample(run: Any) -> None:
    sample = {"sample_fraction": 0.5, "sample_seed": 0, "sample_sessions": 1, "stream_sessions": 2, "stream_calls": 200,
              "standard_error": 0.01, "groups_rate": 0.5, "split_rate": 0.5}
    rows = [row("lru", 1000, 60, 6000, low=0.5, high=0.7, **sample),
            row("lru", 2000, 20, 2000, low=0.1, high=0.3, **sample)]
    text = run("size", "--target-miss", "30%", rows=rows)
    assert text.splitlines()[5].endswith("  interval")
    assert text.splitlines()[6].endswith("1.50 kB to 2.00 kB")
    assert "note: a sample of the sessions was replayed" in text
    (lru,) = run("size", "--target-miss", "25%", "--json")["objects"][0]["policies"]
    assert lru["interval"] == {"low": {"state": "between", "budget_bytes": 1625},
                               "high": {"state": "beyond", "budget_bytes": None}}
    assert run("cost", "--json")["stream"]["sampled"] is True


def test_size_with_intervals_of_resampled_sessions(run: Any) -> None:
    rows = [row("lru", 1000, 60, 6000, share=0.125), row("lru", 2000, 20, 2000, share=0.25)]
    text = run("size", "--target-miss", "30%", rows=rows, resampled=[(0.5, 0.7), (0.1, 0.3)])
    assert text.splitlines()[6].endswith("1.50 kB to 2.00 kB")
    assert "sample" not in text


def test_bytes_of_the_platforms_geometry(run: Any) -> None:
    # The store counts 100 bytes a token, the platform's model has 50: every budget holds its tokens in half the bytes.
    content = run("size", "--target-miss", "30%", "--json", beta=50)
    assert content["objects"][0]["policies"][0]["point"]["budget_bytes"] == 1600
    assert content["objects"][0]["kstar_bytes"] == 4000
    assert len(content["notes"]) == 1
    assert "those of 50, 50 KV bytes a token; the store has them for 100, 100" in content["notes"][0]


def test_a_host_tier_is_named(run: Any) -> None:
    notes = run("cost", "--json", rows=[row("mrr_host_2", 1000, 6, 600), row("mrr_unbounded", 1000, 5, 500),
                                       row("someones_own", 1000, 5, 500)])["notes"]
    assert notes == ["mrr_host_2 also needs 2 times its budget of host memory, which is not priced.",
                     "mrr_unbounded also needs host memory without end, which is not priced."]


def test_a_stream_of_one_moment_has_no_rates(run: Any) -> None:
    (budget, *_) = run("cost", "--json", span_s=0.0)["objects"][0]["budgets"]
    lru = budget["policies"][0]
    assert (lru["gpu_seconds"], lru["busy_gpus"], lru["recompute_per_hour"], lru["total_per_hour"]) == (
        150.0, None, None, None)
    assert "money an hour is not known" in run("cost")
    assert "not known" in run("size", "--target-miss", "30%")


def test_other_objects_are_shown_when_asked_for(run: Any) -> None:
    rows = [*ROWS[:2], *({**each, "object_key": "session+model"} for each in ROWS[:2])]
    assert [each["object_key"] for each in run("cost", "--json", rows=rows)["objects"]] == ["session"]
    assert [each["object_key"] for each in run("cost", "--json", "--key", "all")["objects"]] == [
        "session", "session+model"]
    assert [each["object_key"] for each in run("cost", "--json", "--key", "session+model")["objects"]] == [
        "session+model"]
    assert "Replayed: session, session+model; or all." in run("cost", "--key", "user", rc=2)


def test_the_same_bytes_twice(run: Any) -> None:
    assert run("size", "--target-miss", "30%") == run("size", "--target-miss", "30%")
    assert run("cost") == run("cost")


def test_stores_that_cannot_be_priced(run: Any, tmp_path: Path) -> None:
    assert "holds no replay" in run("cost", rows=[], rc=3)
    assert "holds no result" in _fails(["cost", str(tmp_path)], 3)


def test_a_store_of_an_earlier_version(run: Any) -> None:
    assert "holds no replay.busiest-hour.tokens: an earlier version" in run("size", "--target-miss", "5%", tokens=None,
                                                                            rc=3)


@pytest.mark.parametrize(("words", "says"), [
    (["size"], "--target-miss"), (["size", "--target-miss", "9"], "'9' is no share"),
    (["size", "--target-miss", "9%", "--target", "bytes"], "missed-tokens"), (["cost", "--plat", "x"], "--plat"),
])
def test_usage(run: Any, words: list[str], says: str) -> None:
    assert says in run(*words, rc=2)


def test_an_unknown_platform() -> None:
    assert "unknown platform 'x'" in _fails(["cost", "nowhere", "--platform", "x"], 2)


def _fails(words: list[str], rc: int) -> str:
    import contextlib
    import io

    with contextlib.redirect_stderr(io.StringIO()) as err:
        assert main(words) == rc
    return err.getvalue()
