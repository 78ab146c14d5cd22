"""The plugin against vLLM's own classes: `inside_vllm.py`, in the environment that has vLLM."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

HERE = Path(__file__).resolve().parent
GATE = HERE.parents[1] / "replay" / "gate"


def test_decisions_copies_metrics_and_entrance(live_interpreter: Path):
    environment = {**os.environ, "PYTHONPATH": str(GATE), "VLLM_LOGGING_LEVEL": "ERROR"}
    done = subprocess.run([live_interpreter, "-m", "unittest", "-v", "inside_vllm"], cwd=HERE, env=environment,
                          text=True, capture_output=True, timeout=300)
    assert done.returncode == 0, done.stderr[-6000:]
    ran = re.search(r"^Ran (\d+) tests", done.stderr, re.MULTILINE)
    assert ran is not None
    assert int(ran[1]) >= 24
