"""The sessioned calls of a trace as columns, session by session: what the components are fitted to."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from metrics.core.names import NUMBER_LIMIT
from metrics.core.trace import Trace
from telemetry.errors import InputError
from tracesim.compiled import Floats, Longs
from tracesim.profile import CLASSES

__all__ = ["Rows", "read_rows"]

_QUERY = """
    select session, call_index, pos, t_us, x, coalesce(c, -1) as c, coalesce(o, -1) as o,
           coalesce(duration_us, -1) as duration_us, model_no, seat,
           case when opens then 1 when not opens then 0 else -1 end as opens, coalesce(gap_us, 0) as gap_us
    from steps"""


@dataclass(frozen=True)
class Rows:
    """Columns of calls, sessions by their first call, calls by their index. Int64; -1 = not known.

    Attributes
    ----------
    offsets : int64 array of shape (sessions + 1,)
    session, index : int64 arrays
        From 0.
    t_us, gap_us : int64 arrays
        Start, and since the session's preceding call; 0 for its first.
    tokens, cached, output, duration_us : int64 arrays
    model, region, deployment : int64 arrays
        Numbers from 0.
    opens : int64 array
        1 = opens a turn.
    class_of : dict of int to (str, str)
        Model -> its class under both mappings; of models with a name.
    """

    offsets: Longs
    session: Longs
    index: Longs
    t_us: Longs
    gap_us: Longs
    tokens: Longs
    cached: Longs
    output: Longs
    duration_us: Longs
    model: Longs
    region: Longs
    deployment: Longs
    opens: Longs
    class_of: dict[int, tuple[str, str]]

    @property
    def sessions(self) -> int:
        return len(self.offsets) - 1

    @property
    def depths(self) -> Longs:
        """Calls of each session."""
        return np.diff(self.offsets)

    @property
    def peaks(self) -> Longs:
        """Largest context of each session."""
        return np.maximum.reduceat(self.tokens, self.offsets[:-1])

    @property
    def spans_us(self) -> Longs:
        """From the first start to the last, of each session."""
        return self.t_us[self.offsets[1:] - 1] - self.t_us[self.offsets[:-1]]

    @property
    def kind(self) -> Longs:
        """Class of each call, a place in CLASSES; -1 for a model without a name."""
        known = np.full(int(self.model.max()) + 2, -1, np.int64)  # the last one for -1
        for model, (conservative, _) in self.class_of.items():
            known[model] = CLASSES.index(conservative)
        return known[self.model]

    @property
    def reuse(self) -> Floats:
        """Cached / context tokens of the calls that report them, context above 0."""
        told = (self.cached >= 0) & (self.tokens > 0)
        return self.cached[told] / self.tokens[told]

    @property
    def engine_us(self) -> Longs:
        """Engine time of the calls that report it."""
        return self.duration_us[self.duration_us >= 0]


def read_rows(trace: Trace) -> Rows:
    """The sessioned calls of a trace; InputError when it has none."""
    why = trace.lacks("sessioned")
    if why is not None:
        raise InputError(f"{why}; a profile is one of sessions. Name the session column under [columns] in --config.")
    table = trace.fetch(_QUERY)
    column = {name: _numbers(table, name) for name in table.column_names}
    order = _by_first_call(column["session"], column["call_index"], column["pos"])
    column = {name: values[order] for name, values in column.items()}
    begins = np.flatnonzero(column["call_index"] == 1)
    offsets = np.append(begins, len(order)).astype(np.int64)
    seat = column["seat"]
    models = {row["model_no"]: (row["conservative"], row["broad"])
              for row in trace.rows("select model_no, conservative, broad from models where model_no > 0")}
    return Rows(
        offsets=offsets, session=np.repeat(np.arange(len(begins)), np.diff(offsets)), index=column["call_index"] - 1,
        t_us=column["t_us"], gap_us=column["gap_us"], tokens=column["x"], cached=column["c"], output=column["o"],
        duration_us=column["duration_us"], model=column["model_no"] - 1, region=seat // NUMBER_LIMIT - 1,
        deployment=np.where(seat % NUMBER_LIMIT > 0, seat, -1), opens=column["opens"],
        class_of={number - 1: classes for number, classes in models.items()})


def _by_first_call(session: Longs, index: Longs, pos: Longs) -> Longs:
    """An order that does not depend on how the engine numbers sessions."""
    order = np.lexsort((index, session))
    begins = np.flatnonzero(index[order] == 1)
    first = np.repeat(pos[order][begins], np.diff(np.append(begins, len(order))))
    return order[np.lexsort((index[order], first))]


def _numbers(table: pa.Table, name: str) -> Longs:
    return np.asarray(table[name].to_numpy(), np.int64)
