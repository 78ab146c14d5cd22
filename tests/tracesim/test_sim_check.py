"""The check: tolerances, verdicts, and that every published number is compared."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipelines.published import Order, Printed, Published, Tolerance, load_published, published_profiles
from pipelines.trace_check import check_numbers, check_table, residual_notes
from tracesim.profile_file import profiles

NUMBERS = {"trace.sessions": 500.0, "depth.p50": 13.0, "reuse.aggregate": 0.79, "calls": 4_900.0}


def printed(key: str, value: float, within: str, *, tier: int = 1, sized: bool = False, limit: str = "") -> Printed:
    return Printed(key, value, Tolerance.parse(within), tier, "here", sized, Tolerance.parse(limit) if limit else None,
                   "for a reason" if limit else "")


def verdicts(*numbers: Printed, orders: tuple[Order, ...] = ()) -> list[str]:
    return [line.verdict for line in check_numbers(Published("window", 1_000, numbers, orders), NUMBERS)]


@pytest.mark.parametrize(("text", "published", "generated", "holds"), [
    ("5%", 13, 13.65, True), ("5%", 13, 13.66, False), ("5%", 13, 12.35, True), ("5%", -10, -10.4, True),
    ("2 points", 0.8, 0.82, True), ("2 points", 0.8, 0.8201, False), ("0.5 points", 0.0, 0.005, True),
])
def test_tolerances(text: str, published: float, generated: float, holds: bool) -> None:
    assert Tolerance.parse(text).holds(published, generated) == holds


@pytest.mark.parametrize("text", ["5", "five%", "-5%", "2 point", "5 %", ""])
def test_a_tolerance_that_is_none(text: str) -> None:
    with pytest.raises(ValueError, match="a tolerance is written"):
        Tolerance.parse(text)


def test_verdicts() -> None:
    assert verdicts(printed("depth.p50", 13, "1%")) == ["ok"]
    assert verdicts(printed("depth.p50", 16, "10%")) == ["FAILS"]
    assert verdicts(printed("depth.p50", 16, "10%", tier=2, limit="20%")) == ["residual"]
    assert verdicts(printed("depth.p50", 26, "10%", tier=2, limit="20%")) == ["FAILS"]
    assert verdicts(printed("none", 1, "10%")) == ["FAILS"]


def test_what_grows_with_the_fleet_is_compared_in_proportion() -> None:
    assert verdicts(printed("calls", 10_000, "2%", sized=True)) == ["ok"]  # 500 of 1,000 sessions
    assert verdicts(printed("calls", 10_000, "2%")) == ["FAILS"]


def test_orders() -> None:
    falling = Order(("replay.a.lru.b10", "replay.a.fnu.b10"), 1, "here")
    for lru, fnu, verdict in ((0.5, 0.3, "ok"), (0.3, 0.3, "ok"), (0.3, 0.5, "FAILS")):
        numbers = {**NUMBERS, "replay.a.lru.b10": lru, "replay.a.fnu.b10": fnu}
        [line] = check_numbers(Published("window", 1_000, (), (falling,)), numbers)
        assert line.verdict == verdict
        assert line.published == "lru >= fnu"
    assert verdicts(orders=(falling,)) == ["FAILS"]


def test_the_table_and_its_notes() -> None:
    numbers = (printed("depth.p50", 16, "10%", tier=2, limit="20%"), printed("reuse.aggregate", 0.8, "2 points"))
    lines = check_numbers(Published("window", 1_000, numbers, ()), NUMBERS)
    table = check_table(lines).splitlines()
    assert [cell.strip() for cell in table[2].strip("|").split("|")] == [
        "2", "`depth.p50`", "16", "13", "-18.8%", "10% (residual: 20%)", "residual", "here"]
    assert [cell.strip() for cell in table[3].strip("|").split("|")] == [
        "1", "`reuse.aggregate`", "0.8", "0.79", "-1.00 points", "2 points", "ok", "here"]
    assert len({len(line) for line in table}) == 1
    assert residual_notes(lines) == ["`depth.p50`: for a reason"]


@pytest.mark.parametrize("name", published_profiles())
def test_the_committed_tables_are_of_the_numbers_that_are_checked(name: str) -> None:
    page = (Path(__file__).parents[2] / "docs" / "tracesim-check.md").read_text(encoding="utf-8")
    [section] = [part for part in page.split("\n## ") if part.startswith(f"{name}\n")]
    rows = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in section.splitlines()
            if line.startswith(("| 1", "| 2"))]
    published = load_published(name)
    assert [(row[1], row[5], row[7]) for row in rows[:len(published.numbers)]] == [
        (f"`{each.key}`", each.within.text + (f" (residual: {each.limit.text})" if each.limit else ""), each.source)
        for each in published.numbers]
    assert len(rows) == len(published.numbers) + len(published.orders)
    assert {row[6] for row in rows} <= {"ok", "residual"}


@pytest.mark.parametrize("name", published_profiles())
def test_published_files_are_sound(name: str) -> None:
    published = load_published(name)
    assert name in profiles()
    keys = [printed.key for printed in published.numbers]
    assert len(set(keys)) == len(keys)
    for each in published.numbers:
        assert each.tier in (1, 2)
        assert each.source
        # Shares are compared in points, sizes in percent.
        assert each.limit is None or each.limit.relative == each.within.relative
        assert each.limit is None or each.limit.amount > each.within.amount
