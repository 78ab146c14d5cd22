"""Measure the committed live results: the ladder of tier policies on real vLLM servers of this machine's CPU.

    python sample_data/live.py --out live      about ten minutes; goes on where a run was stopped

Raw results go to --out, and what the numbers come from, compressed, to sample_data/live. Times are those of the
machine; hits and bytes hardly depend on it. A tenth of Tenure's time and a twentieth of its tokens: device pool and
tier stand to the sessions as 6 GB and 8 GB do there.
"""

from __future__ import annotations

import argparse
import shlex
import sys
from pathlib import Path

from pipelines.cli import main as kvcensus
from replay.live.packing import pack

HERE = Path(__file__).parent
LADDER = """--workload swe --sessions 60 --seeds 2 --rate 5 --token-scale 0.05 --time-scale 0.1 --tier 3MB
    --device-blocks 72 --max-seqs 16 --conditions none,lru,lru_reclaim,gate_tags_off,job_aware,gate
    --set gate_tags_off.slack_s=0.5 --set gate_tags_off.live_ttl_s=2 --set job_aware.slack_s=0.5
    --set job_aware.live_ttl_s=2 --set job_aware.near_s=0.02 --set gate.slack_s=0.5 --set gate.live_ttl_s=2"""


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(description="measure the committed live results")
    parser.add_argument("--out", type=Path, required=True, help="where raw results go")
    out = parser.parse_args().out
    code = kvcensus(["live", *shlex.split(LADDER), "--out", str(out)])
    if code == 0:
        pack(out, HERE / "live")
    return code


if __name__ == "__main__":
    sys.exit(main())
