"""The live replay on a GPU: Tenure's sessions and sizes under no tier, lru and gate, within ten minutes.

    python pipelines/replay_live.py --python /opt/vllm/bin/python --out gpu

Llama-3.1-8B by its geometry alone, as its weights decide nothing here (`--load-format dummy`), 6 GB of device KV and a
tier of 8 GB: Tenure's server. Sessions at half of Tenure's time, 40 of its 100, so that three conditions take about
nine minutes with their starts. The environment of --python has vLLM for CUDA and the plugin (`pip install --no-deps
./replay/gate`), and the configuration and tokenizer of the model must be at hand: servers ask no network. What follows
on the command line wins over the recipe.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence

from pipelines.live import main as live

__all__ = ["RECIPE", "main"]

#: 2,861 blocks of 16 tokens * 131,072 bytes are 6.0 GB.
RECIPE = """--workload swe --sessions 40 --seeds 1 --rate 1 --time-scale 0.5 --conditions none,lru,gate --tier 8GB
    --set gate.slack_s=2.5 --set gate.live_ttl_s=10 --serve meta-llama/Llama-3.1-8B --geometry llama-3.1-8b
    --platform h100-tenure --block-size 16 --device-blocks 2861 --max-seqs 64 --max-batched-tokens 8192
    --server-args '--load-format dummy --dtype bfloat16 --gpu-memory-utilization 0.9'"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the recipe; returns the exit code."""
    given = sys.argv[1:] if argv is None else argv
    return live([*shlex.split(RECIPE), *given], prog="replay_live", process=argv is None)


if __name__ == "__main__":
    sys.exit(main())
