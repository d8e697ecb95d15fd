"""/health and /ready, asked from another thread than the loop that they are about."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from barnabas.telemetry import probes
from barnabas.telemetry.http_server import Request, Response
from barnabas.telemetry.probes import Probes

ASKED = Request("GET", "/", {})


class Node:
    def __init__(self) -> None:
        self.phase: str | None = None
        self.identity: dict[str, Any] = {"node_id": 1}
        self.reasons: list[str] = []
        self.asked_on: threading.Thread | None = None

    def problems(self) -> list[str]:
        self.asked_on = threading.current_thread()
        return self.reasons


class Loop:
    """A node's loop on a thread of its own, which can be blocked."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever)
        self.thread.start()
        self.unblock = threading.Event()

    def block(self) -> None:
        self.loop.call_soon_threadsafe(self.unblock.wait)

    def end(self) -> None:
        self.unblock.set()
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()
        self.loop.close()


@pytest.fixture
def loop() -> Iterator[Loop]:
    loop = Loop()
    yield loop
    loop.end()


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probes, "LOOP_SECONDS_MAX", 0.1)


def said(response: Response) -> tuple[int, dict[str, Any]]:
    assert response.content_type == "application/json"
    return response.status.value, json.loads(response.body)


def health(loop: Loop, node: Node) -> tuple[int, dict[str, Any]]:
    return said(asyncio.run(Probes(loop.loop, node).health(ASKED)))


def ready(loop: Loop, node: Node) -> tuple[int, dict[str, Any]]:
    return said(asyncio.run(Probes(loop.loop, node).ready(ASKED)))


def test_a_loop_that_turns_is_healthy(loop: Loop) -> None:
    status, body = health(loop, Node())
    assert (status, body["status"], body["node_id"]) == (200, "alive", 1)
    assert body["loop_seconds"] >= 0


def test_a_loop_that_does_not_turn_is_neither_healthy_nor_ready(loop: Loop, impatient: None) -> None:
    loop.block()
    assert health(loop, Node())[0] == 503
    status, body = ready(loop, Node())
    assert status == 503
    assert "event loop" in body["reasons"][0]


def test_a_node_that_starts_is_healthy_although_its_loop_is_blocked(loop: Loop, impatient: None) -> None:
    node = Node()
    node.phase = "The node starts."
    loop.block()
    assert health(loop, node)[0] == 200
    status, body = ready(loop, node)
    assert (status, body["reasons"]) == (503, ["The node starts."])


def test_a_node_without_problems_is_ready(loop: Loop) -> None:
    node = Node()
    status, body = ready(loop, node)
    assert (status, body["status"], body["reasons"]) == (200, "ready", [])
    assert node.asked_on is loop.thread


def test_a_node_with_problems_says_them(loop: Loop) -> None:
    node = Node()
    node.reasons = ["The broker is fenced."]
    status, body = ready(loop, node)
    assert (status, body["status"], body["reasons"]) == (503, "not ready", ["The broker is fenced."])


def test_a_closed_loop_is_not_healthy() -> None:
    loop = Loop()
    loop.end()
    assert health(loop, Node())[0] == 503
