"""Budgets: what users may write, and what kernels then count."""

from __future__ import annotations

from fractions import Fraction

import pytest

from replay.residency.budgets import DEFAULT_BUDGETS, parse_budget, parse_budgets, units_to_bytes
from telemetry.errors import UsageError


@pytest.mark.parametrize(("text", "label", "share", "key"), [
    ("10%", "10%", Fraction(1, 10), "b10"),
    ("0.5%", "0.5%", Fraction(1, 200), "b0.5"),
    (" 010.00 % ", "10%", Fraction(1, 10), "b10"),
    ("100%", "100%", Fraction(1), "b100"),
    ("0.000000001%", "0.000000001%", Fraction(1, 10**11), "b0.000000001"),
])
def test_shares(text, label, share, key):
    budget = parse_budget(text)
    assert (budget.label, budget.share, budget.bytes, budget.key) == (label, share, None, key)


@pytest.mark.parametrize(("text", "size"), [
    ("4.7TB", 4_700_000_000_000), ("80GB", 80_000_000_000), ("1MB", 1_000_000),
    ("2TiB", 2**41), ("1GiB", 2**30), ("1MiB", 2**20), ("7B", 7), ("1.5 B", 1),
    ("2KB", 2_000), ("1.5KiB", 1536),
])
def test_sizes(text, size):
    budget = parse_budget(text)
    assert (budget.bytes, budget.share) == (size, None)


@pytest.mark.parametrize("text", [
    "", "%", "0%", "0.0%", "-1%", "nan%", "inf%", "1e3%", "10", "TB", "4.7tb", "4.7Tb", "1,5%", "1%%",
    "10%TB", "0TB", ".5%", "5.%", "١٠%", "1_0%", "0.0000000001%", "9" * 5000 + "%",
])
def test_anything_else_is_refused_and_the_message_says_what_is_allowed(text):
    with pytest.raises(UsageError, match=r"10% or 0\.5%.*4\.7TB.*B, KB, MB, GB, TB, KiB, MiB, GiB, TiB") as error:
        parse_budget(text)
    assert len(str(error.value)) < 400


@pytest.mark.parametrize(("text", "meant"), [
    ("1000000000", "1000000000B"), ("10", "10% or 10B"), (" 0.5 ", "0.5% or 0.5B"),
    ("4.7tb", "4.7TB"), ("3 kib", "3KiB"),
])
def test_a_unit_that_is_missing_or_written_otherwise_is_suggested(text, meant):
    with pytest.raises(UsageError, match=rf"Did you mean {meant}\?"):
        parse_budget(text)


@pytest.mark.parametrize("text", ["", "0", "10 %%", "5 bananas", "1e9", "9" * 16])
def test_nothing_is_suggested_for_what_no_unit_could_mend(text):
    with pytest.raises(UsageError) as error:
        parse_budget(text)
    assert "mean" not in str(error.value)


def test_defaults():
    assert [budget.key for budget in DEFAULT_BUDGETS] == ["b1", "b2", "b5", "b10", "b20", "b50", "b100"]


def test_a_list_keeps_its_order_and_names_nothing_twice():
    assert [budget.label for budget in parse_budgets(["4.7TB", "1%"])] == ["4.7TB", "1%"]
    with pytest.raises(UsageError, match="more than once: 10%"):
        parse_budgets(["10%", "10.0%"])
    with pytest.raises(UsageError, match="no budget"):
        parse_budgets([])


def test_resolving_rounds_down_and_is_exact():
    # 10 % of 1,289 units = 128.9. A third of a huge peak, beyond what a double holds.
    assert parse_budget("10%").resolve(1289, 327_680) == 128
    assert parse_budget("50%").resolve(2**62 + 1, 1) == 2**61
    # 1 GB / 327,680 bytes a token * 128 units = 390,625 units exactly; one byte less rounds down.
    assert parse_budget("1GB").resolve(0, 327_680) == 390_625
    assert parse_budget("999999999B").resolve(0, 327_680) == 390_624
    assert parse_budget("10B").resolve(0, Fraction(1, 3)) == 3840
    assert units_to_bytes(390_625, 327_680) == 10**9
    assert units_to_bytes(1, 1) == 0


def test_what_cannot_be_counted_is_refused():
    with pytest.raises(UsageError, match="larger than any replay"):
        parse_budget("999999999999999TB").resolve(0, 1)
    assert parse_budget("1000000TB").bytes == 10**18
    with pytest.raises(UsageError, match="budget 1000001TB is larger than any replay can hold: a million TB at most"):
        parse_budget("1000001TB")
    with pytest.raises(UsageError, match="more than zero"):
        parse_budget("1GB").resolve(0, 0)
