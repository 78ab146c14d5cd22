"""The committed windows are what the project's own generator makes, and their README tells the truth about them."""

from __future__ import annotations

import importlib.util
import json
import re
import shlex
import shutil
from pathlib import Path
from types import ModuleType

import duckdb
import pyarrow.parquet as pq
import pytest

from pipelines.generate_options import parse_generate

FOLDER = Path(__file__).parents[1] / "sample_data"
README = (FOLDER / "README.md").read_text(encoding="utf-8")
PROFILES = ("research", "assist", "chat")
_COUNTS = """
    select count(*) as calls, count(session_id) as sessioned, count(distinct session_id) as sessions,
           strftime(min(timestamp), '%Y-%m-%d') as begins
    from read_parquet(?)"""
_BUSIEST = """
    select count(session_id) as calls, count(distinct session_id) as sessions from read_parquet(?)
    group by epoch_us(timestamp) // 3600000000 order by calls desc, min(timestamp) limit 1"""


@pytest.fixture(scope="module")
def windows() -> ModuleType:
    """The script, loaded from its path: the sample is not a package."""
    spec = importlib.util.spec_from_file_location("sample_data_windows", FOLDER / "windows.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("profile", PROFILES)
def test_a_window_is_what_its_command_makes(windows: ModuleType, profile: str, tmp_path: Path) -> None:
    windows.make(profile, tmp_path / "made")
    assert windows.difference(tmp_path / "made", FOLDER / profile) is None


@pytest.mark.parametrize(("spoil", "found"), [
    ("rows", "736 calls stand in one of the two only; the window has 36,914"),
    ("token", "736 calls stand in one of the two only; the window has 36,914"),
    ("seed", "its trace.json says seed = '2', not '1'"),
    ("classes", "its classes.toml is another"),
    ("file", "it has no calls.parquet"),
])
def test_check_notices_another_window(windows: ModuleType, spoil: str, found: str, tmp_path: Path) -> None:
    made, other = FOLDER / "research", tmp_path / "research"
    shutil.copytree(made, other)
    calls = pq.read_table(other / "calls.parquet")
    if spoil == "rows":
        pq.write_table(calls.slice(736), other / "calls.parquet")
    elif spoil == "token":  # a changed call stands on both sides
        changed = [value + (i < 368) for i, value in enumerate(calls["context_tokens"].to_pylist())]
        position = calls.column_names.index("context_tokens")
        pq.write_table(calls.set_column(position, calls.schema.field(position), [changed]), other / "calls.parquet")
    elif spoil == "seed":
        about = json.loads((other / "trace.json").read_text(encoding="utf-8")) | {"seed": "2"}
        (other / "trace.json").write_text(json.dumps(about), encoding="utf-8")
    elif spoil == "classes":
        (other / "classes.toml").write_text("", encoding="utf-8")
    else:
        (other / "calls.parquet").unlink()
    assert windows.difference(made, other) == found


def test_a_call_that_differs_on_another_machine_is_no_difference(windows: ModuleType, tmp_path: Path) -> None:
    shutil.copytree(FOLDER / "research", tmp_path / "research")
    calls = pq.read_table(FOLDER / "research" / "calls.parquet")
    pq.write_table(calls.slice(1), tmp_path / "research" / "calls.parquet")
    assert windows.difference(FOLDER / "research", tmp_path / "research") is None


@pytest.mark.parametrize("profile", PROFILES)
def test_readme_and_trace_say_the_command(windows: ModuleType, profile: str, tmp_path: Path) -> None:
    command = f"kvcensus generate --profile {profile} {windows.WINDOWS[profile]}"
    assert f"| `{profile}/` | `{command}` |" in README
    about = json.loads((FOLDER / profile / "trace.json").read_text(encoding="utf-8"))
    assert about["command"] == parse_generate([*shlex.split(command)[2:], "--out", str(tmp_path / "new")]).command


@pytest.mark.parametrize("profile", PROFILES)
def test_readme_counts_are_right(profile: str) -> None:
    path = str(FOLDER / profile / "calls.parquet")
    with duckdb.connect() as connection:
        connection.execute("set timezone = 'UTC'")
        [(calls, sessioned, sessions, begins)] = connection.execute(_COUNTS, [path]).fetchall()
        [busiest] = connection.execute(_BUSIEST, [path]).fetchall()
    stated = re.search(rf"^\| `{profile}` \| (.*) \|$", README, re.MULTILINE)
    assert stated
    assert stated[1].split(" | ") == [begins, *(f"{n:,}" for n in (calls, sessioned, sessions, *busiest))]
    assert busiest[0] >= 500


def test_the_windows_are_small() -> None:
    assert sum(path.stat().st_size for profile in PROFILES for path in (FOLDER / profile).iterdir()) < 3_000_000
