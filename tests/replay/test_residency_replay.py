"""The replay of every policy under every budget."""

from __future__ import annotations

import numpy as np
import pytest

from replay.residency.budgets import DEFAULT_BUDGETS, parse_budgets
from replay.residency.replay import replay
from replay.residency.stream import build_stream
from telemetry.errors import UsageError

EXAMPLE = build_stream(np.array([1, 0, 2, 2, 1, 0], np.int32), np.array([5, 1, 6, 5, 0, 5], np.int64), 3)


def test_cells_of_the_example():
    # K* = 5 + 1 + 6 = 12 tokens. 10 of 12 tokens, at 100 bytes each, are 1,000 bytes: FNU 5, LRU 4, MRR 3.
    # 100 %: the floor, 3 of 6.
    budgets = parse_budgets(["1000B", "100%"])
    cells = replay(EXAMPLE, ["fnu", "lru", "mrr"], budgets, "last", beta=100, threads=2)
    assert [(cell.policy, cell.budget.key, cell.misses, cell.missed_tokens) for cell in cells] == [
        ("fnu", "b1000B", 5, 17), ("fnu", "b100", 3, 12),
        ("lru", "b1000B", 4, 12), ("lru", "b100", 3, 12),
        ("mrr", "b1000B", 3, 12), ("mrr", "b100", 3, 12),
    ]
    first, second = cells[:2]
    assert (first.budget_bytes, first.budget_units) == (1000, 1280)
    assert (second.budget_bytes, second.budget_units) == (1200, 1536)
    assert (first.calls, first.objects, first.kstar_bytes, first.floor) == (6, 3, 1200, 0.5)
    assert (first.reconstruction_rate, first.missed_token_share) == (5 / 6, 17 / 22)


def test_an_empty_stream_has_cells_without_rates():
    empty = build_stream(np.empty(0, np.int32), np.empty(0, np.int64), 0)
    cells = replay(empty, ["lru", "fnu", "mrr"], DEFAULT_BUDGETS, beta=327_680)
    assert len(cells) == 21
    assert {(cell.misses, cell.calls, cell.kstar_bytes) for cell in cells} == {(0, 0, 0)}
    for cell in cells:
        assert (cell.reconstruction_rate, cell.missed_token_share, cell.floor) == (None, None, None)


def test_a_stream_without_tokens_has_no_token_share():
    stream = build_stream(np.zeros(2, np.int32), np.zeros(2, np.int64), 1)
    (cell,) = replay(stream, ["lru"], parse_budgets(["1%"]), beta=1)
    assert (cell.reconstruction_rate, cell.missed_token_share) == (0.5, None)


def test_threads_change_nothing():
    random = np.random.default_rng(3)
    objects = np.concatenate([np.arange(300), random.integers(0, 300, 20_000)]).astype(np.int32)
    stream = build_stream(objects, random.integers(0, 1000, len(objects)), 300)
    one, four = (replay(stream, ["mrr", "lru", "fnu"], DEFAULT_BUDGETS, "never", beta=1, threads=threads)
                 for threads in (1, 4))
    assert one == four


@pytest.mark.parametrize(("change", "message"), [
    ({"policies": ["lfu"]}, "unknown policy 'lfu'"),
    ({"policies": ["lru", "lru"]}, "more than once"),
    ({"release": "first"}, "unknown release mode"),
    ({"threads": 0}, "threads"),
    ({"beta": 0}, "more than zero"),
])
def test_what_cannot_be_replayed_is_refused(change, message):
    arguments = {"policies": ["lru"], "budgets": DEFAULT_BUDGETS, "release": "last", "beta": 1, "threads": 1}
    with pytest.raises(UsageError, match=message):
        replay(EXAMPLE, **(arguments | change))
