"""Every row of the input is used, or set aside for a stated reason."""

from __future__ import annotations

import pytest
from metrics_rows import Census, Row, call, table_of, window

from metrics.core.audit import audit_numbers
from metrics.core.loading import stream
from telemetry.errors import InputError
from telemetry.schema import CALLS, DEFECTS, FLAGS

NONE = dict.fromkeys(DEFECTS, 0)
CLEAN = dict.fromkeys(FLAGS, 0)


def contexts(census: Census) -> list[int]:
    return [row["x"] for row in census.engine.rows("select x from calls order by t_us, pos")]


@pytest.mark.both_engines
def test_rows_read_are_rows_used_and_rows_excluded(census: Census) -> None:
    rows = [call("a", 0), call("a", 1, defect="synthetic"), call("a", 1, defect="bad_tokens"),
            call("a", 1, defect="bad_tokens"), call("a", 1, defect="unreadable") | {"t_us": None},
            call("a", 2, id="x", defect="bad_timestamp"),
            call("a", 3, id="x"), call("a", 4, id="x"), call("b", 99), call(None, -1)]
    found = census.audit(rows, window(0, 50))
    assert (found.read, found.used) == (10, 2)
    assert found.excluded == NONE | {"synthetic": 1, "bad_tokens": 2, "unreadable": 1, "bad_timestamp": 1,
                                     "duplicate": 1, "outside_window": 2}
    assert found.flags == CLEAN
    numbers = found.findings().numbers
    assert set(numbers) == {number.key for number in audit_numbers(CALLS)}
    assert numbers["audit.rows_read"].value == numbers["audit.rows_used"].value + sum(
        numbers[f"audit.rows_excluded.{reason}"].value for reason in DEFECTS)


def test_the_largest_output_stays_then_the_last(census: Census) -> None:
    found = census.audit([
        call("a", 0, 1, id="p", output=5), call("a", 1, 2, id="p", output=9), call("a", 2, 3, id="p", output=7),
        call("a", 3, 4, id="q", output=1), call("a", 4, 5, id="q", output=1),  # equal outputs: the last
        call("a", 5, 6, id="r"), call("a", 6, 7, id="r", output=0), call("a", 7, 8, id="r"),  # 0 is more than unknown
        call("a", 8, 9, id="s"), call("b", 9, 10, id="s"),  # in another session, too
    ])
    assert contexts(census) == [2, 5, 7, 10]
    assert found.excluded == NONE | {"duplicate": 6}


def test_the_last_is_by_file_and_row_not_by_time(census: Census) -> None:
    place = {"source_rank": 1, "source_row": 1}
    census.audit([call("a", 5, 1, id="p") | place, call("a", 9, 2, id="p")])
    assert contexts(census) == [1]


def test_a_defect_comes_before_a_repeat(census: Census) -> None:
    # The defective record with the larger output is no candidate.
    found = census.audit([call("a", 0, 1, id="p", output=1), call("a", 1, 2, id="p", output=9, defect="bad_tokens")])
    assert contexts(census) == [1]
    assert found.excluded == NONE | {"bad_tokens": 1}


def test_calls_without_an_id_are_never_merged(census: Census) -> None:
    # Two rows repeat the first; the fourth differs in one column; the unsessioned pair repeats once.
    rows = [call("a", 0, 5, model="m"), call("a", 0, 5, model="m"), call("a", 0, 5, model="m"), call("a", 0, 5),
            call(None, 0, 7), call(None, 0, 7), call(None, 1, 7), call("b", 0, 5, model="m")]
    found = census.audit(rows)
    assert (found.used, found.excluded) == (8, NONE)
    assert found.flags == CLEAN | {"duplicate_suspected": 3, "unsessioned": 3}


@pytest.mark.both_engines
def test_suspects_of_the_window_only(census: Census) -> None:
    rows = [call("a", at) for at in (0, 0, 10, 10)]
    assert census.audit(rows, window(5, None)).flags["duplicate_suspected"] == 1


def test_calls_of_other_blocks_are_no_suspects(census: Census) -> None:
    rows: list[Row] = [call("a", 0, keys=[1], block=10), call("a", 0, keys=[2], block=10)]
    assert census.audit(rows).flags["duplicate_suspected"] == 0


def test_flags(census: Census) -> None:
    found = census.audit([
        call("a", 0, 10, cached=11), call(None, 1, 10, cached=12), call("a", 2, 10, cached=10),  # two clipped
        call("a", 3, 0, cached=1), call("a", 4, 0),  # two empty, one of them clipped
        call("a", 5, failed=True), call("a", 6, failed=False),
    ])
    assert found.flags == CLEAN | {"cached_exceeds_context": 3, "unsessioned": 1, "zero_context": 2, "failed": 1}
    assert [row["c"] for row in census.engine.rows("select c from calls order by t_us")] == [
        10, 10, 10, 0, None, None, None]


def test_out_of_order(census: Census) -> None:
    # The third record starts before the second. Other sessions and unsessioned calls do not count.
    rows = [call("a", 0), call("a", 10), call("a", 5), call("b", 1), call(None, 3), call(None, 2)]
    assert census.audit(rows).flags["out_of_order"] == 1


def test_out_of_order_counts_misplaced_calls(census: Census) -> None:
    # Records at 3, 1, 2: by time 1, 2, 3; only the first record has a predecessor that stands later in the input.
    assert census.audit([call("a", 3), call("a", 1), call("a", 2)]).flags["out_of_order"] == 1


def test_what_is_known_to_be_in_order(census: Census) -> None:
    rows = [call("a", 0), call("b", 5), call("a", 5), call("a", 9)]
    assert census.ingest(rows).in_order
    assert not census.ingest([rows[0], rows[3], rows[1]]).in_order
    assert not census.ingest([{**rows[0], "source_row": 2}, {**rows[1], "source_row": 1}]).in_order
    assert not census.ingest([{**rows[0], "source_rank": 1}, rows[1]]).in_order
    # What is set aside has no part in it.
    assert census.ingest([rows[0], call("a", 99, defect="bad_tokens"), rows[1]]).in_order


@pytest.mark.parametrize("size", [1, 2, 6])
def test_order_is_seen_across_batches(census: Census, size: int) -> None:
    ordered, not_ordered = (table_of(call("a", at) for at in times) for times in ((0, 1, 3, 3), (0, 3, 1, 4)))
    assert stream(census.engine, ordered.to_batches(size)).in_order
    assert not stream(census.engine, not_ordered.to_batches(size)).in_order


def test_nothing_usable_is_an_error(census: Census) -> None:
    with pytest.raises(InputError, match="nothing was recognised"):
        census.ingest([])
    with pytest.raises(InputError, match=r"no record of the input can be used \(2 read: 2 bad_tokens\)"):
        census.ingest([call("a", 0, defect="bad_tokens"), call("a", 1, defect="bad_tokens")])


def test_places_are_published_and_values_are_not(census: Census) -> None:
    content = census.audit([call("secret", 0, id="private")]).as_json()
    assert content["rows_read"] == content["rows_used"] == 1
    assert content["reasons"] == DEFECTS
    assert "secret" not in str(content)
    assert "private" not in str(content)
