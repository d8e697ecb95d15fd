"""Topics of one partition, created one hundred at a time, and deleted likewise."""

from __future__ import annotations

import socket

from barnabas.model.errors import ErrorCode
from barnabas.wire.messages.delete_topics import DeleteTopicsRequest
from bench.measurement import MeasurementFailed
from bench.requests import ask
from bench.scale.partitions import ANSWER_SECONDS_MAX, START_SECONDS_MAX, await_served, create_topics
from bench.scale.scale_row import ScaleFigure, ScaleRow
from bench.systems import Server, System

AT_ONCE = 100
_DELETE_TOPICS_VERSION = 5


def measure_topics(system: System, topics: int) -> tuple[float, ...]:
    names = [f"topic-{number:06}" for number in range(topics)]
    with system.fresh_server() as server:
        server.await_port(START_SECONDS_MAX)
        create_topics(server, ["warm-up"], partitions=1)
        await_served(server, "warm-up", partitions=1)
        cpu, resident = server.cpu_seconds(), server.resident_bytes()
        create_topics(server, names, partitions=1, at_once=AT_ONCE)
        await_served(server, names[-1], partitions=1)
        created, memory = server.cpu_seconds() - cpu, server.resident_bytes() - resident
        cpu = server.cpu_seconds()
        _delete(server, names)
        return created, memory / 1e6, server.cpu_seconds() - cpu


def _delete(server: Server, names: list[str]) -> None:
    with socket.create_connection(("127.0.0.1", server.port), timeout=ANSWER_SECONDS_MAX) as connection:
        for first in range(0, len(names), AT_ONCE):
            request = DeleteTopicsRequest(topic_names=names[first : first + AT_ONCE], timeout_ms=int(ANSWER_SECONDS_MAX * 1000))
            codes = {topic.error_code for topic in ask(connection, request, _DELETE_TOPICS_VERSION).responses}
            if codes != {ErrorCode.NONE}:
                raise MeasurementFailed(f"the deletion of topics from {names[first]} on was answered with {sorted(codes)}")


TOPICS = ScaleRow(
    name="topics",
    counted="topics",
    about=__doc__ or "",
    sizes={"barnabas": (1000, 3000, 10_000), "kafka": (1000, 3000)},
    figures=(
        ScaleFigure("created", "s", each="ms"),
        ScaleFigure("memory", "MB", each="KB"),
        ScaleFigure("deleted", "s", each="ms"),
    ),
    measure=measure_topics,
)
