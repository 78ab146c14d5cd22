"""A vLLM server as a process of its own: started, awaited, watched, stopped.

It runs in an environment of its own, since vLLM pins what we use as well. `make live-env` makes one for the CPU.
"""

from __future__ import annotations

import ctypes
import json
import os
import random
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType

from telemetry.errors import InputError, UsageError, escaped

__all__ = ["HOST", "PYTHON_VARIABLE", "Launch", "LiveServer", "ServerError", "live_python"]

HOST = "127.0.0.1"
PYTHON_VARIABLE = "KVCENSUS_LIVE_PYTHON"
_DEFAULT_PYTHON = Path(__file__).resolve().parents[2] / ".venv-live" / "bin" / "python"
#: Below the ports that the system gives to outgoing connections: one of those could take it while the server loads.
_PORTS = range(20_000, 32_000)
_POLL_S = 0.2
#: Looked up before a fork, in which nothing should be loaded.
_PRCTL = getattr(ctypes.CDLL(None), "prctl", None)
_PR_SET_PDEATHSIG = 1
_LAST_LINES = 25


class ServerError(InputError):
    """The server did not start, died, or does not answer; the message ends with the last lines of its log."""


@dataclass(frozen=True)
class Launch:
    """What a server is started with.

    Attributes
    ----------
    python : Path
        Interpreter of the environment that has vLLM.
    model : Path or str
        Folder of the model, or a name that vLLM knows.
    name : str
        What requests call the model.
    max_model_len, block_tokens, device_blocks, max_seqs, max_batched_tokens : int
        Longest context, tokens of a block, blocks of the device pool, requests at a time, tokens of a step.
        max_model_len must fit in the device pool.
    connector : mapping or None
        `kv_connector_extra_config` of the offloading connector; None: a server without a tier.
    arguments : tuple of str
        More of the command line.
    environment : mapping
        Variables on top of ours.
    """

    python: Path
    model: Path | str
    name: str = "tiny"
    max_model_len: int = 1024
    block_tokens: int = 32
    device_blocks: int = 64
    max_seqs: int = 8
    max_batched_tokens: int = 2048
    connector: Mapping[str, object] | None = None
    arguments: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)

    def line(self, port: int) -> list[str]:
        """The command line. `python -m`: `vllm serve` asks for a distribution that the CPU build is not."""
        line = [str(self.python), "-m", "vllm.entrypoints.openai.api_server",
                "--model", str(self.model), "--served-model-name", self.name, "--host", HOST, "--port", str(port),
                "--dtype", "float32", "--max-model-len", str(self.max_model_len),
                "--block-size", str(self.block_tokens), "--num-gpu-blocks-override", str(self.device_blocks),
                "--max-num-seqs", str(self.max_seqs), "--max-num-batched-tokens", str(self.max_batched_tokens),
                "--enable-prefix-caching", "--enforce-eager", "--gpu-memory-utilization", "0.1",
                "--enable-prompt-tokens-details",
                "--distributed-executor-backend", "vllm.v1.executor.uniproc_executor.UniProcExecutor"]
        if self.connector is not None:
            transfer = {"kv_connector": "OffloadingConnector", "kv_role": "kv_both",
                        "kv_connector_extra_config": dict(self.connector)}
            line += ["--kv-transfer-config", json.dumps(transfer)]
        return [*line, *self.arguments]


def live_python(given: str | None = None) -> Path:
    """The interpreter of the environment with vLLM: as given, else by `KVCENSUS_LIVE_PYTHON`, else `.venv-live`.

    Raises
    ------
    UsageError
        There is none.
    """
    named = given or os.environ.get(PYTHON_VARIABLE)
    python = Path(named) if named else _DEFAULT_PYTHON
    if not python.is_file() or not os.access(python, os.X_OK):
        whence = "as given" if given else f"by {PYTHON_VARIABLE}" if named else "the default"
        raise UsageError(f"no interpreter of an environment with vLLM at {escaped(str(python))} ({whence}). "
                         f"`make live-env` makes .venv-live; {PYTHON_VARIABLE} names another.")
    return python


class LiveServer:
    """A running server; leave the `with` block, or call `stop`, and nothing of it is left.

    Parameters
    ----------
    launch : Launch
    log : Path
        File for what the server writes.
    ready_s : float
        Seconds that it may take until it answers.

    Attributes
    ----------
    url : str
    pid : int
    exit_code : int or None
        Once stopped; negative: the signal that ended it.
    killed : bool
        Whether SIGTERM was not enough.

    Raises
    ------
    ServerError
        It died, or did not answer in time; it is gone then.
    """

    def __init__(self, launch: Launch, log: Path, ready_s: float = 180.0):
        self.launch = launch
        self.log = log
        self.killed = False
        self.exit_code: int | None = None
        port = _free_port()
        self.url = f"http://{HOST}:{port}"
        # Its sockets and scratch files lie here, so that even a server that is killed leaves none.
        self._folder = TemporaryDirectory(prefix="kvc-")
        with log.open("wb") as file:
            # A group of its own: its children end with it, and a Ctrl-C is for us alone.
            self._process = subprocess.Popen(launch.line(port), stdin=subprocess.DEVNULL, stdout=file, stderr=file,
                                             cwd=self._folder.name, env=self._environment(), start_new_session=True,
                                             preexec_fn=_end_with_parent)
        self.pid = self._process.pid
        try:
            self._await(ready_s)
        except BaseException:
            self.stop(grace_s=2.0)
            raise

    def __enter__(self) -> LiveServer:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self.stop()

    @property
    def alive(self) -> bool:
        """Whether its process runs."""
        return self._process.poll() is None

    def check(self, timeout_s: float = 10.0) -> None:
        """Ask whether it is well.

        Raises
        ------
        ServerError
            It died, or does not answer within `timeout_s`.
        """
        if not self.alive:
            raise self._error(f"the server has died with exit code {self._process.returncode}")
        problem = self._ask(timeout_s)
        if problem is not None:
            raise self._error(f"the server does not answer: {problem}")

    def last_lines(self, count: int = _LAST_LINES) -> str:
        """The end of its log."""
        lines = self.log.read_text(encoding="utf-8", errors="replace").splitlines()
        return "\n".join(escaped(line) for line in lines[-count:])

    def stop(self, grace_s: float = 30.0) -> int:
        """SIGTERM; after `grace_s` SIGKILL for all its processes. Returns the exit code; once is enough."""
        if self.exit_code is not None:
            return self.exit_code
        if self.alive:
            self._process.send_signal(signal.SIGTERM)
            try:
                self._process.wait(grace_s)
            except subprocess.TimeoutExpired:
                self.killed = True
        # What has outlived its parent, or the parent itself. The group's number is not given anew before it is empty.
        with suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        self.exit_code = self._process.wait()
        self._folder.cleanup()
        return self.exit_code

    def _environment(self) -> dict[str, str]:
        # Our own PYTHONPATH leads to other versions of what it needs. vLLM reads an empty number as an error.
        ours = {name: value for name, value in os.environ.items()
                if name not in ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "VLLM_CPU_KVCACHE_SPACE")}
        # One thread, bound to no core: several servers share few cores, and threads that wait for each other at every
        # operation then hardly run.
        return ours | {"OMP_NUM_THREADS": "1", "VLLM_CPU_OMP_THREADS_BIND": "nobind", "HF_HUB_OFFLINE": "1",
                       "VLLM_NO_USAGE_STATS": "1", "DO_NOT_TRACK": "1", "VLLM_RPC_BASE_PATH": self._folder.name,
                       "TMPDIR": self._folder.name, **self.launch.environment}

    def _await(self, ready_s: float) -> None:
        deadline = time.monotonic() + ready_s
        while self._ask(timeout_s=5.0) is not None:
            if not self.alive:
                raise self._error(f"the server ended with exit code {self._process.returncode} before it was ready")
            if time.monotonic() > deadline:
                raise self._error(f"the server was not ready within {ready_s:g} s")
            time.sleep(_POLL_S)

    def _ask(self, timeout_s: float) -> str | None:
        """What is wrong with its answer, or None."""
        try:
            with urllib.request.urlopen(f"{self.url}/health", timeout=timeout_s):
                return None
        except (urllib.error.URLError, OSError) as error:
            return str(error)

    def _error(self, what: str) -> ServerError:
        return ServerError(f"{what}. Its log, {escaped(str(self.log))}, ends with:\n{self.last_lines()}")


def _end_with_parent() -> None:
    """In the child: SIGTERM when the thread that started it is gone, even if that was killed; Linux alone has this."""
    if _PRCTL is not None:
        _PRCTL(_PR_SET_PDEATHSIG, signal.SIGTERM)


def _free_port() -> int:
    """A port that nobody listens on."""
    for port in random.sample(_PORTS, 100):
        with socket.socket() as probe:
            try:
                probe.bind((HOST, port))
            except OSError:
                continue
            return port
    raise ServerError(f"no free port among 100 of {_PORTS.start} to {_PORTS.stop - 1} on {HOST}.")
