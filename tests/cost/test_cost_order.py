"""Orders of policies by what is counted, prices, and byte figures under other geometries."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise, permutations

import pytest
from cost_stores import row
from hypothesis import given
from hypothesis import strategies as st

from metrics.core.geometry import GEOMETRIES
from metrics.core.store import Published
from replay.cost.order import TABLE, order_rows, swaps
from replay.cost.prices import rounded
from replay.cost.sensitivity import TABLE as SENSITIVITY
from replay.cost.sensitivity import sensitivity_rows


def test_places_and_where_they_differ() -> None:
    rows = [row("lru", 1000, 60, 7000), row("fnu", 1000, 50, 8000), row("mrr", 1000, 60, 6000),
            row("lru", 2000, 30, 3000), row("fnu", 2000, 30, 2000), row("mrr", 2000, 10, 1000)]
    table = order_rows(rows)
    assert [(each["budget_bytes"], each["policy"], each["place_by_misses"], each["place_by_missed_tokens"],
             each["differs"]) for each in table] == [
        (1000, "lru", 2, 2, True), (1000, "fnu", 1, 3, True), (1000, "mrr", 2, 1, True),
        # A tie in one and an order in the other is no contradiction.
        (2000, "lru", 2, 3, False), (2000, "fnu", 2, 2, False), (2000, "mrr", 1, 1, False)]
    assert TABLE.build(table).num_rows == 6
    assert swaps(rows[:3]) == [("fnu", "lru"), ("fnu", "mrr")]
    assert swaps(rows[3:]) == []


def test_objects_and_budgets_are_apart() -> None:
    rows = [row("lru", 1000, 60, 7000), {**row("fnu", 1000, 50, 8000), "object_key": "session+model"},
            row("fnu", 1000, 50, 8000, share=0.125)]
    assert [(each["place_by_misses"], each["differs"]) for each in order_rows(rows)] == [(1, False)] * 3


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=5))
def test_places_sort_the_policies(counts: list[tuple[int, int]]) -> None:
    rows = [row(f"p{place}", 1000, *pair) for place, pair in enumerate(counts)]
    table = order_rows(rows)
    for what, place in (("misses", "place_by_misses"), ("missed_tokens", "place_by_missed_tokens")):
        ordered = sorted(each[what] for each in table)
        assert all(ordered[each[place] - 1] == each[what] for each in table)
    named = {name for pair in swaps(rows) for name in pair}
    assert {each["policy"] for each in table if each["differs"]} == named
    # No order of the policies sorts both iff some pair is swapped.
    sortable = any(all(a[0] <= b[0] and a[1] <= b[1] for a, b in pairwise(order))
                   for order in permutations(counts))
    assert sortable == (not named)


@pytest.mark.parametrize(("value", "places", "written"), [
    (Fraction(1, 3), 4, "0.3333"), (Fraction(2, 3), 2, "0.67"), (Fraction(25, 1000), 2, "0.02"),
    (Fraction(35, 1000), 2, "0.04"), (Fraction(0), 3, "0.0"), (Fraction(-1, 8), 2, "-0.12"),
    (10**12 + Fraction(1, 3), 6, "1000000000000.33"), (Fraction(10**16 + 1), 4, "1e+16"),
])
def test_rounded_without_noise(value: Fraction, places: int, written: str) -> None:
    assert repr(rounded(value, places)) == written


def test_nothing_is_rounded_to_nothing() -> None:
    assert rounded(None, 2) is None


def test_bytes_go_with_the_geometry() -> None:
    def number(value: object, unit: str) -> Published:
        return Published(value, None, None, unit, "", 1, "", "", None)

    beta = GEOMETRIES["llama-2-70b"].bytes_per_token  # 327,680: 2.5 times the 131,072 of llama-3.1-8b
    rows = sensitivity_rows({
        "ceiling.hold_all_live_bytes": number(10 * beta, "bytes"), "working_set.p50_gib": number(0.5, "GiB"),
        "replay.window.session.kstar_bytes": number(3 * beta, "bytes"), "trace.calls": number(7, "calls"),
        "replay.window.session.up_bytes_per_s.mrr_host_1.b10": number(1.5 * beta, "bytes/s"),
        "replay.window.session.up_bytes.mrr_host_1.b4.7TB": number(9 * beta, "bytes"),
        "ceiling.time_p50_bytes": number(None, "bytes"),
    }, [row("lru", 300, 1, 1, share=0.1), row("fnu", 300, 1, 1, share=0.1), row("lru", 4_700, 1, 1)], beta)
    found = {each["figure"]: each for each in rows}
    assert set(found) == {"ceiling.hold_all_live_bytes", "working_set.p50_gib", "replay.window.session.kstar_bytes",
                          "replay.window.session.up_bytes_per_s.mrr_host_1.b10", "budget.session.b10"}
    assert found["ceiling.hold_all_live_bytes"]["llama-3.1-8b_bytes"] == 1_310_720
    assert found["working_set.p50_gib"]["here_bytes"] == 2**29
    assert found["budget.session.b10"]["llama-3.1-8b_bytes"] == 120
    assert found["replay.window.session.kstar_bytes"]["deepseek-v3_bytes"] == 3 * 70_272
    assert found["replay.window.session.up_bytes_per_s.mrr_host_1.b10"]["unit"] == "bytes/s"
    for each in rows:
        assert each["llama-2-70b_bytes"] == each["llama-3.1-70b_bytes"] == each["here_bytes"]
    assert SENSITIVITY.build(rows).num_rows == 5
