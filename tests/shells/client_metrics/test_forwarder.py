"""Pushes on their way to a collector that is there, refuses, is busy, or is down."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from barnabas.client_metrics import forwarder as forwarding
from barnabas.client_metrics.forwarder import Forwarder
from barnabas.telemetry.catalogue import CLIENT_METRICS_FORWARDED, CLIENT_METRICS_NOT_FORWARDED
from barnabas.telemetry.logs import EventLog
from barnabas.telemetry.metrics import Metrics
from barnabas.telemetry.otlp_post import Endpoint
from peers.ports import free_port
from tests.collector import collector
from tests.waiting import until_async


class Sending:
    def __init__(self, url: str, **headers: str) -> None:
        self.metrics = Metrics()
        self.forwarder = Forwarder(Endpoint(url, headers).post, self.metrics, EventLog("FATAL"))

    def counted(self) -> tuple[int, int, int]:
        """Forwarded, displaced, refused."""
        counter = self.metrics.counter
        return (
            counter(CLIENT_METRICS_FORWARDED).value,
            counter(CLIENT_METRICS_NOT_FORWARDED, "waiting").value,
            counter(CLIENT_METRICS_NOT_FORWARDED, "refused").value,
        )


def run(scenario: Callable[[], Awaitable[Any]]) -> None:
    asyncio.run(scenario())  # type: ignore[arg-type]


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forwarding, "BACKOFF_SECONDS", 0.01)


def test_a_push_is_posted_with_its_headers() -> None:
    async def scenario() -> None:
        with collector() as there:
            sending = Sending(there.url, Authorization="Bearer x")
            sending.forwarder.offer(b"push")
            await until_async(lambda: sending.counted() == (1, 0, 0), "the push is forwarded")
            ((path, headers, body),) = there.requests
            assert (path, body) == ("/v1/metrics", b"push")
            assert headers["Content-Type"] == "application/x-protobuf"
            assert headers["Authorization"] == "Bearer x"
            sending.forwarder.stop()

    run(scenario)


def test_pushes_that_wait_are_joined() -> None:
    async def scenario() -> None:
        with collector() as there:
            sending = Sending(there.url)
            for number in range(100):
                sending.forwarder.offer(b"%02d" % number)
            await until_async(lambda: sending.counted() == (100, 0, 0), "all are forwarded")
            assert b"".join(there.bodies) == b"".join(b"%02d" % number for number in range(100))
            assert len(there.bodies) == 2, "the first alone, and the others while it was on its way"
            sending.forwarder.stop()

    run(scenario)


def test_a_busy_collector_gets_the_same_push_again_and_a_refused_push_is_dropped() -> None:
    async def scenario() -> None:
        with collector() as there:
            there.statuses = [503, 429, 200, 400, 200]
            sending = Sending(there.url)
            sending.forwarder.offer(b"first")
            await until_async(lambda: sending.counted() == (1, 0, 0), "the first is forwarded")
            sending.forwarder.offer(b"refused")
            await until_async(lambda: sending.counted() == (1, 0, 1), "the second is refused")
            sending.forwarder.offer(b"third")
            await until_async(lambda: sending.counted() == (2, 0, 1), "the third is forwarded")
            assert there.bodies == [b"first"] * 3 + [b"refused", b"third"]
            sending.forwarder.stop()

    run(scenario)


def test_while_the_collector_is_down_the_newest_pushes_wait_within_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forwarding, "WAITING_BYTES_MAX", 10)

    async def scenario() -> None:
        port = free_port()
        sending = Sending(f"http://127.0.0.1:{port}/v1/metrics")
        for number in range(20):
            sending.forwarder.offer(b"%02d" % number)
        await until_async(lambda: sending.counted()[1] == 15, "the oldest make room, and so does the one that failed")
        with collector(port) as there:
            await until_async(lambda: sum(sending.counted()) == 20, "the others are forwarded")
            assert b"".join(there.bodies) == b"1516171819"
        assert sending.counted() == (5, 15, 0)
        sending.forwarder.stop()

    run(scenario)


def test_a_server_that_does_not_speak_http_counts_as_down() -> None:
    async def scenario() -> None:
        async def chatter(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(b"\x00" * 100_000)
            writer.close()

        server = await asyncio.start_server(chatter, "127.0.0.1", 0)
        sending = Sending(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/")
        sending.forwarder.offer(b"push")
        await until_async(lambda: sending.forwarder._backoff_seconds > 0.01, "it is tried again")
        assert sending.counted() == (0, 0, 0)
        sending.forwarder.stop()
        server.close()

    run(scenario)
