"""The canonical call and the canonical event: what every adapter yields one of a row.

A log holds either: model calls, with the tokens of each, or events of sessions, whose counters run on. `Rows` says
which, and with it what a metric can ask.

Inside the pipeline time is integer microseconds UTC and tokens are int64, so that every sum
is exact and every run and engine gives the same bytes. (`source_rank`, `source_row`) names a
record of the input and breaks ties of time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import pyarrow as pa

__all__ = ["CALLS", "CALL_SCHEMA", "DEFECTS", "EVENTS", "EVENT_SCHEMA", "FLAGS", "LABEL", "MAX_COUNTER",
           "MAX_DURATION_S", "MAX_TOKENS", "TIME_FROM_US", "TIME_TO_US", "Rows"]

#: Largest token count. Reuse is counted in parts per billion, and tokens * 10^9 must fit int64. No
#: model has such a context: what is above has been through a float or another unit, or is garbage.
MAX_TOKENS: Final = 2**33 - 1

#: Largest count of tokens over a whole session: 8 million such sessions still sum up in int64.
MAX_COUNTER: Final = 2**40 - 1

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

EVENT_SCHEMA: Final = pa.schema(
    [
        pa.field("source_rank", pa.int32(), nullable=False),
        pa.field("source_row", pa.int64(), nullable=False),
        pa.field("session_id", LABEL),
        pa.field("t_us", pa.int64()),  # start of the event
        pa.field("event", LABEL),  # what happened, in the log's own word
        pa.field("tool_event", pa.bool_()),  # whether that is the execution of a tool; null = the log does not say
        pa.field("tool", LABEL),  # which one; only tells events apart
        pa.field("model", LABEL),
        # Counters of the session, from its start up to the event; null = the event does not report it.
        pa.field("cumulative_context_tokens", pa.int64()),  # cached tokens included
        pa.field("cumulative_cached_tokens", pa.int64()),
        pa.field("cumulative_output_tokens", pa.int64()),
        pa.field("event_id", pa.string()),
        pa.field("defect", pa.string()),
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


@dataclass(frozen=True)
class Rows:
    """What the rows of a log are.

    Attributes
    ----------
    name, one : str
        What messages call several of them, and one.
    schema : pa.Schema
    id, output : str
        Of rows with one id that with the largest output stays, then the last.
    again : bool
        Rows equal in every column are one that was logged again.
    defects, flags : mapping of str to str
        Why a row is set aside, and what is counted while it is kept -> what that means.
    """

    name: str
    one: str
    schema: pa.Schema
    id: str
    output: str
    again: bool
    defects: Mapping[str, str]
    flags: Mapping[str, str]


CALLS: Final = Rows("calls", "call", CALL_SCHEMA, "call_id", "output_tokens", again=False, defects=DEFECTS, flags=FLAGS)
EVENTS: Final = Rows(
    "events", "event", EVENT_SCHEMA, "event_id", "cumulative_output_tokens", again=True,
    defects={
        "unreadable": DEFECTS["unreadable"],
        "bad_timestamp": DEFECTS["bad_timestamp"],
        "bad_tokens": "a counter that is negative, above 2^40 - 1, or not a number",
        "duplicate": "the same event recorded again: equal in every column that is read, or in its id",
        "outside_window": DEFECTS["outside_window"],
    },
    flags={
        "cached_exceeds_context": "cached tokens above the context, both of the session so far: clipped to it",
        "unsessioned": FLAGS["unsessioned"],
        "out_of_order": FLAGS["out_of_order"],
        "clock_reversal": FLAGS["clock_reversal"],
        "counter_fell": "a time at which counters of a session fell: it was resumed, or logged out of order",
        "bad_optional": FLAGS["bad_optional"],
    },
)
