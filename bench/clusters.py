"""Clusters of three nodes, each broker and controller, with default settings."""

from __future__ import annotations

import itertools
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO

from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from barnabas.model.errors import ErrorCode
from barnabas.wire.messages.describe_quorum import DescribeQuorumRequest, PartitionData, TopicData
from bench import usage
from bench.measurement import MeasurementFailed
from bench.requests import ask
from bench.systems import ComparedSystem, System
from peers.cluster import Announce, Cluster, Node, RunningProcess, start_process

NODES = 3
ADMIN_SECONDS_MAX = 30.0
READY_SECONDS_MAX = 60.0
POLL_SECONDS = 0.02
ASK_SECONDS_MAX = 1.0
_DESCRIBE_QUORUM_VERSION = 1
# Kafka takes seconds to delete a topic, and the disk need not hold the data of every round.
SETTINGS = {"auto.create.topics.enable": "false", "log.segment.delete.delay.ms": "1000"}
_numbers = itertools.count(1)


class _Nodes:
    """A system's server as the program of a cluster's nodes."""

    def __init__(self, system: ComparedSystem) -> None:
        self.name = system.name
        self._system = system

    def format(self, nodes: Sequence[Node]) -> None:
        for node in nodes:
            self._system.format_storage(node.properties_file)

    def start(self, properties: Path, output: IO[bytes], announce: Announce) -> RunningProcess:
        return start_process(self._system.command(properties), output, announce)


@contextmanager
def three_nodes(system: System) -> Iterator[Cluster]:
    assert isinstance(system, ComparedSystem), "a peer is one server"
    with ExitStack() as stack:
        try:
            cluster = stack.enter_context(Cluster(_Nodes(system), brokers=NODES, properties=SETTINGS))
        except AssertionError as not_started:
            raise MeasurementFailed(str(not_started)) from not_started
        await_condition(lambda: len(admin(cluster).list_topics(timeout=ADMIN_SECONDS_MAX).brokers) == NODES, "three brokers")
        yield cluster


def admin(cluster: Cluster) -> AdminClient:
    return AdminClient({"bootstrap.servers": cluster.bootstrap, "log_level": 0})


@contextmanager
def replicated_topic(cluster: Cluster, partitions: int) -> Iterator[str]:
    """A topic with three replicas, two of which must be in sync; all are, when this yields."""
    name = f"bench-{next(_numbers)}"
    client = admin(cluster)
    topic = NewTopic(name, num_partitions=partitions, replication_factor=NODES, config={"min.insync.replicas": "2"})
    client.create_topics([topic])[name].result(ADMIN_SECONDS_MAX)
    await_leaders(cluster, name, partitions)
    try:
        yield name
    finally:
        client.delete_topics([name], operation_timeout=ADMIN_SECONDS_MAX)[name].result(ADMIN_SECONDS_MAX)


def await_leaders(cluster: Cluster, topic: str, partitions: int) -> list[Node]:
    """The leader of each partition, as soon as all have one and all replicas are in sync.

    A replica that was in sync a moment ago may not be any more, and a broker may know less than the
    one that was asked before it.
    """
    found: list[Node] | None = None

    def all_led() -> bool:
        nonlocal found
        found = _leaders(cluster, topic, partitions)
        return found is not None

    await_condition(all_led, "leaders of replicas in sync")
    assert found is not None, "the condition held"
    return found


def _leaders(cluster: Cluster, topic: str, partitions: int) -> list[Node] | None:
    """None while a partition has no leader or a replica is not in sync."""
    found = admin(cluster).list_topics(topic, timeout=ADMIN_SECONDS_MAX).topics[topic].partitions
    if len(found) < partitions or any(each.leader not in cluster.nodes or len(each.isrs) < NODES for each in found.values()):
        return None
    return [cluster.node(found[index].leader) for index in range(partitions)]


def active_controller(cluster: Cluster) -> Node | None:
    """The leader of the quorum, if a node claims to be. Brokers name any broker as the controller,
    so the controllers are asked."""
    partition = PartitionData(partition_index=0)
    request = DescribeQuorumRequest(topics=[TopicData(topic_name="__cluster_metadata", partitions=[partition])])
    for node in cluster.controllers:
        if not node.running:
            continue
        with suppress(OSError), socket.create_connection(("127.0.0.1", node.controller_port), timeout=ASK_SECONDS_MAX) as connection:
            response = ask(connection, request, _DESCRIBE_QUORUM_VERSION)
            found = [each for topic in response.topics for each in topic.partitions]
            if response.error_code == ErrorCode.NONE and found and found[0].leader_id == node.id and not found[0].error_code:
                return node
    return None


def await_condition(holds: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + READY_SECONDS_MAX
    while not holds():
        if time.monotonic() > deadline:
            raise MeasurementFailed(f"no {what} within {READY_SECONDS_MAX:g} s")
        time.sleep(POLL_SECONDS)


def cpu_seconds(cluster: Cluster) -> float:
    return sum(usage.cpu_seconds(node.process.pid) for node in cluster.nodes.values() if node.process is not None)


def resident_bytes(cluster: Cluster) -> int:
    return sum(usage.resident_bytes(node.process.pid) for node in cluster.nodes.values() if node.process is not None)
