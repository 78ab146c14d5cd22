"""Make the committed windows: traces of kvcensus' own generator, each in a folder of its profile's name.

    python sample_data/windows.py           makes them anew
    python sample_data/windows.py --check   exits 1 when a committed window is not what its command makes

The check allows for another machine, where the last digit of a logarithm can differ, and with it a call and those
that follow it in the session: a hundredth of the calls may differ. In practice none does.
"""

from __future__ import annotations

import argparse
import json
import shlex
import shutil
import sys
import tempfile
from pathlib import Path

import duckdb

from pipelines.cli import main as kvcensus

HERE = Path(__file__).parent
#: Profile, which names the folder, and what `kvcensus generate` is told beside it.
WINDOWS = {
    "research": "--seed 1 --sessions 1600 --days 2",
    "assist": "--seed 1 --sessions 2000 --days 2",
    "chat": "--seed 1 --sessions 3000",
}
MOST_DIFFERENT = 0.01
_DIFFERENT = """
    select count(*) from (
        (select * from read_parquet($made) except all select * from read_parquet($committed))
        union all
        (select * from read_parquet($committed) except all select * from read_parquet($made)))"""


def make(profile: str, out: Path) -> None:
    """Generate one window into a new folder."""
    code = kvcensus(["generate", "--profile", profile, *shlex.split(WINDOWS[profile]), "--out", str(out)])
    if code:
        raise SystemExit(code)


def difference(made: Path, committed: Path) -> str | None:
    """What tells a committed window from one that was just made; None where nothing does."""
    for name in ("calls.parquet", "classes.toml", "trace.json"):
        if not (committed / name).is_file():
            return f"it has no {name}"
    if _text(made, "classes.toml") != _text(committed, "classes.toml"):
        return "its classes.toml is another"
    ours, theirs = (json.loads(_text(folder, "trace.json")) for folder in (made, committed))
    for key in ("profile", "seed", "command"):
        if ours[key] != theirs[key]:
            return f"its trace.json says {key} = {theirs[key]!r}, not {ours[key]!r}"
    files = {"made": str(made / "calls.parquet"), "committed": str(committed / "calls.parquet")}
    with duckdb.connect() as connection:
        [(calls,)] = connection.execute("select count(*) from read_parquet($made)", {"made": files["made"]}).fetchall()
        [(different,)] = connection.execute(_DIFFERENT, files).fetchall()
    if different > MOST_DIFFERENT * calls:
        return f"{different:,} calls stand in one of the two only; the window has {calls:,}"
    return None


def _text(folder: Path, name: str) -> str:
    return (folder / name).read_text(encoding="utf-8")


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(description="make the committed windows")
    parser.add_argument("--check", action="store_true", help="compare with the committed windows instead")
    check, wrong = parser.parse_args().check, 0
    with tempfile.TemporaryDirectory() as folder:
        for profile in WINDOWS:
            made, committed = Path(folder) / profile, HERE / profile
            make(profile, made)
            if check:
                found = difference(made, committed)
                wrong += found is not None
                print(f"{profile}: {'as its command makes it' if found is None else found}", file=sys.stderr)
            else:
                shutil.rmtree(committed, ignore_errors=True)
                shutil.copytree(made, committed)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
