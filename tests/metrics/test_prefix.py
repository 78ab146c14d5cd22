"""How much of a context an earlier call carried. Keys name whole prefixes, as `telemetry.prefixes` chains them."""

from __future__ import annotations

from typing import Any

import pytest
from metrics_rows import Census, Row, call

from metrics.prefix import METRIC

APPEND, OWN, ANY = "prefix.append_only_fraction", "prefix.ideal_reuse", "prefix.ideal_reuse_global"
TAX = ("prefix.thrash_tax", "prefix.thrash_tax_p50", "prefix.thrash_tax_max")
WRITES = ("prefix.reads_per_write", "prefix.reads_per_write_medians")


def blocks(session: str | None, at: float, context: int, *keys: int, **more: Any) -> Row:
    """A call of blocks of 10 tokens."""
    return call(session, at, context, keys=list(keys), block=10, **more)


@pytest.mark.both_engines
def test_append_only(census: Census) -> None:
    # 1,2 -> 1,2,3: yes. 1,2,3 -> 1,9: no. 1,9 -> 1,9: yes. 1,9 -> 1 (shorter): no.
    found = census(METRIC, [blocks("a", 0, 20, 1, 2), blocks("a", 1, 30, 1, 2, 3), blocks("a", 2, 20, 1, 9),
                            blocks("a", 3, 20, 1, 9), blocks("a", 4, 10, 1), blocks("b", 5, 10, 4)])
    assert found[APPEND] == 2 / 4
    assert found.n(APPEND) == 4


def test_a_partial_last_block_is_no_promise(census: Census) -> None:
    # 25 tokens: blocks 1, 2 are full, 3 is not. The next call has another third block, and still only appended.
    assert census(METRIC, [blocks("a", 0, 25, 1, 2, 3), blocks("a", 1, 30, 1, 2, 8)])[APPEND] == 1
    # With 30 tokens the third is full: something was replaced.
    assert census(METRIC, [blocks("a", 0, 30, 1, 2, 3), blocks("a", 1, 30, 1, 2, 8)])[APPEND] == 0
    # Less than one block is a prefix of everything.
    assert census(METRIC, [blocks("a", 0, 9, 5), blocks("a", 1, 30, 1, 2, 8)])[APPEND] == 1
    # The trace may hash fewer blocks than the context fills.
    assert census(METRIC, [blocks("a", 0, 99, 1, 2), blocks("a", 1, 99, 1, 2)])[APPEND] == 1


@pytest.mark.both_engines
def test_ideal_reuse_of_the_session_and_of_all(census: Census) -> None:
    # a: 20 new; 30 of which 20 seen; then 20 whose block 1 is known since the first call: 10.
    # b: 20, all of it known to a; then 10 of its own first call. Own: 30 + 10 = 40 of 100; anywhere: 30 + 20 + 10 = 60.
    found = census(METRIC, [blocks("a", 0, 20, 1, 2), blocks("a", 1, 30, 1, 2, 3), blocks("a", 2, 20, 1, 9),
                            blocks("b", 3, 20, 1, 2), blocks("b", 4, 10, 1)])
    assert found.values(OWN, ANY) == [40 / 100, 60 / 100]
    # 100 / (100 - 40); a: 70 / 40 = 1.75, b: 30 / 20 = 1.5; the median of two is the lower.
    assert found.values(*TAX) == [100 / 60, 1.5, 1.75]
    assert [found.n(key) for key in TAX] == [5, 2, 2]


def test_shared_blocks_are_cut_at_the_context(census: Census) -> None:
    # 15 tokens in two blocks, twice: the second call shares 15, not 20.
    found = census(METRIC, [blocks("a", 0, 15, 1, 2), blocks("a", 1, 15, 1, 2)])
    assert found[OWN] == 15 / 30


def test_calls_at_one_time_follow_the_input(census: Census) -> None:
    found = census(METRIC, [blocks("a", 5, 10, 1), blocks("b", 5, 20, 1, 2), blocks("b", 5, 20, 1, 2)])
    assert found.values(OWN, ANY) == [20 / 50, (10 + 20) / 50]


def test_calls_without_blocks_are_left_out(census: Census) -> None:
    # Nothing is known of the call without blocks, and the unsessioned call warms nobody.
    found = census(METRIC, [blocks(None, 0, 20, 1, 2), blocks("a", 1, 20, 1, 2), call("b", 2, 500), blocks("b", 3, 10)])
    assert found.values(OWN, ANY) == [0, 0]
    assert found.n(OWN) == 2
    assert found.why(APPEND) == "no two consecutive calls have block hashes"


def test_calls_on_both_sides_of_one_without_blocks_are_not_consecutive(census: Census) -> None:
    found = census(METRIC, [blocks("a", 0, 10, 1), call("a", 1, 10), blocks("a", 2, 10, 9), blocks("a", 3, 10, 9)])
    assert (found[APPEND], found.n(APPEND)) == (1, 1)


def test_a_block_size_without_hashes_is_no_block_hash(census: Census) -> None:
    found = census(METRIC, [blocks("a", 0, 10, 1), blocks("a", 1, 10, 1), call("a", 2, 80, block=10)])
    assert (found[APPEND], found[OWN]) == (1, 10 / 20)
    assert found.n(OWN) == 2


def test_session_taxes_are_cut_at_a_millionth(census: Census) -> None:
    # 10 new of 40: the tax is 40 / 10; of 70 tokens 30 new: 7 / 3 = 2.333333.
    found = census(METRIC, [blocks("a", 0, 30, 1, 2, 3), blocks("a", 1, 40, 1, 2, 3, 4)])
    assert found.values(*TAX) == [70 / 40, 1.75, 1.75]
    third = census(METRIC, [blocks("a", 0, 30, 1, 2, 3), blocks("a", 1, 30, 1, 2, 3), blocks("a", 2, 10, 1)])
    assert third.values(*TAX) == [70 / 30, 2.333333, 2.333333]


def test_empty_contexts(census: Census) -> None:
    found = census(METRIC, [blocks("a", 0, 0), blocks("a", 1, 0)])
    assert found[APPEND] == 1
    assert {found.why(key) for key in (OWN, ANY, *TAX)} == {"every context with block hashes is empty"}


def test_reads_per_write(census: Census) -> None:
    # Sessioned calls that report output: contexts 100, 200, 300 (median 200), outputs 10, 0, 20 (median 10).
    found = census(METRIC, [call("a", 0, 100, output=10), call("a", 1, 200, output=0), call("b", 2, 300, output=20),
                            call("b", 3, 999), call(None, 4, 999, output=1)])
    assert found.values(*WRITES) == [600 / 30, 200 / 10]
    assert found.n("prefix.reads_per_write") == 3
    assert found.why(OWN) == "the trace carries no block hashes with a block size"


def test_no_output(census: Census) -> None:
    found = census(METRIC, [call("a", 0), call(None, 0, output=3)])
    assert found.whys()["prefix.reads_per_write"] == "no call has output"
    zero = census(METRIC, [call("a", 0, output=0)])
    assert (zero.why(WRITES[0]), zero.why(WRITES[1])) == ("no call has output", "the median call has no output")
    assert {census(METRIC, [call("a", 0)]).why(key) for key in WRITES} == {"the trace reports no output tokens"}
