"""The schema registry over each system's brokers: registrations, lookups by id, and their latency.

The registry is ours in both cases, because Confluent's is not on Maven Central; what differs is the
cluster that keeps its topic. Lookups come from memory, so they differ only by chance.
"""

from __future__ import annotations

import json
import selectors
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from urllib.parse import urlsplit
from uuid import uuid4

import httpx

from bench.measurement import Better, Effort, Figure, Goal, Measure, MeasurementFailed
from bench.systems import System

CONNECTIONS = 8
ANSWER_SECONDS_MAX = 30.0
_RECEIVE_BYTES = 65_536


@dataclass(frozen=True, slots=True)
class Registry:
    family = "registry"
    about = (
        "One instance of `barnabas registry` over each system. Registrations come one after the other from one client, each a new "
        f"schema; lookups by id come from {CONNECTIONS} connections, each with one request in flight."
    )

    @property
    def figures(self) -> tuple[Figure, ...]:
        return (
            Figure("registry, registrations", "1/s", Better.HIGHER),
            Figure("registry, lookups", "1/s", Better.HIGHER, Goal(0.9, 3_000)),
            Figure("registry, lookups, p99", "ms", Better.LOWER),
        )

    def why_skipped(self) -> str | None:
        return None

    @contextmanager
    def session(self, system: System, effort: Effort) -> Iterator[Measure]:
        name = f"_schemas-{uuid4().hex[:8]}"
        options = ["-b", system.server().bootstrap, "--port", "0", "--topic", name, "--group", name]
        command = [sys.executable, "-m", "barnabas", "registry", *options]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            if not line.startswith("ready registry="):
                raise MeasurementFailed(f"the registry did not start: {line!r}")
            url = line.strip().removeprefix("ready registry=")
            yield lambda: (_registrations(url, effort.registrations), *_lookups(url, effort.closed_loop_seconds))
        finally:
            process.terminate()
            process.wait(ANSWER_SECONDS_MAX)


def _registrations(url: str, count: int) -> float:
    with httpx.Client(timeout=ANSWER_SECONDS_MAX) as client:
        began = time.perf_counter()
        for _ in range(count):
            name = f"R{uuid4().hex}"
            schema = json.dumps({"type": "record", "name": name, "fields": [{"name": "x", "type": "int"}]})
            response = client.post(f"{url}/subjects/{name}/versions", json={"schema": schema})
            if response.status_code != 200:
                raise MeasurementFailed(response.text)
        return count / (time.perf_counter() - began)


def _lookups(url: str, seconds: float) -> tuple[float, float]:
    """Lookups a second, and the 99th percentile of their latency in milliseconds."""
    place = urlsplit(url)
    request = f"GET /schemas/ids/1 HTTP/1.1\r\nHost: {place.netloc}\r\n\r\n".encode()
    latencies: list[float] = []
    with selectors.DefaultSelector() as ready:
        sent: dict[socket.socket, float] = {}
        for _ in range(CONNECTIONS):
            connection = socket.create_connection((str(place.hostname), int(place.port or 0)), timeout=ANSWER_SECONDS_MAX)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            ready.register(connection, selectors.EVENT_READ)
            sent[connection] = time.perf_counter()
            connection.sendall(request)
        began = time.perf_counter()
        arrived: dict[socket.socket, bytes] = dict.fromkeys(sent, b"")
        while time.perf_counter() < began + seconds:
            for key, _ in ready.select(ANSWER_SECONDS_MAX):
                connection = key.fileobj  # type: ignore[assignment]
                arrived[connection] += connection.recv(_RECEIVE_BYTES)
                if not _is_whole(arrived[connection]):
                    continue
                now = time.perf_counter()
                latencies.append(now - sent[connection])
                arrived[connection] = b""
                sent[connection] = now
                connection.sendall(request)
        took = time.perf_counter() - began
        for connection in sent:
            connection.close()
    latencies.sort()
    return len(latencies) / took, latencies[int(len(latencies) * 0.99)] * 1000


def _is_whole(answer: bytes) -> bool:
    """The server sends the headers and the body of a response one after the other."""
    headers, end, body = answer.partition(b"\r\n\r\n")
    if not end:
        return False
    if not headers.startswith(b"HTTP/1.1 200"):
        raise MeasurementFailed(answer[:200].decode("ascii", "replace"))
    length = headers.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0]
    return len(body) >= int(length)


ROWS = (Registry(),)
