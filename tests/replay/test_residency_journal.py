"""Runs that are kept: found again, told apart by all that decides them, and never wrong after damage."""

from __future__ import annotations

import ast
from pathlib import Path

import numpy as np
import pytest
from residency_streams import written

from replay.residency import journal as journals
from replay.residency import policies
from replay.residency.budgets import parse_budgets
from replay.residency.comparison import Logged
from replay.residency.journal import CODE, code_hash, open_journal, stream_hash
from replay.residency.policy import Outcome
from replay.residency.replay import Run, replay
from replay.residency.stream import Stream, build_stream

STREAM = written("A5 B3 A4 C9 B3 A1")
OURS = {"replay", "metrics", "telemetry", "pipelines"}
LOGGED = Logged(np.array([0, 3, -1, 0, 2, 1], np.int64), np.array([0, 5, 12, 19, 20, 20], np.int8))
BUDGETS = parse_budgets(["50%", "1000B"])


def cells(path: Path, names: str = "lru,mrr_host_1", budgets=BUDGETS, stream: Stream = STREAM, logged=LOGGED,
          release="never", beta: int = 100) -> tuple[object, int, int, int]:
    """Cells, and how many were found, added, and lines damaged."""
    with open_journal(path) as journal:
        found = replay(stream, names.split(","), budgets, release, beta=beta, logged=logged, journal=journal)
    return found, journal.found, journal.added, journal.damaged


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / ".cells"


def test_what_is_known_is_not_replayed(path: Path) -> None:
    plain = replay(STREAM, ["lru", "mrr_host_1"], BUDGETS, "never", beta=100, logged=LOGGED)
    assert cells(path) == (plain, 0, 4, 0)
    assert plain[0].beside_log
    assert cells(path) == (plain, 4, 0, 0)
    assert cells(path, names="mrr_host_1,lru,fnu")[1:] == (4, 2, 0)
    assert cells(path, budgets=parse_budgets(["10%", "50%"]))[1:] == (2, 2, 0)


def test_a_share_is_the_same_memory_in_every_geometry(path: Path) -> None:
    first, *_ = cells(path, budgets=parse_budgets(["50%"]))
    again, *counts = cells(path, budgets=parse_budgets(["50%"]), beta=200)
    assert counts == [2, 0, 0]
    assert [cell.budget_bytes for cell in again] == [2 * cell.budget_bytes for cell in first]


OTHERS = {
    "release": {"release": "last"},
    "size": {"stream": written("A5 B3 A4 C9 B3 A2")},
    "object": {"stream": written("A5 B3 A4 C9 A3 A1")},
    "time": {"stream": written("A5 B3 A4 C9 B3 A1@7")},
    "no time": {"stream": build_stream(STREAM.objects, STREAM.tokens, 3)},
    "no log": {"logged": None},
    "cached": {"logged": Logged(np.array([0, 3, -1, 0, 2, 0], np.int64), LOGGED.way)},
    "way": {"logged": Logged(LOGGED.cached, np.array([0, 5, 12, 19, 20, 21], np.int8))},
}


@pytest.mark.parametrize("other", OTHERS)
def test_another_stream_is_another_run(path: Path, other: str) -> None:
    cells(path)
    assert cells(path, **OTHERS[other])[1:] == (0, 4, 0)


def test_other_code_is_another_run_and_the_old_goes(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cells(path)
    size, code = path.stat().st_size, code_hash()
    monkeypatch.setattr(journals, "code_hash", lambda: "0" * len(code))
    assert cells(path)[1:] == (0, 4, 0)
    assert path.stat().st_size == size


def test_the_hash_of_the_code_reads_every_policy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = Path(next(iter(policies.__path__)))
    for policy in folder.glob("*.py"):
        (tmp_path / policy.name).write_bytes(policy.read_bytes())
    monkeypatch.setattr(policies, "__path__", [str(tmp_path)])
    assert code_hash.__wrapped__() == code_hash()
    with (tmp_path / "mrr.py").open("a") as file:
        file.write("\n")
    assert code_hash.__wrapped__() != code_hash()


def test_the_hash_of_the_code_reads_all_that_policies_use() -> None:
    imported = set()
    for path in Path(next(iter(policies.__path__))).glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] in OURS:
                imported.add(node.module)
    read = {module.__name__ for module in CODE}
    # The first compiles, the second words errors.
    odd = {"replay.residency.compiled", "telemetry.errors"}
    assert {name for name in imported if not name.startswith("replay.residency.policies")} <= read | odd


def test_a_line_that_was_cut_is_counted_and_its_cell_replayed(path: Path) -> None:
    whole, *_ = cells(path)
    content = path.read_bytes()
    last = content.rstrip(b"\n").rfind(b"\n") + 1
    for cut in (last + 1, last + 40, len(content) - 1):
        path.write_bytes(content[:cut])
        assert cells(path) == (whole, 3, 1, 1)
        assert path.read_bytes() == content
    path.write_bytes(content[:last])
    assert cells(path) == (whole, 3, 1, 0)


def test_a_changed_byte_never_changes_a_result(path: Path) -> None:
    whole, *_ = cells(path)
    content = path.read_bytes()
    for place in range(0, len(content), 41):
        changed = bytearray(content)
        changed[place] ^= 1
        path.write_bytes(changed)
        with open_journal(path) as journal:
            assert journal.damaged >= 1
            kept = journal.of(STREAM, LOGGED, "never")
            for cell in whole:
                found = kept.find(cell.policy, cell.budget_units)
                assert found is None or (found.outcome.misses, found.beside_log) == (cell.misses, cell.beside_log)
        assert set(path.read_bytes().splitlines()) < set(content.splitlines())


def test_a_run_that_compared_nothing_is_not_one_that_did_not_compare(path: Path) -> None:
    with open_journal(path) as journal:
        journal.of(STREAM, LOGGED, "last").keep("lru", 1, Run(Outcome(2, 3, {"promotions": 1}), {}))
        journal.of(STREAM, None, "last").keep("lru", 1, Run(Outcome(2, 3)))
    with open_journal(path) as journal:
        assert journal.of(STREAM, LOGGED, "last").find("lru", 1) == Run(Outcome(2, 3, {"promotions": 1}), {})
        assert journal.of(STREAM, None, "last").find("lru", 1) == Run(Outcome(2, 3))
        assert journal.of(STREAM, None, "last").find("lru", 2) is None


def test_an_empty_stream_has_a_hash() -> None:
    empty = build_stream(np.empty(0, np.int32), np.empty(0, np.int64), 0)
    assert stream_hash(empty, None) != stream_hash(STREAM, None)
