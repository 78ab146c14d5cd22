"""Residency policies on streams small enough to work out by hand.

A stream is written as text, see `residency_streams`. Budgets are in tokens here. Expected text: `m` a miss, `h` a hit,
`c` a hit on a copy.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from residency_streams import written

from replay.residency import policies as package
from replay.residency.policies.mrr import mixed_resolution
from replay.residency.policy import (
    HIT,
    MISSED,
    PROMOTED,
    default_policies,
    find_policy,
    log_policy,
    no_log,
    policies,
)
from replay.residency.stream import UNITS, build_stream
from telemetry.errors import InputError, UsageError

BOTH = ("last", "never")


def check(policy: str, text: str, budget: int, expected: str, release: tuple[str, ...] = BOTH) -> None:
    stream = written(text)
    found = find_policy(policy)
    missed_tokens = sum(int(stream.tokens[i]) for i, result in enumerate(expected) if result == "m")
    for mode in release:
        for run in (found.kernel, found.reference):
            outcome, log = log_policy(run, stream, budget * UNITS, mode == "last")
            assert "".join({HIT: "h", PROMOTED: "c", MISSED: "m"}[found] for found in log.tolist()) == expected
            assert (outcome.misses, outcome.missed_tokens) == (expected.count("m"), missed_tokens)


def test_lru_discards_the_oldest():
    # C4 makes 12 > 10: A, oldest, goes. A4 makes 12: B goes. C stays: hit. B4: A goes.
    check("lru", "A4 B4 C4 A4 C4 B4", 10, "mmmmhm", release=("never",))


def test_lru_growth_past_the_budget_discards_the_accessed_object_itself():
    # A9: 13 > 10, B goes. B1: miss, 10. A11: hit; 12 > 10, B goes; 11 > 10 still, A goes. A2: miss.
    check("lru", "A4 B4 A9 B1 A11 A2", 10, "mmhmhm")


def test_lru_uses_the_size_of_the_latest_call():
    # A shrinks from 9 to 2, so B8 fits beside it: had A kept 9, it would be gone at its third call.
    check("lru", "A9 A2 B8 A2 B8", 10, "mhmhh")


def test_release_after_the_last_access_makes_room():
    # never: C5 makes 15 > 10, B (oldest) goes, so B misses. last: A left after its only access; all fits.
    check("lru", "B5 A5 C5 B5", 10, "mmmm", release=("never",))
    check("lru", "B5 A5 C5 B5", 10, "mmmh", release=("last",))


def test_fnu_discards_the_furthest_even_if_it_was_just_accessed():
    # B6: 12 > 10; A is next used at 2, B at 3: B goes at once.
    check("fnu", "A6 B6 A6 B6", 10, "mmhm")


def test_fnu_discards_what_is_never_used_again_before_anything_else():
    # C5: 15 > 10; A is never used again and goes first, whatever its age; B and C stay.
    check("fnu", "B5 A5 C5 B5 C5", 10, "mmmhh")


def test_fnu_can_miss_more_than_lru_when_sizes_differ():
    # Objects 1, 0, 2 stand for B, A, C. It holds under both release modes.
    # C6: 12 > 10. FNU: A (next used at 5) goes: 11 > 10; B (at 4) goes: 6. Both miss later: 5 misses.
    # LRU: B5, the oldest, goes: 7. Then only B0 misses: 4 misses.
    check("fnu", "B5 A1 C6 C5 B0 A5", 10, "mmmhmm")
    check("lru", "B5 A1 C6 C5 B0 A5", 10, "mmmhmh")
    # MRR: B becomes a copy of 1.25: 8.25. Every later call hits.
    check("mrr", "B5 A1 C6 C5 B0 A5", 10, "mmmhch")


def test_mrr_takes_its_four_steps_in_order():
    # B8: 16 > 10, A becomes a copy of 2: 10.
    # A8: hit; the copy goes, 8 + 8 > 10, B becomes a copy: 10.
    # C10: miss; 20 > 10, (1) A becomes a copy: 14; (2) copy B, last used first, goes: 12; copy A goes: 10.
    # B4: miss; 14 > 10, C becomes a copy of 2.5: 6.5.
    # C12: hit; 16 > 10, (1) B a copy of 1: 13; (2) it goes: 12; (3) C itself becomes a copy of 3.
    # C41: hit; 41 > 10, (3) a copy of 10.25 > 10, (4) it goes. C1: miss.
    check("mrr", "A8 B8 A8 C10 B4 C12 C41 C1", 10, "mmcmmccm", release=("never",))


def test_mrr_keeps_the_recency_of_a_demoted_object():
    # B8: A a copy (2): 10. C8: (1) B a copy: 12 > 10; (2) of the copies A was used first and goes: 10.
    # B8: hit; C a copy: 2 + 8 = 10. A8: miss.
    check("mrr", "A8 B8 C8 B8 A8", 10, "mmmcm")


def test_mrr_fits_four_copies_in_the_place_of_one_object():
    # Each newcomer demotes its predecessor: 8, 2+8, then 2+2+8 > 10: the oldest copy goes.
    # With 14 tokens, 2+2+2+8 fits: the fourth still finds all.
    check("mrr", "A8 B8 C8 D8 A8 B8 C8 D8", 14, "mmmmcccc")


@pytest.mark.parametrize(("size", "expected"), [(4, "hhhh"), (7, "hhhc"), (10, "hhcc"), (13, "hccc"), (16, "cccc")])
def test_mrr_demotes_as_many_as_it_takes(size: int, expected: str):
    # Each demotion of 4 saves 3, so E at 4, 7, 10, 13, 16 fits beside A to D in 20 after none, one, ... four of them.
    # The first promotion (4 - 1 more) demotes E, the oldest by then, which makes room for the other ones.
    check("mrr", f"A4 B4 C4 D4 E{size} D4 C4 B4 A4", 20, "mmmmm" + expected, release=("never",))


@pytest.mark.parametrize(("policy", "expected"), [("lru", "mhmmhm"), ("mrr", "mhmmhm"), ("fnu", "mhmhhm")])
def test_without_a_budget_only_empty_objects_stay(policy: str, expected: str):
    # A0 is present at size 0: hit. B3 cannot stay; LRU and MRR discard A, the older, before it,
    # FNU discards B alone (its next use, 5, is the furthest).
    check(policy, "A0 A0 B3 A0 A0 B3", 0, expected)


@pytest.mark.parametrize("policy", ["lru", "fnu", "mrr"])
def test_exactly_the_budget_is_not_over_it(policy: str):
    check(policy, "A5 B5 A5 B5", 10, "mmhh")


@pytest.mark.parametrize(("units", "expected"), [(32, PROMOTED), (33, MISSED), (34, MISSED), (40, MISSED)])
def test_a_copy_is_exactly_q_of_its_object(units: int, expected: int):
    # B = 25 tokens: A100 alone is over it and becomes a copy of 100q; only 100 * 32/128 = 25 fits.
    stream = written("A100 A1")
    policy = mixed_resolution("other_q", "", units)
    for run in (policy.kernel, policy.reference):
        assert log_policy(run, stream, 25 * UNITS, True)[1].tolist() == [MISSED, expected]


def test_the_policies():
    assert list(policies()) == [
        "fnu", "lru", "lru_at_B_over_q", "mrr", "mrr_q33", "mrr_q34", "mrr_q40", "mrr_host_1", "mrr_host_2",
        "mrr_host_4", "mrr_unbounded", "size_aware", "ttl_1m", "ttl_5m", "ttl_15m", "ttl_1h", "ttl_6h", "ttl_1d"]
    assert default_policies() == ("fnu", "lru", "mrr", "size_aware", "ttl_5m")


@pytest.mark.parametrize("name", policies())
def test_a_name_is_part_of_a_key_and_of_a_list(name: str):
    assert re.fullmatch(r"[A-Za-z0-9_]+", name)


@pytest.mark.parametrize("policy", policies().values(), ids=lambda policy: policy.name)
def test_a_policy_counts_what_it_declares(policy):
    for run in (policy.kernel, policy.reference):
        assert tuple(run(written("A8 B8 A8"), 10 * UNITS, True, no_log()).counters) == policy.counts


@pytest.mark.parametrize("which", ["kernel", "reference"])
def test_an_idle_cap_needs_times(which: str):
    stream = build_stream(np.zeros(2, np.int32), np.ones(2, np.int64), 1)
    with pytest.raises(InputError, match="no times"):
        getattr(find_policy("ttl_5m"), which)(stream, UNITS, True, no_log())


def test_the_registry_finds_a_file_and_nothing_else_is_needed(tmp_path, monkeypatch):
    (tmp_path / "dropped_in.py").write_text(
        "from replay.residency.policies.mrr import mixed_resolution\n"
        "POLICIES = (mixed_resolution('mrr_33', 'int4 with a scale for 128 tokens', 33),)\n"
    )
    monkeypatch.setattr(package, "__path__", [*package.__path__, str(tmp_path)])
    assert "mrr_33" in policies()
    assert "mrr_33" not in default_policies()
    assert find_policy("mrr_33").description == "int4 with a scale for 128 tokens"


def test_the_example_of_contributing_is_a_policy(tmp_path, monkeypatch):
    text = (Path(__file__).parents[2] / "CONTRIBUTING.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"^```python\n(.*?)^```", text.split("## Add a policy")[1].split("\n## ")[0], re.M | re.S)
    (tmp_path / "first_come.py").write_text(example)
    monkeypatch.setattr(package, "__path__", [*package.__path__, str(tmp_path)])
    # B8: 14 > 10, it goes. A3 shrinks, so B7 fits, and C1 does not. never: A stays. last: A leaves, C1 fits.
    check("first_come", "A6 B8 A3 B7 C1 B7 C1", 10, "mmhmmhm", release=("never",))
    check("first_come", "A6 B8 A3 B7 C1 B7 C1", 10, "mmhmmhh", release=("last",))


def test_two_policies_of_one_name_are_refused(tmp_path, monkeypatch):
    (tmp_path / "second_lru.py").write_text("from replay.residency.policies.lru import POLICIES\n")
    monkeypatch.setattr(package, "__path__", [*package.__path__, str(tmp_path)])
    with pytest.raises(RuntimeError, match="two policies are called 'lru'"):
        policies()


def test_an_unknown_policy_lists_the_known_ones():
    with pytest.raises(UsageError, match=r"unknown policy 'belady'.*fnu, lru, lru_at_B_over_q, mrr"):
        find_policy("belady")
