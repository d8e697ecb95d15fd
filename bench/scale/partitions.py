"""Many partitions on one node: to create them, to keep them, to start with them again.

Topics of 100 partitions are created ten at a time, so that the cost of a request among few
partitions can be compared with that among many. The node is stopped by SIGTERM and started on its
data, then killed and started once more. Both starts are counted until the last topic is served,
without the CPU of an empty node's start. Metadata is one request for all topics.
"""

from __future__ import annotations

import socket
import time

from barnabas.model.errors import ErrorCode
from barnabas.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from barnabas.wire.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from barnabas.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from bench.measurement import MeasurementFailed
from bench.requests import ask
from bench.scale.scale_row import ScaleFigure, ScaleRow
from bench.systems import Server, System

PARTITIONS_EACH = 100
TOPICS_PER_REQUEST = 10
START_SECONDS_MAX = 900.0
ANSWER_SECONDS_MAX = 600.0
SETTLE_SECONDS = 8.0
IDLE_SECONDS = 20.0
METADATA_REQUESTS = 3

_CREATE_TOPICS_VERSION = 7
_METADATA_VERSION = 12
_LIST_OFFSETS_VERSION = 7
_LATEST = -1
_POLL_SECONDS = 0.1
_MILLISECONDS_MAX = int(ANSWER_SECONDS_MAX * 1000)


def measure_partitions(system: System, partitions: int) -> tuple[float, ...]:
    topics = [f"scale-{number:05}" for number in range(partitions // PARTITIONS_EACH)]
    with system.fresh_server() as server:
        server.await_port(START_SECONDS_MAX)
        empty = server.cpu_seconds()
        create_topics(server, ["warm-up"], partitions=1)
        await_served(server, "warm-up", partitions=1)
        cpu, resident = server.cpu_seconds(), server.resident_bytes()
        create_topics(server, topics, partitions=PARTITIONS_EACH)
        await_served(server, topics[-1], partitions=PARTITIONS_EACH)
        created, memory = server.cpu_seconds() - cpu, server.resident_bytes() - resident
        time.sleep(SETTLE_SECONDS)
        idle = _idle_cpu(server)
        answer = _cpu_of_metadata(server, partitions)
        server.stop()
        server.start_again()
        restarted = _cpu_until_served(server, topics[-1]) - empty
        server.kill()
        server.start_again()
        recovered = _cpu_until_served(server, topics[-1]) - empty
        return created, restarted, recovered, memory / 1e6, 100 * idle, 1000 * answer


def create_topics(server: Server, names: list[str], *, partitions: int, at_once: int = TOPICS_PER_REQUEST) -> None:
    with socket.create_connection(("127.0.0.1", server.port), timeout=ANSWER_SECONDS_MAX) as connection:
        for first in range(0, len(names), at_once):
            asked = [
                CreatableTopic(name=name, num_partitions=partitions, replication_factor=1, assignments=[], configs=[])
                for name in names[first : first + at_once]
            ]
            request = CreateTopicsRequest(topics=asked, timeout_ms=_MILLISECONDS_MAX)
            codes = {topic.error_code for topic in ask(connection, request, _CREATE_TOPICS_VERSION).topics}
            if codes != {ErrorCode.NONE}:
                raise MeasurementFailed(f"topics from {names[first]} on were answered with {sorted(codes)}")


def await_served(server: Server, topic: str, *, partitions: int) -> None:
    """Waits until the server answers for the partitions of a topic as their leader."""
    named = MetadataRequest(topics=[MetadataRequestTopic(name=topic)], allow_auto_topic_creation=False)
    ends = [ListOffsetsPartition(partition_index=index, timestamp=_LATEST) for index in range(partitions)]
    request = ListOffsetsRequest(replica_id=-1, topics=[ListOffsetsTopic(name=topic, partitions=ends)])
    deadline = time.monotonic() + START_SECONDS_MAX
    while time.monotonic() < deadline:
        server.check_alive()
        try:
            with socket.create_connection(("127.0.0.1", server.port), timeout=ANSWER_SECONDS_MAX) as connection:
                found = ask(connection, named, _METADATA_VERSION).topics[0]
                if len(found.partitions) == partitions and all(each.leader_id >= 0 for each in found.partitions):
                    answer = ask(connection, request, _LIST_OFFSETS_VERSION).topics[0]
                    if {each.error_code for each in answer.partitions} == {ErrorCode.NONE}:
                        return
        except OSError:
            pass  # It does not listen yet.
        time.sleep(_POLL_SECONDS)
    raise MeasurementFailed(f"{topic} was not served within {START_SECONDS_MAX:g} s")


def _cpu_until_served(server: Server, topic: str) -> float:
    await_served(server, topic, partitions=PARTITIONS_EACH)
    return server.cpu_seconds()


def _idle_cpu(server: Server) -> float:
    """CPU seconds for each second."""
    before, since = server.cpu_seconds(), time.perf_counter()
    time.sleep(IDLE_SECONDS)
    return (server.cpu_seconds() - before) / (time.perf_counter() - since)


def _cpu_of_metadata(server: Server, partitions: int) -> float:
    """CPU seconds of a Metadata request for all topics."""
    before = server.cpu_seconds()
    with socket.create_connection(("127.0.0.1", server.port), timeout=ANSWER_SECONDS_MAX) as connection:
        for _ in range(METADATA_REQUESTS):
            answer = ask(connection, MetadataRequest(topics=None), _METADATA_VERSION)
            if sum(len(topic.partitions) for topic in answer.topics) < partitions:
                raise MeasurementFailed("a Metadata response lacks partitions")
    return (server.cpu_seconds() - before) / METADATA_REQUESTS


PARTITIONS = ScaleRow(
    name="partitions",
    counted="partitions",
    about=__doc__ or "",
    sizes={"barnabas": (1000, 5000, 20_000, 50_000), "kafka": (1000, 5000)},
    figures=(
        ScaleFigure("created", "s", each="ms"),
        ScaleFigure("clean start", "s", each="ms"),
        ScaleFigure("start after a kill", "s", each="ms"),
        ScaleFigure("memory", "MB", each="KB"),
        ScaleFigure("idle", "% of a core"),
        ScaleFigure("Metadata", "ms", each="us"),
    ),
    measure=measure_partitions,
)
