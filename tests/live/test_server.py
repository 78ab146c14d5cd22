"""Starting, watching and stopping a server, with stand-ins that behave well and badly."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

import pytest

from replay.live.scrape import scrape
from replay.live.server import PYTHON_VARIABLE, Launch, LiveServer, ServerError, live_python
from telemetry.errors import UsageError

STAND_IN = '''
import os, signal, subprocess, sys, time
from http.server import BaseHTTPRequestHandler, HTTPServer

how = os.environ["HOW"]
print("loading \\x1b[1mthe model")
if how == "dies":
    sys.exit("no such model")
if how == "hangs":
    time.sleep(600)
if how == "deaf":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
open(os.environ["CHILD"], "w").write(str(child.pid))


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        if self.path == "/crash":
            os._exit(7)
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"up 1\\n" if self.path == "/metrics" else b"")


HTTPServer(("127.0.0.1", int(sys.argv[sys.argv.index("--port") + 1])), Handler).serve_forever()
'''


@pytest.fixture
def launch(tmp_path: Path):
    package = tmp_path / "site" / "vllm" / "entrypoints" / "openai"
    package.mkdir(parents=True)
    (package / "api_server.py").write_text(STAND_IN, encoding="utf-8")

    def make(how: str) -> Launch:
        return Launch(Path(sys.executable), "nothing", environment={
            "PYTHONPATH": str(tmp_path / "site"), "HOW": how, "CHILD": str(tmp_path / "child"),
            "PYTHONUNBUFFERED": "1"})

    return make


def gone(pid: int) -> bool:
    """Whether a process has ended; a zombie whose parent is gone is waited for by init."""
    for _ in range(100):
        try:
            if Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] == "Z":
                return True
        except OSError:
            return True
        time.sleep(0.05)
    return False


def child(tmp_path: Path) -> int:
    return int((tmp_path / "child").read_text(encoding="utf-8"))


def test_it_starts_answers_and_leaves_nothing(launch, tmp_path: Path):
    with LiveServer(launch("well"), tmp_path / "log", ready_s=30) as server:
        server.check()
        assert scrape(server.url).total("up") == 1
        folder = Path(server._folder.name)
        assert folder.is_dir()
    assert server.exit_code == -15
    assert not server.killed
    assert gone(server.pid)
    assert gone(child(tmp_path))
    assert not folder.exists()
    assert server.stop() == -15


def test_one_that_dies_shows_its_last_lines(launch, tmp_path: Path):
    with pytest.raises(ServerError, match="ended with exit code 1 before it was ready") as caught:
        LiveServer(launch("dies"), tmp_path / "log", ready_s=30)
    assert "loading \\x1b[1mthe model\nno such model" in str(caught.value)


def test_one_that_hangs_is_given_up(launch, tmp_path: Path):
    started = time.monotonic()
    with pytest.raises(ServerError, match=r"not ready within 1\.5 s"):
        LiveServer(launch("hangs"), tmp_path / "log", ready_s=1.5)
    assert time.monotonic() - started < 20


def test_one_that_is_deaf_is_killed_with_its_children(launch, tmp_path: Path):
    server = LiveServer(launch("deaf"), tmp_path / "log", ready_s=30)
    assert server.stop(grace_s=0.5) == -9
    assert server.killed
    assert gone(server.pid)
    assert gone(child(tmp_path))


def test_a_death_in_between_is_noticed(launch, tmp_path: Path):
    with LiveServer(launch("well"), tmp_path / "log", ready_s=30) as server:
        with pytest.raises(OSError, match=r".*"):
            scrape_crash(server.url)
        deadline = time.monotonic() + 10
        while server.alive and time.monotonic() < deadline:
            time.sleep(0.05)
        with pytest.raises(ServerError, match="died with exit code 7"):
            server.check()
    assert gone(child(tmp_path))


def scrape_crash(url: str) -> None:
    import urllib.request

    urllib.request.urlopen(f"{url}/crash", timeout=10).read()


def test_an_error_in_the_block_stops_it(launch, tmp_path: Path):
    with pytest.raises(KeyError), LiveServer(launch("well"), tmp_path / "log", ready_s=30) as server:
        raise KeyError
    assert gone(server.pid)


def test_the_launch_line():
    launch = Launch(Path("/env/bin/python"), Path("/model"), connector={"spec_name": "s", "cpu_bytes_to_use": 1},
                    arguments=("--seed", "3"))
    line = launch.line(25_000)
    assert line[:7] == ["/env/bin/python", "-m", "vllm.entrypoints.openai.api_server", "--model", "/model",
                        "--served-model-name", "tiny"]
    assert line[line.index("--port") + 1] == "25000"
    assert line[-2:] == ["--seed", "3"]
    assert json.loads(line[line.index("--kv-transfer-config") + 1]) == {
        "kv_connector": "OffloadingConnector", "kv_role": "kv_both",
        "kv_connector_extra_config": {"spec_name": "s", "cpu_bytes_to_use": 1}}
    assert "--kv-transfer-config" not in Launch(Path("p"), "m").line(1)


def test_our_paths_do_not_leak_into_it(launch, tmp_path: Path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", "/elsewhere")
    monkeypatch.setenv("VLLM_CPU_KVCACHE_SPACE", "")
    with LiveServer(launch("well"), tmp_path / "log", ready_s=30) as server:
        environment = dict(item.split("=", 1) for item in
                           Path(f"/proc/{server.pid}/environ").read_text(encoding="utf-8").split("\0") if item)
    assert environment["PYTHONPATH"] == str(tmp_path / "site")
    assert "VLLM_CPU_KVCACHE_SPACE" not in environment
    assert environment["HF_HUB_OFFLINE"] == "1"
    # Scratch files of a server end with it.
    assert environment["TMPDIR"] == environment["VLLM_RPC_BASE_PATH"] == server._folder.name


def test_which_interpreter(monkeypatch, tmp_path: Path):
    monkeypatch.setenv(PYTHON_VARIABLE, sys.executable)
    assert live_python() == Path(sys.executable)
    assert live_python(sys.executable) == Path(sys.executable)
    with pytest.raises(UsageError, match=r"nothing \(as given\)\. `make live-env` makes"):
        live_python(str(tmp_path / "nothing"))
    monkeypatch.setenv(PYTHON_VARIABLE, os.devnull)
    with pytest.raises(UsageError, match=r"/dev/null \(by KVCENSUS_LIVE_PYTHON\)"):
        live_python()
