"""The session bootstrap: copies are sessions of their own, at the same times."""

from __future__ import annotations

import numpy as np

from replay.residency.bootstrap import bootstrap, drawn_stream
from replay.residency.budgets import parse_budgets
from replay.residency.stream import Stream, build_stream

BUDGETS = parse_budgets(["10%", "50%"])


def stream(objects: list[int], tokens: list[int]) -> Stream:
    return build_stream(np.array(objects, np.int32), np.array(tokens, np.int64), max(objects) + 1)


def test_copies_stand_behind_each_other() -> None:
    drawn = drawn_stream(stream([0, 1, 0, 2], [10, 20, 30, 40]), np.array([2, 1, 0]))
    # Session 0 twice, as objects 0 and 1; session 1 is object 2; session 2 was not drawn.
    assert drawn.objects.tolist() == [0, 1, 2, 0, 1]
    assert drawn.tokens.tolist() == [10, 10, 20, 30, 30]
    assert drawn.next_use.tolist() == [3, 4, 5, 5, 5]
    assert drawn.object_count == 3


def test_every_session_once_is_the_stream() -> None:
    whole = stream([0, 1, 0, 2, 1], [10, 20, 30, 40, 5])
    drawn = drawn_stream(whole, np.ones(3, np.int64))
    assert drawn.objects.tolist() == whole.objects.tolist()
    assert drawn.tokens.tolist() == whole.tokens.tolist()


def test_replicates_depend_on_the_seed_alone() -> None:
    rng = np.random.default_rng(0)
    whole = stream(rng.integers(0, 40, 400).tolist(), rng.integers(1, 1000, 400).tolist())
    one, two, other = (bootstrap(whole, ("lru", "mrr_unbounded"), BUDGETS, beta=1, count=8, seed=seed, threads=threads)
                       for seed, threads in ((1, 1), (1, 3), (2, 1)))
    assert (one.rates == two.rates).all()
    assert (one.floors == two.floors).all()
    assert (one.rates != other.rates).any()
    assert one.rates.shape == (8, 2, 2)
    # Unbounded MRR rebuilds first touches only.
    assert (one.rates[:, 1] == one.floors[:, None]).all()
    assert one.floors.std() > 0
    assert one.kstars.shape == (8,)
    assert one.kstars.std() > 0
