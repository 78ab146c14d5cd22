"""Where the environment with vLLM is."""

from __future__ import annotations

from pathlib import Path

import pytest

from replay.live.server import live_python
from telemetry.errors import UsageError


@pytest.fixture(scope="session")
def live_interpreter() -> Path:
    try:
        return live_python()
    except UsageError as error:
        pytest.skip(str(error))
