"""What is counted while rows are loaded, against the same asked of the table."""

from __future__ import annotations

import pytest
from metrics_rows import T0, call, table_of

from metrics.core.engine import Engine
from metrics.core.loading import stream
from metrics.core.tally import Tally

ROWS = [
    call("a", 5, model="m1", region="r1", id="i1"),
    call("a", 3, model="m2", deployment="d1"),
    call(None, 9, model="m1"),
    call("b", 4, model="m3", defect="bad_context_tokens"),
    call("b", 1, model="m4", defect="bad_timestamp", id="i2"),
    call("b", 99, model="m4", defect="bad_timestamp"),
]


@pytest.mark.parametrize("rows_at_once", [1, 2, 6])
def test_sums_over_rows(engine: Engine, rows_at_once: int) -> None:
    loaded = stream(engine, table_of(ROWS).to_batches(max_chunksize=rows_at_once))
    tally = loaded.tally
    assert (tally.rows, tally.sound, tally.ids) == (6, 3, 1)
    assert tally.defects == {"bad_context_tokens": 1, "bad_timestamp": 2}
    assert (tally.first_us, tally.last_us) == (T0 + 3_000_000, T0 + 9_000_000)
    assert tally.used == {"model_no": {1, 2}, "region_no": {1}, "deployment_no": {1}}
    tally.defects.clear()
    engine.view("usable", "select * from raw where defect is null")
    assert Tally.of(engine, "usable") == tally


def test_nothing_sound(engine: Engine) -> None:
    tally = stream(engine, table_of(ROWS[3:]).to_batches()).tally
    assert (tally.rows, tally.sound, tally.first_us, tally.last_us) == (3, 0, None, None)


def test_parts_with_numbers_of_their_own(engine: Engine) -> None:
    whole = stream(engine, table_of(ROWS).to_batches())
    first, second = (stream(engine, table_of(rows).to_batches()) for rows in (ROWS[:1], ROWS[1:]))
    numbers = first.names.adopt(second.names)
    first.tally.absorb(second.tally, numbers)
    assert first.tally == whole.tally
