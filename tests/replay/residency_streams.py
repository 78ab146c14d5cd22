"""Streams of the replay tests: written as text, or drawn at random."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from metrics.idle_cap import CAPS
from replay.residency.stream import UNITS, Stream, build_stream

SECOND_US = 1_000_000
#: Budgets in units, most of them small, whole tokens or not.
BUDGETS = st.one_of(st.integers(0, 200 * UNITS), st.integers(0, 60).map(lambda tokens: tokens * UNITS))

_CAPS = [cap for cap in CAPS.values() if cap is not None]
#: Microseconds between calls: none, some, and as long as an idle cap or one more.
_GAPS = st.one_of(st.just(0), st.integers(0, 90 * SECOND_US), st.sampled_from(_CAPS + [cap + 1 for cap in _CAPS]))


def written(text: str) -> Stream:
    """`A5@60` is an access to object A with a context of 5 tokens at 60 seconds; without `@`, a second apart."""
    words = [word.partition("@") for word in text.split()]
    names = sorted({word[0] for word, _, _ in words})
    objects = np.array([names.index(word[0]) for word, _, _ in words], np.int32)
    tokens = np.array([int(word[1:]) for word, _, _ in words], np.int64)
    times = np.array([int(at or place) * SECOND_US for place, (_, _, at) in enumerate(words)], np.int64)
    return build_stream(objects, tokens, len(names), times)


@st.composite
def streams(draw: st.DrawFn, sizes: st.SearchStrategy[int] | None = None) -> Stream:
    """Up to 60 accesses to up to 9 objects; mostly similar sizes, some empty, some far larger, some a quarter of what
    the object was; of `sizes` where given."""
    shrink = sizes is None
    sizes = sizes or st.one_of(st.integers(0, 12), st.integers(0, 60))
    accesses = draw(st.lists(st.tuples(st.integers(0, 8), sizes, st.integers(0, 5), _GAPS), max_size=60))
    names = list(dict.fromkeys(item for item, _, _, _ in accesses))
    latest: dict[int, int] = {}
    for item, size, *_ in accesses:
        latest.setdefault(item, size)
    tokens = []
    for item, size, kind, _ in accesses:
        latest[item] = latest[item] // 4 if shrink and kind == 0 else size
        tokens.append(latest[item])
    objects = np.array([names.index(item) for item, _, _, _ in accesses], np.int32)
    return build_stream(objects, np.array(tokens, np.int64), len(names),
                        np.cumsum([gap for _, _, _, gap in accesses], dtype=np.int64))
