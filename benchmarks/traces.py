"""Traces to measure on: the project's own generator makes them, once, in build/.

    python -m benchmarks.traces 17800000     a trace of the profile research with about so many calls

`kvcensus generate` gives the same calls for the same seed, so two people measure on the same trace.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
from pathlib import Path

import duckdb

ROOT = Path(__file__).resolve().parent.parent
#: The classes of the generator's models of this profile.
CLASSES = ROOT / "sample_data" / "research" / "classes.toml"
#: Calls of a session inside the window: 1,958,910 of 80,000 sessions.
CALLS_A_SESSION = 24.5
# An id in no order a call; one call in a hundred was logged twice, first while it streamed.
_WITH_IDS = """
    copy (
        select * exclude (part) replace (output_tokens // part as output_tokens)
        from (
            select *, unnest(case when call_id < '028f5c' then [4, 1] else [1] end) as part
            from (
                select * exclude (file_row_number), left(md5(cast(file_row_number as varchar)), 16) as call_id
                from read_parquet($trace, file_row_number = true)
            )
        )
    ) to '{out}' (format parquet, compression zstd)"""


def trace_of(calls: int) -> Path:
    """A trace of about so many calls."""
    path = ROOT / "build" / f"research-{calls}.parquet"
    if not path.exists():
        partial = path.with_suffix(".partial")
        shutil.rmtree(partial, ignore_errors=True)
        sessions = max(round(calls / CALLS_A_SESSION), 1)
        subprocess.run([sys.executable, "-m", "pipelines.cli", "generate", "--profile", "research", "--seed", "1",
                        "--sessions", str(sessions), "--out", str(partial)], check=True, stdout=subprocess.DEVNULL)
        (partial / "calls.parquet").rename(path)
        shutil.rmtree(partial)
    return path


def trace_with_ids(calls: int) -> Path:
    """The same with call ids, one in a hundred of them twice."""
    trace = trace_of(calls)
    path = trace.with_name(f"{trace.stem}-ids.parquet")
    if not path.exists():
        partial = path.with_suffix(".partial")
        with duckdb.connect() as connection:
            connection.execute(_WITH_IDS.format(out=str(partial).replace("'", "''")), {"trace": str(trace)})
        partial.rename(path)
    return path


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description="make a trace to measure on")
    parser.add_argument("calls", type=int)
    print(trace_of(parser.parse_args().calls))


if __name__ == "__main__":
    main()
