"""One broker of three leads all partitions, and is killed: the CPU of the other two until every
partition has a new leader that answers.

Each partition has three replicas. They are created when every node has a log for each: Apache Kafka
answers long before. The killed node is not the active controller. The seconds include the time
until the controller fences the broker.
"""

from __future__ import annotations

import itertools
import socket
import time

from barnabas.model.errors import ErrorCode
from barnabas.wire.messages.create_topics import CreatableReplicaAssignment, CreatableTopic, CreateTopicsRequest
from barnabas.wire.messages.describe_log_dirs import DescribableLogDirTopic, DescribeLogDirsRequest
from barnabas.wire.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from barnabas.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from bench import clusters, usage
from bench.measurement import MeasurementFailed
from bench.requests import ask
from bench.scale.partitions import ANSWER_SECONDS_MAX, IDLE_SECONDS, PARTITIONS_EACH, SETTLE_SECONDS, TOPICS_PER_REQUEST
from bench.scale.scale_row import ScaleFigure, ScaleRow
from bench.systems import System
from peers.cluster import Cluster, Node

READY_SECONDS_MAX = 600.0
_POLL_SECONDS = 0.5
_CREATE_TOPICS_VERSION, _METADATA_VERSION, _LIST_OFFSETS_VERSION, _LOG_DIRS_VERSION = 7, 12, 7, 4
_LATEST = -1


def measure_failover(system: System, partitions: int) -> tuple[float, ...]:
    topics = [f"scale-{number:05}" for number in range(partitions // PARTITIONS_EACH)]
    with clusters.three_nodes(system) as cluster:
        clusters.await_condition(lambda: clusters.active_controller(cluster) is not None, "controller")
        controller = clusters.active_controller(cluster)
        victim = next(node for node in cluster.nodes.values() if node is not controller)
        others = [node for node in cluster.nodes.values() if node is not victim]
        time.sleep(SETTLE_SECONDS)
        before = clusters.cpu_seconds(cluster)
        _create(cluster, topics, victim)
        _await_leaders(others, topics, allowed=[victim], in_sync=clusters.NODES)
        _await_logs([victim, *others], topics)
        created = clusters.cpu_seconds(cluster) - before
        time.sleep(SETTLE_SECONDS)
        before, since = clusters.cpu_seconds(cluster), time.perf_counter()
        time.sleep(IDLE_SECONDS)
        idle = (clusters.cpu_seconds(cluster) - before) / (time.perf_counter() - since)
        before = _cpu_seconds(others)
        victim.kill()
        killed_at = time.perf_counter()
        _await_leaders(others, topics, allowed=others, in_sync=1)
        return created, _cpu_seconds(others) - before, time.perf_counter() - killed_at, 100 * idle


def _create(cluster: Cluster, topics: list[str], leader: Node) -> None:
    broker_ids = [leader.id, *(node_id for node_id in cluster.nodes if node_id != leader.id)]
    placed = [CreatableReplicaAssignment(partition_index=index, broker_ids=broker_ids) for index in range(PARTITIONS_EACH)]
    with socket.create_connection(("127.0.0.1", leader.port), timeout=ANSWER_SECONDS_MAX) as connection:
        for first in range(0, len(topics), TOPICS_PER_REQUEST):
            asked = [
                CreatableTopic(name=name, num_partitions=-1, replication_factor=-1, assignments=placed, configs=[])
                for name in topics[first : first + TOPICS_PER_REQUEST]
            ]
            request = CreateTopicsRequest(topics=asked, timeout_ms=int(ANSWER_SECONDS_MAX * 1000))
            codes = {topic.error_code for topic in ask(connection, request, _CREATE_TOPICS_VERSION).topics}
            if codes != {ErrorCode.NONE}:
                raise MeasurementFailed(f"topics from {topics[first]} on were answered with {sorted(codes)}")


def _await_leaders(nodes: list[Node], topics: list[str], *, allowed: list[Node], in_sync: int) -> None:
    """Until the allowed nodes lead all partitions, and have said so for the last topic."""
    leaders = {node.id for node in allowed}
    deadline = time.monotonic() + READY_SECONDS_MAX
    while time.monotonic() < deadline:
        # The last topic first, because a request for all costs the server more.
        led = _led(nodes[0], topics[-1:], leaders, in_sync) and _led(nodes[0], topics, leaders, in_sync)
        if led and all(_answers(node, topics[-1]) for node in allowed):
            return
        time.sleep(_POLL_SECONDS)
    raise MeasurementFailed(f"not all partitions had a leader within {READY_SECONDS_MAX:g} s")


def _await_logs(nodes: list[Node], topics: list[str]) -> None:
    """Until each node has a log for each partition."""
    deadline = time.monotonic() + READY_SECONDS_MAX
    # The last topic first, because a request for all costs the server more.
    for node, asked in itertools.product(nodes, (topics[-1:], topics)):
        while _logs(node, asked) < len(asked) * PARTITIONS_EACH:
            if time.monotonic() > deadline:
                raise MeasurementFailed(f"a node did not have all logs within {READY_SECONDS_MAX:g} s")
            time.sleep(_POLL_SECONDS)


def _logs(node: Node, topics: list[str]) -> int:
    request = DescribeLogDirsRequest(
        topics=[DescribableLogDirTopic(topic=name, partitions=list(range(PARTITIONS_EACH))) for name in topics]
    )
    with socket.create_connection(("127.0.0.1", node.port), timeout=ANSWER_SECONDS_MAX) as connection:
        found = ask(connection, request, _LOG_DIRS_VERSION).results
    return sum(len(topic.partitions) for directory in found for topic in directory.topics)


def _led(node: Node, topics: list[str], leaders: set[int], in_sync: int) -> bool:
    request = MetadataRequest(topics=[MetadataRequestTopic(name=name) for name in topics], allow_auto_topic_creation=False)
    with socket.create_connection(("127.0.0.1", node.port), timeout=ANSWER_SECONDS_MAX) as connection:
        found = ask(connection, request, _METADATA_VERSION).topics
    partitions = [each for topic in found for each in topic.partitions]
    return len(partitions) == len(topics) * PARTITIONS_EACH and all(
        each.leader_id in leaders and len(each.isr_nodes) >= in_sync for each in partitions
    )


def _answers(node: Node, topic: str) -> bool:
    """Whether the node knows its role for all partitions of the topic."""
    ends = [ListOffsetsPartition(partition_index=index, timestamp=_LATEST) for index in range(PARTITIONS_EACH)]
    request = ListOffsetsRequest(replica_id=-1, topics=[ListOffsetsTopic(name=topic, partitions=ends)])
    with socket.create_connection(("127.0.0.1", node.port), timeout=ANSWER_SECONDS_MAX) as connection:
        answer = ask(connection, request, _LIST_OFFSETS_VERSION).topics[0]
    return {each.error_code for each in answer.partitions} <= {ErrorCode.NONE, ErrorCode.NOT_LEADER_OR_FOLLOWER}


def _cpu_seconds(nodes: list[Node]) -> float:
    return sum(usage.cpu_seconds(node.process.pid) for node in nodes if node.process is not None)


FAILOVER = ScaleRow(
    name="failover",
    counted="partitions",
    about=__doc__ or "",
    sizes={"barnabas": (1000, 5000, 20_000), "kafka": (1000, 5000)},
    figures=(
        ScaleFigure("created on three nodes", "s", each="ms"),
        ScaleFigure("led by others after kill -9", "s", each="ms"),
        ScaleFigure("until all are led", "s of wall clock"),
        ScaleFigure("three nodes idle", "% of a core"),
    ),
    measure=measure_failover,
)
