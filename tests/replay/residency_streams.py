"""Streams of the replay tests: written as text, or drawn at random."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from hypothesis import strategies as st

from metrics.idle_cap import CAPS
from replay.residency.stream import UNITS, Stream, build_stream

SECOND_US = 1_000_000
#: Budgets in units, most of them small, whole tokens or not.
BUDGETS = st.one_of(st.integers(0, 200 * UNITS), st.integers(0, 60).map(lambda tokens: tokens * UNITS))

_CAPS = [cap for cap in CAPS.values() if cap is not None]
#: Microseconds between calls: none, some, and as long as an idle cap or one more.
_GAPS = (0, 0, 1, *(SECOND_US * seconds for seconds in (1, 7, 20, 45, 90)), *_CAPS, *(cap + 1 for cap in _CAPS))
#: Contexts in tokens: none, mostly similar, some far larger; -1: a quarter of what the object had.
_SIZES = (-1, -1, *range(13), *range(13), *range(15, 61, 5))
_OBJECTS = 9


def written(text: str) -> Stream:
    """`A5@60` is an access to object A with a context of 5 tokens at 60 seconds; without `@`, a second apart."""
    words = [word.partition("@") for word in text.split()]
    names = sorted({word[0] for word, _, _ in words})
    objects = np.array([names.index(word[0]) for word, _, _ in words], np.int32)
    tokens = np.array([int(word[1:]) for word, _, _ in words], np.int64)
    times = np.array([int(at or place) * SECOND_US for place, (_, _, at) in enumerate(words)], np.int64)
    return build_stream(objects, tokens, len(names), times)


@st.composite
def streams(draw: st.DrawFn, sizes: Sequence[int] = _SIZES) -> Stream:
    """Up to 60 accesses to up to 9 objects with these sizes; each access is one number, which is faster to draw."""
    drawn = draw(st.lists(st.integers(0, _OBJECTS * len(sizes) * len(_GAPS) - 1), max_size=60))
    latest: dict[int, int] = {}
    objects, tokens, gaps = [], [], []
    for number in drawn:
        rest, item = divmod(number, _OBJECTS)
        gap, size = divmod(rest, len(sizes))
        held = latest.get(item, 0)
        latest[item] = held // 4 if sizes[size] < 0 else sizes[size]
        objects.append(list(latest).index(item))
        tokens.append(latest[item])
        gaps.append(_GAPS[gap])
    return build_stream(np.array(objects, np.int32), np.array(tokens, np.int64), len(latest),
                        np.cumsum(gaps, dtype=np.int64))
