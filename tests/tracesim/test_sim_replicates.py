"""Replicates of one side of a comparison."""

from __future__ import annotations

import numpy as np

from pipelines.matching.replicates import replicates
from replay.residency.budgets import parse_budgets
from replay.residency.resampling import Bootstrap
from replay.residency.stream import build_stream

BUDGETS = parse_budgets(["10%", "50%"])


def test_replicates_depend_on_the_seed_alone() -> None:
    rng = np.random.default_rng(0)
    whole = build_stream(rng.integers(0, 40, 400).astype(np.int32), rng.integers(1, 1000, 400), 40)
    one, two, other = (replicates(whole, ("lru", "mrr_unbounded"), BUDGETS, beta=1, asked=Bootstrap(8, seed),
                                  threads=threads) for seed, threads in ((1, 1), (1, 3), (2, 1)))
    assert (one.rates == two.rates).all()
    assert (one.floors == two.floors).all()
    assert (one.rates != other.rates).any()
    assert one.rates.shape == (8, 2, 2)
    # Unbounded MRR rebuilds first touches only.
    assert (one.rates[:, 1] == one.floors[:, None]).all()
    assert one.floors.std() > 0
    assert one.kstars.shape == (8,)
    assert one.kstars.std() > 0
