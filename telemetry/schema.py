"""The canonical call: one row a model call, as every adapter yields it.

Inside the pipeline time is integer microseconds UTC and tokens are int64, so that every sum
is exact and every run and engine gives the same bytes. (`source_rank`, `source_row`) names a
record of the input and breaks ties of time.
"""

from __future__ import annotations

from typing import Final

import pyarrow as pa

__all__ = ["CALL_SCHEMA", "DEFECTS", "FLAGS", "LABEL", "MAX_DURATION_S", "MAX_TOKENS", "TIME_FROM_US", "TIME_TO_US"]

#: Largest token count. Reuse is counted in parts per billion, and tokens * 10^9 must fit int64. No
#: model has such a context: what is above has been through a float or another unit, or is garbage.
MAX_TOKENS: Final = 2**33 - 1

#: Longest duration of a call: 366 days. 290,000 of them still sum up in int64 microseconds.
MAX_DURATION_S: Final = 366 * 86_400

#: A call starts in 1970 or later and before 2200, in UTC: where every calendar, zone and hour of a
#: week that the metrics compute is defined. What lies outside is a wrong unit or a wrong clock.
TIME_FROM_US: Final = 0  # 1970-01-01T00:00:00Z, included
TIME_TO_US: Final = 7_258_118_400_000_000  # 2200-01-01T00:00:00Z, excluded

#: Texts that repeat from row to row: stored once a batch, and checked once a batch.
LABEL: Final = pa.dictionary(pa.int32(), pa.string())

CALL_SCHEMA: Final = pa.schema(
    [
        pa.field("source_rank", pa.int32(), nullable=False),  # rank of the file in lexicographic order
        pa.field("source_row", pa.int64(), nullable=False),  # record in the file, counted from 1
        pa.field("session_id", LABEL),
        pa.field("t_us", pa.int64()),  # start of the call, microseconds UTC since 1970
        pa.field("context_tokens", pa.int64()),  # x, cached tokens included
        pa.field("cached_tokens", pa.int64()),  # c, null = not reported
        pa.field("output_tokens", pa.int64()),  # o
        pa.field("model", LABEL),
        pa.field("turn_id", LABEL),
        pa.field("user_initiated", pa.bool_()),
        pa.field("region", LABEL),
        pa.field("deployment", LABEL),
        pa.field("duration_us", pa.int64()),
        pa.field("parent_session_id", pa.string()),
        pa.field("call_id", pa.string()),
        pa.field("failed", pa.bool_()),  # status: true = error, null = not reported
        # Chained block hashes: element i names the whole prefix that ends with block i.
        pa.field("prefix_keys", pa.list_(pa.int64())),
        pa.field("block_size", pa.int32()),
        pa.field("defect", pa.string()),  # why the row cannot be used; null = it can
    ]
)

#: Why a row is set aside. The order is the precedence; the last two are found by the engine.
DEFECTS: Final = {
    "unreadable": "the record could not be parsed at all",
    "synthetic": "a placeholder that the adapter knows, not a model call",
    "bad_timestamp": "no timestamp, or one that cannot be placed in time, from 1970 up to 2200",
    "bad_tokens": "context tokens missing, or a token count that is negative, above 2^33 - 1, or not a number",
    "duplicate": "the same call recorded again",
    "outside_window": "outside the chosen window",
}

#: What is counted while the row is kept.
FLAGS: Final = {
    "cached_exceeds_context": "cached tokens above the context: clipped to it",
    "unsessioned": "no session id: in the totals, in no session metric",
    "out_of_order": "its predecessor in the session, by time, stands later in the input",
    "failed": "status error: kept as arrival and access",
    "clock_reversal": "a record that starts before the preceding one of its file that can be used; of the whole input, "
    "before repeats are set aside",
    "zero_context": "a context of 0 tokens: an access of size 0, without a reuse",
    "duplicate_suspected": "equal to another row in every column, but without a call id: kept",
    "bad_optional": "an optional field that does not parse: taken as not reported; records of the whole input",
}
