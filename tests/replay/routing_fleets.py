"""Fleets for the tests of routing: from literal rows, and random ones."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

from replay.residency.factorize import factorize
from replay.residency.stream import build_stream
from replay.residency.stream_file import StreamFile

__all__ = ["Row", "rows", "stream_file"]

#: (session, model or None, deployment or None, second, tokens)
Row = tuple[str, str | None, str | None, int, int]


def stream_file(calls: Sequence[Row]) -> StreamFile:
    """A stream file of these calls, as `extract_stream` would write it."""
    sessions, models, deployments, seconds, tokens = zip(*calls, strict=True) if calls else ((), (), (), (), ())
    sizes = np.array(tokens, np.int64)
    place = {name: 100 - number for number, name in enumerate(dict.fromkeys(filter(None, deployments)))}
    columns = {
        "t_us": np.array(seconds, np.int64) * 1_000_000, "tokens": sizes,
        "model": np.array([0 if model is None else 7 * ord(model[0]) for model in models], np.int32),
        "deployment": pa.array([None if name is None else place[name] for name in deployments], pa.int64()),
    }
    parts = {"session": [()] * len(calls), "session+model": models, "session+deployment": deployments}
    for key, part in parts.items():
        objects, count = factorize(np.array([hash(pair) for pair in zip(sessions, part, strict=True)], np.int64))
        columns[f"object_{key}"] = objects
        columns[f"next_use_{key}"] = build_stream(objects, sizes, count).next_use
    return StreamFile(pa.table(columns), None)


@st.composite
def rows(draw: st.DrawFn, unknown: bool = True) -> list[Row]:
    """Up to 60 calls of up to six sessions to two models on up to four deployments, in the order of time."""
    nothing = [None] if unknown else []
    calls = draw(st.lists(st.tuples(
        st.sampled_from("abcdef"), st.sampled_from([*nothing, "m", "n", "m"]),
        st.sampled_from([*nothing, "w", "x", "y", "z"]), st.integers(0, 40), st.integers(0, 30)), max_size=60))
    found, now = [], 0
    for session, model, deployment, wait, tokens in calls:
        now += wait
        found.append((session, model, deployment, now, tokens))
    return found
