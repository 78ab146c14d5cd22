"""Where the environment with vLLM is."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from replay.live.server import PYTHON_VARIABLE, live_python
from telemetry.errors import UsageError


@pytest.fixture(scope="session")
def live_interpreter() -> Path:
    """Skips where there is none; one that was named must be there."""
    try:
        return live_python()
    except UsageError as error:
        if PYTHON_VARIABLE in os.environ:
            raise
        pytest.skip(str(error))
