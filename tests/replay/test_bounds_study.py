"""What a study publishes of bounds: here and spread, of all sessions and of a sample."""

from __future__ import annotations

import pickle
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from metrics.core.metric import Finding, Findings
from pipelines.options import parse
from replay.residency.budgets import parse_budgets
from replay.residency.cells import Plan, cells_here, cells_spread
from replay.residency.sampling import Drawn, Sample
from replay.residency.stream import build_stream
from replay.residency.stream_file import StreamFile
from replay.residency.study import declared, study

BOTH = ("pfoo_l", "pfoo_u")
SAMPLE = Sample("0.5")
BASE = "replay.window.session"


def table_of(objects: np.ndarray, tokens: np.ndarray, groups: int = 1) -> pa.Table:
    return pa.table({
        "t_us": np.arange(len(objects), dtype=np.int64) * 10**6, "tokens": tokens,
        "deployment": pa.nulls(len(objects), pa.int64()), "sample_group": (objects % groups).astype(np.int16),
        "object_session": objects, "next_use_session": build_stream(objects, tokens, int(objects.max()) + 1).next_use,
    })


def example() -> StreamFile:
    """A4 B2 A6 B2 A1 B9 of test_bounds.py: K* is 9 tokens."""
    return StreamFile(table_of(np.array([0, 1, 0, 1, 0, 1], np.int32), np.array([4, 2, 6, 2, 1, 9], np.int64)), None)


def plan_of(policies: str, budgets: str, kinds: tuple[str, ...] = BOTH, sample: Sample | None = None) -> Plan:
    return Plan("window", ("session",), tuple(policies.split(",")), parse_budgets(budgets.split(",")), "last", sample,
                kinds)


def found_of(plan: Plan, file: StreamFile) -> Findings:
    found = study(plan, file, cells_here(plan, file, beta=100, threads=2))
    assert found.numbers.keys() == {number.key for number in declared(plan)}
    return found


def test_bounds_and_distances_worked_out_by_hand():
    # 400 bytes are 4 tokens. LRU: A4 stays; B2 makes 6, A goes; A6 makes 8, B goes, then A; B2 stays; A1 makes 3,
    # hits nothing, and leaves after its last call; B hits: 5 misses. PFOO-L 3, the schedule 4.
    # MRR, q = 1/4: B2 makes 6, A a copy of 1: 3. A6 hits; 8, B a copy of 0.5: 6.5, it goes, A a copy of 1.5. B2
    # misses: 3.5. A1 hits. B9 hits: 3 misses. Copies of all fit: both bounds are 2.
    found = found_of(plan_of("lru,mrr", "400B"), example())
    assert {key.removeprefix(f"{BASE}."): (number.value, number.n) for key, number in found.numbers.items()
            if key.startswith(BASE) and key.endswith(".b400B")} == {
        "lru.b400B": (5 / 6, 6), "mrr.b400B": (3 / 6, 6),
        "pfoo_l.b400B": (3 / 6, 6), "pfoo_u.b400B": (4 / 6, 6),
        "pfoo_l_q32.b400B": (2 / 6, 6), "pfoo_u_q32.b400B": (2 / 6, 6),
        "above_bound.lru.b400B": (2 / 6, 6), "above_bound_share.lru.b400B": (2 / 3, 3),
        "above_bound.mrr.b400B": (1 / 6, 6), "above_bound_share.mrr.b400B": (1.0, 1),
    }
    rows = found.tables["replay_bound"].select(["bound", "q", "h", "policies", "misses", "budget_bytes"]).to_pylist()
    assert [tuple(row.values()) for row in rows] == [
        ("pfoo_l", 1.0, 0, "lru", 3, 400), ("pfoo_l", 0.25, 0, "mrr", 2, 400),
        ("pfoo_u", 1.0, 0, "lru", 4, 400), ("pfoo_u", 0.25, 0, "mrr", 2, 400),
    ]
    assert found.tables["replay_bound"]["bounds"].to_pylist()[:2] == [
        "policies that keep or discard whole objects", "policies that keep objects whole or as copies of 32/128 of "
        "their size"]
    lru, mrr = found.tables["replay_distance"].to_pylist()
    assert lru == {
        "stream": "window", "object_key": "session", "release": "last", "policy": "lru", "budget_share": None,
        "budget_bytes": 400, "calls": 6, "misses": 5, "bound": "pfoo_l", "bound_misses": 3, "above_bound_misses": 2,
        "above_bound": 2 / 6, "low": None, "high": None, "repeat_misses": 3, "above_bound_share": 2 / 3,
        "feasible_misses": 4, "above_feasible_misses": 1,
    }
    assert (mrr["bound"], mrr["feasible_misses"], mrr["above_feasible_misses"]) == ("pfoo_l_q32", 2, 1)


def test_where_all_misses_are_first_touches_nothing_could_be_avoided():
    found = found_of(plan_of("lru", "100%"), example())
    assert found.numbers[f"{BASE}.above_bound.lru.b100"].value == 0
    assert found.numbers[f"{BASE}.above_bound_share.lru.b100"] == Finding(
        None, 0, why="every miss is a first touch, which nothing avoids")


def test_a_policy_without_a_bound_says_so(monkeypatch):
    monkeypatch.setattr("replay.residency.bounds.grid.keeping_of", lambda policy: None)
    found = found_of(plan_of("lru", "50%"), example())
    for what in ("above_bound", "above_bound_share"):
        number = found.numbers[f"{BASE}.{what}.lru.b50"]
        assert (number.value, number.why) == (None, "no bound is for a policy that is not held to the budget, or that "
                                                    "is not known to bounds")
    (row,) = found.tables["replay_distance"].to_pylist()
    assert (row["bound"], row["bound_misses"], row["above_bound"], row["misses"]) == (None, None, None, 5)


def test_only_what_was_asked_for_is_computed():
    lower = found_of(plan_of("lru", "400B", ("pfoo_l",)), example())
    assert not [key for key in lower.numbers if "pfoo_u" in key]
    assert lower.tables["replay_distance"]["feasible_misses"].to_pylist() == [None]
    none = found_of(plan_of("lru", "400B", ()), example())
    assert not [key for key in none.numbers if "pfoo" in key or "above" in key]
    assert none.tables.keys() == {"residency_replay", "replay_order", "replay_size"}
    feasible = found_of(plan_of("lru", "400B", ("pfoo_u",)), example())
    assert feasible.tables.keys() == {"residency_replay", "replay_bound", "replay_order", "replay_size"}


def test_the_command_line_decides():
    ask = ["in.csv", "--format", "calls", "--out", "out"]
    assert parse(ask).plan.bounds == BOTH
    assert parse([*ask, "--stream", "window"]).plan.bounds == ("pfoo_l",)
    assert parse([*ask, "--stream", "window", "--bounds", "all"]).plan.bounds == BOTH
    assert parse([*ask, "--bounds", "lower"]).plan.bounds == ("pfoo_l",)
    assert parse([*ask, "--bounds", "none"]).plan.bounds == ()
    assert " --bounds none " in parse([*ask, "--bounds", "none"]).command


class Workers:
    """Stands for an engine with workers: what travels is pickled."""

    def scatter(self, parts, work, file):
        return [pickle.loads(pickle.dumps(work(pickle.loads(pickle.dumps(part)), file))) for part in parts]


def written(table: pa.Table, sample: bool, folder: Path) -> Path:
    StreamFile(table, None, Drawn(SAMPLE, 160, 2000) if sample else None).write(folder / "stream.arrow")
    return folder / "stream.arrow"


def random_table(groups: int) -> pa.Table:
    random = np.random.default_rng(5)
    objects = np.concatenate([np.arange(80), random.integers(0, 80, 920)]).astype(np.int32)
    return table_of(objects, random.integers(0, 500, 1000), groups)


@pytest.mark.parametrize("sample", [None, SAMPLE])
def test_workers_find_the_same(sample, tmp_path):
    path = written(random_table(8), sample is not None, tmp_path)
    plan = plan_of("lru,mrr,fnu", "5%,20%,50%", BOTH, sample)
    here = cells_here(plan, StreamFile.open(path), beta=100, threads=1)
    assert cells_spread(Workers(), plan, path, beta=100) == here
    assert len(here.bounds["session"]) == 2 * 2 * 3


def test_bounds_of_a_sample_have_intervals():
    # 80 objects in turns, three rounds of one size, in eight groups alike; 60 % of K* are 48 objects. Intervals have
    # length 80 and cost 80 each; T = 239, and 48 * 239 / 80 = 143.4: of 160 reuses 143 fit, 97 misses. In a group of
    # 10, room for 6 over 29: 6 * 29 / 10 = 17.4, of 20 reuses 17 fit, 13 misses; the same with its part of the budget.
    file = StreamFile(table_of(np.tile(np.arange(80, dtype=np.int32), 3), np.full(240, 100, np.int64), 8), None,
                      Drawn(SAMPLE, 160, 480))
    found = found_of(plan_of("lru", "60%", BOTH, SAMPLE), file).numbers
    reach = Fraction(13 * 8 - 97, 240) * 4 / 10  # 0.4 of the step from a group to the sample, as for any rate
    assert found[f"{BASE}.pfoo_l.b60"] == Finding(97 / 240, 240, float(Fraction(97, 240) - reach),
                                                 float(Fraction(97, 240) + reach))
    assert found[f"{BASE}.se.pfoo_l.b60"].value == 0
    assert found[f"{BASE}.groups.pfoo_l.b60"].value == found[f"{BASE}.split.pfoo_l.b60"].value == 104 / 240
    # LRU misses 193 in the sample and 25 in a group (test_residency_sampling.py): 96 and 12 above the bound.
    apart = found[f"{BASE}.above_bound.lru.b60"]
    assert apart == Finding(96 / 240, 240, 96 / 240, 96 / 240)
    assert found[f"{BASE}.above_bound_share.lru.b60"] == Finding(96 / 113, 113)


def test_a_sample_too_small_to_tell_says_so_of_its_bounds():
    # 30 % of K* hold 24 contexts, three a group; 10 % hold eight, one a group.
    file = StreamFile(table_of(np.tile(np.arange(80, dtype=np.int32), 3), np.full(240, 100, np.int64), 8), None,
                      Drawn(SAMPLE, 160, 480))
    found = found_of(plan_of("lru", "10%,30%", BOTH, SAMPLE), file)
    for name in ("pfoo_l", "pfoo_u", "above_bound.lru"):
        assert found.numbers[f"{BASE}.{name}.b10"].low is None
        assert found.numbers[f"{BASE}.{name}.b30"].low is not None
    assert "fewer than 16 contexts" in found.numbers[f"{BASE}.se.pfoo_l.b10"].why
    row = found.tables["replay_bound"].to_pylist()[0]
    assert (row["sample_fraction"], row["standard_error"], row["bound"]) == (0.5, None, "pfoo_l")
