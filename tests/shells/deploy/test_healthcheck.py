"""The image's health check against a server that answers as a node does."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest

SCRIPT = Path(__file__).parents[3] / "deploy" / "docker" / "healthcheck.py"


class Node(BaseHTTPRequestHandler):
    status = 200

    def do_GET(self) -> None:
        self.send_response(self.status if self.path == "/ready" else 404)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def port() -> Iterator[int]:
    with HTTPServer(("127.0.0.1", 0), Node) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield server.server_port
        server.shutdown()
        thread.join()


def check(listener: str) -> int:
    environment = {**os.environ, "KAFKA_BARNABAS_PROMETHEUS_LISTENER": listener, "http_proxy": "http://127.0.0.1:1"}
    return subprocess.run([sys.executable, str(SCRIPT)], env=environment, check=False, capture_output=True).returncode


@pytest.mark.parametrize(("status", "code"), [(200, 0), (503, 1)])
def test_a_container_is_healthy_while_its_node_is_ready(port: int, monkeypatch: pytest.MonkeyPatch, status: int, code: int) -> None:
    monkeypatch.setattr(Node, "status", status)
    assert check(f"0.0.0.0:{port}") == code


def test_a_container_without_a_listening_node_is_unhealthy(port: int) -> None:
    assert check("127.0.0.1:1") == 1
    assert check("") == 1
