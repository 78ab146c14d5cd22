"""A server that answers like vLLM's completions without a model: it finds what an earlier prompt began with."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

BLOCK = 4


class FakeServer(ThreadingHTTPServer):
    """Listens on a port, by default a free one; `behave` says what it does with the n-th completion, counted from 1."""

    daemon_threads = True

    def __init__(self, port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.asked: list[dict[str, Any]] = []
        self.names: list[str] = []
        self.times: list[float] = []
        self.hits = 0
        self.behave = lambda count: "answer"
        self.closing = threading.Event()
        self._known: set[tuple[int, ...]] = set()
        self._lock = threading.Lock()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def handle_error(self, *_: object) -> None:
        """A client that went away is what is tested."""

    def take(self, body: dict[str, Any], name: str) -> tuple[int, int]:
        """Count a completion; returns its number and the cached tokens of its prompt, which it adds to the cache."""
        prompt = body["prompt"]
        with self._lock:
            self.asked.append(body)
            self.names.append(name)
            self.times.append(time.monotonic())
            cached = 0
            while cached + BLOCK < len(prompt) and tuple(prompt[:cached + BLOCK]) in self._known:
                cached += BLOCK
            self.hits += cached
            self._known |= {tuple(prompt[:end]) for end in range(BLOCK, len(prompt) + 1, BLOCK)}
            return len(self.asked), cached


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: FakeServer

    def log_message(self, *_: object) -> None:
        """Nothing."""

    def do_GET(self) -> None:
        metrics = f"# HELP nothing\nfake_total 1.0\nvllm:prefix_cache_hits_total {self.server.hits}.0\n"
        texts = {"/metrics": metrics.encode(), "/health": b"", "/version": b'{"version": "0"}'}
        text = texts.get(self.path, b"")
        self.send_response(200 if self.path in texts else 404)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        count, cached = self.server.take(body, self.headers["X-Request-Id"])
        behaviour = self.server.behave(count)
        if behaviour == "never":
            self.server.closing.wait(60)
        elif behaviour.isdigit():
            self.send_error(int(behaviour), "no", "something broke")
        else:
            self._stream(body, cached, behaviour)
        self.close_connection = True

    def _stream(self, body: dict[str, Any], cached: int, behaviour: str) -> None:
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        tokens = body["max_tokens"] - (behaviour == "short")
        for _ in range(tokens):
            self._event({"choices": [{"text": "w"}]})
        if behaviour == "cut":
            return
        details = {"cached_tokens": cached} if cached and behaviour != "silent" else None  # vLLM does not say 0
        self._event({"choices": [], "usage": {"prompt_tokens": len(body["prompt"]), "completion_tokens": tokens,
                                              "prompt_tokens_details": details}})
        self._chunk(b"data: [DONE]\n\n")
        self._chunk(b"")

    def _event(self, event: dict[str, Any]) -> None:
        self._chunk(f"data: {json.dumps(event)}\n\n".encode())

    def _chunk(self, text: bytes) -> None:
        self.wfile.write(f"{len(text):x}\r\n".encode() + text + b"\r\n")


@contextmanager
def fake_server() -> Iterator[FakeServer]:
    """A running one."""
    with FakeServer() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield server
        finally:
            server.closing.set()
            server.shutdown()
            thread.join()


def _serve(words: list[str]) -> None:
    """In the place of vLLM: what KVCENSUS_FAKE says, {condition: {"3": behaviour, ...}}; `exit` ends the process."""
    connector = words[words.index("--kv-transfer-config") + 1] if "--kv-transfer-config" in words else "{}"
    extra = json.loads(connector).get("kv_connector_extra_config", {})
    gate = extra.get("kvcensus_gate", {"policy": "none"})
    said = json.loads(os.environ.get("KVCENSUS_FAKE", "{}")).get(gate["policy"], {})
    print(f"the fake serves {gate['policy']}", flush=True)
    if "start" in said:
        sys.exit(said["start"])
    if "decision_log" in gate:
        with open(gate["decision_log"], "x", encoding="utf-8") as file:
            file.write('{"format":1,"block_bytes":32768}\n')

    def behave(count: int) -> str:
        behaviour = str(said.get(str(count), said.get("all", "answer")))
        if behaviour == "exit":
            print("the fake breaks down", flush=True)
            os._exit(7)
        return behaviour

    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    with FakeServer(int(words[words.index("--port") + 1])) as server:
        server.behave = behave
        server.serve_forever(poll_interval=0.05)


if __name__ == "__main__":
    _serve(sys.argv[1:])
