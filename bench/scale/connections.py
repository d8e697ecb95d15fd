"""Many connections: idle ones, which must cost memory only, and busy ones.

A size above the limit of open files cannot be measured: the client and the server need a
descriptor for each connection, so each of them raises its limit as far as the system allows.
"""

from __future__ import annotations

import resource
import socket
import time
from contextlib import ExitStack

from barnabas.wire.messages.api_versions import ApiVersionsRequest
from bench import programs
from bench.measurement import MeasurementFailed
from bench.requests import ask
from bench.scale.scale_row import ScaleFigure, ScaleRow
from bench.systems import System
from bench.topics import new_topic

# For the files of the benchmark and of the server.
DESCRIPTORS_SPARED = 500
ANSWER_SECONDS_MAX = 120.0
SETTLE_SECONDS = 3.0
IDLE_SECONDS = 20.0
BUSY_SECONDS = 5.0
PARTITIONS = 6
_API_VERSIONS_VERSION = 3
_WARM_UP_CONNECTIONS = 20


def measure_idle(system: System, connections: int) -> tuple[float, ...]:
    _raise_limit(connections)
    with system.fresh_server() as server, ExitStack() as clients:
        server.await_port()
        for _ in range(_WARM_UP_CONNECTIONS):
            clients.enter_context(_greeted(server.port))
        cpu, resident = server.cpu_seconds(), server.resident_bytes()
        for _ in range(connections):
            clients.enter_context(_greeted(server.port))
        opened, memory = server.cpu_seconds() - cpu, server.resident_bytes() - resident
        time.sleep(SETTLE_SECONDS)
        cpu, since = server.cpu_seconds(), time.perf_counter()
        time.sleep(IDLE_SECONDS)
        idle = (server.cpu_seconds() - cpu) / (time.perf_counter() - since)
        return opened, memory / 1e6, 100 * idle


def measure_busy(system: System, connections: int) -> tuple[float, ...]:
    _raise_limit(connections)
    with system.fresh_server() as server:
        server.await_port()
        with new_topic(server, PARTITIONS) as topic:
            _load(server.port, topic, connections, seconds=BUSY_SECONDS / 2)
            resident, cpu = server.resident_bytes(), server.cpu_seconds()
            requests = _load(server.port, topic, connections, seconds=BUSY_SECONDS)
            return 1e6 * (server.cpu_seconds() - cpu) / requests, requests / BUSY_SECONDS, resident / 1e6


def _load(port: int, topic: str, connections: int, *, seconds: float) -> float:
    """The number of requests that were answered."""
    seen = programs.closed_loop(port=port, topic=topic, connections=connections, partitions=PARTITIONS, seconds=seconds)
    return seen["requests_per_s"] * seconds


def _greeted(port: int) -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", port), timeout=ANSWER_SECONDS_MAX)
    ask(connection, ApiVersionsRequest(client_software_name="bench", client_software_version="1"), _API_VERSIONS_VERSION)
    return connection


def _raise_limit(connections: int) -> None:
    """For this process and its children, the servers."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    if connections + DESCRIPTORS_SPARED > hard:
        raise MeasurementFailed(f"this machine allows a process {hard:,} open files")


IDLE_CONNECTIONS = ScaleRow(
    name="idle connections",
    counted="connections",
    about="Connections that were opened one after the other, sent one ApiVersions request, and stay open.",
    sizes={"barnabas": (1000, 10_000), "kafka": (1000, 10_000)},
    figures=(
        ScaleFigure("opened", "s", each="us"),
        ScaleFigure("memory", "MB", each="KB"),
        ScaleFigure("idle", "% of a core"),
    ),
    measure=measure_idle,
)
BUSY_CONNECTIONS = ScaleRow(
    name="busy connections",
    counted="connections",
    about="Connections that each have one produce request of one small record in flight, acks=all: "
    "the closed loop of the row *small requests*.",
    sizes={"barnabas": (10, 100, 1000), "kafka": (10, 100, 1000)},
    figures=(
        ScaleFigure("a request", "us"),
        ScaleFigure("rate", "requests/s"),
        ScaleFigure("memory of the server", "MB"),
    ),
    measure=measure_busy,
)
