"""The committed sample is what its script makes, and its README tells the truth about it."""

from __future__ import annotations

import csv
import gzip
import importlib.util
import re
import sys
from collections import Counter
from datetime import datetime
from pathlib import Path
from types import ModuleType

import pytest

FOLDER = Path(__file__).parents[1] / "sample_data"
Row = dict[str, str]


@pytest.fixture(scope="module")
def make() -> ModuleType:
    """The script, loaded from its path: the sample is not a package."""
    spec = importlib.util.spec_from_file_location("sample_data_make", FOLDER / "make.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up by name
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def rows() -> list[Row]:
    """The committed rows, every value as text."""
    with gzip.open(FOLDER / "calls.csv.gz", "rt", encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def is_time(text: str) -> bool:
    """Whether a text is a point in time; the project's own reader is left out on purpose."""
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return True


def are_tokens(row: Row) -> bool:
    """Whether the token counts of a row can be used."""
    return row["context_tokens"].isdigit() and row["output_tokens"].isdigit()


def readable(row: Row) -> bool:
    """Whether a row can be used."""
    return is_time(row["timestamp"]) and are_tokens(row)


def busiest_hour(rows: list[Row]) -> list[Row]:
    """Sessioned calls of the clock hour that has most of them."""
    kept = {r["call_id"]: r for r in rows if readable(r) and r["session_id"]}
    hours = Counter(r["timestamp"][:13] for r in kept.values())
    hour = max(sorted(hours), key=hours.__getitem__)
    return [r for r in kept.values() if r["timestamp"].startswith(hour)]


def count(rows: list[Row]) -> dict[str, int]:
    """What README.md states, recounted."""
    good = [r for r in rows if readable(r)]
    calls = list({r["call_id"]: r for r in good}.values())  # the last record of a call is the complete one
    sessions = Counter(r["session_id"] for r in calls if r["session_id"])
    models: dict[str, set[str]] = {}
    for r in calls:
        models.setdefault(r["session_id"], set()).add(r["model"])
    models.pop("", None)
    hour = busiest_hour(rows)
    return {
        "rows": len(rows),
        "rows with an impossible timestamp": sum(not is_time(r["timestamp"]) for r in rows),
        "rows with missing or negative tokens": sum(not are_tokens(r) for r in rows),
        "rows that repeat a call": len(good) - len(calls),
        "calls": len(calls),
        "calls without a session": sum(not r["session_id"] for r in calls),
        "sessions": len(sessions),
        "sessions of subagents": len({r["session_id"] for r in calls if r["parent_session_id"]}),
        "sessions of one call": sum(n == 1 for n in sessions.values()),
        "sessions with more than one model": sum(len(m) > 1 for m in models.values()),
        "models": len({r["model"] for r in calls}),
        "regions": len({r["region"] for r in calls} - {""}),
        "deployments": len({(r["region"], r["deployment"]) for r in calls if r["deployment"]}),
        "calls with unknown region and deployment": sum(not r["region"] for r in calls),
        "calls with unreported cached tokens": sum(not r["cached_tokens"] for r in calls),
        "calls with more cached than context tokens": sum(
            int(r["cached_tokens"] or 0) > int(r["context_tokens"]) for r in calls
        ),
        "failed calls": sum(r["status"] == "error" for r in calls),
        "calls in the busiest hour": len(hour),
        "sessions in the busiest hour": len({r["session_id"] for r in hour}),
    }


def test_committed_rows_are_what_the_script_makes(make: ModuleType, rows: list[Row]) -> None:
    assert rows == make.make_rows()


def test_encoding_is_repeatable_and_small(make: ModuleType) -> None:
    made = make.encode(make.make_rows())
    assert made == make.encode(make.make_rows())
    assert gzip.decompress(made) == gzip.decompress((FOLDER / "calls.csv.gz").read_bytes())
    assert len(made) < 400_000


@pytest.mark.parametrize("spoil", ["change", "remove"])
def test_check_notices_another_file(
    make: ModuleType, spoil: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "calls.csv.gz"
    monkeypatch.setattr(make, "SAMPLE", other)
    monkeypatch.setattr(sys, "argv", ["make.py", "--check"])
    other.write_bytes(make.encode(make.make_rows()))
    assert make.main() == 0
    if spoil == "change":
        other.write_bytes(make.encode(make.make_rows()[:-1]))
    else:
        other.unlink()
    assert make.main() == 1


def test_every_column_of_the_schema_is_there_and_used(rows: list[Row]) -> None:
    columns = {
        "session_id", "timestamp", "context_tokens", "cached_tokens", "output_tokens", "model", "turn_id",
        "user_initiated", "region", "deployment", "duration_ms", "parent_session_id", "call_id", "status",
    }  # fmt: skip
    assert set(rows[0]) == columns
    assert all(any(r[c] for r in rows) for c in columns)


def test_readme_counts_are_right(rows: list[Row]) -> None:
    text = (FOLDER / "README.md").read_text(encoding="utf-8")
    stated = re.findall(r"^\| ([a-z ]+) \| ([\d,]+) \|", text, re.MULTILINE)
    assert {what: int(n.replace(",", "")) for what, n in stated} == count(rows)


def test_shape_of_the_workload(rows: list[Row]) -> None:
    """Wide bands: what the tutorial relies on, so that another seed is noticed when it spoils the lesson."""
    calls = list({r["call_id"]: r for r in rows if readable(r) and r["session_id"]}.values())
    depth = sorted(Counter(r["session_id"] for r in calls).values())
    assert 8 <= depth[len(depth) // 2] <= 13
    known = [r for r in calls if r["cached_tokens"]]
    reuse = sum(int(r["cached_tokens"]) for r in known) / sum(int(r["context_tokens"]) for r in known)
    assert 0.70 <= reuse <= 0.80
    starts: dict[str, list[float]] = {}
    for r in calls:
        starts.setdefault(r["session_id"], []).append(datetime.fromisoformat(r["timestamp"]).timestamp())
    gaps = sorted(b - a for t in starts.values() for a, b in zip(sorted(t), sorted(t)[1:], strict=False))
    assert 6 <= gaps[len(gaps) // 2] <= 11
    assert sum(g > 3_600 for g in gaps) >= 20
    assert len({r["session_id"] for r in busiest_hour(rows)}) >= 60
